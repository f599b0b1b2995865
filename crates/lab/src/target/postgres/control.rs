//! The control side's own connection: blocking, one statement at a time, rows as text.

use tokio::runtime::Runtime;

use super::super::TargetError;
use super::wire::{Connection, Login, Rows, WireError};

/// A connection with the runtime that drives it. Must not be used from inside another runtime.
#[derive(Debug)]
pub(super) struct Control {
    runtime: Runtime,
    connection: Connection,
}

impl Control {
    /// Connects.
    pub(super) fn connect(login: &Login) -> Result<Self, WireError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(WireError::Io)?;
        let connection = runtime.block_on(Connection::open(login))?;
        Ok(Self { runtime, connection })
    }

    /// Is the connection still there, as far as the last statement told?
    pub(super) fn is_usable(&self) -> bool {
        !self.connection.is_broken()
    }

    /// Version and suite of TLS; `None` on a connection without.
    pub(super) fn encryption(&self) -> Option<String> {
        self.connection.encryption()
    }

    /// Runs a statement (or several, separated by semicolons) and returns the rows of all of them.
    pub(super) fn query(&mut self, sql: &str) -> Result<Rows, WireError> {
        self.runtime.block_on(self.connection.query(sql)).map(|(rows, _)| rows)
    }

    /// Runs a statement whose error stops what is being done: `context` says what that was.
    pub(super) fn rows(&mut self, context: &str, sql: &str) -> Result<Rows, TargetError> {
        self.query(sql).map_err(|error| TargetError::engine(context, error))
    }

    /// The first value of the first row; `None` when there is no row or the value is NULL.
    pub(super) fn value(&mut self, context: &str, sql: &str) -> Result<Option<String>, TargetError> {
        Ok(first_value(self.rows(context, sql)?))
    }

    /// The first value as a number; an answer that is none is an error.
    pub(super) fn number<T: std::str::FromStr>(
        &mut self,
        context: &str,
        sql: &str,
    ) -> Result<T, TargetError> {
        let value = self.value(context, sql)?;
        value
            .as_deref()
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| TargetError::engine(context, format!("the answer {value:?} is not a number")))
    }

    /// The first value, when the server is able to answer at all: how capabilities are found out.
    pub(super) fn probe(&mut self, sql: &str) -> Option<String> {
        self.query(sql).ok().and_then(first_value)
    }

    /// Says good-bye.
    pub(super) fn close(self) {
        let Self { runtime, connection } = self;
        runtime.block_on(connection.close());
    }
}

fn first_value(rows: Rows) -> Option<String> {
    rows.into_iter().next()?.into_iter().next()?
}

/// A text as an SQL literal. Holds with `standard_conforming_strings`, which is on unless somebody turned it off.
pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A name as an SQL identifier.
pub(super) fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
