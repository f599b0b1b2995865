//! One wrong field of the header is one finding, with the value that makes the file readable.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use crate::support::{Shape, case_file, checked, filled, options};
use check::engine::{Probe, recognise};
use check::options::Options;
use check::progress::Silent;
use results::check::{CheckLevel, CheckReport};

fn full(path: &Path) -> CheckReport {
    checked(path, &options(CheckLevel::Full))
}

fn with_bytes(path: &Path, at: usize, bytes: &[u8]) {
    let mut file = std::fs::read(path).unwrap();
    file[at..at + bytes.len()].copy_from_slice(bytes);
    std::fs::write(path, file).unwrap();
}

#[test]
fn a_wrong_encoding_page_size_or_reserve_is_one_finding_with_the_right_value() {
    let fields: [(usize, &[u8], &str, &str); 7] = [
        (56, &[0, 0, 0, 2], "text encoding 1 (UTF-8)", "2 (UTF-16le)"),
        (56, &[0, 0, 0, 9], "text encoding 1 (UTF-8)", ""),
        (16, &[0x08, 0x00], "page size 1024", "2048"),
        (16, &[0x02, 0x00], "page size 1024", "512"),
        (16, &[0x04, 0x01], "page size 1024", "1025"),
        (20, &[16], "reserved bytes per page 0", "16"),
        (20, &[1], "reserved bytes per page 0", "1"),
    ];
    let directory = tempfile::tempdir().unwrap();
    let plain = filled(directory.path(), &Shape { page_size: 1024, ..Shape::default() }, 200);
    let rows = full(&plain).counters.row_count;
    for (number, (at, bytes, expected, found)) in fields.into_iter().enumerate() {
        let path = directory.path().join(format!("field-{number}.db"));
        std::fs::copy(&plain, &path).unwrap();
        with_bytes(&path, at, bytes);
        let report = full(&path);
        let text = report::findings::text(&report, &check_sqlite::RULES);
        assert_eq!((report.finding_count(), report.exit_code()), (1, 1), "{text}");
        let finding = &report.findings[0];
        assert_eq!((finding.rule.as_str(), finding.page), ("sqlite-header", Some(1)), "{text}");
        assert!(finding.expected.contains(expected) && finding.found.contains(found), "{text}");
        assert_eq!(report.counters.row_count, rows, "{text}");
    }
    let utf16 = directory.path().join("utf16");
    std::fs::create_dir(&utf16).unwrap();
    let path = filled(&utf16, &Shape { encoding: "UTF-16be", ..Shape::default() }, 100);
    for (at, byte, expected) in
        [(59, 1, "3 (UTF-16be)"), (59, 2, "3 (UTF-16be)"), (20, 7, "reserved bytes per page 0")]
    {
        let before = std::fs::read(&path).unwrap();
        with_bytes(&path, at, &[byte]);
        let report = full(&path);
        assert_eq!(report.finding_count(), 1, "{}", report::findings::text(&report, &check_sqlite::RULES));
        assert!(
            report.findings[0].expected.contains(expected),
            "{}",
            report::findings::text(&report, &check_sqlite::RULES)
        );
        std::fs::write(&path, before).unwrap();
    }
}

#[test]
fn the_case_of_a_changed_encoding_is_one_finding() {
    let Some((_directory, path)) = case_file("sqlite", "encoding_header_changed.db") else { return };
    let report = full(&path);
    assert_eq!(report.finding_count(), 1, "{}", report::findings::text(&report, &check_sqlite::RULES));
    assert!(report.findings[0].expected.contains("text encoding 1 (UTF-8)"));
}

fn is_recognised(path: &Path) -> bool {
    recognise(&[&check_sqlite::ENGINE], &Probe::open(path).unwrap()).unwrap().is_some()
}

#[test]
fn a_database_is_recognised_by_its_pages_when_its_first_bytes_are_damaged() {
    let directory = tempfile::tempdir().unwrap();
    for page_size in [512, 4096, 65536] {
        let place = directory.path().join(page_size.to_string());
        std::fs::create_dir(&place).unwrap();
        let path = filled(&place, &Shape { page_size, ..Shape::default() }, 300);
        let whole = std::fs::read(&path).unwrap();
        let rows = full(&path).counters.row_count;
        for (name, length, is_schema_known) in
            [("magic", 1, true), ("header", 100, true), ("page 1", page_size as usize, false)]
        {
            let mut bytes = whole.clone();
            bytes[..length].fill(0);
            std::fs::write(&path, &bytes).unwrap();
            assert!(is_recognised(&path), "{page_size} {name}");
            let report = full(&path);
            let text = report::findings::text(&report, &check_sqlite::RULES);
            assert_eq!(report.exit_code(), 1, "{page_size} {name}: {text}");
            let headers = report.findings.iter().filter(|finding| finding.rule == "sqlite-header").count();
            assert!(headers >= 1 && report.finding_count() <= 2, "{page_size} {name}: {text}");
            assert_eq!(report.counters.row_count == rows, is_schema_known, "{page_size} {name}: {text}");
        }
    }
    if let Some((_directory, path)) = case_file("sqlite", "magic_one_bit.db") {
        assert!(is_recognised(&path));
        let report = full(&path);
        assert_eq!(
            (report.finding_count(), report.exit_code()),
            (1, 1),
            "{}",
            report::findings::text(&report, &check_sqlite::RULES)
        );
    }
}

