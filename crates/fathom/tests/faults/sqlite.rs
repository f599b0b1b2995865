//! Faults in the files of SQLite.

use std::path::Path;

use rusqlite::Connection;

use crate::cells::{Database, Kind, Seen, kept};
use crate::matrix::run;

const ROWS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900)";

fn fill(path: &Path, mode: &str) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch(&format!(
            "PRAGMA page_size = 1024; PRAGMA journal_mode = {mode}; PRAGMA synchronous = off;
             PRAGMA wal_autocheckpoint = 0;
             CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT NOT NULL, n INT, pad TEXT);
             CREATE INDEX t_a ON t(a); CREATE UNIQUE INDEX t_n ON t(n, a); CREATE TABLE long(x BLOB);
             {ROWS} INSERT INTO t SELECT i, printf('key%06d', (i * 7919) % 1000000), i * 3, 'padding ' || i FROM n;
             {ROWS} INSERT INTO long SELECT zeroblob(5000) FROM n LIMIT 20;
             CREATE TABLE gone(x); {ROWS} INSERT INTO gone SELECT zeroblob(900) FROM n LIMIT 40; DROP TABLE gone;"
        ))
        .unwrap();
    connection
}

/// A file of the database; all findings name the database.
fn kind(name: &'static str, path: &str, is_protected: bool) -> Kind {
    Kind { is_protected, kin: vec!["a.db".to_owned()], ..Kind::new(name, path, 1024) }
}

fn database(engine: &'static str, directory: &Path, older: Option<&Path>, kinds: Vec<Kind>) -> Database {
    Database {
        engine,
        directory: directory.to_path_buf(),
        older: older.map(Path::to_path_buf),
        targets: vec!["a.db".into()],
        kinds,
        clean_code: 0,
        stride: 1,
    }
}

#[test]
fn a_database_in_a_rollback_mode_is_judged_by_what_can_be_read_twice() {
    let place = tempfile::tempdir().unwrap();
    let connection = fill(&place.path().join("a.db"), "persist");
    let older = kept(place.path());
    connection
        .execute_batch(
            "UPDATE t SET pad = 'changed', n = n + 1 WHERE id % 2 = 0; DELETE FROM t WHERE id % 5 = 0;",
        )
        .unwrap();
    connection.close().unwrap();
    let mut journal = kind("journal", "a.db-journal", false);
    // A rollback journal may come and go: it is of no use any more.
    journal.may_go = true;
    let kinds = vec![kind("database", "a.db", true), journal];
    run(&database("sqlite rollback", place.path(), Some(older.path()), kinds));
}

#[test]
fn a_database_with_a_wal_is_judged_by_what_can_be_read_twice() {
    let place = tempfile::tempdir().unwrap();
    let live = tempfile::tempdir().unwrap();
    let connection = fill(&live.path().join("a.db"), "wal");
    connection
        .execute_batch(
            "PRAGMA wal_checkpoint(TRUNCATE); UPDATE t SET n = n + 1, pad = 'new' WHERE id % 3 = 0;",
        )
        .unwrap();
    for name in ["a.db", "a.db-wal"] {
        std::fs::copy(live.path().join(name), place.path().join(name)).unwrap();
    }
    let wal = Kind { page_bytes: 1024 + 24, ..kind("wal", "a.db-wal", false) };
    let kinds = vec![kind("database under a WAL", "a.db", false), wal];
    run(&database("sqlite wal", place.path(), None, kinds));
}

#[test]
fn a_database_with_a_hot_journal_is_left_to_its_recovery() {
    let place = tempfile::tempdir().unwrap();
    let live = tempfile::tempdir().unwrap();
    let connection = fill(&live.path().join("a.db"), "delete");
    // More pages than the cache has: they are in the file, and the journal has them as they were.
    connection
        .execute_batch(
            "PRAGMA cache_size = 10; PRAGMA synchronous = full; BEGIN; UPDATE t SET pad = 'changed', n = -n;",
        )
        .unwrap();
    for name in ["a.db", "a.db-journal"] {
        std::fs::copy(live.path().join(name), place.path().join(name)).unwrap();
    }
    let mut kinds = vec![kind("database", "a.db", false), kind("hot journal", "a.db-journal", false)];
    for kind in &mut kinds {
        (kind.torn, kind.stale) = (Seen::Either, Seen::Either);
    }
    run(&Database { clean_code: 2, ..database("sqlite hot journal", place.path(), None, kinds) });
}
