//! Where the pages and bytes of a check went, and what the check cost.

use serde::{Deserialize, Serialize};

/// Pages that were not judged, for one reason.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Skipped {
    /// Why.
    pub why: String,
    /// How many pages.
    pub page_count: u64,
}

/// Where all pages and bytes went: `pages = clean + damaged + affected + skipped + unreadable + not reached`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Accounting {
    /// Pages of everything that was to be checked.
    pub page_count: u64,
    /// Pages without a finding.
    pub clean_count: u64,
    /// Pages whose own bytes break a rule.
    pub damaged_count: u64,
    /// Pages that keep the rules themselves, but are named by findings whose cause is elsewhere.
    #[serde(default)]
    pub affected_count: u64,
    /// Pages read but not judged, by reason.
    pub skipped: Vec<Skipped>,
    /// Pages that could not be read, or that the file ends before.
    pub unreadable_count: u64,
    /// Pages that the check did not come to before it was stopped.
    pub unreached_count: u64,
    /// Bytes that one pass over everything should read.
    pub bytes_expected: u64,
    /// Bytes that the pass read. Repeated reads are not among them.
    pub bytes_read: u64,
}

impl Accounting {
    /// Pages skipped for any reason.
    #[must_use]
    pub fn skipped_count(&self) -> u64 {
        self.skipped.iter().map(|skipped| skipped.page_count).sum()
    }

    /// Whether every page is in exactly one of the classes.
    #[must_use]
    pub fn is_balanced(&self) -> bool {
        let classes = self.clean_count + self.damaged_count + self.affected_count + self.skipped_count();
        self.page_count == classes + self.unreadable_count + self.unreached_count
    }

    /// Whether every page was read: only then does the absence of findings mean something.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.unreached_count == 0 && self.unreadable_count == 0 && self.bytes_read == self.bytes_expected
    }
}

/// What the check cost and what its switches did.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CheckCounters {
    /// Workers of the pass.
    pub worker_count: u64,
    /// Bytes of one claim.
    pub claim_bytes: u64,
    /// Claims that the pass took.
    pub claim_count: u64,
    /// Time that workers spent getting claims, in nanoseconds: the counter that they share, and sleep where the limit
    /// on reading had none for them.
    #[serde(default)]
    pub claim_wait_ns: u64,
    /// From the first open to the report, in nanoseconds.
    pub elapsed_ns: u64,
    /// The part of it that the pass over the pages took, in nanoseconds.
    pub pass_ns: u64,
    /// Processor time of the workers in the pass, in nanoseconds.
    pub worker_cpu_ns: u64,
    /// Single pages read apart from the pass: roots, inner pages, chains, second looks.
    pub extra_read_count: u64,
    /// Bytes of these reads.
    pub extra_read_bytes: u64,
    /// Rows matched.
    pub row_count: u64,
    /// Index entries matched.
    pub entry_count: u64,
    /// Objects read again because their sums differed.
    pub second_pass_object_count: u64,
    /// The most memory that tables of this check took, in bytes, without the buffers of the reader.
    pub memory_bytes_max: u64,
    /// Bytes written to temporary files.
    pub temporary_bytes: u64,
    /// How the pass reached the device: `io_uring` or `threads`, direct or through the page cache.
    pub reader: String,
}
