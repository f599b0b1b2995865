//! The damage suite: one damage at a time in a real file, and what must be found.
#![allow(dead_code, clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use check_sqlite::drill::{CLASSES, damage};
use rusqlite::Connection;

use super::{Shape, create};

/// One damaged file and the rules of which at least one must be found broken.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) what: String,
    pub(crate) path: PathBuf,
    /// Empty when nothing in the format can show it.
    pub(crate) rules: Vec<&'static str>,
}

const ROWS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)";

/// A file with rows, two indexes, long values in no index, free pages; nothing random in it.
pub(crate) fn base(path: &Path, auto_vacuum: u8) {
    let connection = create(path, &Shape { page_size: 1024, auto_vacuum, ..Shape::default() });
    connection
        .execute_batch(&format!(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT NOT NULL, n INT, pad TEXT);
             CREATE INDEX t_a ON t(a); CREATE UNIQUE INDEX t_n ON t(n, a);
             CREATE TABLE long(x BLOB);
             {ROWS} INSERT INTO t SELECT i, printf('key%06d', (i * 7919) % 1000000), i * 3, 'padding ' || i FROM n;
             {ROWS} INSERT INTO long SELECT zeroblob(5000) FROM n LIMIT 30;
             CREATE TABLE gone(x); {ROWS} INSERT INTO gone SELECT zeroblob(900) FROM n LIMIT 40; DROP TABLE gone;
             DELETE FROM t WHERE id % 10 = 3;"
        ))
        .unwrap();
    connection.close().unwrap();
}

/// A table with constraints of each kind, on columns of each class.
pub(crate) fn ruled(path: &Path, shape: &Shape) {
    let connection = create(path, shape);
    connection
        .execute_batch(&format!(
            "CREATE TABLE person(id INTEGER PRIMARY KEY, mail TEXT NOT NULL UNIQUE, age INT CHECK(age BETWEEN 0 AND 150),
                 name TEXT NOT NULL CHECK(length(name) < 40), score REAL DEFAULT 0.5);
             CREATE INDEX person_age ON person(age);
             {ROWS} INSERT INTO person SELECT i * 2, printf('%06d@example.org', (i * 7919) % 1000000), i % 99, 'name ' || i, i / 4.0 FROM n;
             DELETE FROM person WHERE id % 14 = 0;"
        ))
        .unwrap();
    connection.close().unwrap();
}

/// Virtual tables with shadow tables of each kind, and a table with generated columns.
pub(crate) fn virtual_tables(path: &Path) {
    let connection = create(path, &Shape { page_size: 1024, ..Shape::default() });
    connection
        .execute_batch(&format!(
            "CREATE TABLE g(id INTEGER PRIMARY KEY, a INT, twice INT AS (a * 2) STORED, name TEXT AS ('n' || a) STORED);
             {ROWS} INSERT INTO g(id, a) SELECT i, i % 77 FROM n;
             CREATE VIRTUAL TABLE five USING fts5(a, b); CREATE VIRTUAL TABLE four USING fts4(a, b);
             CREATE VIRTUAL TABLE tree USING rtree(id, x0, x1, y0, y1);
             {ROWS} INSERT INTO five(rowid, a, b) SELECT i, 'word' || (i % 37) || ' number ' || i, 'text' FROM n LIMIT 300;
             {ROWS} INSERT INTO four(docid, a, b) SELECT i, 'word' || (i % 37) || ' number ' || i, 'text' FROM n LIMIT 300;
             {ROWS} INSERT INTO tree SELECT i, i % 40, i % 40 + 1, i % 31, i % 31 + 0.5 FROM n LIMIT 400;"
        ))
        .unwrap();
    connection.close().unwrap();
}

/// All cases, made in a directory.
pub(crate) fn cases(directory: &Path) -> Vec<Case> {
    let plain = directory.join("plain.db");
    base(&plain, 0);
    let mapped = directory.join("mapped.db");
    base(&mapped, 2);
    let with_rules = directory.join("ruled.db");
    ruled(&with_rules, &Shape { page_size: 1024, ..Shape::default() });
    let with_virtual = directory.join("virtual.db");
    virtual_tables(&with_virtual);
    let mut cases = Vec::new();
    for class in CLASSES {
        let source = match class.name {
            "pointer-map" => &mapped,
            "generated-value" | "lost-text-row" | "flip-in-text-index" | "rtree-box" | "lost-rtree-row" => {
                &with_virtual
            }
            "duplicate-key" | "null-in-not-null" | "check-violated" => &with_rules,
            _ => &plain,
        };
        for seed in 0..4 {
            let path = directory.join(format!("{}-{seed}.db", class.name));
            damage(source, &path, class.name, seed).unwrap();
            let name = class.name.to_owned();
            cases.push(Case { name, what: class.what.to_owned(), path, rules: class.rules.to_vec() });
        }
    }
    cases.extend(special_cases(directory, &plain));
    cases
}

