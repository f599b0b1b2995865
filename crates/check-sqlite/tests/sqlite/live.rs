//! Databases that others write while they are checked: nothing is accused, and nothing is written.
#![allow(clippy::unwrap_used)]

use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::support::{Shape, assert_clean, checked, create, filled, options};
use check::options::Options;
use check::progress::Silent;
use results::check::CheckLevel;
use rusqlite::Connection;

/// Checks of each mode beside a writer.
const CHECK_COUNT: usize = 12;

/// Writes transactions of changing size until it is told to stop; a connection of its own for each few of them.
fn keep_writing(path: &Path, mode: &str, closes: bool, stop: &AtomicBool) {
    let mut connection = None;
    for round in 0u32.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let open = || {
            let connection = Connection::open(path).unwrap();
            connection.busy_timeout(Duration::from_secs(60)).unwrap();
            connection
                .execute_batch(&format!("PRAGMA journal_mode={mode}; PRAGMA wal_autocheckpoint=20; PRAGMA cache_size=20; PRAGMA synchronous=OFF"))
                .unwrap();
            connection
        };
        let held = connection.get_or_insert_with(open);
        let end = if round % 7 == 3 { "ROLLBACK" } else { "COMMIT" };
        held.execute_batch(&format!(
            "BEGIN IMMEDIATE;
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 150)
             INSERT OR REPLACE INTO t(k, v) SELECT abs(random()) % 3000, hex(randomblob(i)) FROM n;
             DELETE FROM t WHERE k BETWEEN {0} AND {0} + 200; {end};",
            round * 37 % 3000
        ))
        .unwrap();
        if round % 9 == 8 {
            // Whoever reads keeps the WAL from being emptied; that is no error.
            let _ =
                held.execute_batch(if mode == "WAL" { "PRAGMA wal_checkpoint(TRUNCATE)" } else { "VACUUM" });
        }
        if closes && round % 3 == 0 {
            connection = None;
        }
    }
}

fn database(path: &Path, mode: &str) {
    let connection = create(path, &Shape { page_size: 1024, ..Shape::default() });
    connection
        .execute_batch(&format!(
            "PRAGMA journal_mode={mode};
             CREATE TABLE t(id INTEGER PRIMARY KEY, k INT UNIQUE, v TEXT); CREATE INDEX t_v ON t(v);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
             INSERT INTO t(k, v) SELECT i, hex(randomblob(50)) FROM n;"
        ))
        .unwrap();
    connection.close().unwrap();
}

#[test]
fn a_check_beside_a_writer_finds_no_damage_in_any_journal_mode() {
    for (mode, closes) in [
        ("WAL", false),
        ("WAL", true),
        ("DELETE", false),
        ("DELETE", true),
        ("TRUNCATE", false),
        ("PERSIST", true),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("live.db");
        database(&path, mode);
        let stop = AtomicBool::new(false);
        let mut complete_count = 0;
        std::thread::scope(|scope| {
            scope.spawn(|| keep_writing(&path, mode, closes, &stop));
            for round in 0..CHECK_COUNT {
                let options = Options { worker_count: 1 + round % 3, ..options(CheckLevel::Full) };
                let report = check_sqlite::check(&path, &options, &mut Silent);
                let text = report::findings::text(&report, &check_sqlite::RULES);
                let is_silent = report.finding_count() == 0 && report.exit_code() != 1;
                // The writer ends before a failure is told, or the test would never end.
                stop.fetch_or(!is_silent, Ordering::Relaxed);
                assert!(is_silent, "{mode}: {text}");
                complete_count += u32::from(report.exit_code() == 0);
            }
            stop.store(true, Ordering::Relaxed);
        });
        assert!(complete_count > 0, "{mode}: no check came to its end");
        assert_clean(&checked(&path, &options(CheckLevel::Full)));
    }
}

#[test]
fn a_check_makes_no_files_beside_the_database_and_changes_none() {
    for mode in ["WAL", "DELETE"] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("quiet.db");
        database(&path, mode);
        let files = |directory: &Path| {
            let mut files: Vec<_> = std::fs::read_dir(directory)
                .unwrap()
                .map(|entry| {
                    let entry = entry.unwrap();
                    let facts = entry.metadata().unwrap();
                    (
                        entry.file_name(),
                        facts.len(),
                        facts.modified().unwrap(),
                        std::fs::read(entry.path()).unwrap(),
                    )
                })
                .collect();
            files.sort();
            files
        };
        let before = files(directory.path());
        assert_clean(&checked(&path, &options(CheckLevel::Full)));
        assert_eq!(files(directory.path()), before, "{mode}, closed");
        // With a connection that has the WAL and its index open.
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch("UPDATE t SET v = 'x' WHERE id < 10; BEGIN; SELECT count(*) FROM t;")
            .unwrap();
        let before = files(directory.path());
        assert_eq!(before.len(), if mode == "WAL" { 3 } else { 1 });
        assert_clean(&checked(&path, &options(CheckLevel::Full)));
        assert_eq!(files(directory.path()), before, "{mode}, open");
    }
}

#[test]
fn a_transaction_that_is_not_committed_is_not_seen() {
    let directory = tempfile::tempdir().unwrap();
    for mode in ["DELETE", "WAL"] {
        let path = directory.path().join(format!("{mode}.db"));
        database(&path, mode);
        let before = checked(&path, &options(CheckLevel::Full));
        let writer = Connection::open(&path).unwrap();
        writer.execute_batch("BEGIN IMMEDIATE; DELETE FROM t WHERE id % 2;").unwrap();
        let report = checked(&path, &options(CheckLevel::Full));
        assert_clean(&report);
        assert_eq!(report.counters.row_count, before.counters.row_count, "{mode}");
    }
}

#[test]
fn what_changes_without_any_lock_is_never_accused() {
    let directory = tempfile::tempdir().unwrap();
    let path = filled(directory.path(), &Shape::default(), 300);
    let page = std::fs::read(&path).unwrap()[4096..8192].to_vec();
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                for version in [[0; 4096].as_slice(), &page] {
                    file.write_all_at(version, 4096).unwrap();
                }
            }
        });
        let report = check_sqlite::check(&path, &options(CheckLevel::Full), &mut Silent);
        stop.store(true, Ordering::Relaxed);
        let text = report::findings::text(&report, &check_sqlite::RULES);
        assert_eq!((report.exit_code(), report.finding_count()), (2, 0), "{text}");
        assert!(report.unfinished.unwrap().contains("changed while it was checked: 2 times"), "{text}");
    });
}
