//! A copy of the shadow tables of a full-text table in memory, verified by SQLite itself.
//!
//! Only the engine knows its tokenizers. So the virtual table is made anew in an empty database in memory, its shadow
//! tables get the rows that fathom has read from the file, and `PRAGMA integrity_check` runs on that. SQLite opens no
//! file.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use formats::sqlite::Encoding;
use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

use crate::catalog::definitions::quoted;
use crate::catalog::scratch::bound_value;
use crate::plan::OwnedValue;
use crate::virtual_tables::definition::columns;
use crate::virtual_tables::shadow::ShadowRow;

/// Steps of the engine between two looks at whether the check is to be stopped.
const STEPS_PER_LOOK: i32 = 100_000;

/// How long the engine may work.
#[derive(Clone)]
pub(super) struct Patience {
    pub(super) stop: Option<Arc<AtomicBool>>,
    pub(super) deadline: Option<Instant>,
}

/// A virtual table without rows, as the linked SQLite makes it.
pub(super) struct Copy {
    pub(super) connection: Connection,
    pub(super) name: String,
    encoding: Encoding,
    /// Names of the shadow tables that its definition makes.
    pub(super) shadows: Vec<String>,
}

/// What SQLite says of a copy.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Intact,
    Damaged(String),
    /// It could not be verified, with the reason.
    Unknown(String),
}

impl Copy {
    /// Makes the table by its definition, its shadow tables without rows. Fails with SQLite's reason: an unknown tokenizer,
    /// for example.
    pub(super) fn new(
        (name, definition): (&str, &str),
        encoding: Encoding,
        patience: Patience,
    ) -> Result<Self, String> {
        let copy = Self::made((name, definition), encoding, patience)?;
        for shadow in &copy.shadows {
            copy.connection.execute(&format!("DELETE FROM {}", quoted(shadow)), []).map_err(failed)?;
        }
        copy.connection.execute_batch("BEGIN").map_err(failed)?;
        Ok(copy)
    }

    /// Makes the table by its definition, empty and usable.
    pub(super) fn made(
        (name, definition): (&str, &str),
        encoding: Encoding,
        patience: Patience,
    ) -> Result<Self, String> {
        let mut connection = Connection::open_in_memory().map_err(failed)?;
        let encoding_name = match encoding {
            Encoding::Utf8 => "UTF-8",
            Encoding::Utf16Le => "UTF-16le",
            Encoding::Utf16Be => "UTF-16be",
        };
        let settings = format!("PRAGMA encoding='{encoding_name}'; PRAGMA trusted_schema=OFF;");
        connection.execute_batch(&settings).map_err(failed)?;
        let is_over = move || {
            patience.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
                || patience.deadline.is_some_and(|deadline| Instant::now() >= deadline)
        };
        connection.progress_handler(STEPS_PER_LOOK, Some(is_over)).map_err(failed)?;
        let allow = |context: AuthContext<'_>| match context.action {
            AuthAction::Attach { .. } | AuthAction::Detach { .. } => Authorization::Deny,
            _ => Authorization::Allow,
        };
        connection.authorizer(Some(allow)).map_err(failed)?;
        // One statement only: what follows it in the definition is not executed.
        connection.prepare(definition).and_then(|mut statement| statement.raw_execute()).map_err(failed)?;
        let shadows = {
            let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 ORDER BY rowid";
            let mut statement = connection.prepare(sql).map_err(failed)?;
            let names = statement.query_map([], |row| row.get(0)).map_err(failed)?;
            names.collect::<rusqlite::Result<Vec<String>>>().map_err(failed)?
        };
        Ok(Self { connection, name: name.to_owned(), encoding, shadows })
    }

    /// The columns of a shadow table: name, and whether it is the rowid.
    pub(super) fn columns(&self, shadow: &str) -> Result<Vec<(String, bool)>, String> {
        columns(&self.connection, shadow).map_err(|error| error.to_string())
    }

    /// Puts a row into a shadow table.
    pub(super) fn insert(
        &self,
        shadow: &str,
        columns: &[(String, bool)],
        row: &ShadowRow,
    ) -> Result<(), String> {
        if row.values.len() > columns.len() {
            return Err(format!(
                "{shadow} has rows of {} columns, {} expected",
                row.values.len(),
                columns.len()
            ));
        }
        let failed = |error: rusqlite::Error| format!("a row of {shadow} could not be copied: {error}");
        let places = vec!["?"; columns.len()].join(", ");
        let sql = format!("INSERT INTO {} VALUES ({places})", quoted(shadow));
        let mut statement = self.connection.prepare_cached(&sql).map_err(failed)?;
        for (index, (_, is_rowid)) in columns.iter().enumerate() {
            let rowid = OwnedValue::Integer(row.rowid);
            let value = if *is_rowid { &rowid } else { row.values.get(index).unwrap_or(&OwnedValue::Null) };
            let value = bound_value(value.as_value(), self.encoding)?;
            statement.raw_bind_parameter(index + 1, value).map_err(failed)?;
        }
        statement.raw_execute().map(|_| ()).map_err(failed)
    }

    /// Lets SQLite verify the copy, when all rows were put in.
    pub(super) fn verdict(&self) -> Verdict {
        let run = || -> rusqlite::Result<Vec<String>> {
            // The table is connected anew, as after opening a file.
            self.connection.execute_batch("COMMIT; PRAGMA writable_schema=RESET;")?;
            let sql = format!("PRAGMA integrity_check({})", quoted(&self.name));
            let mut statement = self.connection.prepare(&sql)?;
            let rows = statement.query_map([], |row| row.get(0))?;
            rows.collect()
        };
        match run() {
            Ok(lines) if lines == ["ok"] => Verdict::Intact,
            Ok(lines) => judged(&lines.join("; ")),
            Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::OperationInterrupted) => {
                Verdict::Unknown("the check was stopped".to_owned())
            }
            Err(error) => judged(&error.to_string()),
        }
    }
}

fn failed(error: rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqlInputError { msg, .. } => msg,
        other => other.to_string(),
    }
}

/// Tells damage from what hindered the engine.
// EVIDENCE: sqlite fts5_main.c fts5IntegrityMethod, fts3.c fts3IntegrityMethod: "malformed inverted index" where the
// EVIDENCE: index differs, "unable to validate" with the reason otherwise
fn judged(message: &str) -> Verdict {
    let hindered =
        ["out of memory", "interrupted", "no such tokenizer", "too big", "no such module", "locked"];
    if hindered.iter().any(|reason| message.contains(reason)) {
        Verdict::Unknown(message.to_owned())
    } else {
        Verdict::Damaged(message.to_owned())
    }
}
