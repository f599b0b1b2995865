//! Marks on runs: all of them are kept, also those that were taken back.

use rusqlite::params;
use serde::Serialize;

use crate::store::{Store, StoreError, open};

/// First version of the file in which marks can be taken back.
const VERSION_WITH_WITHDRAWALS: i64 = 5;

/// One mark of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoredMark {
    /// RFC 3339, UTC.
    pub marked_at: String,
    /// Why the run is not to be trusted.
    pub reason: String,
    /// RFC 3339, UTC: when it was taken back; absent while it stands.
    pub withdrawn_at: Option<String>,
}

impl Store {
    /// Marks a run as not to be trusted: it stays in the file and no longer counts.
    ///
    /// `marked_at` is RFC 3339, UTC. Marks add up: every reason is kept and shown.
    ///
    /// # Errors
    /// No such run, no reason given, no space, SQLite refuses.
    pub fn mark_suspect(&mut self, run_id: i64, reason: &str, marked_at: &str) -> Result<(), StoreError> {
        self.key_and_state(run_id)?;
        if reason.trim().is_empty() {
            return Err(self.conflict(format!("a mark on run {run_id}"), "it gives no reason".to_owned()));
        }
        let sql = "INSERT INTO mark (run_id, marked_at, reason) VALUES (?1, ?2, ?3)";
        self.connection.execute(sql, params![run_id, marked_at, reason]).map_err(self.sqlite())?;
        Ok(())
    }

    /// Takes back all marks of a run that stand, and returns how many those were. They stay in the file.
    ///
    /// # Errors
    /// No such run, no space, SQLite refuses.
    pub fn withdraw_marks(&mut self, run_id: i64, withdrawn_at: &str) -> Result<usize, StoreError> {
        self.key_and_state(run_id)?;
        let sql = "INSERT INTO mark_withdrawal (mark_id, withdrawn_at) SELECT id, ?2 FROM mark \
                   WHERE run_id = ?1 AND id NOT IN (SELECT mark_id FROM mark_withdrawal)";
        self.connection.execute(sql, params![run_id, withdrawn_at]).map_err(self.sqlite())
    }

    /// All marks that a run ever had, the oldest first.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn marks(&self, run_id: i64) -> Result<Vec<StoredMark>, StoreError> {
        let withdrawn = if self.has_withdrawals()? {
            "(SELECT withdrawn_at FROM mark_withdrawal WHERE mark_id = mark.id)"
        } else {
            "NULL"
        };
        let sql = format!("SELECT marked_at, reason, {withdrawn} FROM mark WHERE run_id = ?1 ORDER BY id");
        self.rows(&sql, [run_id], |row| {
            Ok(StoredMark {
                marked_at: self.get(row, 0)?,
                reason: self.get(row, 1)?,
                withdrawn_at: self.get(row, 2)?,
            })
        })
    }

    /// A condition on `mark` that holds for those that stand; files of older versions have no others.
    pub(super) fn standing(&self) -> Result<&'static str, StoreError> {
        let condition = "mark.id NOT IN (SELECT mark_id FROM mark_withdrawal)";
        Ok(if self.has_withdrawals()? { condition } else { "1" })
    }

    fn has_withdrawals(&self) -> Result<bool, StoreError> {
        Ok(open::version(&self.connection).map_err(self.sqlite())? >= VERSION_WITH_WITHDRAWALS)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::store::tests::file_of_version;

    #[test]
    fn marks_of_a_file_from_before_withdrawals_stand_when_it_is_read() {
        let directory = tempfile::tempdir().unwrap();
        drop(file_of_version(directory.path(), 4));
        let store = Store::open_read_only(directory.path()).unwrap();
        assert_eq!((store.standing().unwrap(), store.marks(1).unwrap()), ("1", Vec::new()));
        drop(store);
        let mut store = Store::open_or_create(directory.path()).unwrap();
        assert!(matches!(store.withdraw_marks(1, "now"), Err(StoreError::NoSuchRun { .. })));
        assert!(store.standing().unwrap().contains("mark_withdrawal"));
    }
}
