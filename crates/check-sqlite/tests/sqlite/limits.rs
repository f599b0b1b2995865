//! Limits on time and memory, and devices that fail: none of them changes a verdict, and what was not done is said.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::faults::{assert_accounted, covers, with_faults};
use crate::support::{Shape, assert_clean, checked, create, filled, options};
use check::options::Options;
use check::progress::{Phase, Progress, Silent};
use check_sqlite::drill::damage;
use disk::backend::{Fault, Request};
use results::check::{CheckLevel, CheckReport, Confidence};

const PAGE: u64 = 512;

/// A file with a page of rows zeroed: entries of several indexes have lost their rows.
fn damaged(directory: &Path) -> PathBuf {
    let plain = filled(directory, &Shape { page_size: 512, ..Shape::default() }, 600);
    let path = directory.join("damaged.db");
    damage(&plain, &path, "zeroed-table-page", 3).unwrap();
    path
}

/// Stops a check when a phase begins.
struct StopAt(Phase, Arc<AtomicBool>);

impl Progress for StopAt {
    fn advance(&mut self, phase: Phase, _done: u64, _total: u64) {
        if phase == self.0 {
            self.1.store(true, Ordering::Relaxed);
        }
    }
}

#[test]
fn a_second_pass_that_is_stopped_goes_on_and_names_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let path = damaged(directory.path());
    let whole = checked(&path, &options(CheckLevel::Full));
    assert!(whole.counters.second_pass_object_count > 1);
    let resume_file = directory.path().join("resume.json");
    let kept = Options {
        resume_file: Some(resume_file.clone()),
        object_batch: Some(1),
        worker_count: 2,
        ..options(CheckLevel::Full)
    };
    let stop = Arc::new(AtomicBool::new(false));
    let first = Options { stop: Some(stop.clone()), ..kept.clone() };
    let report = check_sqlite::check(&path, &first, &mut StopAt(Phase::SecondPass, stop));
    assert_eq!(report.accounting.unreached_count, 0);
    let reason = report.unfinished.clone().unwrap_or_default();
    assert!(reason.contains("stopped before all differences") && reason.contains("index t_"), "{reason}");
    let mut call_count = 0;
    let last = loop {
        call_count += 1;
        assert!(call_count < 100, "the check does not come to an end");
        assert!(resume_file.exists());
        // No time at all: one reading is done all the same.
        let report = checked(&path, &Options { time_max: Some(Duration::ZERO), ..kept.clone() });
        if report.unfinished.is_none() {
            break report;
        }
    };
    assert!(call_count > 1, "one call did everything");
    assert!(!resume_file.exists());
    assert_eq!(last.findings, whole.findings);
    assert_eq!(last.rule_counts, whole.rule_counts);
    assert_eq!(last.accounting, whole.accounting);
}

#[test]
fn a_check_that_is_stopped_before_its_pages_or_behind_them_accuses_nothing_that_it_did_not_compare() {
    let directory = tempfile::tempdir().unwrap();
    let path = damaged(directory.path());
    let whole = checked(&path, &options(CheckLevel::Full));
    let at = |stopped: Phase| {
        let stop = Arc::new(AtomicBool::new(false));
        let options = Options { stop: Some(stop.clone()), ..options(CheckLevel::Full) };
        check_sqlite::check(&path, &options, &mut StopAt(stopped, stop))
    };
    let (map, links) = (at(Phase::Map), at(Phase::Match));
    let pages = whole.accounting.page_count;
    assert_eq!((map.accounting.page_count, map.accounting.unreached_count), (pages, pages));
    assert_eq!((map.exit_code(), map.finding_count()), (2, 0));
    assert!(map.unfinished.unwrap().contains("inner pages"));
    let text = report::findings::text(&links, &check_sqlite::RULES);
    assert_eq!(links.accounting.unreached_count, 0, "{text}");
    assert!(links.unfinished.unwrap().contains("before links between pages"), "{text}");
    assert!(links.rule_counts.iter().all(|count| whole.rule_counts.contains(count)), "{text}");
}

#[test]
fn no_time_at_all_still_comes_to_an_end() {
    let directory = tempfile::tempdir().unwrap();
    let path = damaged(directory.path());
    let whole = checked(&path, &options(CheckLevel::Full));
    let hasty = Options {
        time_max: Some(Duration::ZERO),
        resume_file: Some(directory.path().join("resume.json")),
        page_batch: Some(64),
        ..options(CheckLevel::Full)
    };
    let mut calls = std::iter::repeat_with(|| checked(&path, &hasty)).take(500);
    let last = calls.find(|report| report.unfinished.is_none());
    let last = last.expect("the check comes to an end");
    assert_eq!((last.findings, last.accounting), (whole.findings, whole.accounting));
}

