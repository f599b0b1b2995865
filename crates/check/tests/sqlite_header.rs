//! One wrong field of the header is one finding, with the value that makes the file readable.
#![allow(clippy::unwrap_used)]

mod support;

use std::path::Path;

use check::subject::{Subject, recognise};
use results::check::{CheckLevel, CheckReport};
use support::{Shape, case_file, checked, filled, options};

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
        let text = check::text::text(&report);
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
        assert_eq!(report.finding_count(), 1, "{}", check::text::text(&report));
        assert!(report.findings[0].expected.contains(expected), "{}", check::text::text(&report));
        std::fs::write(&path, before).unwrap();
    }
}

#[test]
fn the_case_of_a_changed_encoding_is_one_finding() {
    let Some((_directory, path)) = case_file("sqlite", "encoding_header_changed.db") else { return };
    let report = full(&path);
    assert_eq!(report.finding_count(), 1, "{}", check::text::text(&report));
    assert!(report.findings[0].expected.contains("text encoding 1 (UTF-8)"));
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
            assert_eq!(recognise(&path).unwrap(), Subject::Sqlite, "{page_size} {name}");
            let report = full(&path);
            let text = check::text::text(&report);
            assert_eq!(report.exit_code(), 1, "{page_size} {name}: {text}");
            let headers = report.findings.iter().filter(|finding| finding.rule == "sqlite-header").count();
            assert!(headers >= 1 && report.finding_count() <= 2, "{page_size} {name}: {text}");
            assert_eq!(report.counters.row_count == rows, is_schema_known, "{page_size} {name}: {text}");
        }
    }
    if let Some((_directory, path)) = case_file("sqlite", "magic_one_bit.db") {
        assert_eq!(recognise(&path).unwrap(), Subject::Sqlite);
        let report = full(&path);
        assert_eq!((report.finding_count(), report.exit_code()), (1, 1), "{}", check::text::text(&report));
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
        assert_eq!(recognise(&path).unwrap(), Subject::Other);
    }
}