#[test]
fn what_is_no_database_is_not_taken_for_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("other");
    let mut state = 1u64;
    let random: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    })
    .take(1 << 20)
    .collect();
    let text = "a line of text\r\n".repeat(20_000).into_bytes();
    for bytes in [random, text, vec![0; 1 << 20], vec![13; 1 << 20]] {
        std::fs::write(&path, bytes).unwrap();
        assert!(!is_recognised(&path));
    }
}

fn gaps_of(report: &CheckReport) -> Vec<String> {
    report.not_checked.iter().map(|gap| format!("{}: {}", gap.what, gap.why)).collect()
}

fn raw(path: &Path) -> CheckReport {
    checked(path, &Options { is_raw: true, ..options(CheckLevel::Full) })
}

#[test]
fn bytes_behind_the_last_page_are_named_and_no_damage_and_holes_are_not_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = filled(directory.path(), &Shape { page_size: 1024, ..Shape::default() }, 200);
    let length = std::fs::metadata(&path).unwrap().len();
    assert!(!gaps_of(&full(&path)).iter().any(|gap| gap.contains("past the last page")));
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    for (more, name, what) in
        [(4096, "4,096", "they are zeros"), (1 << 40, "1,099,511,627,776", "they are zeros")]
    {
        file.set_len(length + more).unwrap();
        for level in [CheckLevel::Read, CheckLevel::Page, CheckLevel::Structure, CheckLevel::Full] {
            let report = check_sqlite::check(&path, &options(level), &mut Silent);
            assert_eq!(
                (report.exit_code(), report.finding_count()),
                (0, 0),
                "{}",
                report::findings::text(&report, &check_sqlite::RULES)
            );
            assert!(report.accounting.bytes_read <= length);
            let gaps = gaps_of(&report);
            let named = format!("{name} bytes past the last page: the header states");
            assert!(gaps.iter().any(|gap| gap.starts_with(&named) && gap.contains(what)), "{gaps:?}");
        }
        let report =
            check_sqlite::check(&path, &Options { is_raw: true, ..options(CheckLevel::Full) }, &mut Silent);
        assert_eq!(report.finding_count(), 0);
        // Blocks of a file system are larger than pages may be.
        assert!(report.accounting.bytes_read <= length + 65_536, "{:?}", report.accounting);
        assert_eq!(report.accounting.page_count, (length + more) / 1024);
    }
    std::os::unix::fs::FileExt::write_all_at(&file, b"x", length + (5 << 30)).unwrap();
    let report = check_sqlite::check(&path, &options(CheckLevel::Full), &mut Silent);
    let gaps = gaps_of(&report);
    assert!(gaps.iter().any(|gap| gap.contains("the first byte that is not zero is byte 5,36")), "{gaps:?}");
}

#[test]
fn a_database_that_the_wal_makes_smaller_than_its_file_is_named_with_what_a_checkpoint_does() {
    let directory = tempfile::tempdir().unwrap();
    let live = directory.path().join("live.db");
    let connection = crate::support::create(&live, &Shape { page_size: 1024, ..Shape::default() });
    connection
        .execute_batch(
            "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; CREATE TABLE t(a); INSERT INTO t VALUES (zeroblob(100000));
             PRAGMA wal_checkpoint(TRUNCATE); DELETE FROM t; VACUUM;",
        )
        .unwrap();
    let path = directory.path().join("copy.db");
    std::fs::copy(&live, &path).unwrap();
    std::fs::copy(directory.path().join("live.db-wal"), directory.path().join("copy.db-wal")).unwrap();
    let report = full(&path);
    assert_eq!(report.exit_code(), 0, "{}", report::findings::text(&report, &check_sqlite::RULES));
    let gaps = gaps_of(&report);
    assert!(gaps.iter().any(|gap| gap.contains("the last commit in the WAL states 2 pages")), "{gaps:?}");
}

