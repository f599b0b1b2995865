//! A check of a cluster that was stopped: everything that the next call needs to go on.

use serde::{Deserialize, Serialize};

use crate::check::{Accounting, CheckCounters, Finding, RuleCount};
use crate::coverage::Share;
use crate::object::ObjectCount;

/// What a stopped check of a PostgreSQL cluster had learned. Sums are stored, not rows; row pointers only where the row
/// is not visible to all.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StoppedCluster {
    /// `postgres`.
    pub engine: String,
    /// Numbers that must be the same when the check goes on: level, switches, control file, names and sizes of files.
    pub identity: Vec<u64>,
    /// Key of the sums.
    pub seed: u64,
    /// Batches of objects that are done.
    pub batch_index: u64,
    /// The pass within the batch: 0 tables, 1 indexes.
    pub pass_index: u64,
    /// Bytes of that pass that were dealt with, in the order of its files.
    pub claimed_bytes: u64,
    /// The file in which it stopped, relative to the data directory.
    pub next_file: String,
    /// Where in that file, in bytes.
    pub next_offset_bytes: u64,
    /// Pages and bytes dealt with; nothing is counted as not reached.
    pub accounting: Accounting,
    /// Cost so far.
    pub counters: CheckCounters,
    /// The findings to list so far.
    pub findings: Vec<Finding>,
    /// Findings so far by rule.
    pub rule_counts: Vec<RuleCount>,
    /// Findings so far by rule and object.
    #[serde(default)]
    pub object_counts: Vec<ObjectCount>,
    /// What follows from causes that are reported in the end: the cause, and findings so far by rule and object.
    #[serde(default)]
    pub consequences: Vec<(String, ObjectCount)>,
    /// Blocks of the batch under way that are not counted as clean: relation, block, and whether they break rules by their own bytes.
    #[serde(default)]
    pub not_clean: Vec<(u32, u32, bool)>,
    /// Sums of the batch under way.
    pub sums: Vec<StoredLedger>,
    /// Row pointers of the batch under way that are not matched in the ordinary way, by table, as codes.
    pub exceptions: Vec<(u32, Vec<u64>)>,
    /// Keys where two leaves of a unique index meet, by index, as codes.
    #[serde(default)]
    pub boundaries: Vec<(u32, Vec<u64>)>,
    /// What was verified so far.
    #[serde(default)]
    pub coverage: StoredCoverage,
    /// Keys of unique indexes whose order is not known, by index, as codes.
    #[serde(default)]
    pub unique_keys: Vec<(u32, Vec<u64>)>,
    /// Sides of seams between blocks of B-trees: index, left and right block, whether it is the right side, and its key.
    #[serde(default)]
    pub seams: Vec<(u32, u32, u32, bool, Vec<u8>)>,
    /// Seams found broken: index, left and right block.
    #[serde(default)]
    pub broken_seams: Vec<(u32, u32, u32)>,
    /// Packed values by TOAST table: number, stored and plain bytes, method, block and line pointer of the row.
    #[serde(default)]
    pub packed_values: Vec<(u32, Vec<[u32; 6]>)>,
    /// Packed values that were too many to remember, by TOAST table.
    #[serde(default)]
    pub packed_left_out: Vec<(u32, u64)>,
    /// What blocks of GIN indexes say of each other, by index, in four words each.
    #[serde(default)]
    pub gin: Vec<(u32, Vec<[u32; 4]>)>,
    /// GIN indexes with more blocks than may be kept in memory.
    #[serde(default)]
    pub gin_left_out: Vec<u32>,
    /// Relations that changed since the moment that is looked at.
    #[serde(default)]
    pub moved: Vec<u32>,
    /// Tables with the last block of zeros, and the last that stood still.
    #[serde(default)]
    pub ends: Vec<(u32, [Option<u32>; 2])>,
    /// Indexes with an update that was cut off, with the number of blocks.
    pub unfinished: Vec<(u32, u64)>,
    /// Indexes with keys whose order is not known, with their number.
    pub order_not_known: Vec<(u32, u64)>,
}

/// Two sides of sums about one object, in buckets.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StoredLedger {
    /// The object, by its number in the plan.
    pub object: u32,
    /// Whether these are links between blocks, not rows and entries.
    pub is_links: bool,
    /// For each bucket and side: high half, low half and count.
    pub buckets: Vec<[[u64; 3]; 2]>,
}

/// What was verified of a cluster so far. Lists are sorted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StoredCoverage {
    /// Blocks.
    pub pages: Share,
    /// Contents of blocks.
    pub contents: Share,
    /// Rows by number of their table.
    pub rows: Vec<(u32, Share)>,
    /// Entries by number of their index.
    pub entries: Vec<(u32, Share)>,
    /// Relations with a block whose contents were not tested.
    pub uncovered: Vec<u32>,
    /// Relations whose sums were compared.
    pub compared: Vec<u32>,
}

impl StoppedCluster {
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
        let mut writer = std::io::BufWriter::new(disk::regular::open_with(
            std::fs::OpenOptions::new().write(true).create(true).truncate(true),
            beside.as_ref(),
        )?);
        serde_json::to_writer(&mut writer, self)?;
        writer.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()?;
        std::fs::rename(&beside, path)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_stopped_check_reads_back_as_it_was_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state");
        let stopped = StoppedCluster {
            identity: vec![u64::MAX],
            sums: vec![StoredLedger {
                object: 3,
                is_links: true,
                buckets: vec![[[u64::MAX, 1, 2], [3, 4, 5]]],
            }],
            exceptions: vec![(1, vec![u64::MAX >> 1])],
            ..StoppedCluster::default()
        };
        stopped.store(&path).unwrap();
        assert_eq!(StoppedCluster::load(&path).unwrap(), stopped);
    }
}
