//! A client that executes scripts.

use std::sync::Arc;
use std::time::Duration;

use lab::client::Registration;
use lab::engine::{Connector, ServerLoop, ServerShare, Session, SessionError};
use lab::own::{Plan, Runner};

use super::state::ScriptState;
use super::statements::ScriptConnection;
use crate::counters::clients;
use crate::session::{not_connected, open_client};
use crate::wire::{Addresses, Connection, Login, WireError};

/// Time for a server to end the backend of a closed connection.
const CLOSE_TIME_MAX: Duration = Duration::from_secs(5);

/// How the clients of a plan connect. Shared, cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct OwnConnector(Arc<OwnConnecting>);

/// What a client needs to know.
#[derive(Debug)]
pub(crate) struct OwnConnecting {
    /// Into the database of the run.
    pub(crate) login: Login,
    /// Statements each client runs first.
    pub(crate) first_statements: Vec<String>,
    /// What the clients execute.
    pub(crate) plan: Arc<Plan>,
    /// Does the server count by session?
    pub(crate) counts_by_session: bool,
    /// The addresses of the server's host.
    pub(crate) addresses: Addresses,
    /// For each script: how many commands the scripts before it have.
    pub(crate) first_commands: Arc<[usize]>,
}

impl OwnConnector {
    /// Shares what the clients need.
    pub(crate) fn new(connecting: OwnConnecting) -> Self {
        Self(Arc::new(connecting))
    }
}

impl OwnConnecting {
    /// For each script of a plan: how many commands the scripts before it have.
    pub(crate) fn first_commands(plan: &Plan) -> Arc<[usize]> {
        let mut before = 0;
        let mut first_commands = Vec::new();
        for script in plan.program().scripts() {
            first_commands.push(before);
            before += script.commands().len();
        }
        first_commands.into()
    }
}

impl Connector for OwnConnector {
    type Session = OwnSession;

    fn counts_by_session(&self) -> bool {
        self.0.counts_by_session
    }

    async fn connect(
        &self,
        client_index: u32,
        registration: Registration<'_>,
    ) -> Result<OwnSession, SessionError> {
        let connecting = &*self.0;
        let (login, first_statements) = (&connecting.login, &connecting.first_statements);
        let mut connection =
            open_client(registration, login, &connecting.addresses, first_statements).await?;
        connection.enter_loop(registration).map_err(|error| not_connected(login, &WireError::Io(error)))?;
        Ok(OwnSession {
            connection,
            state: ScriptState::new(Arc::clone(&connecting.plan), Arc::clone(&connecting.first_commands)),
            runner: Runner::new(Arc::clone(&connecting.plan), client_index, registration)?,
        })
    }
}

/// One client's connection with its way through the scripts.
#[derive(Debug)]
pub(crate) struct OwnSession {
    connection: Connection,
    state: ScriptState,
    runner: Runner,
}

impl Session for OwnSession {
    /// One script.
    #[inline]
    async fn transaction(&mut self, _: u64, registration: Registration<'_>) -> Result<(), SessionError> {
        let mut connection = ScriptConnection { connection: &mut self.connection, state: &mut self.state };
        self.runner.transaction(&mut connection, registration).await
    }

    async fn server_loop(&mut self, _: ServerShare) -> Result<ServerLoop, SessionError> {
        Err(SessionError::Fatal("scripts run in the client, not on the server".to_owned()))
    }

    async fn flush_stats(&mut self) {
        let _ = self.connection.query(clients::FLUSH_STATS).await;
    }

    fn close(&mut self) {
        self.connection.close();
    }

    fn await_end(self) {
        self.connection.await_end(CLOSE_TIME_MAX);
    }
}
