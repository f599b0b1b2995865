//! What the devices gave: the rows of the I/O baseline and of the flush table, as they are stored and shown.

use serde::{Deserialize, Serialize};

/// A measured baseline: one table of transfers, one of flushes; either may be empty.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct IoTable {
    /// What was measured and how, beginning with `direct I/O` or `page cache`.
    pub title: String,
    /// Which rows: `io-baseline` (the published 15), `io-baseline, miniature`, `chosen rows`, or a job file.
    pub matrix: String,
    /// The path as given.
    pub target: String,
    /// The block device whose counters verify the transfers, where there is one.
    pub device: Option<String>,
    /// Devices and file system behind the target, written like [`StoredCeiling::device`], so that a baseline and the
    /// ceilings of a study can be told to be of one device; empty where it is not known.
    ///
    /// [`StoredCeiling::device`]: crate::ceiling::StoredCeiling::device
    pub device_identity: String,
    /// Processors, memory and kernel, as a phrase.
    pub machine: String,
    /// The version of the fathom that measured.
    pub fathom_version: String,
    /// Whether transfers went past the page cache.
    pub is_direct: bool,
    /// The way to the kernel, such as `io_uring`.
    pub engine: String,
    /// From which the places and the mix follow.
    pub seed: u64,
    /// When the measurement began, in seconds since 1970 (UTC).
    pub began_unix_s: u64,
    /// Transfers, in the order in which they were measured.
    pub rows: Vec<IoRow>,
    /// Durable appends, in the order in which they were measured.
    pub sync_rows: Vec<IoSyncRow>,
    /// What touches all rows, as sentences.
    pub warnings: Vec<String>,
}

/// One access pattern and what it gave.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct IoRow {
    /// The bytes of one transfer.
    pub transfer_bytes: u64,
    /// The share of transfers that read, 0 to 100.
    pub read_percent: u8,
    /// The share of transfers at a random place, 0 to 100.
    pub random_percent: u8,
    /// Transfers under way at the same time, of all jobs together.
    pub outstanding: u64,
    /// Jobs, each with an equal share of them.
    pub jobs: u32,
    /// Transfers per second.
    pub iops: f64,
    /// MiB per second (IOMeter calls them MBytes).
    pub mib_per_s: f64,
    /// The mean latency in nanoseconds.
    pub latency_ns_mean: f64,
    /// The largest latency in nanoseconds.
    pub latency_ns_max: u64,
    /// The median latency in nanoseconds.
    pub latency_ns_p50: u64,
    /// The latency that 99 % did not exceed, in nanoseconds.
    pub latency_ns_p99: u64,
    /// The latency that 99.9 % did not exceed, in nanoseconds.
    pub latency_ns_p999: u64,
    /// How busy all processors were, by whomever, in percent.
    pub cpu_percent: f64,
    /// How busy fathom itself kept them, in percent.
    pub own_cpu_percent: f64,
    /// fathom's processor time per transfer, in nanoseconds.
    pub own_cpu_ns_per_transfer: f64,
    /// Transfers completed.
    pub transfer_count: u64,
    /// Bytes transferred.
    pub transferred_bytes: u64,
    /// Bytes that the device says it read; absent without counters.
    pub device_read_bytes: Option<u64>,
    /// Bytes that the device says it wrote; absent without counters.
    pub device_write_bytes: Option<u64>,
    /// How long was measured, in nanoseconds.
    pub measured_ns: u64,
    /// How long the pattern ran before that, in nanoseconds.
    pub warm_up_ns: u64,
    /// Whether a steady state was reached.
    pub is_steady: bool,
    /// Why the figures are doubtful, as sentences; empty when nothing speaks against them.
    pub flags: Vec<String>,
}

impl IoRow {
    /// What the device moved in percent of what was transferred; absent without counters or transfers. 100: nothing
    /// came from a cache, and nothing was read ahead.
    pub fn device_percent(&self) -> Option<f64> {
        let device_bytes = self.device_read_bytes?.saturating_add(self.device_write_bytes?);
        (self.transferred_bytes > 0).then(|| 100.0 * device_bytes as f64 / self.transferred_bytes as f64)
    }
}

/// The time of durable appends.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct IoSyncRow {
    /// The bytes of one append.
    pub size_bytes: u64,
    /// How it was made durable, as PostgreSQL names it: `fdatasync`, `open_datasync`.
    pub method: String,
    /// How many appended at the same time, each to a file of its own.
    pub writer_count: u32,
    /// Appends made durable.
    pub append_count: u64,
    /// Appends per second, of all writers.
    pub appends_per_s: f64,
    /// MiB per second, of all writers.
    pub mib_per_s: f64,
    /// The mean time of write and flush together, in nanoseconds.
    pub latency_ns_mean: f64,
    /// The median, in nanoseconds.
    pub latency_ns_p50: u64,
    /// The time that 99 % did not exceed, in nanoseconds.
    pub latency_ns_p99: u64,
    /// The longest, in nanoseconds.
    pub latency_ns_max: u64,
    /// How busy all processors were, in percent.
    pub cpu_percent: f64,
    /// How busy fathom itself kept them, in percent.
    pub own_cpu_percent: f64,
    /// The flushes that the device counted; absent where it counts none.
    pub device_flush_count: Option<u64>,
    /// How long was measured, in nanoseconds.
    pub measured_ns: u64,
    /// Why the figures are doubtful, as sentences.
    pub flags: Vec<String>,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_table_reads_back_as_it_was_written() {
        let row = IoRow {
            iops: 0.1 + 0.2,
            device_read_bytes: Some(5),
            flags: vec!["why".to_owned()],
            ..IoRow::default()
        };
        let table = IoTable { rows: vec![row], sync_rows: vec![IoSyncRow::default()], ..IoTable::default() };
        let text = serde_json::to_string(&table).unwrap();
        assert_eq!(serde_json::from_str::<IoTable>(&text).unwrap(), table);
    }

    #[test]
    fn the_share_of_the_device_needs_both_counters_and_a_transfer() {
        let row = IoRow { transferred_bytes: 200, device_read_bytes: Some(150), ..IoRow::default() };
        assert_eq!(row.device_percent(), None);
        let row = IoRow { device_write_bytes: Some(50), ..row };
        assert_eq!(row.device_percent(), Some(100.0));
        assert_eq!(IoRow { transferred_bytes: 0, ..row }.device_percent(), None);
    }
}
