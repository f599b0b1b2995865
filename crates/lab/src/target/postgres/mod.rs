//! PostgreSQL, managed or external, and the servers that speak its protocol.

use super::{ServerLoop, ServerShare, SessionError};

/// How clients connect.
#[derive(Clone, Debug)]
pub struct PostgresConnector;

impl PostgresConnector {
    /// Opens a connection.
    pub async fn connect(&self, _client_index: u32) -> Result<PostgresSession, SessionError> {
        Err(SessionError::Fatal("could not connect: the target is not prepared".to_owned()))
    }
}

/// One connection.
#[derive(Debug)]
pub struct PostgresSession;

impl PostgresSession {
    /// One transaction.
    pub async fn transaction(&mut self, _rows: u64) -> Result<(), SessionError> {
        Ok(())
    }

    /// A whole share.
    pub async fn server_loop(&mut self, _share: ServerShare) -> Result<ServerLoop, SessionError> {
        Ok(ServerLoop { rows: 0, transactions: 0 })
    }

    /// Says good-bye.
    pub async fn close(self) {}
}
