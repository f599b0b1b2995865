//! Checks of database files: added when they end, read back for lists and reports.

use rusqlite::params;
use serde::{Deserialize, Serialize};

use super::{Store, StoreError, open};
use crate::check::{CheckLevel, CheckReport};

/// The first version of the file with checks.
const VERSION_WITH_CHECKS: i64 = 2;

/// A check with its place in the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredCheck {
    /// Its row number.
    pub id: i64,
    /// RFC 3339, UTC: when it had ended.
    pub stored_at: String,
    /// The version of fathom that checked.
    pub fathom_version: String,
    /// What was checked: an absolute path, or a URL without password.
    pub place: String,
    /// Everything that the check said: findings up to a number per rule, with all counted.
    pub report: CheckReport,
    /// What reading alone gave, bytes per second: the newest check of the same place at level `read` that read
    /// everything in the same way. Absent when there was none.
    pub read_ceiling_bytes_per_s: Option<f64>,
}

impl StoredCheck {
    /// Bytes per second of the pass over the pages, repeated reads left out; absent when nothing was timed.
    pub fn bytes_per_s(&self) -> Option<f64> {
        rate(&self.report)
    }

    /// The speed of the pass as a share of what reading alone gave, 1 being all of it.
    pub fn share_of_ceiling(&self) -> Option<f64> {
        Some(self.bytes_per_s()? / self.read_ceiling_bytes_per_s.filter(|ceiling| *ceiling > 0.0)?)
    }
}

impl Store {
    /// Stores a check that ended; returns its row number.
    ///
    /// # Errors
    /// No space, or SQLite refuses.
    pub fn add_check(
        &mut self,
        report: &CheckReport,
        place: &str,
        stored_at: &str,
        fathom_version: &str,
    ) -> Result<i64, StoreError> {
        let json = serde_json::to_string(report).expect("plain data has a JSON form");
        let sql = "INSERT INTO check_report (stored_at, fathom_version, place, json) VALUES (?1, ?2, ?3, ?4)";
        self.connection
            .execute(sql, params![stored_at, fathom_version, place, json])
            .map_err(self.sqlite())?;
        Ok(self.connection.last_insert_rowid())
    }

    /// All checks, in the order in which they were stored; none in a file that is older than checks.
    ///
    /// # Errors
    /// A stored value cannot be read, or SQLite refuses.
    pub fn checks(&self) -> Result<Vec<StoredCheck>, StoreError> {
        if open::version(&self.connection).map_err(self.sqlite())? < VERSION_WITH_CHECKS {
            return Ok(Vec::new());
        }
        let sql = "SELECT id, stored_at, fathom_version, place, json FROM check_report ORDER BY id";
        let mut checks = self.rows(sql, [], |row| {
            let id: i64 = self.get(row, 0)?;
            Ok(StoredCheck {
                id,
                stored_at: self.get(row, 1)?,
                fathom_version: self.get(row, 2)?,
                place: self.get(row, 3)?,
                report: self.json(row, 4, || format!("check {id}"))?,
                read_ceiling_bytes_per_s: None,
            })
        })?;
        let ceilings: Vec<_> = checks.iter().map(|check| ceiling_of(check, &checks)).collect();
        for (check, ceiling) in checks.iter_mut().zip(ceilings) {
            check.read_ceiling_bytes_per_s = ceiling;
        }
        Ok(checks)
    }

    /// One check.
    ///
    /// # Errors
    /// There is none with this number; as [`Store::checks`].
    pub fn check(&self, id: i64) -> Result<StoredCheck, StoreError> {
        let found = self.checks()?.into_iter().find(|check| check.id == id);
        found.ok_or_else(|| StoreError::NoSuchCheck { path: self.path.clone(), id })
    }
}

/// The rate of the newest read of everything, of the same place and in the same way.
fn ceiling_of(check: &StoredCheck, all: &[StoredCheck]) -> Option<f64> {
    let fits = |other: &&StoredCheck| {
        other.place == check.place
            && other.report.level == CheckLevel::Read
            && other.report.accounting.is_complete()
            && other.report.counters.reader == check.report.counters.reader
            && other.report.counters.worker_count == check.report.counters.worker_count
    };
    all.iter().rev().find(fits).and_then(|other| rate(&other.report))
}

