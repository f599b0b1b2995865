//! Loads rows in bulk: one prepared INSERT in long transactions.

use lab::engine::{BulkLoad, TargetError};
use rusqlite::Connection;
use rusqlite::types::Null;

use super::failure::engine_error;

/// Rows of one transaction.
const ROWS_PER_TRANSACTION: usize = 10_000;
/// Rows are written earlier when their text is longer than this.
const BYTES_PER_TRANSACTION: usize = 16 << 20;

/// A connection that loads rows. It keeps those of a transaction and takes the lock for writing only when it has all of them,
/// so that several loaders wait for each other as short as can be.
#[derive(Debug)]
pub(crate) struct Loader {
    connection: Connection,
    table: String,
    columns: Vec<Column>,
    insert: String,
    /// The text of all values that wait.
    text: String,
    /// End of each value in it; `None` is NULL.
    ends: Vec<Option<usize>>,
    rows_written: u64,
}

#[derive(Debug)]
struct Column {
    name: String,
    is_blob: bool,
}

impl Loader {
    /// Loads over a connection of its own.
    pub(crate) fn new(connection: Connection) -> Self {
        Self {
            connection,
            table: String::new(),
            columns: Vec::new(),
            insert: String::new(),
            text: String::new(),
            ends: Vec::new(),
            rows_written: 0,
        }
    }

    fn error(&self, error: &rusqlite::Error) -> TargetError {
        engine_error(format!("could not load table \"{}\"", self.table), error)
    }

    /// Writes the rows that wait in one transaction.
    fn flush(&mut self) -> Result<(), TargetError> {
        if self.ends.is_empty() {
            return Ok(());
        }
        self.connection.execute_batch("BEGIN IMMEDIATE").map_err(|error| self.error(&error))?;
        let written = self.write();
        let done = written.and_then(|rows| {
            self.connection.execute_batch("COMMIT").map_err(|error| self.error(&error))?;
            Ok(rows)
        });
        match done {
            Ok(rows) => {
                self.rows_written += rows;
                self.text.clear();
                self.ends.clear();
                Ok(())
            }
            Err(error) => {
                // The first error is the one to report.
                let _ = self.connection.execute_batch("ROLLBACK");
                Err(error)
            }
        }
    }

    fn write(&self) -> Result<u64, TargetError> {
        let mut statement =
            self.connection.prepare_cached(&self.insert).map_err(|error| self.error(&error))?;
        let mut begin = 0;
        let mut rows = 0;
        for (number, ends) in self.ends.chunks(self.columns.len()).enumerate() {
            let mut execute = || -> rusqlite::Result<usize> {
                for (index, (end, column)) in ends.iter().zip(&self.columns).enumerate() {
                    let Some(end) = end else {
                        statement.raw_bind_parameter(index + 1, Null)?;
                        continue;
                    };
                    let value = &self.text[begin..*end];
                    begin = *end;
                    match column.is_blob {
                        true => statement.raw_bind_parameter(index + 1, blob(value))?,
                        false => statement.raw_bind_parameter(index + 1, value)?,
                    }
                }
                statement.raw_execute()
            };
            rows += execute().map_err(|error| {
                let row = self.rows_written + number as u64 + 1;
                engine_error(format!("could not load row {row} of table \"{}\"", self.table), &error)
            })? as u64;
        }
        Ok(rows)
    }
}

impl BulkLoad for Loader {
    fn begin(&mut self, table: &str, columns: &[String]) -> Result<(), TargetError> {
        table.clone_into(&mut self.table);
        (self.rows_written, self.columns) = (0, Vec::new());
        self.text.clear();
        self.ends.clear();
        let found = columns_of(&self.connection, table).map_err(|error| self.error(&error))?;
        if found.is_empty() {
            return Err(TargetError::refused(
                format!("cannot load table \"{table}\": there is no such table"),
                "create it in the schema",
            ));
        }
        let wanted: Vec<&str> = match columns {
            [] => found.iter().map(|column| column.name.as_str()).collect(),
            named => named.iter().map(String::as_str).collect(),
        };
        for name in wanted {
            let column = found.iter().find(|column| column.name.eq_ignore_ascii_case(name));
            let Some(Column { name, is_blob }) = column else {
                let known: Vec<_> = found.iter().map(|column| column.name.as_str()).collect();
                return Err(TargetError::refused(
                    format!("cannot load column \"{name}\" of table \"{table}\": there is no such column"),
                    format!("use columns of {}", known.join(", ")),
                ));
            };
            self.columns.push(Column { name: name.clone(), is_blob: *is_blob });
        }
        let names: Vec<_> = self.columns.iter().map(|column| quoted(&column.name)).collect();
        let places: Vec<_> = (1..=names.len()).map(|number| format!("?{number}")).collect();
        self.insert =
            format!("INSERT INTO {} ({}) VALUES ({})", quoted(table), names.join(", "), places.join(", "));
        self.connection.prepare_cached(&self.insert).map(drop).map_err(|error| self.error(&error))
    }

    fn row(&mut self, values: &[Option<&str>]) -> Result<(), TargetError> {
        if values.len() != self.columns.len() || values.is_empty() {
            let row = self.rows_written + (self.ends.len() / self.columns.len().max(1)) as u64 + 1;
            let (found, wanted) = (values.len(), self.columns.len());
            return Err(TargetError::refused(
                format!(
                    "cannot load row {row} of table \"{}\": {found} values for {wanted} columns",
                    self.table
                ),
                "name the columns of the file",
            ));
        }
        for value in values {
            self.ends.push(value.map(|value| {
                self.text.push_str(value);
                self.text.len()
            }));
        }
        if self.ends.len() >= ROWS_PER_TRANSACTION * values.len() || self.text.len() >= BYTES_PER_TRANSACTION
        {
            self.flush()?;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<u64, TargetError> {
        self.flush()?;
        Ok(self.rows_written)
    }
}

/// Columns that take values: no generated ones, no hidden ones of virtual tables.
fn columns_of(connection: &Connection, table: &str) -> rusqlite::Result<Vec<Column>> {
    let mut statement =
        connection.prepare("SELECT name, type FROM pragma_table_xinfo(?1) WHERE hidden = 0 ORDER BY cid")?;
    let columns = statement.query_map([table], |row| {
        let declared: String = row.get(1)?;
        Ok(Column { name: row.get(0)?, is_blob: declared.to_ascii_lowercase().contains("blob") })
    })?;
    columns.collect()
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The bytes of a value for a column of type BLOB: `\x` and hexadecimal digits as PostgreSQL writes them, else the text's own.
fn blob(value: &str) -> Vec<u8> {
    let digits = value.strip_prefix("\\x").filter(|digits| digits.len() % 2 == 0);
    let nibble = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let decoded = digits.and_then(|digits| {
        let pairs = digits.as_bytes().chunks(2);
        pairs.map(|pair| Some(nibble(pair[0])? << 4 | nibble(pair[1])?)).collect::<Option<Vec<u8>>>()
    });
    decoded.unwrap_or_else(|| value.as_bytes().to_vec())
}
