//! Devices that fail, stops and limits: none of them accuses a row, and what was not read is said.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use check::options::Options;
use disk::backend::{Fault, Request};
use formats::sqlserver::{Header, PAGE_BYTES, PageKind};
use results::check::{CheckLevel, CheckReport, Confidence};

use crate::copy::{NORTHWIND, checked, options, real};
use crate::faults::{assert_accounted, covers, with_faults};

/// Pages of a claim.
const CLAIM_PAGES: u64 = 8;

fn base(level: CheckLevel) -> Options {
    Options { page_batch: Some(CLAIM_PAGES as usize), want_direct: false, ..options(level) }
}

fn text(report: &CheckReport) -> String {
    report::findings::text(report, &check_sqlserver::RULES)
}

/// Numbers of pages with many rows or entries.
fn pages_of_rows(path: &Path) -> Vec<u64> {
    let bytes = std::fs::read(path).unwrap();
    let headers = bytes.chunks_exact(PAGE_BYTES).map(Header::new);
    let is_wanted = |header: &Header| {
        matches!(header.kind, PageKind::Data | PageKind::Index) && header.level == 0 && header.slot_count > 20
    };
    let pages = (0u64..).zip(headers).filter(|(_, header)| is_wanted(header));
    let pages: Vec<u64> = pages.map(|(page, _)| page).collect();
    assert!(pages.len() > 50, "{pages:?}");
    pages.into_iter().step_by(9).collect()
}

fn checked_with_faults(
    path: &Path,
    base: Options,
    plan: impl Fn(u64, &Request) -> Option<Fault> + Copy + Send + Sync + 'static,
) -> CheckReport {
    let report = checked(path, &with_faults(base, plan));
    assert_accounted(&report);
    report
}

#[test]
fn short_reads_change_nothing() {
    let Some(path) = real(NORTHWIND) else { return };
    let base = Options { worker_count: 2, ..base(CheckLevel::Full) };
    let plain = checked(&path, &base);
    let report = checked_with_faults(&path, base, |serial, request| {
        (serial.is_multiple_of(2) && request.length_bytes > 4096).then_some(Fault::Short { bytes: 4096 })
    });
    assert_eq!((report.finding_count(), report.exit_code()), (0, 0), "{}", text(&report));
    assert_eq!(report.accounting, plain.accounting);
    assert_eq!(report.counters.row_count, plain.counters.row_count);
    assert!(report.counters.reader.contains("with faults"), "{}", report.counters.reader);
}

#[test]
fn pages_that_the_device_cannot_read_are_named_and_what_lacks_their_rows_is_a_consequence() {
    let Some(path) = real(NORTHWIND) else { return };
    for (page, worker_count) in pages_of_rows(&path).into_iter().zip([1, 3].into_iter().cycle()) {
        let object_batch = (worker_count > 1).then_some(60);
        let base = Options { worker_count, object_batch, ..base(CheckLevel::Full) };
        let report = checked_with_faults(&path, base, move |_, request| {
            covers(request, page * PAGE_BYTES as u64).then_some(Fault::Error { errno: 5 })
        });
        let text = text(&report);
        assert_eq!(report.exit_code(), 1, "{text}");
        let (unreadable, others): (Vec<_>, Vec<_>) =
            report.findings.iter().partition(|finding| finding.rule == "mssql-unreadable");
        // A claim that cannot be read is tried again page by page.
        assert_eq!((report.accounting.unreadable_count, unreadable.len()), (1, 1), "{text}");
        assert_eq!(report.rule_counts[0].found_count, 1, "{text}");
        let finding = unreadable[0];
        assert!(finding.page == Some(page) && finding.object.is_some(), "{text}");
        assert!(finding.found.contains("os error 5"), "{text}");
        for finding in others {
            assert_eq!(finding.confidence, Confidence::Consequence, "{text}");
        }
    }
}

#[test]
fn pages_that_read_otherwise_the_second_time_accuse_the_device_and_no_row() {
    let Some(path) = real(NORTHWIND) else { return };
    let levels = [CheckLevel::Full, CheckLevel::Structure, CheckLevel::Page].into_iter().cycle();
    for (page, level) in pages_of_rows(&path).into_iter().zip(levels) {
        let report = checked_with_faults(&path, base(level), move |_, request| {
            covers(request, page * PAGE_BYTES as u64).then_some(Fault::Torn { bytes: 0 })
        });
        let text = text(&report);
        assert!(report.finding_count() > 0, "{text}");
        let differ = |finding: &&results::check::Finding| finding.rule == "mssql-readings-differ";
        let others: Vec<_> = report.findings.iter().filter(|finding| !differ(finding)).collect();
        assert!(others.is_empty(), "{text}");
        assert!(report.accounting.is_balanced(), "{text}");
    }
}

#[test]
fn a_stop_and_a_time_limit_end_the_pass_and_accuse_nothing() {
    let Some(path) = real(NORTHWIND) else { return };
    let stop = Some(Arc::new(AtomicBool::new(true)));
    // A byte a second would take days: the check ends at once because it is asked to stop.
    let slow = Options { rate_bytes_per_s_max: Some(1), stop, ..base(CheckLevel::Full) };
    let report = checked(&path, &slow);
    assert_eq!(report.accounting.unreached_count, report.accounting.page_count);
    assert_eq!((report.finding_count(), report.exit_code()), (0, 2), "{}", text(&report));
    let stop = Arc::new(AtomicBool::new(false));
    let short = Options {
        time_max: Some(Duration::ZERO),
        rate_bytes_per_s_max: Some(1 << 20),
        stop: Some(Arc::clone(&stop)),
        ..base(CheckLevel::Full)
    };
    let report = checked(&path, &short);
    assert!(report.accounting.bytes_read > 0 && report.accounting.unreached_count > 0, "{}", text(&report));
    assert_eq!((report.finding_count(), report.exit_code()), (0, 2), "{}", text(&report));
    assert!(!stop.load(std::sync::atomic::Ordering::Relaxed), "the flag of the caller is only read");
}
