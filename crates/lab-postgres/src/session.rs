//! A client's connection: the loop that is measured.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use lab::client::Registration;
use lab::engine::{Connector, ServerLoop, ServerShare, Session, SessionError};
use lab::work::Workload;
use postgres_protocol::IsNull;
use postgres_protocol::message::frontend;
use stats::random::{Random, derive_seed};

use super::wire::{Addresses, Connection, Login, TransactionState, WireError};
use crate::counters::clients;
use crate::workload::look_up::LookUp;
use crate::workload::schema::{self, RowStatement};

/// Name of the prepared statement.
const STATEMENT: &str = "row";

/// Object identifier of the type `uuid`.
// EVIDENCE: PostgreSQL src/include/catalog/pg_type.dat
const UUID_OID: u32 = 2950;

/// Distinguishes the stream of keys from other streams drawn from a run's seed ("key").
const KEY_STREAM: u64 = 0x006b_6579;

/// Time for a server to end the backend of a closed connection.
const CLOSE_TIME_MAX: Duration = Duration::from_secs(5);

/// How the clients of one run connect. Shared, cheap to clone.
#[derive(Clone, Debug)]
pub struct PostgresConnector(Arc<Connecting>);

/// What a client needs to know.
#[derive(Debug)]
pub(super) struct Connecting {
    pub(super) login: Login,
    /// Statements each client runs first, e.g. `SET synchronous_commit = off`.
    pub(super) first_statements: Vec<String>,
    pub(super) row: RowStatement,
    pub(super) workload: Workload,
    pub(super) seed: u64,
    /// What each client asks, where the workload looks up rows.
    pub(super) look_up: Option<LookUp>,
    /// Does the server count by session?
    pub(super) counts_by_session: bool,
    /// The addresses of the server's host.
    pub(super) addresses: Addresses,
}

impl PostgresConnector {
    pub(super) fn new(connecting: Connecting) -> Self {
        Self(Arc::new(connecting))
    }

    /// Name of this run's clients in the server's list of sessions.
    pub(super) fn application_name(&self) -> &str {
        &self.0.login.application_name
    }

    /// What its clients need to know.
    pub(super) fn connecting(&self) -> &Connecting {
        &self.0
    }

    /// Opens the connection of a client and prepares its statement.
    async fn open(
        &self,
        client_index: u32,
        registration: Registration<'_>,
    ) -> Result<PostgresSession, SessionError> {
        let connecting = &*self.0;
        let context = |error: WireError| not_connected(&connecting.login, &error);
        let (login, first_statements) = (&connecting.login, &connecting.first_statements);
        let mut connection =
            open_client(registration, login, &connecting.addresses, first_statements).await?;
        let (row_request, key_offset) =
            encode_row(connecting.row.takes_key).map_err(|error| context(WireError::Io(error)))?;
        let mut prepare = BytesMut::new();
        let types = connecting.row.takes_key.then_some(UUID_OID);
        frontend::parse(STATEMENT, &connecting.row.sql, types, &mut prepare)
            .map_err(|error| context(WireError::Io(error)))?;
        frontend::sync(&mut prepare);
        connection.exchange(&prepare).await.map_err(|error| {
            SessionError::Fatal(format!("could not prepare \"{}\": {error}", connecting.row.sql))
        })?;
        connection.enter_loop(registration).map_err(|error| context(WireError::Io(error)))?;
        Ok(PostgresSession {
            connection,
            row_request,
            key_offset,
            row_tag: connecting.row.tag.to_vec(),
            takes_all: connecting.row.takes_all,
            statements_only: connecting.workload == Workload::SelectOne,
            keys: Random::new(derive_seed(connecting.seed, &[KEY_STREAM, u64::from(client_index)])),
            begin: simple_query(schema::BEGIN),
            commit: simple_query(schema::COMMIT),
            look_up: connecting.look_up.clone(),
        })
    }
}

/// Opens the connection of a client and executes its first statements.
///
/// # Errors
/// The server is not reached, or refuses one of them.
pub(super) async fn open_client(
    registration: Registration<'_>,
    login: &Login,
    addresses: &Addresses,
    first_statements: &[String],
) -> Result<Connection, SessionError> {
    let context = |error: WireError| not_connected(login, &error);
    let mut connection = Connection::open_in(registration, login, addresses).await.map_err(context)?;
    for statement in first_statements {
        connection.query(statement).await.map_err(context)?;
    }
    Ok(connection)
}

/// Why a client has no connection.
pub(super) fn not_connected(login: &Login, error: &WireError) -> SessionError {
    SessionError::Fatal(format!("could not connect to {}: {error}", login.endpoint))
}

impl Connector for PostgresConnector {
    type Session = PostgresSession;

    fn counts_by_session(&self) -> bool {
        self.0.counts_by_session
    }

    async fn connect(
        &self,
        client_index: u32,
        registration: Registration<'_>,
    ) -> Result<PostgresSession, SessionError> {
        self.open(client_index, registration).await
    }
}

/// One client's connection with its prepared statement and the requests it sends, encoded once.
pub struct PostgresSession {
    connection: Connection,
    /// Bind, Execute and Sync for one row.
    row_request: Vec<u8>,
    /// Where the key stands in it.
    key_offset: Option<usize>,
    row_tag: Vec<u8>,
    /// Is one statement the whole transaction?
    takes_all: bool,
    statements_only: bool,
    keys: Random,
    begin: Vec<u8>,
    commit: Vec<u8>,
    look_up: Option<LookUp>,
}

impl fmt::Debug for PostgresSession {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PostgresSession")
            .field("connection", &self.connection)
            .finish_non_exhaustive()
    }
}

