//! A check of one file that was stopped: everything that the next call needs to go on.

use serde::{Deserialize, Serialize};

use crate::check::{Finding, RuleCount};
use crate::object::ObjectCount;

/// A check that was stopped: everything that the next call needs to go on.
///
/// Sums are stored, not facts, so that the size does not grow with the rows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StoppedCheck {
    /// `sqlite`, `sqlite, raw` for pages judged one by one, or `postgres`.
    pub engine: String,
    /// Numbers that must be the same when the check goes on: level, sizes, counters of changes.
    pub identity: Vec<u64>,
    /// Key of the sums.
    pub seed: u64,
    /// Where the pass goes on, in bytes.
    pub next_offset_bytes: u64,
    /// Bytes read so far.
    pub bytes_read: u64,
    /// Rows, index entries and unreadable pages so far.
    pub counts: [u64; 3],
    /// The findings to list so far.
    pub findings: Vec<Finding>,
    /// Findings so far by rule.
    pub rule_counts: Vec<RuleCount>,
    /// Findings so far by rule and object.
    #[serde(default)]
    pub object_counts: Vec<ObjectCount>,
    /// Pages with findings: first page and number of pages of each stretch.
    pub damaged_pages: Vec<(u64, u64)>,
    /// Pages that findings name whose cause is elsewhere, likewise.
    #[serde(default)]
    pub affected_pages: Vec<(u64, u64)>,
    /// Rows that findings lose: object, page and rule of the finding, first and last rowid.
    #[serde(default)]
    pub losses: Vec<(u64, u64, String, i64, i64)>,
    /// Rows and index entries so far, by object.
    #[serde(default)]
    pub record_counts: Vec<u64>,
    /// What findings explain: page, rule, rows without entries, entries without rows.
    #[serde(default)]
    pub explained: Vec<(u64, String, u64, u64)>,
    /// Objects with findings about their structure, likewise.
    pub damaged_objects: Vec<(u64, u64)>,
    /// Pages whose use became known in the pass, likewise.
    pub claimed_pages: Vec<(u64, u64)>,
    /// Chains on their way.
    pub open_chains: Vec<[u32; 7]>,
    /// Runs of pages that refer to each other: first, length, next.
    pub runs: Vec<[u32; 3]>,
    /// Sums by pair, then one for pointer maps.
    pub sums: Vec<StoredSum>,
    /// Whether a branch was lost.
    pub is_cut: bool,
    /// Objects with rows whose expressions could not be computed: which, how many rows, and why.
    #[serde(default)]
    pub unevaluated: Vec<(u64, u64, String)>,
    /// Results of expressions in doubt: object, what they are about, how many, and why.
    #[serde(default)]
    pub doubts: Vec<(u64, String, u64, String)>,
    /// Those of the second pass so far.
    #[serde(default)]
    pub second_pass_doubts: Vec<(u64, String, u64, String)>,
    /// Readings of the second pass that are done.
    #[serde(default)]
    pub second_pass_done_count: u64,
    /// The findings to list of the second pass so far.
    #[serde(default)]
    pub second_pass_findings: Vec<Finding>,
    /// Findings of the second pass so far by rule.
    #[serde(default)]
    pub second_pass_rule_counts: Vec<RuleCount>,
    /// Findings of the second pass so far by rule and object.
    #[serde(default)]
    pub second_pass_object_counts: Vec<ObjectCount>,
    /// Where pages are judged one by one: how many were intact, damaged, zeros, of no kind that can be told, unreadable
    /// and changed so far.
    #[serde(default)]
    pub raw_counts: Vec<u64>,
}

/// A difference of two sides, in buckets.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StoredSum {
    /// Members seen on both sides.
    pub counts: [u64; 2],
    /// High and low half of each sum.
    pub halves: Vec<[u64; 2]>,
    /// Count of each bucket.
    pub bucket_counts: Vec<i64>,
}

impl StoppedCheck {
    /// Reads a stopped check.
    ///
    /// # Errors
    /// When the file cannot be read, or is none.
    pub fn load(path: &std::path::Path) -> std::io::Result<Self> {
        Ok(serde_json::from_slice(&disk::regular::read(path)?)?)
    }

    /// Writes the check to a file: whole or not at all, by way of a second name beside it.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn store(&self, path: &std::path::Path) -> std::io::Result<()> {
        let mut beside = path.as_os_str().to_owned();
        beside.push(".part");
        let file = disk::regular::open_with(
            std::fs::OpenOptions::new().write(true).create(true).truncate(true),
            beside.as_ref(),
        )?;
        let mut writer = std::io::BufWriter::new(file);
        serde_json::to_writer(&mut writer, self)?;
        let file = writer.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        file.sync_all()?;
        std::fs::rename(&beside, path)
    }
}
