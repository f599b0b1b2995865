//! What is accepted of one answer: bytes, rows in their order, time. A server that exceeds a limit is left.

use std::time::Duration;

use super::answer;

/// Rows of text values, as the simple query protocol returns them; `None` is NULL.
pub(in super::super) type Rows = Vec<Vec<Option<String>>>;

/// Time for the whole answer to a question of the control side: catalogs and statistics answer in milliseconds.
pub(in super::super) const QUESTION_TIME_MAX: Duration = Duration::from_secs(30);

/// Memory for the rows of one answer. The longest one that is asked for lists all relations of a database.
pub(in super::super) const ANSWER_BYTES_MAX: usize = 64 << 20;

/// Memory of a row and of a value beside its text: a vector or a string, and what the allocator adds.
const OVERHEAD_BYTES: usize = 40;

/// How much of an answer was taken in, and what may come next.
#[derive(Debug, Default)]
pub(super) struct AnswerReader {
    bytes: usize,
    /// Columns of the rows that may come now.
    column_count: Option<usize>,
    /// Has a command of the request ended?
    is_answered: bool,
}

impl AnswerReader {
    /// Takes in a message that is neither an error nor the end of the answer; with `rows`, of a simple query.
    ///
    /// # Errors
    /// A message that does not belong here, or is beyond the bounds.
    #[inline]
    pub(super) fn take(
        &mut self,
        kind: u8,
        body: &[u8],
        rows: Option<&mut Rows>,
        bytes_max: usize,
    ) -> Result<(), String> {
        match (kind, rows) {
            (b'C' | b'I', _) => self.command_ends(),
            // NOTICE, NOTIFY and changed parameters may come at any time.
            (b'N' | b'A' | b'S', _) => {}
            (b'T', Some(_)) => self.describe(body)?,
            (b'D', Some(rows)) => {
                let row = answer::text_row(body).ok_or("a data row ends before its last value")?;
                self.row(&row, bytes_max)?;
                rows.push(row);
            }
            // ParseComplete, BindComplete, CloseComplete, NoData, ParameterDescription, RowDescription,
            // PortalSuspended, DataRow: of prepared statements, whose rows are not kept.
            (b'1' | b'2' | b'3' | b'n' | b't' | b'T' | b's' | b'D', None) => {}
            (other, _) => return Err(format!("message \"{}\" does not belong here", other.escape_ascii())),
        }
        Ok(())
    }

    /// Takes note of the description of rows.
    fn describe(&mut self, body: &[u8]) -> Result<(), String> {
        let count = body.first_chunk::<2>().ok_or("a row description has no column count")?;
        self.column_count = Some(usize::from(u16::from_be_bytes(*count)));
        Ok(())
    }

    /// Takes note of a row, which follows its description and keeps to it.
    fn row(&mut self, row: &[Option<String>], bytes_max: usize) -> Result<(), String> {
        let Some(expected) = self.column_count else {
            return Err("a data row came without a row description".to_owned());
        };
        if row.len() != expected {
            return Err(format!("a data row has {} values, its description {expected}", row.len()));
        }
        let values: usize =
            row.iter().map(|value| OVERHEAD_BYTES + value.as_ref().map_or(0, String::len)).sum();
        self.bytes += OVERHEAD_BYTES + values;
        if self.bytes > bytes_max {
            return Err(format!("the rows of one answer take more than {} MiB of memory", bytes_max >> 20));
        }
        Ok(())
    }

    /// Takes note of the end of one command: completed, empty or refused.
    pub(super) fn command_ends(&mut self) {
        self.column_count = None;
        self.is_answered = true;
    }

    /// Is there an answer, now that the server is ready again?
    pub(super) fn ready(&self) -> Result<(), String> {
        match self.is_answered {
            true => Ok(()),
            false => Err("it is ready again without an answer".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn rows_follow_their_description_and_the_sum_of_their_bytes_is_bounded() {
        let row = vec![Some("x".repeat(1000)), None];
        let mut answer_reader = AnswerReader::default();
        assert!(answer_reader.row(&row, 4 << 20).unwrap_err().contains("without a row description"));
        answer_reader.describe(b"\0\x02more").unwrap();
        let taken = (0..).find(|_| answer_reader.row(&row, 1 << 20).is_err()).unwrap();
        assert!((900..1000).contains(&taken), "{taken}");
        let mut answer_reader = AnswerReader::default();
        answer_reader.describe(b"\0\x03").unwrap();
        assert_eq!(
            answer_reader.row(&row, 1 << 20).unwrap_err(),
            "a data row has 2 values, its description 3"
        );
        assert!(answer_reader.describe(b"\0").is_err());
    }

    #[test]
    fn rows_without_a_byte_of_text_are_bounded_too() {
        let mut answer_reader = AnswerReader::default();
        answer_reader.describe(b"\0\0").unwrap();
        let taken = (0..).find(|_| answer_reader.row(&[], 1 << 20).is_err()).unwrap();
        assert_eq!(taken, (1 << 20) / OVERHEAD_BYTES);
    }

    #[test]
    fn a_server_is_not_ready_before_it_answered() {
        let mut answer_reader = AnswerReader::default();
        assert!(answer_reader.ready().is_err());
        answer_reader.command_ends();
        assert!(answer_reader.ready().is_ok());
    }
}
