//! The control side's own connection: blocking, one statement at a time, rows as text.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use lab::engine::TargetError;

use super::wire::{Connection, Login, QUESTION_TIME_MAX, Rows, WireError, complete};

/// Time for a server to close its end of a connection.
const CLOSE_TIME_MAX: Duration = Duration::from_secs(5);

/// A connection that blocks its thread.
///
/// Questions have [`QUESTION_TIME_MAX`] to be answered; what works on tables ([`Control::work`]) takes as long as it
/// takes.
#[derive(Debug)]
pub(super) struct Control {
    connection: Connection,
    question_time_max: Duration,
    /// Why the connection was given up; later questions fail with the same reason.
    lost: Option<String>,
}

impl Control {
    /// Connects.
    pub(super) fn connect(login: &Login) -> Result<Self, WireError> {
        let connection = Connection::open(login)?;
        Ok(Self { connection, question_time_max: QUESTION_TIME_MAX, lost: None })
    }

    /// Bounds the memory for the rows of one answer: for connections on which servers are asked about themselves and
    /// nothing else.
    pub(super) fn limit_answers(&mut self, bytes_max: usize) {
        self.connection.limit_answers(bytes_max);
    }

    /// Is the connection still there, as far as the last statement told?
    pub(super) fn is_usable(&self) -> bool {
        !self.connection.is_broken()
    }

    /// Says why the connection is of no use, where questions were passed over that were not answered ([`Control::probe`]).
    pub(super) fn require_usable(&self, context: &str) -> Result<(), TargetError> {
        self.lost.as_ref().map_or(Ok(()), |reason| Err(TargetError::engine(context, reason)))
    }

    /// Version and suite of TLS; `None` on a connection without.
    pub(super) fn encryption(&self) -> Option<String> {
        self.connection.encryption()
    }

    /// Asks (with one statement, or several, separated by semicolons) and returns the rows of all of them.
    ///
    /// # Errors
    /// That the server refuses, is gone, breaks the protocol, or has not answered in time.
    pub(super) fn query(&mut self, sql: &str) -> Result<Rows, WireError> {
        self.run(sql, Some(self.question_time_max))
    }

    /// As [`Control::query`], for statements that work on tables: they take as long as they take.
    pub(super) fn work(&mut self, sql: &str) -> Result<Rows, WireError> {
        self.run(sql, None)
    }

    fn run(&mut self, sql: &str, time_max: Option<Duration>) -> Result<Rows, WireError> {
        if let Some(reason) = &self.lost {
            return Err(WireError::TimedOut(reason.clone()));
        }
        let connection = &mut self.connection;
        let deadline = time_max.and_then(|time| Instant::now().checked_add(time));
        connection.set_deadline(deadline);
        let mut answer = complete(connection.query(sql));
        if let (Err(WireError::Io(error)), Some(time)) = (&answer, time_max)
            && error.kind() == ErrorKind::TimedOut
            && deadline.is_some_and(|deadline| Instant::now() >= deadline)
        {
            let time = time.as_secs();
            answer =
                Err(WireError::TimedOut(format!("the server has not completed its answer after {time} s")));
        }
        if let Err(error) = &answer
            && !matches!(error, WireError::Server(_))
        {
            connection.give_up();
            self.lost = Some(error.to_string());
        }
        answer.map(|(rows, _)| rows)
    }

    /// Runs a statement that works on tables; `context` says what an error prevents.
    pub(super) fn complete(&mut self, context: &str, sql: &str) -> Result<Rows, TargetError> {
        self.work(sql).map_err(|error| TargetError::engine(context, error))
    }

    /// Runs a statement whose error stops what is being done: `context` says what that was.
    pub(super) fn rows(&mut self, context: &str, sql: &str) -> Result<Rows, TargetError> {
        self.query(sql).map_err(|error| TargetError::engine(context, error))
    }

    /// The first value of the first row; `None` when there is no row or the value is NULL.
    pub(super) fn value(&mut self, context: &str, sql: &str) -> Result<Option<String>, TargetError> {
        Ok(first_value(self.rows(context, sql)?))
    }

    /// As [`Control::number`], for a question that reads tables: it takes as long as it takes.
    pub(super) fn count<T: std::str::FromStr>(&mut self, context: &str, sql: &str) -> Result<T, TargetError> {
        number_of(context, first_value(self.complete(context, sql)?))
    }

    /// The first value as a number; an answer that is none is an error.
    pub(super) fn number<T: std::str::FromStr>(
        &mut self,
        context: &str,
        sql: &str,
    ) -> Result<T, TargetError> {
        number_of(context, self.value(context, sql)?)
    }

    /// The first value, when the server is able to answer at all: how capabilities are found out.
    pub(super) fn probe(&mut self, sql: &str) -> Option<String> {
        self.query(sql).ok().and_then(first_value)
    }

    /// Closes the connection and waits until the backend is gone.
    pub(super) fn close(mut self) {
        self.connection.set_deadline(Instant::now().checked_add(CLOSE_TIME_MAX));
        self.connection.close();
        self.connection.await_end(CLOSE_TIME_MAX);
    }
}

/// The first value of the first row, where there is one.
pub(super) fn first_value(rows: Rows) -> Option<String> {
    rows.into_iter().next()?.into_iter().next()?
}

fn number_of<T: std::str::FromStr>(context: &str, value: Option<String>) -> Result<T, TargetError> {
    let number = value.as_deref().and_then(|text| text.parse().ok());
    number.ok_or_else(|| TargetError::engine(context, format!("the answer {value:?} is not a number")))
}

/// A text as an SQL literal. Holds with `standard_conforming_strings`, which is on unless somebody turned it off.
pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A name as an SQL identifier.
pub(super) fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