#[test]
fn a_schema_format_that_contradicts_a_descending_index_is_one_finding() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("descending.db");
    let connection = crate::support::create(&path, &Shape { page_size: 512, ..Shape::default() });
    connection
        .execute_batch(
            "CREATE TABLE t(a INTEGER PRIMARY KEY, b, c); CREATE INDEX i ON t(b DESC, c); CREATE INDEX j ON t(c);
             CREATE TABLE w(x, y, PRIMARY KEY(x DESC)) WITHOUT ROWID;
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) INSERT INTO t SELECT i, i % 2, i FROM n;
             INSERT INTO w SELECT a, b FROM t;",
        )
        .unwrap();
    connection.close().unwrap();
    let clean = full(&path);
    assert_eq!(clean.exit_code(), 0, "{}", report::findings::text(&clean, &check_sqlite::RULES));
    for format in 1..=3 {
        with_bytes(&path, 44, &[0, 0, 0, format]);
        let report = full(&path);
        let text = report::findings::text(&report, &check_sqlite::RULES);
        assert_eq!((report.exit_code(), report.finding_count()), (1, 1), "{text}");
        let finding = &report.findings[0];
        assert_eq!((finding.rule.as_str(), finding.offset_bytes), ("sqlite-header", Some(44)), "{text}");
        assert!(
            finding.expected.contains("schema format 4: ") && finding.expected.contains("descending"),
            "{text}"
        );
        assert_eq!(report.counters.entry_count, clean.counters.entry_count);
    }
}

#[test]
fn header_fields_that_sqlite_does_not_use_are_named_where_the_file_disagrees_and_are_no_damage() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("fields.db");
    let connection =
        crate::support::create(&path, &Shape { page_size: 1024, auto_vacuum: 1, ..Shape::default() });
    connection
        .execute_batch("CREATE TABLE t(a, b); INSERT INTO t VALUES (0, 1), (1, 2); CREATE INDEX t_b ON t(b);")
        .unwrap();
    connection.close().unwrap();
    let whole = std::fs::read(&path).unwrap();
    let named = |at: usize, bytes: &[u8]| {
        std::fs::write(&path, &whole).unwrap();
        with_bytes(&path, at, bytes);
        let report = full(&path);
        assert_eq!(
            report.finding_count(),
            0,
            "byte {at}: {}",
            report::findings::text(&report, &check_sqlite::RULES)
        );
        gaps_of(&report).into_iter().filter(|gap| gap.contains("(byte ")).collect::<Vec<_>>()
    };
    for (at, bytes, what) in [
        (24, &[9, 9, 9, 9][..], "the page count in the header (byte 28): its value"),
        (92, &[9, 9, 9, 9], "SQLite takes the size of the file"),
        (44, &[0, 0, 0, 1], "have the types 8 or 9 of format 4"),
        (56, &[0, 0, 0, 0], "SQLite reads 0 as 1 (UTF-8)"),
        (64, &[0, 1, 0, 0], "it is 65536; SQLite writes 0 or 1"),
    ] {
        let gaps = named(at, bytes);
        assert!(gaps.len() == 1 && gaps[0].contains(what), "byte {at}: {gaps:?}");
    }
    // Free for the application, or of no consequence.
    for at in [40, 48, 60, 68, 96] {
        assert_eq!(named(at, &[1, 2, 3, 4]), [""; 0], "byte {at}");
    }
    // Written together, and never different.
    std::fs::write(&path, &whole).unwrap();
    with_bytes(&path, 18, &[2]);
    let report = full(&path);
    assert_eq!((report.finding_count(), report.findings[0].offset_bytes), (1, Some(18)));
    assert!(report.findings[0].found.starts_with("2 and 1; SQLite opens the file in a rollback mode"));
}

#[test]
fn what_never_was_a_database_is_no_damage_in_raw_mode() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("other");
    let text = "a line of text\r\n".repeat(20_000).into_bytes();
    let utf16: Vec<u8> = "@line of text\r\n".repeat(5000).bytes().flat_map(|byte| [byte, 0]).collect();
    for bytes in [text, utf16, b"short".to_vec(), vec![0; 1 << 20], vec![13; 70_000], vec![10; 4096]] {
        std::fs::write(&path, bytes).unwrap();
        let report = raw(&path);
        let reason = report.unfinished.clone().unwrap_or_default();
        assert_eq!((report.exit_code(), report.finding_count()), (2, 0), "{reason}");
        assert!(reason.contains("it is not a SQLite database"), "{reason}");
    }
    // The pages of a database without its first page are one.
    let path = filled(directory.path(), &Shape { page_size: 1024, ..Shape::default() }, 200);
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[1024..]).unwrap();
    assert_eq!(raw(&path).exit_code(), 1);
}

#[test]
fn raw_mode_says_how_many_pages_it_judged() {
    let directory = tempfile::tempdir().unwrap();
    let path = filled(directory.path(), &Shape { page_size: 1024, ..Shape::default() }, 400);
    let report = raw(&path);
    let (pages, contents) = (report.coverage.pages.unwrap(), report.coverage.page_contents.unwrap());
    let accounting = &report.accounting;
    assert_eq!((pages.verified_count, pages.total_count), (accounting.page_count, accounting.page_count));
    assert_eq!(contents.verified_count, accounting.clean_count);
    assert!(contents.verified_count > 0 && contents.missing_count() > 0, "{contents:?}");
    assert!(!report.missing_for_full().is_empty());
    assert!(gaps_of(&report).iter().any(|gap| gap.contains("rows against index entries")));
}
