//! What the server answers to a statement of a script, message by message.

use lab::own::{Answer, ResultSet, StatementError};
use results::scripts::FailureKind;

use crate::wire::{
    ANSWER_BYTES_MAX, CommandTag, Connection, Message, ServerError, WireError, column_names, server_error,
    text_row,
};

/// Memory of a row and of a value beside its text: a vector or a string, and what the allocator adds.
const OVERHEAD_BYTES: usize = 40;

/// What is said of a COPY that would need rows from a script, or a place for them.
const COPY_REFUSED: &str = "COPY FROM STDIN and COPY TO STDOUT are not possible in scripts";

/// Where an answer stands after a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Course {
    /// More belongs to this statement.
    More,
    /// A statement has ended.
    Completed,
    /// The server refused a statement; what was sent behind it, up to the next Sync, is passed over.
    Refused,
    /// The server waits for rows of a COPY.
    WantsRows,
    /// The server is ready for the next request.
    Ready,
}

/// The answer to a statement, as far as it came.
#[derive(Debug, Default)]
pub(super) struct Reply {
    /// Was the statement parsed?
    pub(super) is_parsed: bool,
    /// The first error.
    pub(super) refused: Option<Box<ServerError>>,
    /// Did it copy to or from the client?
    pub(super) is_copy: bool,
    /// Do its rows take more memory than they may?
    is_too_large: bool,
    /// Are columns of the current result known?
    is_described: bool,
    /// Rows of the current result.
    rows: u64,
    /// Memory of all rows that are kept.
    bytes: usize,
}

impl Reply {
    /// Reads one message. With `wants_rows` rows are kept in `answer`.
    ///
    /// # Errors
    /// The connection is gone, or a message does not belong to an answer.
    #[inline]
    pub(super) async fn read(
        &mut self,
        connection: &mut Connection,
        answer: &mut Answer,
        wants_rows: bool,
    ) -> Result<Course, WireError> {
        let row_bytes_max = if wants_rows { ANSWER_BYTES_MAX } else { 0 };
        let message = match connection.next_message_within(row_bytes_max).await {
            Ok(message) => message,
            Err(error) => return Err(connection.lost(error, self.refused.take())),
        };
        match message.tag {
            b'Z' => {
                connection.ready(&message)?;
                return Ok(Course::Ready);
            }
            b'C' | b'I' => {
                let counted = CommandTag::rows(connection.body(&message));
                answer.rows = if self.rows > 0 { self.rows } else { counted };
                if wants_rows && !self.is_described {
                    answer.results.push(ResultSet::default());
                }
                (self.rows, self.is_described) = (0, false);
                return Ok(Course::Completed);
            }
            b'D' => {
                self.rows += 1;
                if wants_rows {
                    self.keep_row(connection, &message, answer)?;
                }
            }
            b'1' => self.is_parsed = true,
            // BindComplete, CloseComplete, NoData, ParameterDescription; rows and end of a COPY; NOTICE, NOTIFY and changed
            // parameters.
            b'2' | b'3' | b'n' | b't' | b'd' | b'c' | b'N' | b'A' | b'S' => {}
            b'T' if !wants_rows => {}
            b'T' => {
                let names = column_names(connection.body(&message));
                let Some(columns) = names else {
                    return Err(connection.protocol("a row description ends too early"));
                };
                answer.results.push(ResultSet { columns, rows: Vec::new() });
                self.is_described = true;
            }
            b'E' => {
                let error = server_error(connection.body(&message));
                self.refused.get_or_insert_with(|| Box::new(error));
                (self.rows, self.is_described) = (0, false);
                return Ok(Course::Refused);
            }
            b'G' => {
                self.is_copy = true;
                return Ok(Course::WantsRows);
            }
            b'H' => self.is_copy = true,
            other => {
                let text = format!("message \"{}\" does not belong here", other.escape_ascii());
                return Err(connection.protocol(&text));
            }
        }
        Ok(Course::More)
    }

    fn keep_row(
        &mut self,
        connection: &mut Connection,
        message: &Message,
        answer: &mut Answer,
    ) -> Result<(), WireError> {
        let body = connection.body(message);
        self.bytes += OVERHEAD_BYTES + body.len();
        // The body of a row that alone is beyond the bound was passed over.
        self.is_too_large |= body.is_empty() || self.bytes > ANSWER_BYTES_MAX;
        if self.is_too_large {
            answer.results.clear();
            return Ok(());
        }
        let Some(row) = text_row(body) else {
            return Err(connection.protocol("a data row ends before its last value"));
        };
        self.bytes += OVERHEAD_BYTES * row.len();
        if let Some(result) = answer.results.last_mut().filter(|_| self.is_described) {
            result.rows.push(row);
        }
        Ok(())
    }

    /// Why the statement did not do what it should, now that its answer was read.
    pub(super) fn failure(&mut self, position: impl FnOnce(u32) -> u32) -> Option<StatementError> {
        let refused = self.refused.take();
        let other = |text: &str| {
            Some(StatementError {
                kind: FailureKind::Other,
                text: text.to_owned(),
                position: None,
                is_lost: false,
            })
        };
        if self.is_copy {
            return other(COPY_REFUSED);
        }
        if let Some(error) = refused {
            return Some(StatementError {
                kind: kind_of(&error.code),
                text: error.to_string(),
                position: error.position.map(position),
                is_lost: false,
            });
        }
        if self.is_too_large {
            let text =
                format!("the rows of one answer take more than {} MiB of memory", ANSWER_BYTES_MAX >> 20);
            return other(&text);
        }
        None
    }
}

/// What an SQLSTATE comes to.
// EVIDENCE: PostgreSQL documentation, "PostgreSQL Error Codes"
fn kind_of(code: &str) -> FailureKind {
    match code {
        "40001" => FailureKind::Serialization,
        "40P01" => FailureKind::Deadlock,
        // lock_not_available: NOWAIT, and lock_timeout.
        "55P03" => FailureKind::Locked,
        _ if code.starts_with("23") => FailureKind::Constraint,
        _ => FailureKind::Other,
    }
}

/// A connection that is gone.
pub(super) fn lost(error: &WireError) -> StatementError {
    StatementError { kind: FailureKind::Other, text: error.to_string(), position: None, is_lost: true }
}
