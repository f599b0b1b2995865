//! A target without an engine: what remains is the price of the harness itself.

use super::{ServerLoop, ServerShare, SessionError};

/// Connects to nothing.
#[derive(Clone, Copy, Debug)]
pub struct NoopConnector;

impl NoopConnector {
    /// Makes a session at once.
    pub fn connect(self) -> NoopSession {
        NoopSession
    }
}

/// Acknowledges everything at once.
#[derive(Clone, Copy, Debug)]
pub struct NoopSession;

impl NoopSession {
    /// Does nothing.
    #[inline]
    pub fn transaction(&mut self, _rows: u64) -> Result<(), SessionError> {
        Ok(())
    }

    /// Counts the transactions that the share would take.
    pub fn server_loop(&mut self, share: ServerShare) -> Result<ServerLoop, SessionError> {
        let rows = share.rows.unwrap_or(0);
        Ok(ServerLoop { rows, transactions: rows.div_ceil(share.batch_size.max(1)) })
    }
}
