//! Files for tests: made by SQLite, damaged at literal offsets.
#![allow(dead_code, clippy::unwrap_used)]

#[path = "../../../../check/tests/support/advice.rs"]
pub(crate) mod advice;
pub(crate) mod cases;

use std::path::{Path, PathBuf};

use check::options::Options;
use check::progress::Silent;
use results::check::{CheckLevel, CheckReport};
use rusqlite::Connection;
use sha2::{Digest, Sha256};

use skips::{Capability, skip};

/// What a file is made with.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    pub(crate) page_size: u32,
    pub(crate) auto_vacuum: u8,
    pub(crate) encoding: &'static str,
    pub(crate) reserved: u8,
}

impl Default for Shape {
    fn default() -> Self {
        Self { page_size: 4096, auto_vacuum: 0, encoding: "UTF-8", reserved: 0 }
    }
}

/// Opens a new file of that shape.
pub(crate) fn create(path: &Path, shape: &Shape) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch(&format!(
            "PRAGMA page_size={}; PRAGMA auto_vacuum={}; PRAGMA encoding='{}'; PRAGMA journal_mode=DELETE;",
            shape.page_size, shape.auto_vacuum, shape.encoding
        ))
        .unwrap();
    if shape.reserved > 0 {
        // An empty database of one page; then two literal changes in it.
        connection.execute_batch("PRAGMA user_version=1").unwrap();
        connection.close().unwrap();
        let mut bytes = std::fs::read(path).unwrap();
        bytes[20] = shape.reserved;
        let usable = shape.page_size - u32::from(shape.reserved);
        bytes[105..107].copy_from_slice(&u16::try_from(usable).unwrap().to_be_bytes());
        std::fs::write(path, bytes).unwrap();
        return Connection::open(path).unwrap();
    }
    connection
}

/// Tables with everything that the format has: indexes of all kinds, long values, holes, added columns.
pub(crate) fn fill(connection: &Connection, row_count: u32) {
    connection
        .execute_batch(&format!(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, a INT, b TEXT COLLATE NOCASE, c REAL, d BLOB, e TEXT NOT NULL UNIQUE, f NUMERIC);
             CREATE INDEX t_a ON t(a DESC, b);
             CREATE INDEX t_b ON t(b COLLATE RTRIM);
             CREATE INDEX t_c ON t(c);
             CREATE INDEX t_d ON t(d);
             CREATE INDEX t_part ON t(a) WHERE a > 10;
             CREATE INDEX t_expr ON t(abs(a));
             CREATE TABLE w(k TEXT, n INT, v, PRIMARY KEY(k, n DESC)) WITHOUT ROWID;
             CREATE INDEX w_v ON w(v);
             CREATE TABLE s(x INTEGER PRIMARY KEY AUTOINCREMENT, y ANY, z TEXT) STRICT;
             CREATE TABLE g(p INT, q INT AS (p * 2) STORED, r INT AS (p + 1) VIRTUAL, UNIQUE(p, q));
             CREATE INDEX g_r ON g(r);
             CREATE VIEW vw AS SELECT a FROM t; CREATE TRIGGER tr AFTER INSERT ON s BEGIN SELECT 1; END;
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {row_count})
             INSERT INTO t SELECT i * 3, (i * 7919) % 1000, CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN 'Ab ' || i ELSE 'aB' || (i % 50) || '  ' END,
                 CASE i % 4 WHEN 0 THEN i WHEN 1 THEN i / 7.0 WHEN 2 THEN NULL ELSE 1e300 END,
                 CASE WHEN i % 37 = 0 THEN randomblob(9000) WHEN i % 11 = 0 THEN randomblob(700) ELSE randomblob(i % 20) END,
                 'key' || hex(randomblob(8)) || i, CASE i % 3 WHEN 0 THEN 'x' ELSE i * 1.0 END FROM n;
             INSERT INTO w SELECT 'k' || (id % 100), id, CASE id % 9 WHEN 0 THEN randomblob(5000) ELSE a END FROM t;
             INSERT INTO s(y, z) SELECT a, b FROM t;
             INSERT INTO g(p) SELECT id FROM t;
             DELETE FROM t WHERE id % 5 = 0; UPDATE t SET a = a + 1 WHERE id % 7 = 0; UPDATE t SET d = zeroblob(20000) WHERE id % 101 = 0;
             DELETE FROM w WHERE n % 4 = 0;
             ALTER TABLE s ADD COLUMN late TEXT NOT NULL DEFAULT 'none'; ALTER TABLE s ADD COLUMN more REAL DEFAULT 5;
             CREATE INDEX s_late ON s(late, more); INSERT INTO s(y, z, late, more) VALUES (NULL, NULL, 'some', 2.5);
             CREATE TABLE gone(x); INSERT INTO gone SELECT randomblob(3000) FROM s LIMIT 50; DROP TABLE gone;
             ANALYZE;"
        ))
        .unwrap();
}

