//! Silence on every clean file that SQLite can make.
#![allow(clippy::unwrap_used)]

use crate::support::{Shape, assert_clean, checked, create, fill, filled, options, verdict};
use check::options::Options;
use results::check::CheckLevel;

#[test]
fn every_page_size_is_silent_at_every_level() {
    for power in 9..=16 {
        let directory = tempfile::tempdir().unwrap();
        let shape = Shape { page_size: 1 << power, ..Shape::default() };
        let path = filled(directory.path(), &shape, 1500);
        assert_eq!(verdict(&path, "integrity_check"), ["ok"]);
        for level in [CheckLevel::Read, CheckLevel::Page, CheckLevel::Structure, CheckLevel::Full] {
            assert_clean(&checked(&path, &options(level)));
        }
    }
}

#[test]
fn vacuum_modes_encodings_and_reserved_bytes_are_silent() {
    for auto_vacuum in [0, 1, 2] {
        for encoding in ["UTF-8", "UTF-16le", "UTF-16be"] {
            for reserved in [0, 12] {
                let directory = tempfile::tempdir().unwrap();
                let shape = Shape { page_size: 1024, auto_vacuum, encoding, reserved };
                let path = filled(directory.path(), &shape, 900);
                let report = checked(&path, &options(CheckLevel::Full));
                assert_clean(&report);
                assert!(report.counters.row_count > 0 && report.counters.entry_count > 0);
            }
        }
    }
}

#[test]
fn workers_and_batches_change_nothing_but_the_counters() {
    let directory = tempfile::tempdir().unwrap();
    let path = filled(directory.path(), &Shape { page_size: 512, ..Shape::default() }, 3000);
    let one = checked(&path, &options(CheckLevel::Full));
    assert_clean(&one);
    for worker_count in [1, 2, 7] {
        for page_batch in [1, 8, 1000] {
            let options = Options {
                worker_count,
                page_batch: Some(page_batch),
                object_batch: Some(1),
                want_direct: worker_count == 2,
                memory_bytes_max: if worker_count == 7 { 4096 } else { 1 << 28 },
                ..options(CheckLevel::Full)
            };
            let report = checked(&path, &options);
            assert_clean(&report);
            assert_eq!(report.counters.row_count, one.counters.row_count);
            assert_eq!(report.counters.entry_count, one.counters.entry_count);
        }
    }
}

#[test]
fn an_empty_file_and_an_empty_database_are_silent() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("empty.db");
    let connection = create(&path, &Shape::default());
    connection.execute_batch("VACUUM; CREATE TABLE t(a)").unwrap();
    drop(connection);
    assert_clean(&checked(&path, &options(CheckLevel::Full)));
}

#[test]
fn a_log_is_laid_over_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.db");
    let connection = create(&path, &Shape::default());
    connection
        .execute_batch("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; CREATE TABLE first(a)")
        .unwrap();
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    fill(&connection, 1000);
    // The connection stays open: the log stays, and nobody writes.
    let report = checked(&path, &options(CheckLevel::Full));
    assert_clean(&report);
    assert!(report.counters.row_count > 1000);
}