#[test]
fn little_memory_takes_more_readings_and_finds_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let path = damaged(directory.path());
    let whole = checked(&path, &options(CheckLevel::Full));
    for worker_count in [1, 3] {
        let little = Options { memory_bytes_max: 4096, worker_count, ..options(CheckLevel::Full) };
        let little = checked(&path, &little);
        assert_eq!(
            (little.findings, little.rule_counts),
            (whole.findings.clone(), whole.rule_counts.clone())
        );
        assert!(little.counters.memory_bytes_max < whole.counters.memory_bytes_max);
    }
}

#[test]
fn long_values_wait_in_files_when_there_is_no_memory_for_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = filled(directory.path(), &Shape { page_size: 512, auto_vacuum: 1, ..Shape::default() }, 600);
    let options =
        Options { memory_bytes_max: 0, page_batch: Some(8), worker_count: 4, ..options(CheckLevel::Full) };
    let report = checked(&path, &options);
    assert_clean(&report);
    assert!(report.counters.temporary_bytes > 0);
}

/// Checks with a device that has the faults of a plan.
fn checked_with_faults(
    path: &Path,
    base: Options,
    plan: impl Fn(u64, &Request) -> Option<Fault> + Copy + Send + Sync + 'static,
) -> CheckReport {
    let report = checked(path, &with_faults(base, plan));
    assert_accounted(&report);
    report
}

/// The offset of a page of rows behind the first extents.
fn page_of_rows(path: &Path) -> u64 {
    let bytes = std::fs::read(path).unwrap();
    let pages = bytes.len() as u64 / PAGE;
    let is_leaf = |page: &u64| bytes[(page * PAGE) as usize] == 13;
    (pages / 3..pages).find(is_leaf).unwrap() * PAGE
}

#[test]
fn a_page_that_the_device_cannot_read_is_named_and_what_lacks_its_rows_is_a_consequence() {
    let directory = tempfile::tempdir().unwrap();
    let path = filled(directory.path(), &Shape { page_size: 512, ..Shape::default() }, 600);
    let offset_bytes = page_of_rows(&path);
    let base = Options { page_batch: Some(64), want_direct: false, ..options(CheckLevel::Full) };
    let report = checked_with_faults(&path, base, move |_, request| {
        covers(request, offset_bytes).then_some(Fault::Error { errno: 5 })
    });
    let text = report::findings::text(&report, &check_sqlite::RULES);
    assert_eq!(report.exit_code(), 1, "{text}");
    let unreadable: Vec<_> =
        report.findings.iter().filter(|finding| finding.rule == "sqlite-read-error").collect();
    let pages: Vec<_> = unreadable.iter().filter_map(|finding| finding.page).collect();
    assert!(pages.contains(&(offset_bytes / PAGE + 1)), "{text}");
    assert_eq!(report.accounting.unreadable_count, unreadable.len() as u64);
    assert!(unreadable.iter().all(|finding| finding.found.contains("os error 5")), "{text}");
    for finding in report.findings.iter().filter(|finding| finding.rule.contains("row")) {
        assert_eq!(finding.confidence, Confidence::Consequence, "{finding:?}");
    }
}

#[test]
fn short_reads_change_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = filled(directory.path(), &Shape::default(), 400);
    let base = || Options { page_batch: Some(16), worker_count: 2, ..options(CheckLevel::Full) };
    let short = |serial: u64, request: &Request| {
        (serial.is_multiple_of(2) && request.length_bytes > 4096).then_some(Fault::Short { bytes: 4096 })
    };
    assert_clean(&checked_with_faults(&path, base(), short));
}

#[test]
fn a_page_that_reads_otherwise_the_second_time_accuses_the_device_and_no_row() {
    let directory = tempfile::tempdir().unwrap();
    let path = filled(directory.path(), &Shape { page_size: 512, ..Shape::default() }, 600);
    let offset_bytes = page_of_rows(&path);
    let base = Options { page_batch: Some(64), want_direct: false, ..options(CheckLevel::Structure) };
    let report = checked_with_faults(&path, base, move |_, request| {
        covers(request, offset_bytes).then_some(Fault::Torn { bytes: 0 })
    });
    let text = report::findings::text(&report, &check_sqlite::RULES);
    // The whole reading of 64 pages was zeros: each page of it that something refers to is read again and differs.
    // Where the page above it is in the same reading, nothing refers to it that could be read: it is skipped.
    assert!(report.findings.iter().all(|finding| finding.rule == "sqlite-readings-differ"), "{text}");
    let reading = offset_bytes / PAGE / 64 * 64;
    let pages: Vec<u64> = report.findings.iter().filter_map(|finding| finding.page).collect();
    assert!(pages.iter().all(|page| (reading + 1..=reading + 64).contains(page)), "{text}");
    let finding = report.findings.first().expect("a page is named");
    assert_eq!(report.exit_code(), 1, "{text}");
    assert!(finding.found.contains("2 contents") && finding.found.contains("512 bytes at byte"), "{text}");
    let skipped = &report.accounting.skipped;
    let differing = skipped.iter().find(|skipped| skipped.why.contains("their readings differ"));
    assert_eq!(differing.map(|skipped| skipped.page_count), Some(pages.len() as u64), "{text}");
    assert!(report.accounting.is_balanced() && report.unfinished.is_none(), "{text}");
}

