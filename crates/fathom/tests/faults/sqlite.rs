//! Faults in the files of SQLite.

use std::path::Path;

use rusqlite::Connection;

use crate::matrix::{Database, Kind, run};

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

fn kind(name: &'static str, path: &str, is_protected: bool) -> Kind {
    Kind { name, path: path.into(), page_bytes: 1024, byte: 0, is_protected }
}

#[test]
fn a_database_in_a_rollback_mode_is_judged_by_what_can_be_read_twice() {
    let place = tempfile::tempdir().unwrap();
    fill(&place.path().join("a.db"), "persist").close().unwrap();
    let database = Database {
        engine: "sqlite",
        directory: place.path().to_path_buf(),
        targets: vec!["a.db".into()],
        kinds: vec![kind("database", "a.db", true), kind("journal", "a.db-journal", false)],
    };
    run(&database, |_, _, _| true);
}

#[test]
fn a_database_with_a_log_is_judged_by_what_can_be_read_twice() {
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
    let database = Database {
        engine: "sqlite",
        directory: place.path().to_path_buf(),
        targets: vec!["a.db".into()],
        kinds: vec![kind("database under a WAL", "a.db", false), wal],
    };
    run(&database, |_, _, _| true);
}
