//! What was seen while a run went on: waits, waiting tasks, series, and what seeing them cost.

mod limit;
mod meaning;

use crate::scripts::transactions::LoggedTransaction;
use serde::{Deserialize, Serialize};

pub use limit::Limit;
pub use meaning::{EngineWaits, WaitClass, WaitEntry, WaitMeaning};

/// Everything that samplers and instrumented engines saw during one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Observations {
    /// One profile per group of sessions; the clients first. Empty when nothing was sampled.
    pub waits: Vec<WaitProfile>,
    /// Samples of who waited for what, in the order of their time.
    pub tasks: Vec<WaitingTask>,
    /// Counters and gauges over time, all on the run's clock.
    pub series: Vec<Series>,
    /// What looked, how often, and at which cost.
    pub samplers: Vec<SamplerRecord>,
    /// Each transaction, where a workload of the user's own logs them. Stored apart, and not read back with the run.
    #[serde(skip)]
    pub transactions: Vec<LoggedTransaction>,
}

impl Observations {
    /// Adds what another sampler saw.
    pub fn merge(&mut self, other: Self) {
        self.waits.extend(other.waits);
        self.tasks.extend(other.tasks);
        self.series.extend(other.series);
        self.samplers.extend(other.samplers);
        self.transactions.extend(other.transactions);
        self.tasks.sort_by_key(|task| task.at_ns);
    }
}

/// How seconds of waiting were had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "how")]
pub enum How {
    /// Samples times period: an estimate.
    Sampled {
        /// Time between two looks, in nanoseconds.
        period_ns: u64,
    },
    /// Measured around every wait.
    Exact,
}

/// Where the time of one group of sessions went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitProfile {
    /// `clients`, or the name of a background process such as `checkpointer`.
    pub group: String,
    /// Sessions in the group.
    pub session_count: u32,
    /// Their time in the measured part, added, in seconds: the whole that waits are a share of.
    pub session_s: f64,
    /// Of it, time on a processor, in seconds.
    pub on_cpu_s: Option<f64>,
    /// Of it, time ready to run but without a processor, exact from the scheduler, in seconds.
    pub run_delay_s: Option<f64>,
    /// Waits by type, unsorted; idle ones too, marked.
    pub rows: Vec<WaitRow>,
}

/// Waiting of one type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitRow {
    /// Class as the engine has it, e.g. `LWLock`, `IO`; `vfs` for SQLite.
    pub class: String,
    /// Name as the newest version of the engine has it, e.g. `WalSync`.
    pub name: String,
    /// Is it a class in which a session has nothing to do? Left out of the table, by class.
    pub is_idle: bool,
    /// Seconds of waiting.
    pub wait_s: f64,
    /// Of it, until the resource was there; `None` where it cannot be split.
    pub resource_s: Option<f64>,
    /// Of it, from then until a processor was there; `None` where it cannot be split.
    pub signal_s: Option<f64>,
    /// Number of waits; `None` unless it was counted exactly.
    pub count: Option<u64>,
    /// How the seconds were had.
    pub how: How,
}

/// One session that waited at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitingTask {
    /// Nanoseconds since the release of the barrier.
    pub at_ns: i64,
    /// Session as the engine calls it (process id).
    pub session: String,
    /// Wait type, `class:name`.
    pub wait: String,
    /// What it waited for, e.g. `extend fathom_rows`, `transactionid 731`, `fathom_rows_pkey page 5811`; may be empty.
    pub resource: String,
    /// Class of the page, where the resource is a page and the class is known.
    pub page_class: Option<String>,
    /// How long it had waited by then, in seconds, where the engine says so.
    pub waited_s: Option<f64>,
    /// Sessions that it waited for, where known.
    pub blocked_by: Vec<String>,
}

/// Counter or gauge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeriesKind {
    /// Each value is the amount since the sample before, per second.
    Rate,
    /// Each value is a state.
    Gauge,
}

/// One quantity over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Name from docs/lab/metrics.md, unit last, e.g. `log_bytes_per_s`.
    pub name: String,
    /// Unit.
    pub unit: String,
    /// Where it was had.
    pub source: String,
    /// Counter or gauge.
    pub kind: SeriesKind,
    /// Times in nanoseconds since the release of the barrier, ascending.
    pub at_ns: Vec<i64>,
    /// One value per time; `None` where a sample is missing.
    pub values: Vec<Option<f64>>,
}

/// What a sampler did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SamplerRecord {
    /// Name, e.g. `postgres_waits_memory`.
    pub name: String,
    /// Asked time between two looks, in nanoseconds.
    pub period_ns: u64,
    /// Looks that the measured part should have had.
    pub samples_expected: u64,
    /// Looks that there were.
    pub samples_taken: u64,
    /// Processor time of the sampler itself, in seconds.
    pub cpu_s: f64,
    /// Why it could not look, or saw less than it should; `None` when all is well.
    pub problem: Option<String>,
}