/// A file of that shape with all of that, closed.
pub(crate) fn filled(directory: &Path, shape: &Shape, row_count: u32) -> PathBuf {
    let path = directory.join("checked.db");
    let connection = create(&path, shape);
    fill(&connection, row_count);
    connection.close().unwrap();
    path
}

/// Options for a level that name everything.
pub(crate) fn options(level: CheckLevel) -> Options {
    Options { level, findings_per_rule_max: 1000, ..Options::default() }
}

/// Checks a file, and proves that the accounting holds and that the file was not touched.
pub(crate) fn checked(path: &Path, options: &Options) -> CheckReport {
    let before = hash(path);
    let report = check_sqlite::check(path, options, &mut Silent);
    assert_eq!(before, hash(path), "the file was changed");
    assert!(report.accounting.is_balanced(), "{:?}", report.accounting);
    report
}

/// A check of everything.
pub(crate) fn full(path: &Path) -> CheckReport {
    checked(path, &options(CheckLevel::Full))
}

/// The rules that were broken, each with the number of its findings.
pub(crate) fn rule_counts(report: &CheckReport) -> Vec<String> {
    report.rule_counts.iter().map(|count| format!("{} {}", count.rule, count.found_count)).collect()
}

pub(crate) fn hash(path: &Path) -> Vec<u8> {
    Sha256::digest(std::fs::read(path).unwrap()).to_vec()
}

/// Proves that nothing is found, and everything was read.
pub(crate) fn assert_clean(report: &CheckReport) {
    let text = report::findings::text(report, &check_sqlite::RULES);
    assert_eq!(report.finding_count(), 0, "{text}");
    assert_eq!(report.exit_code(), 0, "{text}");
    let accounting = &report.accounting;
    assert_eq!(accounting.bytes_read, accounting.bytes_expected, "{text}");
    assert_eq!(accounting.clean_count, accounting.page_count, "{text}");
    assert!(!text.contains("cannot be parsed") && !text.contains("no row for it"), "{text}");
    assert!(
        !text.contains("partial index") && !text.contains("be computed") && !text.contains("not compute"),
        "{text}"
    );
}

/// The verdict of SQLite: the rows of a pragma, or the error. On a copy, because a connection that may not write
/// leaves CHECK constraints out without saying so (SQLite 3.54.1).
pub(crate) fn verdict(path: &Path, pragma: &str) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let copy = directory.path().join("copy.db");
    std::fs::copy(path, &copy).unwrap();
    let log = path.with_file_name(format!("{}-wal", path.file_name().unwrap().display()));
    if log.exists() {
        std::fs::copy(log, directory.path().join("copy.db-wal")).unwrap();
    }
    let run = || -> rusqlite::Result<Vec<String>> {
        let connection = Connection::open(&copy)?;
        let mut statement = connection.prepare(&format!("PRAGMA {pragma}"))?;
        let rows = statement.query_map([], |row| row.get(0))?;
        rows.collect()
    };
    run().unwrap_or_else(|error| vec![format!("error: {error}")])
}

/// A file of the cases that lie beside the sources, copied with its -wal to a directory of its own; a
/// skip that is counted when it is absent.
pub(crate) fn case_file(engine: &str, name: &str) -> Option<(tempfile::TempDir, PathBuf)> {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("FATHOM_SHARED").map_or_else(beside, PathBuf::from);
    let cases = shared.join("data/cases").join(engine);
    if !cases.join(name).exists() {
        skip(Capability::Shared, format!("\"{}\" is absent", cases.join(name).display()));
        return None;
    }
    let directory = tempfile::tempdir().unwrap();
    for suffix in ["", "-wal", "-journal"] {
        let from = cases.join(format!("{name}{suffix}"));
        if from.exists() {
            let to = directory.path().join(format!("{name}{suffix}"));
            std::fs::write(to, std::fs::read(from).unwrap()).unwrap();
        }
    }
    let path = directory.path().join(name);
    Some((directory, path))
}
