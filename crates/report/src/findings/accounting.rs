//! What was not checked, where all pages went, what was verified, and the verdict.

use std::fmt::Write;

use results::check::{Accounting, CheckReport, GapKind};
use results::wording::{counted, thousands};

use super::words::harmless;

pub(super) fn write(out: &mut String, report: &CheckReport) -> std::fmt::Result {
    write_gaps(out, report, GapKind::Coverage, "not checked:")?;
    write_gaps(out, report, GapKind::OutOfScope, "not verified by fathom on this engine:")?;
    write_target(out, report)?;
    writeln!(out, "{}", pages(&report.accounting))?;
    for skipped in &report.accounting.skipped {
        writeln!(out, "    skipped {}: {}", thousands(skipped.page_count), skipped.why)?;
    }
    write_cost(out, report)?;
    write_coverage(out, report)?;
    if let Some(reason) = &report.unfinished {
        // A hint of our own is a line of its own; no other line break is taken from outside.
        let (reason, hint) = reason.split_once("\nhint: ").unwrap_or((reason, ""));
        writeln!(out, "could not finish: {}", harmless(reason))?;
        if !hint.is_empty() {
            writeln!(out, "hint: {}", harmless(hint))?;
        }
    }
    writeln!(out, "{}", report.verdict().text)
}

fn write_gaps(out: &mut String, report: &CheckReport, kind: GapKind, title: &str) -> std::fmt::Result {
    let mut gaps = report.not_checked.iter().filter(|gap| gap.kind == kind).peekable();
    if gaps.peek().is_none() {
        return Ok(());
    }
    writeln!(out, "{title}")?;
    for gap in gaps {
        let object = gap.object.as_deref().unwrap_or("the whole database");
        writeln!(out, "    {}: {} ({})", harmless(object), harmless(&gap.what), harmless(&gap.why))?;
    }
    Ok(())
}

fn write_target(out: &mut String, report: &CheckReport) -> std::fmt::Result {
    let facts: Vec<_> =
        report.facts.iter().map(|(name, value)| format!("{name} {}", harmless(value))).collect();
    writeln!(out, "{} at level {}: {}", harmless(&report.target), report.level.name(), facts.join(", "))
}

/// `pages 1,234 = clean 1,230 + damaged 1 + affected 3 + skipped 0 + unreadable 0`.
fn pages(accounting: &Accounting) -> String {
    let mut classes = vec![
        ("clean", accounting.clean_count),
        ("damaged", accounting.damaged_count),
        ("affected", accounting.affected_count),
        ("skipped", accounting.skipped_count()),
        ("unreadable", accounting.unreadable_count),
        ("not reached", accounting.unreached_count),
    ];
    // Rare classes: without pages they would only make the line longer.
    classes.retain(|(name, count)| *count > 0 || !["affected", "not reached"].contains(name));
    let classes: Vec<String> =
        classes.into_iter().map(|(name, count)| format!("{name} {}", thousands(count))).collect();
    format!("pages {} = {}", thousands(accounting.page_count), classes.join(" + "))
}

fn write_cost(out: &mut String, report: &CheckReport) -> std::fmt::Result {
    let (accounting, counters) = (&report.accounting, &report.counters);
    let seconds = counters.elapsed_ns as f64 / 1e9;
    let rate = accounting.bytes_read as f64 / 1e6 / seconds.max(1e-9);
    writeln!(
        out,
        "bytes read {} of {} in {seconds:.2} s ({rate:.0} MB/s, {}, {:.2} s CPU time), single reads {}, rows {}, index entries {}",
        thousands(accounting.bytes_read),
        thousands(accounting.bytes_expected),
        counted(counters.worker_count, "worker"),
        counters.worker_cpu_ns as f64 / 1e9,
        thousands(counters.extra_read_count),
        thousands(counters.row_count),
        thousands(counters.entry_count)
    )
}

/// What was verified of what there is; nothing in reports from before coverage was recorded.
fn write_coverage(out: &mut String, report: &CheckReport) -> std::fmt::Result {
    let shares: Vec<String> = report
        .coverage
        .shares()
        .map(|(name, share)| {
            format!("{name} {} of {}", thousands(share.verified_count), thousands(share.total_count))
        })
        .collect();
    if shares.is_empty() {
        return Ok(());
    }
    writeln!(out, "verified: {}", shares.join(", "))
}
