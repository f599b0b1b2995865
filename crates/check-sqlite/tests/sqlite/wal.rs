//! Files beside a database whose first bytes are damaged, so that SQLite ignores them without a word.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::support::{Shape, assert_clean, case_file, checked, create, options};
use check::options::Options;
use results::check::{CheckLevel, CheckReport, Confidence};
use rusqlite::Connection;

/// A copy of a database in WAL mode with commits in its WAL, as a killed process leaves it.
fn with_wal(directory: &Path) -> (PathBuf, Vec<u8>) {
    let live = directory.join("live.db");
    let connection = create(&live, &Shape { page_size: 1024, ..Shape::default() });
    connection
        .execute_batch(
            "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; CREATE TABLE t(a INT, b TEXT);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200) INSERT INTO t SELECT i, 'b' || i FROM n;
             PRAGMA wal_checkpoint(TRUNCATE); UPDATE t SET b = 'new' WHERE a < 20; DELETE FROM t WHERE a > 180;",
        )
        .unwrap();
    let path = directory.join("copy.db");
    std::fs::copy(&live, &path).unwrap();
    let wal = std::fs::read(directory.join("live.db-wal")).unwrap();
    std::fs::write(directory.join("copy.db-wal"), &wal).unwrap();
    (path, wal)
}

fn at_page_level(path: &Path) -> CheckReport {
    let full = checked(path, &options(CheckLevel::Full));
    let page = checked(path, &options(CheckLevel::Page));
    assert_eq!(full.rule_counts, page.rule_counts);
    page
}

fn rule_and_texts(report: &CheckReport) -> Vec<(&str, &str, &str)> {
    let findings = report.findings.iter();
    findings
        .map(|finding| (finding.rule.as_str(), finding.expected.as_str(), finding.found.as_str()))
        .collect()
}

#[test]
fn each_damaged_byte_of_a_wal_header_is_one_finding_that_counts_the_frames() {
    let directory = tempfile::tempdir().unwrap();
    let (path, wal) = with_wal(directory.path());
    assert_clean(&checked(&path, &options(CheckLevel::Full)));
    let names = [
        (0, "magic"),
        (4, "version"),
        (8, "page size"),
        (12, "checkpoint sequence"),
        (16, "salt-1"),
        (20, "salt-2"),
        (24, "checksum"),
        (28, "checksum"),
    ];
    for at in 0..32 {
        let mut damaged = wal.clone();
        damaged[at] ^= 0x10;
        std::fs::write(directory.path().join("copy.db-wal"), &damaged).unwrap();
        let report = at_page_level(&path);
        let text = report::findings::text(&report, &check_sqlite::RULES);
        let found = rule_and_texts(&report);
        assert_eq!((report.exit_code(), found.len()), (1, 1), "byte {at}: {text}");
        let name = names.iter().rev().find(|(start, _)| *start <= at).unwrap().1;
        assert!(found[0].0 == "sqlite-wal-header" && found[0].1.contains(name), "byte {at}: {text}");
        let frame_count = (wal.len() - 32) / (1024 + 24);
        assert!(found[0].2.contains(&format!("{frame_count} frames with 2 commits")), "byte {at}: {text}");
        assert_eq!(report.findings[0].confidence, Confidence::Certain);
    }
}

#[test]
fn a_damaged_header_is_only_possible_damage_once_a_checkpoint_has_copied_the_frames() {
    let directory = tempfile::tempdir().unwrap();
    let (path, mut wal) = with_wal(directory.path());
    let connection = Connection::open(directory.path().join("live.db")).unwrap();
    connection.execute_batch("PRAGMA wal_checkpoint(FULL)").unwrap();
    std::fs::copy(directory.path().join("live.db"), &path).unwrap();
    wal[17] ^= 1;
    std::fs::write(directory.path().join("copy.db-wal"), &wal).unwrap();
    let report = at_page_level(&path);
    assert_eq!(report.findings[0].confidence, Confidence::Possible);
    assert!(report.findings[0].found.contains("nothing is lost"), "{:?}", report.findings);
}

