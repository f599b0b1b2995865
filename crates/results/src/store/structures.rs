//! Structures of databases: added when they were measured, by themselves or after a run, and read back.

use rusqlite::{ToSql, params};
use serde::{Deserialize, Serialize};

use super::{Store, StoreError, open};
use crate::structure::StructureReport;

/// The first version of the file with structures.
const VERSION_WITH_STRUCTURES: i64 = 4;

/// A structure with its place in the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredStructure {
    /// Its row number.
    pub id: i64,
    /// The run after which it was measured; absent when it was measured by itself.
    pub run_id: Option<i64>,
    /// RFC 3339, UTC.
    pub stored_at: String,
    /// The version of fathom that measured.
    pub fathom_version: String,
    /// What was measured: an absolute path, or a URL without password.
    pub place: String,
    /// Everything that was measured.
    pub report: StructureReport,
}

/// What a structure is stored with.
#[derive(Clone, Copy, Debug)]
pub struct StructureOrigin<'a> {
    /// The run after which it was measured.
    pub run_id: Option<i64>,
    /// RFC 3339, UTC.
    pub stored_at: &'a str,
    /// The version of fathom that measured.
    pub fathom_version: &'a str,
    /// An absolute path, or a URL without password.
    pub place: &'a str,
}

impl Store {
    /// Adds a structure; returns its row number. It can neither be changed nor deleted afterwards.
    ///
    /// # Errors
    /// No such run, no space, or SQLite refuses.
    pub fn add_structure(
        &mut self,
        report: &StructureReport,
        origin: &StructureOrigin<'_>,
    ) -> Result<i64, StoreError> {
        let json = serde_json::to_string(report).expect("plain data has a JSON form");
        let sql = "INSERT INTO structure_report (run_id, stored_at, fathom_version, place, json) \
                   VALUES (?1, ?2, ?3, ?4, ?5)";
        let StructureOrigin { run_id, stored_at, fathom_version, place } = origin;
        self.connection
            .execute(sql, params![run_id, stored_at, fathom_version, place, json])
            .map_err(self.sqlite())?;
        Ok(self.connection.last_insert_rowid())
    }

    /// All structures, in the order in which they were stored; none in a file that is older than structures.
    ///
    /// # Errors
    /// A stored value cannot be read, or SQLite refuses.
    pub fn structures(&self) -> Result<Vec<StoredStructure>, StoreError> {
        self.structures_where("?1 IS NULL", None)
    }

    /// The structures that were measured after a run.
    ///
    /// # Errors
    /// As [`Store::structures`].
    pub fn structures_of_run(&self, run_id: i64) -> Result<Vec<StoredStructure>, StoreError> {
        self.structures_where("run_id = ?1", Some(run_id))
    }

    /// One structure; the newest when `id` is absent.
    ///
    /// # Errors
    /// There is none (of that number); as [`Store::structures`].
    pub fn structure(&self, id: Option<i64>) -> Result<StoredStructure, StoreError> {
        let found = match id {
            Some(id) => self.structures_where("id = ?1", Some(id))?.pop(),
            None => self.structures()?.pop(),
        };
        found.ok_or_else(|| StoreError::NoSuchStructure { path: self.path.clone(), id })
    }

    fn structures_where(
        &self,
        condition: &str,
        parameter: Option<i64>,
    ) -> Result<Vec<StoredStructure>, StoreError> {
        if open::version(&self.connection).map_err(self.sqlite())? < VERSION_WITH_STRUCTURES {
            return Ok(Vec::new());
        }
        let sql = format!(
            "SELECT id, run_id, stored_at, fathom_version, place, json FROM structure_report \
             WHERE {condition} ORDER BY id"
        );
        let parameters: [&dyn ToSql; 1] = [&parameter];
        self.rows(&sql, parameters, |row| {
            let id: i64 = self.get(row, 0)?;
            Ok(StoredStructure {
                id,
                run_id: self.get(row, 1)?,
                stored_at: self.get(row, 2)?,
                fathom_version: self.get(row, 3)?,
                place: self.get(row, 4)?,
                report: self.json(row, 5, || format!("structure {id}"))?,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::check::{Accounting, NotChecked};
    use crate::store::tests::file_of_version;
    use crate::structure::{
        LevelStructure, ObjectStructure, StorageKind, StripMap, StructureCounters, StructureMode,
    };

    fn report() -> StructureReport {
        let object = ObjectStructure {
            table: "t".to_owned(),
            index: None,
            index_id: 1,
            kind: StorageKind::ClusteredTree,
            index_depth: 1,
            levels: vec![LevelStructure { avg_fragmentation_pct: 0.1 + 0.2, ..LevelStructure::default() }],
            page_count: u64::MAX,
            overflow_page_count: Some(3),
            free_page_count: None,
            unused_page_count: None,
            unclear_page_count: 1,
            strip: Some(StripMap { leaf_count: 2, step: 1, pages: vec![9, 4] }),
            notes: vec!["n\u{0}".to_owned()],
        };
        StructureReport {
            engine: "sqlite".to_owned(),
            target: "a.db".to_owned(),
            mode: StructureMode::Sampled,
            page_size_bytes: 4096,
            facts: Vec::new(),
            objects: vec![object],
            free_page_count: Some(2),
            left_out: vec![NotChecked {
                object: None,
                what: "w".to_owned(),
                why: "y".to_owned(),
                kind: crate::check::GapKind::Coverage,
            }],
            accounting: Accounting::default(),
            counters: StructureCounters::default(),
            unfinished: Some("u".to_owned()),
        }
    }

    fn origin(run_id: Option<i64>) -> StructureOrigin<'static> {
        StructureOrigin { run_id, stored_at: "2026-11-20T10:00:00Z", fathom_version: "0.1.0", place: "/a.db" }
    }

    #[test]
    fn a_structure_reads_back_as_it_was_stored_and_can_neither_change_nor_vanish() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::open_or_create(directory.path()).unwrap();
        assert!(matches!(store.structure(None), Err(StoreError::NoSuchStructure { .. })));
        let id = store.add_structure(&report(), &origin(None)).unwrap();
        assert_eq!(store.structure(Some(id)).unwrap().report, report());
        assert_eq!(store.structure(None).unwrap().id, id);
        assert!(matches!(store.structure(Some(id + 1)), Err(StoreError::NoSuchStructure { .. })));
        for sql in ["UPDATE structure_report SET json = ''", "DELETE FROM structure_report"] {
            assert!(store.connection.execute(sql, []).is_err(), "{sql}");
        }
        assert!(store.add_structure(&report(), &origin(Some(77))).is_err(), "there is no run 77");
        assert_eq!(store.structures_of_run(77).unwrap(), []);
        drop(store);
        assert_eq!(Store::open_read_only(directory.path()).unwrap().structures().unwrap().len(), 1);
    }

    #[test]
    fn a_file_from_before_structures_is_read_as_it_is_and_brought_up_to_date_when_written() {
        let directory = tempfile::tempdir().unwrap();
        drop(file_of_version(directory.path(), 3));
        assert_eq!(Store::open_read_only(directory.path()).unwrap().structures().unwrap(), []);
        let mut store = Store::open_or_create(directory.path()).unwrap();
        store.add_structure(&report(), &origin(None)).unwrap();
        assert_eq!(store.structures().unwrap().len(), 1);
    }
}
