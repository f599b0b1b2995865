//! Results of expressions that depend on the version or the build of SQLite: nobody is accused, and what is certain is
//! still found.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use crate::support::{Shape, case_file, create, full, rule_counts};
use rusqlite::Connection;

/// Takes an index out of the schema, lets the table change, and puts it back as it was.
fn behind_the_index(path: &Path, index: &str, change: &str) {
    let row: (String, i64, String) = {
        let connection = Connection::open(path).unwrap();
        connection.execute_batch("PRAGMA writable_schema=ON").unwrap();
        let sql = "SELECT tbl_name, rootpage, sql FROM sqlite_schema WHERE name = ?1";
        let row =
            connection.query_row(sql, [index], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
        connection.execute("DELETE FROM sqlite_schema WHERE name = ?1", [index]).unwrap();
        row
    };
    Connection::open(path).unwrap().execute_batch(change).unwrap();
    let connection = Connection::open(path).unwrap();
    connection.execute_batch("PRAGMA writable_schema=ON").unwrap();
    let sql = "INSERT INTO sqlite_schema VALUES ('index', ?1, ?2, ?3, ?4)";
    connection.execute(sql, rusqlite::params![index, row.0, row.1, row.2]).unwrap();
}

#[test]
fn results_of_another_build_or_version_are_not_checked_with_the_reason() {
    for (name, parts) in [
        ("like_blob.db", &["index i8: rows without entry: 1 row", "written by SQLite 3.40.1"][..]),
        ("like_check.db", &["CHECK (a not like 'A%'): 1 row", "SQLITE_LIKE_DOESNT_MATCH_BLOBS"]),
        ("glob_blob_r1391.db", &["index i2: values of expressions in its entries: 1 row"]),
        (
            "float_text_340.db",
            &["text of a REAL value depends on the SQLite version", "SQLite 3.40.1", "than SQLite 3."],
        ),
        ("libsql_vector_index.db", &["index t_idx: rows without entry", "libsql_vector_idx()"]),
        ("utf16_lone.db", &[]),
        ("utf16_concat_r1664.db", &["index i106: values of expressions in its entries: 1 row"]),
    ] {
        let Some((_directory, path)) = case_file("sqlite", name) else { continue };
        let report = full(&path);
        let text = report::findings::text(&report, &check_sqlite::RULES);
        assert_eq!((report.finding_count(), report.exit_code()), (0, 0), "{name}: {text}");
        assert!(parts.iter().all(|part| text.contains(part)), "{name}: {text}");
    }
}

#[test]
fn a_lost_row_is_found_behind_entries_that_another_version_computed() {
    let Some((_directory, path)) = case_file("sqlite", "float_text_340.db") else { return };
    behind_the_index(
        &path,
        "i",
        "DELETE FROM t WHERE rowid IN (571, 572, 573); INSERT INTO t(rowid, a) VALUES (5000, 0.1 + 0.2)",
    );
    let report = full(&path);
    assert_eq!(rule_counts(&report), ["sqlite-entry-without-row 3", "sqlite-row-without-entry 1"]);
    assert!(report.findings.iter().any(|finding| finding.row.as_deref() == Some("rowid = 572")));
}

#[test]
fn an_entry_without_a_row_is_found_in_an_index_that_only_the_application_can_compute() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("application.db");
    let connection = create(&path, &Shape::default());
    let flags = rusqlite::functions::FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("twice", 1, flags, |context| Ok(context.get::<i64>(0)? * 2)).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE t(a INT); CREATE INDEX t_twice ON t(twice(a)); CREATE INDEX t_half ON t(a) WHERE twice(a) > 9;
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) INSERT INTO t SELECT i FROM n;",
        )
        .unwrap();
    connection.close().unwrap();
    assert_eq!(rule_counts(&full(&path)), Vec::<String>::new());
    // Both indexes are out of the schema while the row goes.
    let hide = "PRAGMA writable_schema=ON; CREATE TABLE kept AS SELECT * FROM sqlite_schema WHERE type = 'index'; DELETE FROM sqlite_schema WHERE type = 'index'";
    Connection::open(&path).unwrap().execute_batch(hide).unwrap();
    Connection::open(&path).unwrap().execute_batch("DELETE FROM t WHERE a = 77").unwrap();
    let back = "PRAGMA writable_schema=ON; INSERT INTO sqlite_schema SELECT * FROM kept";
    Connection::open(&path).unwrap().execute_batch(back).unwrap();
    let report = full(&path);
    // Both entries are of one row.
    assert_eq!(
        rule_counts(&report),
        ["sqlite-entry-without-row 1"],
        "{}",
        report::findings::text(&report, &check_sqlite::RULES)
    );
}

