//! CHECK constraints, partial indexes, indexes on expressions and on columns that are not stored.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use crate::support::{Shape, assert_clean, checked, create, options, verdict};
use results::check::{CheckLevel, CheckReport};
use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;

const ROWS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)";

/// A table with everything that is computed, in an encoding.
fn computed(directory: &Path, encoding: &'static str) -> PathBuf {
    let path = directory.join("computed.db");
    let connection = create(&path, &Shape { page_size: 1024, encoding, ..Shape::default() });
    connection
        .execute_batch(&format!(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, a INT CHECK(a >= 0), b TEXT COLLATE NOCASE, c REAL,
                 v TEXT AS (b || '-' || id) VIRTUAL NOT NULL, w AS (c * 2) STORED, long TEXT,
                 CONSTRAINT short CHECK (length(b) < 40 AND b <> 'NEVER')) ;
             CREATE INDEX t_part ON t(b) WHERE a > 100 AND b = 'TEXT 7' OR a % 3;
             CREATE INDEX t_expr ON t(upper(b) DESC, a + c);
             CREATE INDEX t_both ON t(substr(long, 4000)) WHERE id > 9 AND long IS NOT NULL;
             CREATE UNIQUE INDEX t_v ON t(v);
             CREATE TABLE x(k TEXT, n INT, u INT AS (n + 1), UNIQUE(u, k), PRIMARY KEY(k, n)) WITHOUT ROWID;
             CREATE INDEX x_e ON x(n * n) WHERE k > 'k1';
             {ROWS} INSERT INTO t(id, a, b, c, long) SELECT i, i, 'Text ' || (i % 9) || char(955), i / 4.0,
                 CASE WHEN i % 10 = 0 THEN hex(zeroblob(3000)) || i END FROM n;
             {ROWS} INSERT INTO x(k, n) SELECT 'k' || (i % 10), i FROM n;
             ALTER TABLE t ADD COLUMN late INT DEFAULT 5 CHECK(late > 1);
             CREATE INDEX t_late ON t(late * 2) WHERE late = 5;"
        ))
        .unwrap();
    connection.close().unwrap();
    path
}

fn full(path: &Path) -> CheckReport {
    checked(path, &options(CheckLevel::Full))
}

/// Writes behind SQLite's back, then compares the verdicts: both must find it. Returns the rules found broken.
fn rules_after(path: &Path, change: &str) -> Vec<String> {
    let found = own_rules_after(path, change);
    assert_ne!(verdict(path, "integrity_check"), ["ok"], "{change}");
    found
}

fn own_rules_after(path: &Path, change: &str) -> Vec<String> {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch("PRAGMA writable_schema=ON; PRAGMA ignore_check_constraints=ON").unwrap();
    connection.execute_batch(change).unwrap();
    connection.close().unwrap();
    let report = full(path);
    assert_eq!(report.exit_code(), 1, "{}", report::findings::text(&report, &check_sqlite::RULES));
    report.rule_counts.iter().map(|count| format!("{} {}", count.rule, count.found_count)).collect()
}

#[test]
fn what_is_computed_is_silent_on_clean_files_of_every_encoding() {
    for encoding in ["UTF-8", "UTF-16le", "UTF-16be"] {
        let directory = tempfile::tempdir().unwrap();
        let path = computed(directory.path(), encoding);
        assert_eq!(verdict(&path, "integrity_check"), ["ok"]);
        assert_clean(&full(&path));
    }
}

#[test]
fn a_broken_check_constraint_is_reported_for_each_row() {
    let directory = tempfile::tempdir().unwrap();
    let path = computed(directory.path(), "UTF-8");
    let found =
        rules_after(&path, "UPDATE t SET a = -a WHERE id IN (4, 200); UPDATE t SET late = 0 WHERE id = 5");
    assert_eq!(found, ["sqlite-check 3"]);
    let report = full(&path);
    let text = report::findings::text(&report, &check_sqlite::RULES);
    let has = |expected: &str, key: &str| {
        let mut findings = report.findings.iter();
        findings
            .any(|one| one.expected == expected && one.row.as_deref().is_some_and(|row| row.ends_with(key)))
    };
    assert!(has("CHECK (a >= 0)", " = 200") && has("CHECK (late > 1)", " = 5"), "{text}");
}

#[test]
fn a_row_of_a_partial_index_without_its_entry_is_reported_and_an_entry_too_many_as_well() {
    let directory = tempfile::tempdir().unwrap();
    let path = computed(directory.path(), "UTF-16le");
    let replace = |from: &str, to: &str| {
        format!("UPDATE sqlite_schema SET sql = replace(sql, '{from}', '{to}') WHERE name = 't_part'")
    };
    // 201 rows had an entry: 200 by the rest of a, one by the text. Now all have one, so that 100 are missing.
    let found = rules_after(&path, &replace("a % 3", "a % 3 = 0 OR a % 3"));
    assert_eq!(found, ["sqlite-row-without-entry 100"]);
    // SQLite 3.54.1 does not see entries too many of a partial index; 3.40 did.
    let found = own_rules_after(&path, &replace("OR a % 3 = 0 OR a % 3", "AND 0"));
    assert_eq!(found, ["sqlite-entry-without-row 200"]);
}

