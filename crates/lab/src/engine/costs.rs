//! What runs on an engine cost, for the estimate before a study: seconds and bytes that its own parts add.

use crate::work::{Storage, Work};

/// Seconds that an engine adds, as seen on two shared cores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeCosts {
    /// To bring the engine into the same state before each run, and to count and remove the rows after it.
    pub preparing_s: f64,
    /// Does a durable commit wait for the device?
    pub waits_for_flushes: bool,
    /// Commits that share one flush of the log, at most.
    pub commits_per_flush_max: u32,
    /// Seconds of a row without its commit; `None` where they depend on the workload.
    pub row_s: Option<f64>,
}

/// Bytes that an engine needs beside and for the rows of a run.
#[derive(Clone, Copy, Debug)]
pub struct SpaceCosts {
    /// The engine's own files without rows and log.
    pub base_bytes: u64,
    /// The log of a run that adds no rows.
    pub idle_log_bytes: u64,
    /// First pages, maps and statistics of each further table.
    pub object_bytes: u64,
    /// Does it keep rows at all?
    pub keeps_rows: bool,
    /// Are fixture tables of other shapes removed before a task? Else all shapes of a study stay.
    pub keeps_one_shape: bool,
    /// Does a backup copy everything, or only the tables that it is about?
    pub copies_all: bool,
    /// Bytes of a row of 1048 bytes with a random key and its entry in the index of the keys.
    pub guid_row_bytes: fn(Storage) -> u64,
    /// The log after so many rows were added, which take so many bytes as data, at its peak.
    pub log_bytes: fn(rows: u64, data_bytes: u64, work: &Work) -> u64,
    /// The log while fixture tables are made, at its peak.
    pub fixture_log_bytes: fn(work: &Work) -> u64,
}
