//! Rows in bulk: COPY FROM STDIN in its text format.

use std::fmt;

use lab::engine::{BulkLoad, TargetError};
use lab::own::Answer;

use super::reply::{Course, Reply};
use super::request;
use crate::control::{first_value, identifier, literal};
use crate::wire::{Connection, Rows, WireError, complete};

/// Bytes of rows that are sent at a time.
const CHUNK_BYTES: usize = 64 * 1024;

/// Kind and length of a message, before its rows.
const HEADER: [u8; 5] = *b"d\0\0\0\0";

/// A connection that takes rows.
pub(super) struct Loader {
    connection: Connection,
    table: String,
    /// The message that is being filled.
    out: Vec<u8>,
    rows: u64,
    is_copying: bool,
}

impl fmt::Debug for Loader {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Loader").field("table", &self.table).finish_non_exhaustive()
    }
}

impl Loader {
    /// Loads over this connection, which blocks.
    pub(super) fn new(connection: Connection) -> Self {
        Self { connection, table: String::new(), out: Vec::new(), rows: 0, is_copying: false }
    }

    fn failed(&self, error: impl fmt::Display) -> TargetError {
        TargetError::engine(format!("could not load table \"{}\"", self.table), error)
    }

    fn ask(&mut self, sql: &str) -> Result<Rows, WireError> {
        complete(self.connection.query(sql)).map(|(rows, _)| rows)
    }

    /// The table as SQL names it: by exactly this name, else by this text, which may have a schema and other case.
    fn relation(&mut self, table: &str) -> String {
        for name in [format!("quote_ident({})", literal(table)), literal(table)] {
            let found = self.ask(&format!("SELECT to_regclass({name})::text")).ok().and_then(first_value);
            if let Some(found) = found {
                return found;
            }
        }
        identifier(table)
    }

    /// The columns as SQL names them: by exactly these names, else in lower case.
    fn columns(&mut self, relation: &str, columns: &[String]) -> Result<Vec<String>, TargetError> {
        let sql = format!(
            "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass({}) AND attnum > 0 AND NOT attisdropped",
            literal(relation)
        );
        let rows = self.ask(&sql).map_err(|error| self.failed(error))?;
        let known: Vec<String> = rows.into_iter().filter_map(|row| row.into_iter().next()?).collect();
        let name = |column: &String| {
            let lower = column.to_lowercase();
            let is_known = known.contains(column) || !known.contains(&lower);
            identifier(if is_known { column } else { &lower })
        };
        Ok(columns.iter().map(name).collect())
    }

    /// Reads up to the next change of course, or to the end of the answer after an error.
    fn read(&mut self, reply: &mut Reply, answer: &mut Answer) -> Result<Course, TargetError> {
        loop {
            let course = complete(reply.read(&mut self.connection, answer, false));
            match course.map_err(|error| self.failed(error))? {
                Course::More | Course::Completed | Course::Refused => {}
                Course::Ready => {
                    self.is_copying = false;
                    let Some(error) = reply.refused.take() else { return Ok(Course::Ready) };
                    let place = error.context.lines().next().unwrap_or_default();
                    let place = if place.is_empty() { String::new() } else { format!("; {place}") };
                    return Err(self.failed(format!("{error}{}", results::plain::one_line(&place))));
                }
                course => return Ok(course),
            }
        }
    }

    /// Gives a load up whose row cannot be sent.
    fn refuse_zero_byte(&mut self, value: usize) -> TargetError {
        let mut request = Vec::new();
        request::copy_fail(&mut request);
        self.connection.send(&request);
        // It is refused, as it was meant to be.
        let _ = self.read(&mut Reply::default(), &mut Answer::default());
        let row = self.rows;
        self.failed(format!("row {row}, value {value}: a zero byte, which no text of the server can hold"))
    }

    fn send(&mut self) {
        let length = (self.out.len() - 1) as u32;
        if let Some(place) = self.out.get_mut(1..5) {
            place.copy_from_slice(&length.to_be_bytes());
        }
        self.connection.send(&self.out);
        self.out.truncate(HEADER.len());
    }
}

impl BulkLoad for Loader {
    fn begin(&mut self, table: &str, columns: &[String]) -> Result<(), TargetError> {
        (self.table, self.rows) = (table.to_owned(), 0);
        self.out.clear();
        self.out.extend_from_slice(&HEADER);
        let relation = self.relation(table);
        let columns = self.columns(&relation, columns)?;
        let columns = if columns.is_empty() { String::new() } else { format!(" ({})", columns.join(", ")) };
        let mut request = vec![b'Q', 0, 0, 0, 0];
        request.extend_from_slice(format!("COPY {relation}{columns} FROM STDIN\0").as_bytes());
        let length = (request.len() - 1) as u32;
        request[1..5].copy_from_slice(&length.to_be_bytes());
        self.connection.send(&request);
        match self.read(&mut Reply::default(), &mut Answer::default())? {
            Course::WantsRows => {
                self.is_copying = true;
                Ok(())
            }
            _ => Err(self.failed("the server does not take rows")),
        }
    }

    fn row(&mut self, values: &[Option<&str>]) -> Result<(), TargetError> {
        if !self.is_copying {
            return Err(self.failed("rows came before the begin of a load, or after its end"));
        }
        self.rows += 1;
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                self.out.push(b'\t');
            }
            match value {
                Some(value) if value.contains('\0') => {
                    return Err(self.refuse_zero_byte(index + 1));
                }
                Some(value) => escape(value, &mut self.out),
                None => self.out.extend_from_slice(b"\\N"),
            }
        }
        self.out.push(b'\n');
        if self.out.len() >= CHUNK_BYTES {
            self.send();
            // An error comes at once, notices may come too.
            let mut reply = Reply::default();
            while self.connection.has_more() {
                let course = complete(reply.read(&mut self.connection, &mut Answer::default(), false));
                if course.map_err(|error| self.failed(error))? == Course::Refused {
                    self.read(&mut reply, &mut Answer::default())?;
                }
            }
        }
        Ok(())
    }

    fn end(&mut self) -> Result<u64, TargetError> {
        if !self.is_copying {
            return Err(self.failed("a load ended that had not begun"));
        }
        if self.out.len() > HEADER.len() {
            self.send();
        }
        self.connection.send(b"c\0\0\0\x04");
        let mut answer = Answer::default();
        self.read(&mut Reply::default(), &mut answer)?;
        Ok(answer.rows)
    }
}

/// Appends a value as the text format has it.
// EVIDENCE: PostgreSQL documentation, COPY, "Text Format"
fn escape(value: &str, out: &mut Vec<u8>) {
    let mut copied = 0;
    for (at, byte) in value.bytes().enumerate() {
        let letter = match byte {
            b'\\' => b'\\',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            _ => continue,
        };
        out.extend_from_slice(value.as_bytes().get(copied..at).unwrap_or_default());
        out.extend_from_slice(&[b'\\', letter]);
        copied = at + 1;
    }
    out.extend_from_slice(value.as_bytes().get(copied..).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_text_format_gives_a_meaning_is_escaped() {
        let mut out = Vec::new();
        escape("a\tb\\N\n\r\\.é", &mut out);
        assert_eq!(String::from_utf8_lossy(&out), "a\\tb\\\\N\\n\\r\\\\.é");
    }
}
