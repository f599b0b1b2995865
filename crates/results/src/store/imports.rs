//! Imported studies: the whole study in one transaction, with the runs that are not to be trusted marked.

use rusqlite::params;

use crate::imported::Imported;
use crate::model::{Cell, Run, Study};
use crate::redaction::redacted;
use crate::store::document::json;
use crate::store::{Store, StoreError, StudyId, write};

/// An imported run, and the reason not to trust it.
pub type ImportedRun = (Run, Option<String>);

impl Store {
    /// Stores a study that another tool measured, with all its runs, or nothing.
    ///
    /// Returns its number, and whether it is new: a study with the same key is left as it is. `marked_at` is RFC 3339, UTC.
    ///
    /// # Errors
    /// No space, or SQLite refuses: nothing is stored then.
    pub fn import_study(
        &mut self,
        study: &Study,
        origin: &Imported,
        cells: &[Cell],
        runs: &[ImportedRun],
        marked_at: &str,
    ) -> Result<(StudyId, bool), StoreError> {
        if let Some(id) = self.find_study(&study.key)? {
            return Ok((id, false));
        }
        let mut stored = StudyId(0);
        self.in_transaction(|connection| {
            let id = write::insert_study(connection, study)?;
            write::insert_design(connection, id, &study.design)?;
            let sql = "INSERT INTO imported (study_id, json) VALUES (?1, ?2)";
            connection.execute(sql, params![id.0, redacted(&json(origin))])?;
            write::insert_cells(connection, id, cells)?;
            for (run, doubt) in runs {
                let run_id = write::insert_run(connection, id, run.key, run.position, marked_at)?;
                write::insert_parts(connection, run_id, run)?;
                if let Some(reason) = doubt {
                    let sql = "INSERT INTO mark (run_id, marked_at, reason) VALUES (?1, ?2, ?3)";
                    connection.prepare_cached(sql)?.execute(params![run_id, marked_at, redacted(reason)])?;
                }
            }
            stored = id;
            Ok(())
        })?;
        Ok((stored, true))
    }
}