#[test]
fn like_in_capitals_and_small_letters_is_in_doubt_and_other_conditions_are_not() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("like.db");
    let connection = create(&path, &Shape::default());
    // What a build with SQLITE_CASE_SENSITIVE_LIKE does, for these values.
    let flags = rusqlite::functions::FunctionFlags::SQLITE_DETERMINISTIC;
    let like = |arguments: &rusqlite::functions::Context<'_>| {
        Ok(arguments.get::<String>(1)?.starts_with(arguments.get::<String>(0)?.trim_end_matches('%')))
    };
    connection.create_scalar_function("like", 2, flags, like).unwrap();
    connection
        .execute_batch(
            "
             CREATE TABLE t(a TEXT CHECK(a LIKE 'x%' OR a <> 'Xy'), b INT); CREATE INDEX t_a ON t(a) WHERE a LIKE 'x%';
             INSERT INTO t VALUES ('xa', 1), ('Xb', 2), ('c', 3);",
        )
        .unwrap();
    connection.close().unwrap();
    let report = full(&path);
    let text = report::findings::text(&report, &check_sqlite::RULES);
    assert_eq!(rule_counts(&report), Vec::<String>::new(), "{text}");
    assert!(text.contains("index t_a: rows without entry: 1 row (LIKE depends on the build"), "{text}");
    // No build says that this row has no entry.
    behind_the_index(&path, "t_a", "INSERT INTO t VALUES ('xd', 4)");
    assert_eq!(rule_counts(&full(&path)), ["sqlite-row-without-entry 1"]);
}

#[test]
fn a_stored_generated_column_that_does_not_hold_its_value_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    for encoding in ["UTF-8", "UTF-16be"] {
        let path = directory.path().join(format!("generated-{encoding}.db"));
        let connection = create(&path, &Shape { encoding, ..Shape::default() });
        connection
            .execute_batch(
                "CREATE TABLE t(a INT, b REAL AS (a * 2) STORED, c TEXT AS (a || '-' || b) STORED COLLATE NOCASE, d ANY AS (a) STORED,
                     e AS (c || 'x'), f BLOB AS (CAST(c AS BLOB)) STORED);
                 CREATE TABLE s(a ANY, b ANY AS (a) STORED, c INT AS (length(a)) STORED) STRICT;
                 WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) INSERT INTO t(a) SELECT i FROM n;
                 INSERT INTO t(a) VALUES (NULL), (9007199254740993), ('x'); INSERT INTO s(a) VALUES ('5'), (5.0), (x'35'), (NULL), (0.1 + 0.2);",
            )
            .unwrap();
        connection.close().unwrap();
        assert_eq!(
            rule_counts(&full(&path)),
            Vec::<String>::new(),
            "{}",
            report::findings::text(&full(&path), &check_sqlite::RULES)
        );
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch("PRAGMA writable_schema=ON").unwrap();
        let sql = "UPDATE sqlite_schema SET sql = replace(sql, 'd ANY AS (a) STORED', 'd ANY AS (a + (a = 7)) STORED') WHERE name = 't'";
        assert_eq!(connection.execute(sql, []).unwrap(), 1);
        connection.close().unwrap();
        let report = full(&path);
        let text = report::findings::text(&report, &check_sqlite::RULES);
        // 'x' has no number, so that it is 0 with the sum.
        assert_eq!(rule_counts(&report), ["sqlite-generated-column 2"], "{text}");
        assert!(text.contains("the value of (a + (a = 7)) in column d"), "{text}");
        let has_row = |finding: &results::check::Finding| {
            finding.row.as_deref().is_some_and(|row| row.ends_with(" = 7"))
        };
        assert!(report.findings.iter().any(has_row), "{:?}", report.findings);
    }
}