#[test]
fn raw_mode_is_the_same_for_any_number_of_workers_stops_and_survives_a_device_that_fails() {
    let directory = tempfile::tempdir().unwrap();
    let path = damaged(directory.path());
    let mut bytes = std::fs::read(&path).unwrap();
    let place = page_of_rows(&path) as usize;
    bytes[place + 8..place + 10].copy_from_slice(&[0xff, 0xff]);
    std::fs::write(&path, bytes).unwrap();
    let raw = Options { is_raw: true, page_batch: Some(8), ..options(CheckLevel::Full) };
    let one = checked(&path, &raw);
    assert!(one.finding_count() > 0 && one.counters.worker_count == 1);
    let many = checked(&path, &Options { worker_count: 4, ..raw.clone() });
    assert_eq!(many.counters.worker_count, 4);
    assert_eq!((&many.findings, &many.accounting), (&one.findings, &one.accounting));
    let stop = Some(Arc::new(AtomicBool::new(true)));
    let stopped = check_sqlite::check(&path, &Options { stop, ..raw.clone() }, &mut Silent);
    assert_eq!(stopped.accounting.unreached_count, one.accounting.page_count);
    assert_eq!(stopped.exit_code(), 2);
    let failing = checked_with_faults(&path, Options { want_direct: false, ..raw }, |_, request| {
        covers(request, 20 * PAGE).then_some(Fault::Error { errno: 5 })
    });
    assert!(failing.accounting.unreadable_count > 0);
    assert!(failing.findings.iter().any(|finding| finding.rule == "sqlite-read-error"));
}

#[test]
fn raw_mode_that_is_stopped_goes_on_and_finds_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let path = damaged(directory.path());
    let mut bytes = std::fs::read(&path).unwrap();
    let place = page_of_rows(&path) as usize;
    bytes[place + 8..place + 10].copy_from_slice(&[0xff, 0xff]);
    // No magic: the header tells nothing, and the page size is found out each time.
    bytes[0] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let resume_file = directory.path().join("resume.json");
    let small = Options { page_batch: Some(8), worker_count: 2, ..options(CheckLevel::Full) };
    let whole = checked(&path, &small);
    assert!(
        whole.finding_count() > 1 && whole.unfinished.is_none(),
        "{}",
        report::findings::text(&whole, &check_sqlite::RULES)
    );
    let kept = Options { resume_file: Some(resume_file.clone()), ..small };
    let first = checked(&path, &Options { time_max: Some(Duration::ZERO), ..kept.clone() });
    assert!(first.accounting.unreached_count > 0 && first.exit_code() == 1);
    let mut calls = 0;
    let last = loop {
        calls += 1;
        assert!(calls < 500 && resume_file.exists(), "the check does not come to an end");
        let report = checked(&path, &Options { time_max: Some(Duration::ZERO), ..kept.clone() });
        assert!(report.facts.iter().any(|(name, _)| name == "continues from"));
        if report.unfinished.is_none() {
            break report;
        }
    };
    assert!(!resume_file.exists());
    assert_eq!((&last.findings, &last.rule_counts), (&whole.findings, &whole.rule_counts));
    assert_eq!(last.accounting, whole.accounting);
}

#[test]
fn a_stop_ends_the_waiting_for_a_limit() {
    let directory = tempfile::tempdir().unwrap();
    let path = damaged(directory.path());
    // A byte a second would take days: the check ends at once because it is asked to stop.
    let stop = Some(Arc::new(AtomicBool::new(true)));
    let slow = Options { rate_bytes_per_s_max: Some(1), stop, ..options(CheckLevel::Full) };
    let report = checked(&path, &slow);
    assert_eq!(report.accounting.unreached_count, report.accounting.page_count);
}

#[test]
fn a_hole_of_a_terabyte_behind_a_database_without_a_valid_page_count_is_listed_and_not_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sparse.db");
    let connection = create(&path, &Shape::default());
    connection.execute_batch("CREATE TABLE t(a); INSERT INTO t VALUES(1), (2), (3)").unwrap();
    connection.close().unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    // The change counter differs from the version-valid-for number: SQLite takes the size of the file.
    bytes[24..28].copy_from_slice(&999u32.to_be_bytes());
    std::fs::write(&path, &bytes).unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_len(1 << 40).unwrap();
    // No helper that reads the whole file.
    let report = check_sqlite::check(&path, &options(CheckLevel::Full), &mut check::progress::Silent);
    assert_eq!(
        (report.finding_count(), report.counters.row_count),
        (0, 3),
        "{}",
        report::findings::text(&report, &check_sqlite::RULES)
    );
    let gap = report.not_checked.iter().find(|gap| gap.what.ends_with("bytes past the last page")).unwrap();
    assert!(gap.why.contains("a hole, which was not read"), "{gap:?}");
}
