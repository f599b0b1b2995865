//! Engines under test: what the laboratory asks of one, and the engines that answer.
//!
//! A target is driven from one control thread (`Target`, blocking) and from many clients
//! (`Session`, asynchronous, one per connection, pinned to one single-threaded runtime per worker
//! thread). A managed target is made and removed by fathom; an external one is a URL.

use std::path::PathBuf;

use results::model::{Metric, Setting, Warning};
use results::structure::StructureReport;

use crate::cache::CacheLook;
use crate::observe::Sampler;
use crate::task::Place;
use crate::work::Work;

pub(crate) mod look_up;
pub mod noop;
pub mod postgres;
pub mod premises;
mod session;
pub mod sqlite;
mod task;

pub use look_up::Answer;
pub use session::{Connector, ServerLoop, ServerShare, Session, SessionError};
pub use task::TaskTarget;

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
pub struct Aftermath {
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

/// Why a target could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// Nothing to do about it in this run; the text names object, value and reason.
    #[error("{text}{}", hint.as_ref().map(|hint| format!("\nhint: {hint}")).unwrap_or_default())]
    Refused {
        /// Object, value, reason.
        text: String,
        /// One thing to do.
        hint: Option<String>,
    },
    /// The engine went away or answered with an error.
    #[error("{context}: {reason}")]
    Engine {
        /// What was being done to which object.
        context: String,
        /// What the engine said.
        reason: String,
    },
    /// A file or process could not be handled.
    #[error("could not {action} \"{}\": {source}", path.display())]
    Io {
        /// Verb phrase, e.g. `create directory`.
        action: &'static str,
        /// The object.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
}

impl TargetError {
    /// An error with a hint.
    pub fn refused(text: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Refused { text: text.into(), hint: Some(hint.into()) }
    }

    /// An error of the engine.
    pub fn engine(context: impl Into<String>, reason: impl std::fmt::Display) -> Self {
        Self::Engine { context: context.into(), reason: reason.to_string() }
    }
}

/// The control side of an engine under test. One thread calls it, in this order for each run:
/// `prepare`, (clients connect, warm up), `clients_seen`, `counters`, (barrier, clients run and close),
/// `counters`, `aftermath`, `settings`, `clean`. All calls block.
pub trait Target {
    /// Kind of engine: `noop`, `sqlite`, `postgres`.
    fn kind(&self) -> &'static str;

    /// What the engine cannot do or does differently for this work. Costs nothing.
    fn limitations(&self, work: &Work) -> Vec<Limitation>;

    /// Makes empty objects for one run and brings the engine into the same state before each run
    /// (restarted where it is managed, with the work's settings and durability).
    fn prepare(&mut self, work: &Work) -> Result<(), TargetError>;

    /// How the clients of this run connect. Valid from `prepare` to `clean`.
    fn connector(&self) -> Connector;

    /// Brings the caches into the state that the work asks for and looks at them. Called once, after the clients
    /// connected; what the engine itself keeps was emptied by `prepare`. `None` where the work reads nothing.
    fn set_cache(&mut self, _work: &Work) -> Result<Option<CacheLook>, TargetError> {
        Ok(None)
    }

    /// Where the engine's files are, complete on disk as far as it can be without stopping it; `None` where they are
    /// not on this machine or not ours. Valid from `prepare` to `clean`.
    fn place(&mut self, _work: &Work) -> Result<Option<Place>, TargetError> {
        Ok(None)
    }

    /// Stops the engine until the next `prepare`, in order, so that its files stand still.
    fn rest(&mut self) -> Result<(), TargetError> {
        Ok(())
    }

    /// Structures of tables and indexes that were measured in or after the last run; empty afterwards.
    fn take_structures(&mut self) -> Vec<StructureReport> {
        Vec::new()
    }

    /// Worker threads that suit `connections` clients on this engine.
    fn jobs(&self, work: &Work) -> u32;

    /// Clients of this run that the engine itself sees connected; `None` where it cannot tell.
    fn clients_seen(&mut self) -> Result<Option<u32>, TargetError>;

    /// Ends loops that run inside the engine, because the run no longer counts or the user asked to stop.
    /// Clients in such a loop then end with an error. Does nothing where no loop runs in the engine.
    fn interrupt(&mut self) -> Result<(), TargetError> {
        Ok(())
    }

    /// Cumulative counters now.
    fn counters(&mut self) -> Result<Counters, TargetError>;

    /// Cumulative counters of the clients of this run alone, complete after each of them was told to hand in; `None`
    /// where the engine does not count by session. Asked for while the clients are connected.
    fn client_counters(&mut self) -> Result<Option<Counters>, TargetError> {
        Ok(None)
    }

    /// Samplers that look at this engine during the next measured part, e.g. at its waits. Asked for after the
    /// clients connected and before the barrier.
    fn samplers(&mut self, _work: &Work) -> Vec<Box<dyn Sampler>> {
        Vec::new()
    }

    /// Rows, pages and sizes after the clients finished. May read the table once.
    fn aftermath(&mut self, work: &Work) -> Result<Aftermath, TargetError>;

    /// What the transactions of a run put into the log, between two readings of the counters in which so many were
    /// acknowledged; empty where there is nothing to tell. Asked for after `aftermath`. May read the run's log once.
    fn log_records(
        &mut self,
        _work: &Work,
        _before: &Counters,
        _after: &Counters,
        _transactions: u64,
    ) -> LogRecords {
        LogRecords::default()
    }

    /// Non-default settings, as in force now.
    fn settings(&mut self) -> Result<Vec<Setting>, TargetError>;

    /// Version, build id, compile options.
    fn facts(&mut self) -> Result<EngineFacts, TargetError>;

    /// Directories by role, for the record and for the device counters: (`data 1`, path), (`log`, path).
    /// Empty for an engine on another machine.
    fn directories(&self) -> Vec<(String, PathBuf)>;

    /// Cautions about this target's numbers that hold for every run.
    fn warnings(&self) -> Vec<Warning>;

    /// Process id whose CPU and I/O are the engine's (the postmaster); `None` when embedded or remote.
    fn server_process_id(&self) -> Option<u32>;

    /// Removes the run's objects. Called after failures too.
    fn clean(&mut self) -> Result<(), TargetError>;

    /// Where that which `stop` keeps is, how to open it and how to remove it, as lines for people; asked for before `stop`.
    fn kept(&self) -> Vec<String> {
        Vec::new()
    }

    /// Stops a managed engine and removes it unless `keep`; drops the marked database of an external one.
    fn stop(&mut self, keep: bool) -> Result<(), TargetError>;
}
