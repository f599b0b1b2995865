//! A connector of any engine: what starts a worker thread is called through a table, the measured loop is compiled for
//! each engine's session.

use std::fmt::Debug;
use std::io;

use super::worker::{Dispatch, WorkerContext, run_worker};
use crate::engine::Connector;

/// A connector of any engine, as the control side gives it to the clients' threads.
pub trait DynConnector: Debug + Send + Sync {
    /// Does the engine count by session?
    fn counts_by_session(&self) -> bool;

    /// Runs the clients `mine` on this thread from their connection to their end, phase by phase.
    ///
    /// # Errors
    /// The thread's event loop cannot be made or cannot wait.
    fn run_worker(&self, context: &WorkerContext, mine: &[u32]) -> io::Result<Dispatch>;
}

impl<C: Connector> DynConnector for C {
    fn counts_by_session(&self) -> bool {
        Connector::counts_by_session(self)
    }

    fn run_worker(&self, context: &WorkerContext, mine: &[u32]) -> io::Result<Dispatch> {
        run_worker(self, context, mine)
    }
}
