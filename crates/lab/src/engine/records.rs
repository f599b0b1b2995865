//! What the control side of an engine hands over: what it cannot do, what it counted, what a run left.

use std::path::PathBuf;

use results::model::{Metric, Warning};

use super::look_up::Answer;

/// What an engine cannot do, or does in its own way, said before anything runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limitation {
    /// Parameter or capability, e.g. `data_files`, `pg_stat_wal`.
    pub subject: String,
    /// Sentence for people.
    pub text: String,
    /// Does it make the cell impossible (true) or only change what is measured (false)?
    pub refuses: bool,
}

/// Directories by role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Data directories in order; empty means the target's own place.
    pub data: Vec<PathBuf>,
    /// Directory of the log; `None` means beside the data.
    pub log: Option<PathBuf>,
}

/// Totals of an engine at one moment; the run's figures are differences of two.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counters {
    /// Cumulative counters by metric name (docs/lab/metrics.md), with unit and source.
    pub cumulative: Vec<Metric>,
}

/// State of the run's objects after its end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PostRunState {
    /// Rows in the table, counted by the engine.
    pub rows: Option<u64>,
    /// Pages of the table itself (leaf pages where the table is a tree), without indexes.
    pub table_pages: Option<u64>,
    /// Rows per page that the workload's design promises (1 for `populate`), where the engine is able to keep it.
    pub rows_per_page: Option<u64>,
    /// Bytes of table and indexes together.
    pub total_bytes: Option<u64>,
    /// Bytes of the whole run's rows as the client knows them: a lower bound for log and data.
    pub payload_bytes: Option<u64>,
    /// Further scalar measurements, e.g. `index_bytes`.
    pub metrics: Vec<Metric>,
    /// What look-ups did, in the order of their ends; empty for other workloads.
    pub look_ups: Vec<Answer>,
    /// Cautions about what was found.
    pub warnings: Vec<Warning>,
}

/// What the transactions of a run put into the log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogRecords {
    /// Means per transaction and sums by type of record.
    pub metrics: Vec<Metric>,
    /// Why there are none although there should be.
    pub warning: Option<Warning>,
}

/// Facts about the engine for the record: version, build id, compile options.
pub type EngineFacts = serde_json::Value;