#[test]
fn an_entry_that_holds_another_value_than_its_expression_is_reported() {
    for (index, from, to) in
        [("t_late", "late * 2", "late * 3"), ("x_e", "n * n", "n + n"), ("t_both", "4000", "4001")]
    {
        let directory = tempfile::tempdir().unwrap();
        let path = computed(directory.path(), "UTF-8");
        let change =
            format!("UPDATE sqlite_schema SET sql = replace(sql, '{from}', '{to}') WHERE name = '{index}'");
        let found = rules_after(&path, &change);
        assert!(found.iter().any(|rule| rule.starts_with("sqlite-entry")), "{index}: {found:?}");
    }
    let directory = tempfile::tempdir().unwrap();
    let path = computed(directory.path(), "UTF-8");
    let found =
        rules_after(&path, "UPDATE sqlite_schema SET sql = replace(sql, '''-''', '''+''') WHERE name = 't'");
    assert_eq!(found, ["sqlite-entry-differs 300"]);
}

#[test]
fn a_null_in_a_column_that_is_not_stored_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let path = computed(directory.path(), "UTF-8");
    let change = "DROP INDEX t_v; UPDATE sqlite_schema SET sql = replace(sql, 'b || ''-'' || id', 'nullif(b, ''Text 8λ'') || 1') WHERE name = 't'";
    let found = rules_after(&path, change);
    assert_eq!(found, ["sqlite-not-null 33"]);
}

#[test]
fn what_only_the_application_can_compute_is_a_gap_with_its_reason_and_no_finding() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("application.db");
    let connection = create(&path, &Shape::default());
    let flags =
        FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
    connection.create_scalar_function("twice", 1, flags, |context| Ok(context.get::<i64>(0)? * 2)).unwrap();
    connection.create_collation("backwards", |left, right| right.cmp(left)).unwrap();
    connection
        .execute_batch(&format!(
            "CREATE TABLE t(a INT CHECK(twice(a) > 1), b INT CHECK(b > 0));
             CREATE INDEX t_twice ON t(twice(a), b); CREATE INDEX t_half ON t(a) WHERE twice(a) > 9;
             CREATE INDEX t_b ON t(b + 1) WHERE b > 7;
             CREATE TABLE c(x TEXT COLLATE backwards CHECK(x < 'a'), y INT); CREATE INDEX c_y ON c(y) WHERE x < 'b';
             CREATE TABLE d(x INT CHECK(x < random() OR 1), y INT CHECK(abs(y) >= 0)); CREATE INDEX d_y ON d(abs(y));
             {ROWS} INSERT INTO t SELECT i, i FROM n; {ROWS} INSERT INTO c SELECT 'b' || i, i FROM n;
             {ROWS} INSERT INTO d SELECT i, i FROM n;"
        ))
        .unwrap();
    connection.close().unwrap();
    let report = full(&path);
    let text = report::findings::text(&report, &check_sqlite::RULES);
    assert_eq!(report.finding_count(), 0, "{text}");
    for gap in [
        "table t: CHECK (twice(a) > 1) (unknown function: twice())",
        "index t_twice: values of expressions in its entries",
        "index t_half: rows without entry (it is a partial index whose condition cannot be computed",
        "collation backwards is defined by the application",
        "table d: CHECK (x < random() OR 1) (non-deterministic",
    ] {
        assert!(text.contains(gap), "{gap}: {text}");
    }
    assert!(
        !text.contains("CHECK (b > 0)") && !text.contains("index t_b") && !text.contains("index d_y"),
        "{text}"
    );
}

#[test]
fn rows_that_cannot_be_computed_are_counted_and_do_not_hide_the_others() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("overflow.db");
    let connection = create(&path, &Shape::default());
    connection
        .execute_batch(&format!(
            "CREATE TABLE t(a INT, b INT); {ROWS} INSERT INTO t SELECT i, i FROM n;
             CREATE INDEX t_abs ON t(abs(a)); CREATE INDEX t_b ON t(b);
             PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = replace(sql, 'abs(a)', 'abs(a - 10 - 9223372036854775807)') WHERE name = 't_abs'"
        ))
        .unwrap();
    connection.close().unwrap();
    let report = full(&path);
    let text = report::findings::text(&report, &check_sqlite::RULES);
    // The changed definition makes the other 299 entries wrong.
    let rules: Vec<_> =
        report.rule_counts.iter().map(|count| format!("{} {}", count.rule, count.found_count)).collect();
    assert_eq!(rules, ["sqlite-entry-differs 299"], "{text}");
    assert!(
        text.contains("index t_abs: values of expressions in its entries: 1 row (they cannot be computed"),
        "{text}"
    );
    assert!(text.contains("of 1 rows (SQLite could not compute them: integer overflow"), "{text}");
}
