//! A SQLite file that grows by the rows of an attached source.

use std::collections::HashMap;
use std::path::PathBuf;

use lab::expand::{
    ExpandError, Growing, Kind, Shift, Statements, Steps, Table, in_order, mark_name, of_steps,
};
use rusqlite::Connection;

use super::sql::{engine, quoted};

/// The file, with what a copy's statements are made of.
pub(super) struct SqliteGrowth<'a> {
    pub(super) connection: &'a Connection,
    pub(super) path: PathBuf,
    pub(super) tables: &'a [Table],
    pub(super) shifts: &'a [Vec<Option<Shift>>],
    pub(super) strides: HashMap<Shift, i64>,
    pub(super) tag: String,
}

impl SqliteGrowth<'_> {
    fn failed(&self, error: rusqlite::Error) -> ExpandError {
        engine("fill", &self.path)(error)
    }
}

impl Statements for SqliteGrowth<'_> {
    // Without a type values stay as they are.
    fn identity_type(&self) -> &'static str {
        ""
    }

    fn source(&self, tables: &[Table], table: usize) -> String {
        format!("source.{}", tables[table].name)
    }

    fn scratch(&self, name: &str) -> String {
        format!("scratch.{name}")
    }

    fn row_bytes(&self, table: &Table) -> String {
        let length = |name: &str| format!("coalesce(length(CAST(t.{} AS BLOB)), 0) + 1", quoted(name));
        let lengths = table.columns.iter().map(|column| length(&column.name));
        lengths.fold("8".to_owned(), |sum, length| format!("{sum} + {length}"))
    }

    fn run(&mut self, sql: &str) -> Result<(), ExpandError> {
        self.connection.execute_batch(sql).map_err(|error| self.failed(error))
    }

    fn changed(&mut self, update: &str) -> Result<u64, ExpandError> {
        self.connection.execute(update, []).map(|count| count as u64).map_err(|error| self.failed(error))
    }

    fn number(&mut self, sql: &str) -> Result<i64, ExpandError> {
        self.connection.query_row(sql, [], |row| row.get(0)).map_err(|error| self.failed(error))
    }
}

impl Growing for SqliteGrowth<'_> {
    fn size_bytes(&mut self) -> Result<u64, ExpandError> {
        size_bytes(self.connection).map_err(|error| self.failed(error))
    }

    fn copy(&mut self, copy: u64, steps: Option<Steps>) -> Result<(), ExpandError> {
        let statements = in_order(self.tables).into_iter().map(|index| {
            let condition = steps.map_or(String::new(), |steps| {
                of_steps(&self.tables[index], &self.scratch(&mark_name(index)), steps)
            });
            self.copy_statement(index, copy) + &condition
        });
        let all: Vec<String> = statements.collect();
        self.run(&format!("BEGIN; {}; COMMIT", all.join("; ")))
    }
}

impl SqliteGrowth<'_> {
    /// Adds copy number `copy` of the source's rows to a table; number 0 has the source's own keys.
    fn copy_statement(&self, index: usize, copy: u64) -> String {
        let (table, tag) = (&self.tables[index], &self.tag);
        let names: Vec<String> = table.columns.iter().map(|column| quoted(&column.name)).collect();
        let values = names.iter().zip(&self.shifts[index]).map(|(name, shift)| match shift {
            Some(shift) if copy > 0 => match shift.kind {
                Kind::Integer => {
                    let by = self.strides.get(shift).copied().unwrap_or(1);
                    // A number beyond 64 bits would become a fraction: SQLite then refuses it in a column of keys.
                    format!("{name} + {copy} * {by}")
                }
                Kind::Text => format!("{name} || '{tag}{copy}'"),
                _ => format!("CAST({name} || '{tag}{copy}' AS BLOB)"),
            },
            _ => name.clone(),
        });
        let values: Vec<String> = values.collect();
        format!(
            "INSERT INTO main.{table} ({}) SELECT {} FROM source.{table}",
            names.join(", "),
            values.join(", "),
            table = table.name
        )
    }
}

/// Bytes of the database that was opened.
pub(super) fn size_bytes(connection: &Connection) -> rusqlite::Result<u64> {
    let sql = "SELECT page_count * page_size FROM pragma_page_count('main'), pragma_page_size('main')";
    connection.query_row(sql, [], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs)
}