impl Session for PostgresSession {
    /// One transaction of `rows` rows. One row is a statement that commits by itself: one round trip. More are
    /// BEGIN, a statement for each row and COMMIT, a round trip each, as a client's loop does it. `SELECT 1` has no
    /// transaction around it.
    #[inline]
    async fn transaction(&mut self, rows: u64, _: Registration<'_>) -> Result<(), SessionError> {
        let outcome = if let Some(look_up) = &self.look_up {
            look_up.execute(&mut self.connection, rows).await
        } else if rows == 1 || self.takes_all {
            self.row().await
        } else {
            self.rows(rows).await
        };
        match outcome {
            Ok(()) => Ok(()),
            Err(error) => Err(self.recover(error).await),
        }
    }

    /// Has the server do a whole share in one call of the procedure.
    async fn server_loop(&mut self, share: ServerShare) -> Result<ServerLoop, SessionError> {
        let call = schema::call(share);
        let (answer, _) = match self.connection.query(&call).await {
            Ok(answer) => answer,
            Err(error) => return Err(self.recover(error).await),
        };
        let number = |column: usize| {
            answer.first().and_then(|row| row.get(column)?.as_deref()?.parse::<u64>().ok()).ok_or_else(|| {
                SessionError::Fatal(format!("the answer of \"{call}\" is not two numbers: {answer:?}"))
            })
        };
        Ok(ServerLoop { rows: number(0)?, transactions: number(1)? })
    }

    /// Has the backend flush its statistics; they are complete when this returns. What goes wrong shows as a value that
    /// is missing, or at the next statement.
    async fn flush_stats(&mut self) {
        let _ = self.connection.query(clients::FLUSH_STATS).await;
    }

    /// Asks the server to close the connection, without waiting.
    fn close(&mut self) {
        self.connection.close();
    }

    /// Waits (at most some seconds) until the backend is gone, its statistics handed in: counters read after this
    /// are complete.
    fn await_end(self) {
        self.connection.await_end(CLOSE_TIME_MAX);
    }
}

impl PostgresSession {
    /// Process id of the backend that serves this client.
    pub fn backend_process_id(&self) -> Option<i32> {
        self.connection.process_id()
    }

    async fn rows(&mut self, rows: u64) -> Result<(), WireError> {
        if self.statements_only {
            for _ in 0..rows {
                self.row().await?;
            }
            return Ok(());
        }
        self.connection.exchange(&self.begin).await?;
        for _ in 0..rows {
            self.row().await?;
        }
        let tag = self.connection.exchange(&self.commit).await?;
        // COMMIT of a transaction that failed is answered with ROLLBACK, not with an error.
        if tag.is(b"COMMIT") { Ok(()) } else { Err(unexpected("COMMIT", tag.as_bytes())) }
    }

    #[inline]
    async fn row(&mut self) -> Result<(), WireError> {
        if let Some(offset) = self.key_offset
            && let Some(key) = self.row_request.get_mut(offset..offset + 16)
        {
            key[..8].copy_from_slice(&self.keys.next_u64().to_be_bytes());
            key[8..].copy_from_slice(&self.keys.next_u64().to_be_bytes());
        }
        let tag = self.connection.exchange(&self.row_request).await?;
        if tag.is(&self.row_tag) { Ok(()) } else { Err(unexpected("a row", tag.as_bytes())) }
    }

    /// Leaves any open transaction and says what the error means for the client.
    async fn recover(&mut self, error: WireError) -> SessionError {
        if !self.connection.is_broken() && self.connection.state() != TransactionState::Idle {
            // When this does not work either, the connection is broken and the next statement says so.
            let _ = self.connection.query("ROLLBACK").await;
        }
        let text = error.to_string();
        match error.code() {
            // serialization_failure, deadlock_detected; CockroachDB asks for retries with the first.
            Some("40001" | "40P01") if !self.connection.is_broken() => SessionError::Retry(text),
            _ => SessionError::Fatal(text),
        }
    }
}

fn unexpected(what: &str, tag: &[u8]) -> WireError {
    WireError::Protocol(format!("{what} was acknowledged with \"{}\"", tag.escape_ascii()))
}

fn simple_query(sql: &str) -> Vec<u8> {
    let mut request = BytesMut::new();
    frontend::query(sql, &mut request).expect("our statements have no zero byte");
    request.to_vec()
}

/// Bind, Execute and Sync for one row, and where the key stands in it.
fn encode_row(takes_key: bool) -> std::io::Result<(Vec<u8>, Option<usize>)> {
    let mut request = BytesMut::new();
    let key = takes_key.then_some([0_u8; 16]);
    frontend::bind(
        "",
        STATEMENT,
        // Binary format, for the key and for the result.
        key.map(|_| 1),
        key,
        |key, buffer| {
            buffer.extend_from_slice(&key);
            Ok(IsNull::No)
        },
        Some(1),
        &mut request,
    )
    .map_err(|_| std::io::Error::other("a bind request does not fit"))?;
    // After the value stand the count of result formats and one format, two bytes each.
    let key_offset = key.map(|key| request.len() - 4 - key.len());
    frontend::execute("", 0, &mut request)?;
    frontend::sync(&mut request);
    Ok((request.to_vec(), key_offset))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_key_stands_where_the_request_says_that_sixteen_bytes_follow() {
        let (request, offset) = encode_row(true).unwrap();
        let offset = offset.unwrap();
        assert_eq!(request[offset - 4..offset], 16_i32.to_be_bytes());
        assert_eq!(request[offset..offset + 16], [0; 16]);
        assert_eq!(request[offset + 16..offset + 20], [0, 1, 0, 1]);
        assert_eq!(request[offset + 20], b'E');
    }
}
