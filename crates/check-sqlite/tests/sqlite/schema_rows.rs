//! Rows of sqlite_schema that disagree with their definition: what SQLite refuses is never passed over in silence.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use crate::support::{Shape, case_file, checked, create, filled, options};
use results::check::CheckLevel;
use rusqlite::{Connection, OpenFlags};

/// Whether SQLite can read the schema and every table of a file; never writes.
fn is_readable(path: &Path) -> bool {
    let uri = format!("file:{}?immutable=1", path.display());
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(uri, flags).unwrap();
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).is_ok()
}

fn rows_of_schema(report: &results::check::CheckReport) -> Vec<(String, String)> {
    let findings = report.findings.iter().filter(|finding| finding.rule == "sqlite-schema");
    findings.map(|finding| (finding.expected.clone(), finding.found.clone())).collect()
}

#[test]
fn a_row_that_disagrees_with_its_definition_is_one_finding_and_its_pages_stay_its_own() {
    let cases = [
        ("schema_type_tablf_noindex.db", "type 'table', as in its definition", "type 'tablf'"),
        ("schema_type_flip_virtual.db", "type 'table', as in its definition", "type 'tablf'"),
        ("schema_view_type_flip.db", "type 'view', as in its definition", "type 'viev'"),
        ("schema_trigger_tbl_flip.db", "tbl_name 'xx', as in its definition", "tbl_name 'xy'"),
        ("fts5corrupt3-28.db", "type 'table', as in its definition", "type 'tablf'"),
        ("sqlite_sequence_flip.db", "a definition without zero bytes", "zero byte"),
    ];
    for (name, expected, found) in cases {
        let Some((_directory, path)) = case_file("sqlite", name) else { continue };
        assert!(!is_readable(&path), "{name}");
        for level in [CheckLevel::Structure, CheckLevel::Full] {
            let report = checked(&path, &options(level));
            let text = report::findings::text(&report, &check_sqlite::RULES);
            let rows = rows_of_schema(&report);
            assert_eq!((report.exit_code(), rows.len()), (1, 1), "{name}: {text}");
            assert!(rows[0].0.contains(expected) && rows[0].1.contains(found), "{name}: {text}");
            assert!(!text.contains("sqlite-page-unused"), "{name}: {text}");
            let advice = &report.findings[0].next_step;
            assert!(!advice.contains("once the rest checks clean, VACUUM INTO"), "{advice}");
        }
    }
}

#[test]
fn the_tree_of_an_object_is_checked_by_its_definition_when_its_row_is_damaged() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("rows.db");
    let connection = create(&path, &Shape::default());
    connection
        .execute_batch(
            "CREATE TABLE t(a INT UNIQUE, b TEXT NOT NULL); CREATE INDEX t_b ON t(b);
             CREATE TABLE log(id INTEGER PRIMARY KEY AUTOINCREMENT, x); CREATE VIEW v AS SELECT a FROM t;
             CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT 1; END;
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) INSERT INTO t SELECT i, 'b' || i FROM n;
             INSERT INTO log(x) SELECT a FROM t; ANALYZE;",
        )
        .unwrap();
    connection.close().unwrap();
    let clean = checked(&path, &options(CheckLevel::Full));
    assert_eq!(clean.finding_count(), 0);
    let bytes = std::fs::read(&path).unwrap();
    // The text in the file, what stands there instead, and whether all rows are compared all the same.
    let damages: [(&[u8], &[u8], bool); 8] = [
        (b"tablett", b"tablftt", true),
        (b"indext_bt", b"indexu_bt", true),
        (b"indext_bt", b"indext_bz", true),
        (b"CREATE INDEX t_b", b"CREATE INDEY t_b", true),
        (b"CREATE TABLE t(a", b"CREATE TABLE u(a", true),
        (b"sqlite_sequence(name", b"sqlite_sequence)name", true),
        (b"sqlite_autoindex_t_1", b"sqlite_autoindey_t_1", true),
        (b"b TEXT NOT NULL", b"b TEXT NOT NU(L", false),
    ];
    for (number, (from, to, is_whole)) in damages.into_iter().enumerate() {
        let at = bytes.windows(from.len()).position(|window| window == from);
        let at = at.unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(from)));
        let mut damaged = bytes.clone();
        damaged[at..at + to.len()].copy_from_slice(to);
        let path = directory.path().join(format!("row-{number}.db"));
        std::fs::write(&path, damaged).unwrap();
        let report = checked(&path, &options(CheckLevel::Full));
        let text = report::findings::text(&report, &check_sqlite::RULES);
        assert!(!is_readable(&path), "{}", String::from_utf8_lossy(to));
        assert_eq!((report.exit_code(), report.finding_count()), (1, 1), "{text}");
        assert_eq!(rows_of_schema(&report).len(), 1, "{text}");
        assert!(!text.contains("sqlite-page-unused"), "{text}");
        if is_whole {
            assert_eq!(report.counters.entry_count, clean.counters.entry_count, "{text}");
            assert_eq!(report.counters.row_count, clean.counters.row_count, "{text}");
            let not_checked = |report: &results::check::CheckReport| report.not_checked.len();
            assert_eq!(not_checked(&report), not_checked(&clean), "{text}");
        }
    }
}