#[test]
fn a_wal_that_is_empty_zero_or_of_an_older_generation_is_silent_and_one_cut_in_its_header_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let (path, wal) = with_wal(directory.path());
    let put = |bytes: &[u8]| std::fs::write(directory.path().join("copy.db-wal"), bytes).unwrap();
    for silent in [Vec::new(), vec![0; wal.len()], wal[..32].to_vec(), wal[..32 + 500].to_vec()] {
        put(&silent);
        assert_clean(&checked(&path, &options(CheckLevel::Full)));
    }
    put(&wal[..20]);
    let report = at_page_level(&path);
    assert_eq!(rule_and_texts(&report), [("sqlite-wal-header", "a header of 32 bytes", "a WAL of 20 bytes")]);
}

#[test]
fn a_wal_beside_a_database_in_a_rollback_mode_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let (path, wal) = with_wal(directory.path());
    let connection = Connection::open(directory.path().join("old.db")).unwrap();
    connection
        .execute_batch("PRAGMA page_size=1024; CREATE TABLE t(a INT, b TEXT); CREATE TABLE u(x)")
        .unwrap();
    connection.close().unwrap();
    std::fs::rename(directory.path().join("old.db"), &path).unwrap();
    std::fs::write(directory.path().join("copy.db-wal"), &wal).unwrap();
    let report = checked(&path, &options(CheckLevel::Page));
    let found = rule_and_texts(&report);
    assert_eq!((report.exit_code(), found.len(), found[0].0), (1, 1, "sqlite-wal-header"), "{found:?}");
    assert!(found[0].1.contains("bytes 18 and 19") && found[0].2.starts_with("1, and "), "{found:?}");
}

#[test]
fn a_journal_whose_first_bytes_are_damaged_is_reported_with_its_records() {
    let directory = tempfile::tempdir().unwrap();
    let live = directory.path().join("live.db");
    let connection = create(&live, &Shape { page_size: 1024, ..Shape::default() });
    connection
        .execute_batch(
            "CREATE TABLE t(a INT, b TEXT);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) INSERT INTO t SELECT i, 'b' || i FROM n;
             PRAGMA cache_size=1; BEGIN; UPDATE t SET b = b || 'y';",
        )
        .unwrap();
    let path = directory.path().join("copy.db");
    std::fs::copy(&live, &path).unwrap();
    let mut journal = std::fs::read(directory.path().join("live.db-journal")).unwrap();
    journal[3] ^= 4;
    std::fs::write(directory.path().join("copy.db-journal"), &journal).unwrap();
    let report = checked(&path, &options(CheckLevel::Page));
    let found = rule_and_texts(&report);
    assert_eq!((report.exit_code(), found.len(), found[0].0), (1, 1, "sqlite-journal"), "{found:?}");
    assert!(
        found[0].2.contains("page records with valid checksums") && !found[0].2.contains(" 0 page records")
    );
    // Zeros at its front end a journal.
    journal[..28].fill(0);
    std::fs::write(directory.path().join("copy.db-journal"), &journal).unwrap();
    assert_eq!(checked(&path, &options(CheckLevel::Page)).exit_code(), 0);
}

#[test]
fn a_file_in_place_of_the_journal_without_one_right_record_is_no_damage() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    create(&path, &Shape::default()).execute_batch("CREATE TABLE t(a INT)").unwrap();
    std::fs::write(directory.path().join("a.db-journal"), b"garbage".repeat(500)).unwrap();
    for level in [CheckLevel::Page, CheckLevel::Full] {
        let report = checked(&path, &options(level));
        assert_eq!((report.exit_code(), rule_and_texts(&report).len()), (0, 0));
        assert!(report.not_checked.iter().any(|gap| gap.what == "the rollback journal"));
    }
}

/// Without time, and asked to stop.
fn hasty() -> [Options; 2] {
    let stop = Some(Arc::new(AtomicBool::new(true)));
    [
        Options { stop, ..options(CheckLevel::Full) },
        Options { time_max: Some(Duration::ZERO), ..options(CheckLevel::Full) },
    ]
}

