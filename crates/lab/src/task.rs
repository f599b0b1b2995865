//! Work that is no statement: something done to the files of an engine, or to a server, as a whole.
//!
//! The laboratory knows when and on what, and measures around it; what is done comes from outside. So the checker can
//! be an experiment's subject although neither crate knows the other.

use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use results::EngineId;
use results::model::Metric;
use results::structure::StructureReport;

use crate::client::Registration;
use crate::engine::{Connector, ServerLoop, ServerShare, Session, SessionError};
use crate::work::Work;

/// What is done in one run.
pub trait Task: Debug + Send + Sync {
    /// Does it once, on the calling thread, and returns what it counted.
    ///
    /// # Errors
    /// In words; the run then does not count.
    fn perform(&self, order: &TaskOrder) -> Result<TaskOutcome, String>;

    /// Looks at what a run of statements left in its files, after it; nothing where there is nothing to see.
    ///
    /// # Errors
    /// In words, which become a caution of the run.
    fn inspect(&self, order: &TaskOrder) -> Result<TaskOutcome, String>;
}

/// On what, and how.
#[derive(Clone, Debug)]
pub struct TaskOrder {
    /// The work of the run.
    pub work: Work,
    /// Where its files are.
    pub place: EngineLocation,
}

/// Where the files of an engine are, and how its server is reached.
#[derive(Clone, Debug)]
pub struct EngineLocation {
    /// The engine.
    pub engine: EngineId,
    /// Database file or data directory.
    pub path: PathBuf,
    /// All files that are read, for the page cache.
    pub files: Vec<PathBuf>,
    /// Directory of fathom's own in which files may be made; what is there is removed with it.
    pub scratch: PathBuf,
    /// The server, where it runs.
    pub server: Option<ServerAddress>,
}

impl EngineLocation {
    /// An engine without files.
    pub fn of(engine: EngineId) -> Self {
        let (path, scratch) = (PathBuf::new(), PathBuf::new());
        Self { engine, path, files: Vec::new(), scratch, server: None }
    }
}

/// A server of our own.
#[derive(Clone, Debug)]
pub struct ServerAddress {
    /// Its address as a user would give it.
    pub url: String,
    /// Binaries.
    pub bin_dir: PathBuf,
    /// Directory of its socket.
    pub socket_directory: PathBuf,
    /// Number in the name of the socket.
    pub port: u16,
    /// Name of the role.
    pub user: String,
}

/// What a task counted.
#[derive(Clone, Debug, Default)]
pub struct TaskOutcome {
    /// Numbers for the record of the run.
    pub metrics: Vec<Metric>,
    /// Structure of tables and indexes, stored beside the run.
    pub structures: Vec<StructureReport>,
}

/// How the one client of a task "connects".
#[derive(Clone, Debug)]
pub struct TaskConnector {
    pub(crate) task: Arc<dyn Task>,
    pub(crate) order: Arc<TaskOrder>,
    pub(crate) seen: Arc<Mutex<TaskOutcome>>,
}

impl TaskConnector {
    pub(crate) fn new(task: Arc<dyn Task>, order: TaskOrder) -> Self {
        Self { task, order: Arc::new(order), seen: Arc::default() }
    }

    /// What was counted until now; empty afterwards.
    pub(crate) fn take_seen(&self) -> TaskOutcome {
        std::mem::take(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Connector for TaskConnector {
    type Session = TaskSession;

    async fn connect(&self, _: u32, _: Registration<'_>) -> Result<TaskSession, SessionError> {
        Ok(TaskSession(self.clone()))
    }
}

/// The client of a task.
#[derive(Debug)]
pub struct TaskSession(TaskConnector);

impl Session for TaskSession {
    /// Does the task `count` times; the figures of the last one stay.
    async fn transaction(&mut self, count: u64, _: Registration<'_>) -> Result<(), SessionError> {
        for _ in 0..count {
            let read_bytes = || disk::counters::process_io(std::process::id()).ok().map(|io| io.read_bytes);
            let before = read_bytes();
            let mut outcome = self.0.task.perform(&self.0.order).map_err(SessionError::Fatal)?;
            if let Some((after, before)) = read_bytes().zip(before) {
                outcome.metrics.push(Metric::new(
                    "storage_read_bytes",
                    after.saturating_sub(before) as f64,
                    "bytes",
                    "read_bytes of /proc/self/io",
                ));
            }
            *self.0.seen.lock().unwrap_or_else(PoisonError::into_inner) = outcome;
        }
        Ok(())
    }

    /// A task has no loop on a server: specs refuse it.
    async fn server_loop(&mut self, _share: ServerShare) -> Result<ServerLoop, SessionError> {
        Err(SessionError::Fatal("a task has no loop on a server".to_owned()))
    }
}