fn rate(report: &CheckReport) -> Option<f64> {
    let ns = report.counters.pass_ns;
    (ns > 0).then(|| report.accounting.bytes_read as f64 * 1e9 / ns as f64)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::check::{Accounting, CheckCounters, Confidence, Finding, NotChecked, RuleCount, Skipped};

    fn report(level: CheckLevel, pass_ns: u64) -> CheckReport {
        CheckReport {
            engine: "sqlite".to_owned(),
            target: "a.db".to_owned(),
            level,
            facts: vec![("page size".to_owned(), "4096".to_owned())],
            objects: Vec::new(),
            findings: vec![Finding {
                file: "a.db".to_owned(),
                page: Some(u64::MAX),
                slot: None,
                offset_bytes: Some(7),
                rule: "r".to_owned(),
                engine: "sqlite".to_owned(),
                object: Some("t".to_owned()),
                invariant: "p".to_owned(),
                expected: "e".to_owned(),
                found: "f".to_owned(),
                confidence: Confidence::Consequence,
                next_step: "n".to_owned(),
                row: None,
                messages: None,
            }],
            rule_counts: vec![RuleCount { rule: "r".to_owned(), found_count: 900, listed_count: 1 }],
            not_checked: vec![NotChecked {
                object: None,
                what: "foreign keys".to_owned(),
                why: "never".to_owned(),
                kind: crate::check::GapKind::Coverage,
            }],
            coverage: crate::check::Coverage::default(),
            accounting: Accounting {
                page_count: 4,
                clean_count: 2,
                damaged_count: 1,
                skipped: vec![Skipped { why: "lock".to_owned(), page_count: 1 }],
                bytes_expected: 1000,
                bytes_read: 1000,
                ..Accounting::default()
            },
            counters: CheckCounters {
                pass_ns,
                worker_count: 2,
                reader: "threads".into(),
                ..CheckCounters::default()
            },
            unfinished: None,
        }
    }

    #[test]
    fn a_check_reads_back_as_it_was_stored_and_can_neither_change_nor_vanish() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::open_or_create(directory.path()).unwrap();
        let whole = report(CheckLevel::Full, 10);
        let id = store.add_check(&whole, "/a.db", "2026-11-20T10:00:00Z", "0.1.0").unwrap();
        assert_eq!(store.check(id).unwrap().report, whole);
        assert!(matches!(store.check(id + 1), Err(StoreError::NoSuchCheck { .. })));
        for sql in ["UPDATE check_report SET json = ''", "DELETE FROM check_report"] {
            assert!(store.connection.execute(sql, []).is_err(), "{sql}");
        }
        drop(store);
        let store = Store::open_read_only(directory.path()).unwrap();
        assert_eq!(store.checks().unwrap().len(), 1);
    }

    #[test]
    fn speed_is_held_against_the_newest_read_of_the_same_place_in_the_same_way() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::open_or_create(directory.path()).unwrap();
        let mut add = |place: &str, report: &CheckReport| store.add_check(report, place, "t", "v").unwrap();
        let mut other_way = report(CheckLevel::Read, 1);
        other_way.counters.reader = "io_uring".to_owned();
        let mut part = report(CheckLevel::Read, 1);
        part.accounting.bytes_read = 1;
        add("/a.db", &report(CheckLevel::Read, 1_000));
        add("/a.db", &report(CheckLevel::Read, 500));
        for no_ceiling in [&other_way, &part] {
            add("/a.db", no_ceiling);
        }
        let id = add("/a.db", &report(CheckLevel::Full, 1_000));
        let lonely = add("/b.db", &report(CheckLevel::Full, 1_000));
        assert_eq!(store.check(id).unwrap().share_of_ceiling(), Some(0.5));
        assert_eq!(store.check(lonely).unwrap().share_of_ceiling(), None);
    }

    #[test]
    fn a_file_from_before_checks_is_read_as_it_is_and_brought_up_to_date_when_written() {
        let directory = tempfile::tempdir().unwrap();
        drop(crate::store::tests::file_of_version(directory.path(), 1));
        assert_eq!(Store::open_read_only(directory.path()).unwrap().checks().unwrap(), []);
        let mut store = Store::open_or_create(directory.path()).unwrap();
        store.add_check(&report(CheckLevel::Page, 1), "/a.db", "t", "v").unwrap();
        assert_eq!(store.checks().unwrap().len(), 1);
    }
}