#[test]
fn reading_a_wal_or_a_journal_ends_with_the_time_and_when_the_check_is_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let (path, wal) = with_wal(directory.path());
    let mut damaged = wal.clone();
    damaged[17] ^= 1;
    for bytes in [&wal, &damaged] {
        std::fs::write(directory.path().join("copy.db-wal"), bytes).unwrap();
        for options in hasty() {
            let report = checked(&path, &options);
            let reason = report.unfinished.clone().unwrap_or_default();
            assert_eq!((report.exit_code(), report.finding_count()), (2, 0), "{reason}");
            assert!(
                reason.contains("copy.db-wal\": stopped after ") && reason.contains("\nhint: "),
                "{reason}"
            );
        }
        // What comes before the pages would take the same time in each call.
        let kept = directory.path().join("resume.json");
        let options = Options { resume_file: Some(kept.clone()), ..hasty()[1].clone() };
        assert!(checked(&path, &options).accounting.page_count > 0);
        std::fs::remove_file(kept).unwrap_or_default();
    }
    std::fs::remove_file(directory.path().join("copy.db-wal")).unwrap();
    let mut journal = vec![7; 4096];
    journal[12..28].copy_from_slice(&[0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 2, 0, 0, 0, 2, 0]);
    std::fs::write(directory.path().join("copy.db-journal"), &journal).unwrap();
    for options in hasty() {
        let report = checked(&path, &options);
        assert!(report.unfinished.unwrap_or_default().contains("copy.db-journal\": stopped after "));
    }
}

#[test]
fn the_case_of_a_flipped_salt_is_reported() {
    let Some((_directory, path)) = case_file("sqlite", "wal_header_flip.db") else { return };
    let report = at_page_level(&path);
    let found = rule_and_texts(&report);
    assert_eq!(found.len(), 1);
    assert!(found[0].1.contains("salt-1") && found[0].2.contains("55 frames"), "{found:?}");
}

#[test]
fn a_wrong_page_size_in_the_file_beside_a_wal_with_page_1_is_what_sqlite_makes_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let live = directory.path().join("live.db");
    let connection = create(&live, &Shape { page_size: 1024, ..Shape::default() });
    connection
        .execute_batch(
            "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; CREATE TABLE t(a INT, b TEXT);
             PRAGMA wal_checkpoint(TRUNCATE); CREATE TABLE u(x);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200) INSERT INTO t SELECT i, 'b' || i FROM n;",
        )
        .unwrap();
    let wal = std::fs::read(directory.path().join("live.db-wal")).unwrap();
    let intact = std::fs::read(&live).unwrap();
    for size in [[2, 0], [16, 0], [0, 1], [3, 232]] {
        let path = directory.path().join(format!("{}_{}.db", size[0], size[1]));
        let mut bytes = intact.clone();
        bytes[16..18].copy_from_slice(&size);
        std::fs::write(&path, &bytes).unwrap();
        std::fs::write(path.with_extension("db-wal"), &wal).unwrap();
        let report = checked(&path, &options(CheckLevel::Full));
        assert_clean(&report);
        assert_eq!(report.counters.row_count, 200, "{size:?}");
        let opened = Connection::open(&path).unwrap();
        let rows: u32 = opened.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap();
        assert_eq!(rows, 200, "{size:?}");
    }
}

#[test]
fn a_wal_of_another_database_with_another_page_size_is_not_called_ignored() {
    let directory = tempfile::tempdir().unwrap();
    let (path, _) = with_wal(directory.path());
    let other = directory.path().join("other.db");
    let connection = create(&other, &Shape { page_size: 4096, ..Shape::default() });
    connection
        .execute_batch("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; CREATE TABLE v(a); INSERT INTO v VALUES(1)")
        .unwrap();
    std::fs::copy(directory.path().join("other.db-wal"), directory.path().join("copy.db-wal")).unwrap();
    let report = checked(&path, &options(CheckLevel::Page));
    let found = rule_and_texts(&report);
    assert_eq!(
        (found.len(), found[0].0, found[0].1),
        (1, "sqlite-wal-header", "page size 1024, as in the database")
    );
    assert!(found[0].2.contains("SQLite reads them as pages of 1024 bytes"), "{found:?}");
    assert!(report.findings[0].next_step.contains("another database"), "{:?}", report.findings[0]);
}
