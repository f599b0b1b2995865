//! What a stopped check of a database keeps beside its findings.

use serde::{Deserialize, Serialize};

use check::findings::StoredFindings;
use check::matching::sums::StoredSum;

/// A check of a database that was stopped.
pub(crate) type StoppedCheck = check::stopped::StoppedCheck<State>;

/// What the pass learned. Stretches of pages and objects are their first number and how many they are.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct State {
    /// Bytes read so far.
    pub(crate) bytes_read: u64,
    /// Rows, index entries and unreadable pages so far.
    pub(crate) counts: [u64; 3],
    /// Pages with findings.
    pub(crate) damaged_pages: Vec<(u64, u64)>,
    /// Pages that findings name whose cause is elsewhere.
    pub(crate) affected_pages: Vec<(u64, u64)>,
    /// Rows that findings lose: object, page and rule of the finding, first and last rowid.
    pub(crate) losses: Vec<(u64, u64, String, i64, i64)>,
    /// Rows and index entries so far, by object.
    pub(crate) record_counts: Vec<u64>,
    /// Objects with findings about their structure.
    pub(crate) damaged_objects: Vec<(u64, u64)>,
    /// Pages whose use became known in the pass.
    pub(crate) claimed_pages: Vec<(u64, u64)>,
    /// Overflow chains whose next page was not read yet.
    pub(crate) open_chains: Vec<[u32; 7]>,
    /// Runs of pages that refer to each other: first, length, next.
    pub(crate) runs: Vec<[u32; 3]>,
    /// Sums by pair, then one for pointer maps.
    pub(crate) sums: Vec<StoredSum>,
    /// Whether a branch was lost.
    pub(crate) is_cut: bool,
    /// Objects with rows whose expressions could not be computed: which, how many rows, and why.
    pub(crate) unevaluated: Vec<(u64, u64, String)>,
    /// Results of expressions in doubt: object, what they are about, how many, and why.
    pub(crate) doubts: Vec<(u64, String, u64, String)>,
    /// The second pass so far.
    pub(crate) second_pass: SecondPassState,
}

/// What the second pass found.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct SecondPassState {
    /// Readings that are done.
    pub(crate) done_count: u64,
    /// The findings so far.
    pub(crate) findings: StoredFindings,
    /// Results of expressions in doubt, as those of the pass.
    pub(crate) doubts: Vec<(u64, String, u64, String)>,
    /// What findings about pages explain: page, rule, rows without entries, entries without rows.
    pub(crate) explained: Vec<(u64, String, u64, u64)>,
}
