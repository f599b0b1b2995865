//! Findings about virtual tables name the shadow table, its row and the page where it is.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use crate::support::{Shape, create, full, rule_counts};
use rusqlite::Connection;

const ROWS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)";

/// A file with an FTS5, an FTS4 and an FTS3 table of 300 rows each.
fn three_tables(path: &Path) {
    let connection = create(path, &Shape { page_size: 1024, ..Shape::default() });
    for (name, module) in [("five", "fts5(a, b)"), ("four", "fts4(a, b)"), ("three", "fts3(a, b)")] {
        connection
            .execute_batch(&format!(
                "CREATE VIRTUAL TABLE {name} USING {module};
                 {ROWS} INSERT INTO {name}(rowid, a, b) SELECT i, 'word' || (i % 37) || ' number ' || i, 'text' FROM n LIMIT 300;"
            ))
            .unwrap();
    }
    connection.close().unwrap();
}

/// The page and slot of a row, and its table, as SQLite has them: by dbstat and the order of rowids.
fn is_leaf_of(path: &Path, page: u64, table: &str) -> bool {
    let connection = Connection::open(path).unwrap();
    let sql = "SELECT count(*) FROM dbstat WHERE name = ?1 AND pageno = ?2 AND pagetype = 'leaf'";
    connection.query_row(sql, rusqlite::params![table, page as i64], |row| row.get::<_, i64>(0)).unwrap() == 1
}

#[test]
fn a_full_text_row_that_differs_from_its_index_is_named_with_table_rowid_page_and_term() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("differs.db");
    for (name, column) in [("five", "c0"), ("four", "c0a"), ("three", "c0a")] {
        three_tables(&path);
        let change = format!("UPDATE {name}_content SET {column} = 'word2 other 147' WHERE rowid = 147");
        Connection::open(&path).unwrap().execute_batch(&change).unwrap();
        let report = full(&path);
        let text = report::findings::text(&report, &check_sqlite::RULES);
        assert_eq!(rule_counts(&report), ["sqlite-full-text 1"], "{text}");
        let finding = &report.findings[0];
        let table = format!("{name}_content");
        assert_eq!(finding.object.as_deref(), Some(format!("table {table}").as_str()), "{text}");
        assert_eq!(finding.row.as_deref(), Some("rowid = 147"), "{text}");
        assert!(is_leaf_of(&path, finding.page.unwrap(), &table) && finding.slot.is_some(), "{text}");
        assert!(
            finding.expected.contains("the term '") && finding.expected.contains("with rowid 147"),
            "{text}"
        );
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_full_text_segment_that_cannot_be_read_is_named_by_its_row() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("segment.db");
    for (change, table) in [
        ("UPDATE four_segments SET block = substr(block, 1, 7) WHERE blockid = 1", "four_content"),
        ("DELETE FROM five_data WHERE id = (SELECT max(id) FROM five_data)", "five_data"),
        ("UPDATE five_data SET block = x'00000000ff' WHERE id = 10", "five_data"),
    ] {
        three_tables(&path);
        Connection::open(&path).unwrap().execute_batch(change).unwrap();
        let report = full(&path);
        let text = report::findings::text(&report, &check_sqlite::RULES);
        assert_eq!(report.finding_count(), 1, "{change}: {text}");
        let finding = &report.findings[0];
        assert_eq!(finding.object.as_deref(), Some(format!("table {table}").as_str()), "{change}: {text}");
        assert!(is_leaf_of(&path, finding.page.unwrap(), table), "{change}: {text}");
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_shadow_table_without_a_column_that_its_module_reads_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    for (name, old, new, rule) in [
        ("three_segdir", "root BLOB", "roox BLOB", "sqlite-full-text 1"),
        ("five_data", "block BLOB", "blocc BLOB", "sqlite-full-text 1"),
        ("five_docsize", "sz BLOB", "sy BLOB", "sqlite-full-text 1"),
        ("r_node", "data", "datx", "sqlite-rtree 1"),
        ("r_parent", "parentnode", "parentnodf", "sqlite-rtree 1"),
    ] {
        let path = directory.path().join(format!("{name}.db"));
        three_tables(&path);
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch("CREATE VIRTUAL TABLE r USING rtree(id, x0, x1); INSERT INTO r VALUES (1, 2, 3); PRAGMA writable_schema=ON")
            .unwrap();
        let sql = "UPDATE sqlite_schema SET sql = replace(sql, ?1, ?2) WHERE name = ?3";
        assert_eq!(connection.execute(sql, [old, new, name]).unwrap(), 1);
        connection.close().unwrap();
        let report = full(&path);
        let text = report::findings::text(&report, &check_sqlite::RULES);
        assert_eq!(rule_counts(&report), [rule], "{name}: {text}");
        assert_eq!(report.findings[0].object.as_deref(), Some(format!("table {name}").as_str()));
        assert!(report.findings[0].expected.contains(&format!("in the definition of {name}")), "{text}");
    }
}

/// An R-tree of polygons: its shadow tables are those of an R-tree of two dimensions with auxiliary columns. The SQLite of
/// this build has no geopoly, so that the definition is put into the schema afterwards.
fn geopoly(path: &Path) {
    let connection = create(path, &Shape { page_size: 1024, ..Shape::default() });
    connection
        .execute_batch(&format!(
            "CREATE VIRTUAL TABLE g USING rtree(id, x0, x1, y0, y1, +_shape, +tag);
             {ROWS} INSERT INTO g SELECT i, i % 40, i % 40 + 1, i % 31, i % 31 + 0.5, zeroblob(28), 'tag ' || i FROM n;
             PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = 'CREATE VIRTUAL TABLE g USING geopoly(tag)' WHERE name = 'g';"
        ))
        .unwrap();
    connection.close().unwrap();
}

#[test]
fn a_geopoly_table_is_verified_as_an_r_tree() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("geopoly.db");
    geopoly(&path);
    let report = full(&path);
    let text = report::findings::text(&report, &check_sqlite::RULES);
    assert_eq!(report.finding_count(), 0, "{text}");
    assert!(!text.contains("virtual table g"), "{text}");
    Connection::open(&path).unwrap().execute_batch("DELETE FROM g_rowid WHERE rowid = 71").unwrap();
    let report = full(&path);
    assert_eq!(
        rule_counts(&report),
        ["sqlite-rtree 1"],
        "{}",
        report::findings::text(&report, &check_sqlite::RULES)
    );
    let finding = &report.findings[0];
    assert_eq!(finding.object.as_deref(), Some("table g_node"));
    assert!(finding.row.as_deref().is_some_and(|row| row.starts_with("nodeno = ")), "{finding:?}");
    assert!(finding.expected.starts_with("row 71 in node ") && finding.page.is_some(), "{finding:?}");
}
