//! One client's connection, whatever the engine: an enum, so that the hot loop has no dynamic dispatch.

use std::time::Duration;

use super::{noop, postgres, sqlite};
use crate::client::Seat;
use crate::task::{TaskConnector, TaskSession};

/// How the clients of one run connect; cheap to clone into every worker thread.
#[derive(Clone, Debug)]
pub enum Connector {
    /// No engine at all.
    Noop(noop::NoopConnector),
    /// Embedded SQLite.
    Sqlite(sqlite::SqliteConnector),
    /// PostgreSQL and what speaks its protocol.
    Postgres(postgres::PostgresConnector),
    /// No statements: something done to files or servers as a whole.
    Task(TaskConnector),
}

impl Connector {
    /// Does the engine count by session, so that clients have to hand in before their counters are read?
    pub fn hands_in(&self) -> bool {
        matches!(self, Self::Postgres(connector) if connector.hands_in())
    }

    /// Opens the connection of client `client_index` and prepares its statements.
    pub async fn connect(&self, client_index: u32) -> Result<Session, SessionError> {
        match self {
            Self::Noop(connector) => Ok(Session::Noop(connector.connect())),
            Self::Sqlite(connector) => Ok(Session::Sqlite(connector.connect(client_index)?)),
            Self::Postgres(connector) => Ok(Session::Postgres(connector.connect(client_index).await?)),
            Self::Task(connector) => Ok(Session::Task(TaskSession::new(connector))),
        }
    }
}

/// A client's connection with its prepared statements.
#[derive(Debug)]
pub enum Session {
    /// No engine at all.
    Noop(noop::NoopSession),
    /// Embedded SQLite.
    Sqlite(sqlite::SqliteSession),
    /// PostgreSQL and what speaks its protocol.
    Postgres(postgres::PostgresSession),
    /// No statements: something done to files or servers as a whole.
    Task(TaskSession),
}

impl Session {
    /// Does one transaction of `rows` rows (for `SelectOne`: `rows` statements) and returns when the
    /// engine acknowledged the commit. After an error the connection is outside any transaction, or broken.
    #[inline]
    pub async fn transaction(&mut self, rows: u64) -> Result<(), SessionError> {
        match self {
            Self::Noop(session) => session.transaction(rows),
            Self::Sqlite(session) => session.transaction(rows),
            Self::Postgres(session) => session.transaction(rows).await,
            Self::Task(session) => session.transaction(rows),
        }
    }

    /// Has the engine do this client's whole share in one call.
    pub async fn server_loop(&mut self, share: ServerShare) -> Result<ServerLoop, SessionError> {
        match self {
            Self::Noop(session) => session.server_loop(share),
            Self::Sqlite(session) => session.server_loop(share),
            Self::Postgres(session) => session.server_loop(share).await,
            Self::Task(session) => session.server_loop(),
        }
    }

    /// Takes its seat at the worker that will poll it: from here on only `transaction`, `server_loop`, `hand_in`,
    /// `farewell` and `await_end` are called, from the worker's own loop.
    pub fn settle(&mut self, seat: Seat<'_>) -> Result<(), SessionError> {
        match self {
            Self::Noop(_) | Self::Sqlite(_) | Self::Task(_) => Ok(()),
            Self::Postgres(session) => session.settle(seat),
        }
    }

    /// Has the engine count all that this client did until now, where it counts by session.
    pub async fn hand_in(&mut self) {
        if let Self::Postgres(session) = self {
            session.hand_in().await;
        }
    }

    /// Says good-bye to the engine without waiting for it; errors no longer matter.
    pub fn farewell(&mut self) {
        if let Self::Postgres(session) = self {
            session.farewell();
        }
    }

    /// Waits, bounded, until the engine has let go of the connection.
    pub fn await_end(self) {
        if let Self::Postgres(session) = self {
            session.await_end();
        }
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
