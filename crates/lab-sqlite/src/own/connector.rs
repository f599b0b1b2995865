//! How the clients of a plan connect.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::time::Duration;

use lab::client::Registration;
use lab::engine::{Connector, ServerLoop, ServerShare, Session, SessionError};
use lab::own::{Plan, Runner};
use rusqlite::Connection;

use super::connection::OwnConnection;
use super::guard::confine;
use super::turn::Turn;
use crate::session::{Opened, SqliteConnector, session_error};

/// Instructions of SQLite's virtual machine between two questions whether the run was stopped: some 0.1 ms.
const INSTRUCTIONS_PER_QUESTION: i32 = 10_000;

/// How clients open the database of a run to execute the scripts of a plan.
#[derive(Clone, Debug)]
pub(crate) struct OwnConnector {
    base: SqliteConnector,
    plan: Arc<Plan>,
}

impl OwnConnector {
    /// Clients of `plan` on the database of `base`.
    pub(crate) fn new(base: SqliteConnector, plan: Arc<Plan>) -> Self {
        Self { base, plan }
    }
}

impl Connector for OwnConnector {
    type Session = OwnSession;

    async fn connect(
        &self,
        client_index: u32,
        registration: Registration<'_>,
    ) -> Result<OwnSession, SessionError> {
        let Opened { mut connection, busy, is_interrupted } = self.base.connection(self.plan.part())?;
        let refusal = confine(&mut connection).map_err(session_error)?;
        if !registration.is_alone() {
            // The thread is not to sleep in SQLite: see `turn`.
            connection.busy_timeout(Duration::ZERO).map_err(session_error)?;
        }
        end_when(is_interrupted, &mut connection).map_err(session_error)?;
        let runner = Runner::new(Arc::clone(&self.plan), client_index, registration)?;
        let connection = OwnConnection::new(connection, refusal, &self.plan, busy);
        Ok(OwnSession { connection, runner })
    }
}

/// Ends a statement once the run is stopped: `sqlite3_interrupt` alone is lost on one that has not begun.
fn end_when(is_interrupted: Arc<AtomicBool>, connection: &mut Connection) -> rusqlite::Result<()> {
    let is_over = move || is_interrupted.load(Ordering::Relaxed);
    connection.progress_handler(INSTRUCTIONS_PER_QUESTION, Some(is_over))
}

/// A client and its connection.
#[derive(Debug)]
pub(crate) struct OwnSession {
    connection: OwnConnection,
    runner: Runner,
}

impl Session for OwnSession {
    #[inline]
    async fn transaction(&mut self, _rows: u64, registration: Registration<'_>) -> Result<(), SessionError> {
        let mut turn = Turn { connection: &mut self.connection, registration };
        self.runner.transaction(&mut turn, registration).await
    }

    async fn server_loop(&mut self, _: ServerShare) -> Result<ServerLoop, SessionError> {
        Err(SessionError::Fatal("scripts are executed by fathom: there is no loop on the server".to_owned()))
    }
}