/// A copy of the plain file, damaged: name, what was done, and the rules.
fn special_case(
    directory: &Path,
    plain: &Path,
    (name, what, rules): (&str, &str, &[&'static str]),
    make: fn(&Path),
) -> Case {
    let path = directory.join(format!("{name}.db"));
    std::fs::copy(plain, &path).unwrap();
    make(&path);
    Case { name: name.to_owned(), what: what.to_owned(), path, rules: rules.to_vec() }
}

fn special_cases(directory: &Path, plain: &Path) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |name: &str, what: &str, rules: &[&'static str], make: fn(&Path)| {
        cases.push(special_case(directory, plain, (name, what, rules), make));
    };
    add(
        "lost-write-table",
        "keeps a table page from before a transaction that SQLite ran",
        &["sqlite-entry-without-row"],
        |path| {
            stale(path, "t", "UPDATE t SET pad = 'other' WHERE id = 1; DELETE FROM t WHERE id = 1200", true)
        },
    );
    add(
        "lost-write-index",
        "keeps an index page from before a transaction that SQLite ran",
        &["sqlite-row-without-entry"],
        |path| stale(path, "t_n", "DELETE FROM t WHERE id = 1200", true),
    );
    add("number-in-text", "a number in a TEXT column", &["sqlite-value-type"], |path| {
        redefine(
            path,
            "UPDATE t SET n = 5 WHERE id = 77",
            "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT NOT NULL, n TEXT, pad TEXT)",
        );
    });
    add("number-as-text", "a text that is a number in a numeric column", &["sqlite-value-type"], |path| {
        redefine(
            path,
            "UPDATE t SET pad = '12' WHERE id = 77",
            "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT NOT NULL, n INT, pad INT)",
        );
    });
    cases.extend(special_computed_cases(directory, plain));
    cases
}

fn special_computed_cases(directory: &Path, plain: &Path) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |name: &str, what: &str, rules: &[&'static str], make: fn(&Path)| {
        cases.push(special_case(directory, plain, (name, what, rules), make));
    };
    add(
        "partial-index-entry",
        "a row that a partial index should hold and does not",
        &["sqlite-row-without-entry"],
        |path| {
            let connection = Connection::open(path).unwrap();
            connection
                .execute_batch(
                    "CREATE INDEX t_part ON t(pad) WHERE n > 300; PRAGMA writable_schema=ON;
                     UPDATE sqlite_schema SET sql = 'CREATE INDEX t_part ON t(pad) WHERE n > 297' WHERE name = 't_part'",
                )
                .unwrap();
        },
    );
    add(
        "expression-entry",
        "entries of an index on an expression that hold another value than the expression has",
        &["sqlite-entry-differs"],
        |path| {
            let connection = Connection::open(path).unwrap();
            connection
                .execute_batch(
                    "CREATE INDEX t_sum ON t(n + id); PRAGMA writable_schema=ON;
                     UPDATE sqlite_schema SET sql = 'CREATE INDEX t_sum ON t(n - -id + (id = 600))' WHERE name = 't_sum'",
                )
                .unwrap();
        },
    );
    add(
        "generated-column",
        "a STORED generated column that holds another value than its expression has",
        &["sqlite-generated-column"],
        |path| {
            let connection = Connection::open(path).unwrap();
            connection
                .execute_batch(
                    "CREATE TABLE g(a INT, b INT AS (a * 2) STORED); INSERT INTO g(a) SELECT n FROM t; PRAGMA writable_schema=ON;
                     UPDATE sqlite_schema SET sql = replace(sql, 'a * 2', 'a + a + (a = 600)') WHERE name = 'g'",
                )
                .unwrap();
        },
    );
    add(
        "index-of-other-order",
        "an index whose collation was changed behind it",
        &["sqlite-key-order", "sqlite-parent-bounds"],
        |path| {
            let connection = Connection::open(path).unwrap();
            connection
            .execute_batch(
                "UPDATE t SET a = upper(a) WHERE id % 2; PRAGMA writable_schema=ON;
                 UPDATE sqlite_schema SET sql = 'CREATE INDEX t_a ON t(a COLLATE NOCASE)' WHERE name = 't_a';",
            )
            .unwrap();
        },
    );
    cases.push(broken_log(directory, plain));
    cases
}

fn redefine(path: &Path, change: &str, definition: &str) {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch(change).unwrap();
    connection
        .execute_batch(&format!(
            "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = '{definition}' WHERE name = 't'"
        ))
        .unwrap();
}

/// Keeps the last leaf of a tree as it is before `change`'s opposite: the file gets one page of another version.
fn stale(path: &Path, tree: &str, change: &str, _is_last: bool) {
    let newer = std::fs::read(path).unwrap();
    let connection = Connection::open(path).unwrap();
    let page: u32 = connection
        .query_row("SELECT max(pageno) FROM dbstat WHERE name = ?1 AND pagetype = 'leaf' AND path = (SELECT max(path) FROM dbstat WHERE name = ?1 AND pagetype = 'leaf')", [tree], |row| row.get(0))
        .unwrap();
    connection.execute_batch(change).unwrap();
    connection.close().unwrap();
    let older = std::fs::read(path).unwrap();
    let range = (page as usize - 1) * 1024..page as usize * 1024;
    assert_ne!(newer[range.clone()], older[range.clone()]);
    let mut mixed = newer;
    mixed[range.clone()].copy_from_slice(&older[range]);
    std::fs::write(path, mixed).unwrap();
}

/// A log of several transactions with one byte changed in an early frame.
fn broken_log(directory: &Path, plain: &Path) -> Case {
    let live = directory.join("live.db");
    std::fs::copy(plain, &live).unwrap();
    let connection = Connection::open(&live).unwrap();
    connection.execute_batch("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0").unwrap();
    for id in 1..6 {
        connection.execute("UPDATE t SET pad = 'logged' WHERE id = ?1", [id * 50]).unwrap();
    }
    let path = directory.join("log-frame.db");
    std::fs::copy(&live, &path).unwrap();
    let mut log = std::fs::read(directory.join("live.db-wal")).unwrap();
    log[32 + 24 + 1024 + 24 + 500] ^= 1;
    std::fs::write(directory.join("log-frame.db-wal"), log).unwrap();
    Case {
        name: "log-frame".to_owned(),
        what: "flips one bit in the second frame of a log of five transactions".to_owned(),
        path,
        rules: vec!["sqlite-wal"],
    }
}