#[test]
fn a_flipped_bit_in_a_schema_for_which_sqlite_refuses_the_file_is_always_reported() {
    let directory = tempfile::tempdir().unwrap();
    let shapes = [
        Shape { page_size: 4096, ..Shape::default() },
        Shape { page_size: 1024, encoding: "UTF-16le", ..Shape::default() },
    ];
    let mut refused_count = 0;
    for (number, shape) in shapes.iter().enumerate() {
        let place = directory.path().join(number.to_string());
        std::fs::create_dir(&place).unwrap();
        let path = filled(&place, shape, 20);
        assert_eq!(checked(&path, &options(CheckLevel::Structure)).exit_code(), 0);
        let bytes = std::fs::read(&path).unwrap();
        let damaged_path = place.join("flipped.db");
        let mut state = 0x9e37_79b9_7f4a_7c15u64 + number as u64;
        for _ in 0..FLIP_COUNT {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // The cells of page 1, behind its header and pointers.
            let at = 160 + (state >> 33) as usize % (shape.page_size as usize - 160);
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (state >> 60 & 7);
            std::fs::write(&damaged_path, &damaged).unwrap();
            let report = check_sqlite::check(
                &damaged_path,
                &options(CheckLevel::Structure),
                &mut check::progress::Silent,
            );
            if !is_readable(&damaged_path) {
                refused_count += 1;
                assert_eq!(
                    report.exit_code(),
                    1,
                    "byte {at}: {}",
                    report::findings::text(&report, &check_sqlite::RULES)
                );
            }
        }
    }
    assert!(refused_count > 20, "{refused_count}");
}

/// Flips for each shape of file.
const FLIP_COUNT: usize = 150;

#[test]
fn a_schema_of_many_tables_is_understood_as_a_whole() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("many.db");
    let connection = crate::support::create(
        &path,
        &crate::support::Shape { page_size: 512, ..crate::support::Shape::default() },
    );
    connection.execute_batch("PRAGMA foreign_keys=OFF; BEGIN").unwrap();
    for number in 0..450 {
        let key = if number == 430 { "INTEGER PRIMARY KEY AUTOINCREMENT" } else { "TEXT UNIQUE" };
        connection
            .execute_batch(&format!(
                "CREATE TABLE t{number}(a {key}, b INT CHECK(b > 0) DEFAULT {number}, c REFERENCES t{}(a));
                 CREATE INDEX i{number} ON T{number}(b DESC, a); INSERT INTO t{number}(b) VALUES (1), (2), (3);",
                449 - number
            ))
            .unwrap();
    }
    connection.execute_batch("COMMIT").unwrap();
    connection.close().unwrap();
    let report = crate::support::full(&path);
    let text = report::findings::text(&report, &check_sqlite::RULES);
    assert_eq!(report.exit_code(), 0, "{text}");
    assert!(report.coverage.is_complete(), "{text}");
    assert!(!report.not_checked.iter().any(|gap| gap.kind == results::check::GapKind::Coverage), "{text}");
    assert_eq!(report.counters.entry_count, 450 * 3 + 449 * 3);
}
