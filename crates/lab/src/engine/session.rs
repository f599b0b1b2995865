//! One client's connection. The measured loop is compiled for each engine's session; only what starts a worker thread
//! is called through a table.

use std::fmt::Debug;
use std::io;
use std::time::Duration;

use crate::client::{Dispatch, Seat, WorkerContext, run_worker};

/// How the clients of one run connect; cheap to clone into every worker thread.
pub trait Connector: Clone + Debug + Send + Sync + 'static {
    /// What a client has when it is connected.
    type Session: Session + Send + 'static;

    /// Does the engine count by session, so that clients have to hand in before their counters are read?
    fn hands_in(&self) -> bool {
        false
    }

    /// Opens the connection of client `client_index` and prepares its statements.
    fn connect(&self, client_index: u32) -> impl Future<Output = Result<Self::Session, SessionError>> + Send;
}

/// A client's connection with its prepared statements.
pub trait Session: Debug {
    /// Does one transaction of `rows` rows (for `SelectOne`: `rows` statements) and returns when the
    /// engine acknowledged the commit. After an error the connection is outside any transaction, or broken.
    fn transaction(&mut self, rows: u64) -> impl Future<Output = Result<(), SessionError>>;

    /// Has the engine do this client's whole share in one call.
    fn server_loop(&mut self, share: ServerShare) -> impl Future<Output = Result<ServerLoop, SessionError>>;

    /// Takes its seat at the worker that will poll it: from here on only `transaction`, `server_loop`, `hand_in`,
    /// `farewell` and `await_end` are called, from the worker's own loop.
    fn settle(&mut self, _seat: Seat<'_>) -> Result<(), SessionError> {
        Ok(())
    }

    /// Has the engine count all that this client did until now, where it counts by session.
    fn hand_in(&mut self) -> impl Future<Output = ()> {
        std::future::ready(())
    }

    /// Says good-bye to the engine without waiting for it; errors no longer matter.
    fn farewell(&mut self) {}

    /// Waits, bounded, until the engine has let go of the connection.
    fn await_end(self)
    where
        Self: Sized,
    {
    }
}

/// A connector of any engine, as the control side hands it to the clients' threads.
pub trait DynConnector: Debug + Send + Sync {
    /// Does the engine count by session?
    fn hands_in(&self) -> bool;

    /// Runs the clients `mine` on this thread from their connection to their end, as the orders say.
    fn run_worker(&self, context: &WorkerContext, mine: &[u32]) -> io::Result<Dispatch>;
}

impl<C: Connector> DynConnector for C {
    fn hands_in(&self) -> bool {
        Connector::hands_in(self)
    }

    fn run_worker(&self, context: &WorkerContext, mine: &[u32]) -> io::Result<Dispatch> {
        run_worker(self, context, mine)
    }
}

/// One client's share of a loop on the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerShare {
    /// Rows to insert; `None` when bounded by time.
    pub rows: Option<u64>,
    /// Time after which no further transaction begins; `None` when bounded by rows.
    pub time: Option<Duration>,
    /// Rows per transaction; the last one is cut to size.
    pub batch_size: u64,
}

/// What the engine did in a loop on its side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerLoop {
    /// Rows inserted and committed.
    pub rows: u64,
    /// Transactions committed.
    pub transactions: u64,
}

/// Why a client's statement did not succeed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// The engine rolled back and asks to try the whole transaction again.
    #[error("{0}")]
    Retry(String),
    /// This client cannot go on.
    #[error("{0}")]
    Fatal(String),
}
