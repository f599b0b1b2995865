//! Baselines of devices, as `fathom io` measured them: added whole, read back.

use rusqlite::params;
use serde::{Deserialize, Serialize};

use super::{IoTableId, Store, StoreError, open};
use crate::io::IoTable;

/// The first version of the file with baselines.
const VERSION_WITH_BASELINES: i64 = 3;

/// A baseline with its place in the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredIoTable {
    /// Its row number.
    pub id: IoTableId,
    /// What was measured.
    #[serde(flatten)]
    pub table: IoTable,
}

impl Store {
    /// Adds a baseline. It can neither be changed nor deleted afterwards.
    ///
    /// # Errors
    /// No space, or SQLite refuses.
    pub fn add_io_table(&mut self, table: &IoTable) -> Result<IoTableId, StoreError> {
        let json = serde_json::to_string(table).expect("plain data has a JSON form");
        self.connection
            .execute("INSERT INTO io_table (json) VALUES (?1)", params![json])
            .map_err(self.sqlite())?;
        Ok(IoTableId(self.connection.last_insert_rowid()))
    }

    /// All baselines in the order in which they were measured; empty in a file of a version that had none.
    ///
    /// # Errors
    /// A stored value cannot be read, or SQLite refuses.
    pub fn io_tables(&self) -> Result<Vec<StoredIoTable>, StoreError> {
        if open::version(&self.connection).map_err(self.sqlite())? < VERSION_WITH_BASELINES {
            return Ok(Vec::new());
        }
        let mut statement = self
            .connection
            .prepare_cached("SELECT id, json FROM io_table ORDER BY id")
            .map_err(self.sqlite())?;
        let rows = statement
            .query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))
            .and_then(Iterator::collect::<rusqlite::Result<Vec<_>>>)
            .map_err(self.sqlite())?;
        rows.into_iter()
            .map(|(id, json)| match serde_json::from_str(&json) {
                Ok(table) => Ok(StoredIoTable { id: IoTableId(id), table }),
                Err(error) => Err(self.damaged(format!("baseline {id}"), error)),
            })
            .collect()
    }

    /// One baseline; the newest when `id` is absent.
    ///
    /// # Errors
    /// There is none (of that number), a stored value cannot be read, or SQLite refuses.
    pub fn io_table(&self, id: Option<IoTableId>) -> Result<StoredIoTable, StoreError> {
        let found = match id {
            Some(id) => self.io_tables()?.into_iter().find(|stored| stored.id == id),
            None => self.io_tables()?.pop(),
        };
        found.ok_or_else(|| StoreError::NoSuchIoTable { path: self.path.clone(), id })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::io::{IoRow, IoSyncRow};

    fn table(title: &str) -> IoTable {
        IoTable {
            title: title.to_owned(),
            rows: vec![IoRow { iops: 0.1 + 0.2, flags: vec!["why\u{0}".to_owned()], ..IoRow::default() }],
            sync_rows: vec![IoSyncRow { method: "fdatasync".to_owned(), ..IoSyncRow::default() }],
            ..IoTable::default()
        }
    }

    #[test]
    fn baselines_come_back_as_they_were_and_by_number() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::open_or_create(directory.path()).unwrap();
        assert_eq!(store.io_tables().unwrap(), []);
        let message = store.io_table(None).unwrap_err().to_string();
        assert!(message.ends_with("has no baseline\nhint: measure one with `fathom io`"), "{message}");
        let first = store.add_io_table(&table("first")).unwrap();
        let second = store.add_io_table(&table("second")).unwrap();
        drop(store);
        let store = Store::open_read_only(directory.path()).unwrap();
        assert_eq!(store.io_table(Some(first)).unwrap().table, table("first"));
        assert_eq!(store.io_table(None).unwrap(), StoredIoTable { id: second, table: table("second") });
        assert_eq!(store.io_tables().unwrap().len(), 2);
        let message = store.io_table(Some(IoTableId(7))).unwrap_err().to_string();
        assert!(message.contains("has no baseline 7\nhint: "), "{message}");
    }

    #[test]
    fn a_baseline_is_written_once() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::open_or_create(directory.path()).unwrap();
        store.add_io_table(&table("kept")).unwrap();
        for statement in ["UPDATE io_table SET json = ''", "DELETE FROM io_table"] {
            let error = store.connection.execute(statement, []).unwrap_err().to_string();
            assert!(error.contains("a baseline cannot "), "{error}");
        }
        assert_eq!(store.io_tables().unwrap()[0].table, table("kept"));
    }
}
