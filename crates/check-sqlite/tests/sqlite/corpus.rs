//! Clean files as applications leave them: shadow tables, altered tables, shrunken files, logs of many frames.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use crate::support::{Shape, assert_clean, checked, create, options, verdict};
use check::options::Options;
use results::check::CheckLevel;
use rusqlite::Connection;

const ROWS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)";

/// What is done to a file, by name. `$rows` stands for a table `n` of 400 numbers.
const HISTORIES: [(&str, &str); 11] = [
    ("full text and spatial indexes", "CREATE VIRTUAL TABLE docs USING fts5(title, body, prefix='2 3');
        CREATE VIRTUAL TABLE old USING fts4(body); CREATE VIRTUAL TABLE boxes USING rtree(id, a, b, c, d);
        $rows INSERT INTO docs SELECT 'title ' || i, hex(zeroblob(i % 90)) || ' word' || i FROM n;
        $rows INSERT INTO old SELECT 'some words ' || i FROM n; $rows INSERT INTO boxes SELECT i, i, i + 1, -i, i FROM n;
        DELETE FROM docs WHERE rowid % 3 = 0; DELETE FROM boxes WHERE id % 3 = 0; INSERT INTO docs(docs) VALUES ('optimize');"),
    ("columns added, dropped and renamed", "CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, c INT, d REAL);
        CREATE INDEX t_b ON t(b); $rows INSERT INTO t SELECT i, 'b' || i, i, i / 3.0 FROM n;
        ALTER TABLE t DROP COLUMN c; ALTER TABLE t ADD COLUMN e TEXT NOT NULL DEFAULT 'e' COLLATE NOCASE;
        ALTER TABLE t ADD COLUMN f AS (d * 2) VIRTUAL; CREATE INDEX t_e ON t(e, f); $rows INSERT INTO t(b, d) SELECT 'n' || i, i FROM n;
        ALTER TABLE t RENAME COLUMN b TO \"renamed b\"; ALTER TABLE t RENAME TO \"new t\";"),
    ("without rowid, altered", "CREATE TABLE w(x TEXT COLLATE NOCASE, y INT, z, PRIMARY KEY(y DESC, x)) WITHOUT ROWID;
        CREATE UNIQUE INDEX w_z ON w(z DESC) WHERE z IS NOT NULL; $rows INSERT INTO w SELECT 'X' || i, i % 7, i FROM n;
        ALTER TABLE w ADD COLUMN late INT DEFAULT 7 CHECK(late > 0); CREATE INDEX w_l ON w(late, x COLLATE RTRIM);"),
    ("strict tables", "CREATE TABLE s(i INT, j INTEGER, r REAL, t TEXT, b BLOB, a ANY, g INT AS (i + 1) STORED) STRICT;
        $rows INSERT INTO s SELECT i, -i, i, 't', x'00', CASE i % 3 WHEN 0 THEN '12' WHEN 1 THEN 5 ELSE x'01' END FROM n;
        CREATE INDEX s_a ON s(a, r); CREATE INDEX s_g ON s(g DESC);"),
    ("values at their limits", "CREATE TABLE v(k, t TEXT, r REAL, n NUMERIC); CREATE INDEX v_k ON v(k); CREATE INDEX v_r ON v(r, n);
        INSERT INTO v VALUES (9223372036854775807, '', 9e999, '1e1000'), (-9223372036854775808, char(0, 65), -9e999, '0x10'),
            (9007199254740993, 'a' || char(0), 9007199254740992.0, 1e15), (0.0, ' ', -0.0, ' 12 '), (NULL, NULL, NULL, NULL),
            (zeroblob(0), CAST(x'fffe41' AS TEXT), 1, '.5'), (1, '1', '1.5', 'abc'), (8388608, 'x', 140737488355328, -32769);
        $rows INSERT INTO v SELECT 1 << (i % 64), substr(hex(zeroblob(300)), 1, i), i * 1e300, -(1 << (i % 64)) FROM n;"),
    ("long values", "CREATE TABLE b(id INTEGER PRIMARY KEY, x BLOB, y TEXT); CREATE INDEX b_y ON b(y);
        INSERT INTO b VALUES (1, zeroblob(3000000), hex(zeroblob(40000))); $rows INSERT INTO b SELECT NULL, randomblob(i * 50), hex(randomblob(i * 3)) FROM n;
        UPDATE b SET x = zeroblob(10) WHERE id = 1; UPDATE b SET x = zeroblob(200000) WHERE id % 50 = 0; DELETE FROM b WHERE id % 3 = 0;"),
    ("many small objects", "$objects"),
    ("everything deleted", "CREATE TABLE d(a UNIQUE, b); $rows INSERT INTO d SELECT i, hex(randomblob(100)) FROM n; DELETE FROM d;
        CREATE TABLE e(a); DROP TABLE e;"),
    ("autoincrement, foreign keys, triggers, views, statistics", "CREATE TABLE p(id INTEGER PRIMARY KEY AUTOINCREMENT, n TEXT UNIQUE ON CONFLICT IGNORE);
        CREATE TABLE c(p REFERENCES p(id) ON DELETE CASCADE, q TEXT DEFAULT CURRENT_TIMESTAMP, CHECK(p > 0));
        CREATE TRIGGER tr AFTER INSERT ON p BEGIN INSERT INTO c(p) VALUES (new.id); END; CREATE VIEW v AS SELECT * FROM p;
        $rows INSERT INTO p(n) SELECT i % 50 FROM n; ANALYZE; REINDEX;"),
    ("odd names", "CREATE TABLE \"check (a\"(\"as\" INT CHECK(\"as\" > 0), [where] TEXT, `collate` INT GENERATED ALWAYS AS (\"as\" + 1));
        CREATE INDEX \"on (x)\" ON \"check (a\"(\"as\" DESC, [where], `collate`) WHERE [where] <> 'desc)'; $rows INSERT INTO \"check (a\" SELECT i, 'w' || i FROM n;"),
    ("shrunk", "CREATE TABLE s(a, b); CREATE INDEX s_a ON s(a); $rows INSERT INTO s SELECT i, zeroblob(2000) FROM n;
        DELETE FROM s WHERE a > 100; PRAGMA incremental_vacuum(30); $rows INSERT INTO s SELECT i, zeroblob(9000) FROM n WHERE i < 20;"),
];

/// Does what a history says.
fn live(connection: &Connection, history: &str) {
    let objects: String = (0..150)
        .map(|i| format!("CREATE TABLE o{i}(a, b UNIQUE); INSERT INTO o{i} VALUES ({i}, {i});"))
        .collect();
    connection.execute_batch(&history.replace("$rows", ROWS).replace("$objects", &objects)).unwrap();
}

#[test]
fn files_as_applications_leave_them_are_silent() {
    for (index, (name, history)) in HISTORIES.into_iter().enumerate() {
        // Each history meets two of the shapes; all shapes meet all histories in the other tests' files.
        for turn in [index, index + 4] {
            let shape = Shape {
                page_size: [1024, 4096, 512, 65536, 8192][turn % 5],
                auto_vacuum: [0, 2, 1][turn % 3],
                encoding: ["UTF-8", "UTF-16le", "UTF-8", "UTF-16be"][turn % 4],
                reserved: [0, 8, 0, 24][(turn / 2) % 4],
            };
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("lived.db");
            let connection = create(&path, &shape);
            live(&connection, history);
            connection.close().unwrap();
            assert_eq!(verdict(&path, "integrity_check"), ["ok"], "{name}");
            for level in [CheckLevel::Structure, CheckLevel::Full] {
                let report = checked(&path, &Options { worker_count: 2, ..options(level) });
                let text = report::findings::text(&report, &check_sqlite::RULES);
                assert_eq!((report.finding_count(), report.exit_code()), (0, 0), "{name} {shape:?}: {text}");
            }
        }
    }
}

#[test]
fn a_log_of_many_generations_and_frames_is_laid_over() {
    for (name, history) in HISTORIES {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("logged.db");
        let connection = create(&path, &Shape { page_size: 1024, ..Shape::default() });
        connection.execute_batch("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0;").unwrap();
        live(&connection, history);
        // The log starts over, with what it held before behind its new frames.
        connection.execute_batch("PRAGMA wal_checkpoint(RESTART); CREATE TABLE after_restart(a);").unwrap();
        for i in 0..50 {
            connection.execute("INSERT INTO after_restart VALUES (?1)", [i]).unwrap();
        }
        // Copied as a backup of a machine that lost power would be.
        let copy = directory.path().join("copy.db");
        std::fs::copy(&path, &copy).unwrap();
        std::fs::copy(directory.path().join("logged.db-wal"), directory.path().join("copy.db-wal")).unwrap();
        let report = checked(&copy, &options(CheckLevel::Full));
        assert_eq!(
            report.finding_count(),
            0,
            "{name}: {}",
            report::findings::text(&report, &check_sqlite::RULES)
        );
        assert!(
            report.facts.iter().any(|(fact, value)| fact == "WAL frames applied" && value != "0"),
            "{name}"
        );
    }
}

/// Copies a database in the middle of a transaction, with its journal: as a crash would leave it.
fn crashed(directory: &Path) -> std::path::PathBuf {
    let path = directory.join("busy.db");
    let connection = create(&path, &Shape { page_size: 1024, ..Shape::default() });
    live(&connection, HISTORIES[1].1);
    connection
        .execute_batch("PRAGMA cache_size=5; PRAGMA cache_spill=1; BEGIN; UPDATE \"new t\" SET e = hex(randomblob(300));")
        .unwrap();
    let copy = directory.join("crashed.db");
    std::fs::copy(&path, &copy).unwrap();
    std::fs::copy(directory.join("busy.db-journal"), directory.join("crashed.db-journal")).unwrap();
    copy
}

#[test]
fn a_crash_in_a_transaction_is_refused_until_sqlite_has_rolled_it_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = crashed(directory.path());
    let report = checked(&path, &options(CheckLevel::Full));
    assert_eq!((report.exit_code(), report.finding_count()), (2, 0));
    let reason = report.unfinished.unwrap();
    assert!(reason.contains("crashed.db-journal") && reason.contains("interrupted transaction"), "{reason}");
    Connection::open(&path).unwrap().execute_batch("SELECT count(*) FROM \"new t\"").unwrap();
    assert_clean(&checked(&path, &options(CheckLevel::Full)));
}
