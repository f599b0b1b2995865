//! One client's connection. The measured loop is compiled for each engine's session.

use std::fmt::Debug;
use std::time::Duration;

use crate::client::Registration;

/// How the clients of one run connect; cheap to clone into every worker thread.
pub trait Connector: Clone + Debug + Send + Sync + 'static {
    /// What a client has when it is connected.
    type Session: Session + 'static;

    /// Does the engine count by session, so that clients have to flush their statistics before counters are read?
    fn counts_by_session(&self) -> bool {
        false
    }

    /// Opens the connection of client `client_index` and prepares its statements. From then on the session waits in the
    /// event loop of `registration`, or simply blocks where it is alone there.
    fn connect(
        &self,
        client_index: u32,
        registration: Registration<'_>,
    ) -> impl Future<Output = Result<Self::Session, SessionError>>;
}

/// A client's connection with its prepared statements.
pub trait Session: Debug {
    /// Does one transaction of `rows` rows (for `SelectOne`: `rows` statements; of a workload of the user's own: one
    /// script) and returns when the engine acknowledged the commit. After an error the connection is outside any
    /// transaction, or broken. `registration` is the client's place in its event loop.
    fn transaction(
        &mut self,
        rows: u64,
        registration: Registration<'_>,
    ) -> impl Future<Output = Result<(), SessionError>>;

    /// Has the engine do this client's whole share in one call.
    fn server_loop(&mut self, share: ServerShare) -> impl Future<Output = Result<ServerLoop, SessionError>>;

    /// Has the engine count all that this client did until now, where it counts by session.
    fn flush_stats(&mut self) -> impl Future<Output = ()> {
        std::future::ready(())
    }

    /// Asks the engine to close the connection without waiting for it; errors no longer matter.
    fn close(&mut self) {}

    /// Waits, bounded, until the engine has let go of the connection.
    fn await_end(self)
    where
        Self: Sized,
    {
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
    /// The transaction failed in the end and is counted as failed; the client goes on with the next one.
    #[error("{0}")]
    Failed(String),
    /// This client cannot go on.
    #[error("{0}")]
    Fatal(String),
}
