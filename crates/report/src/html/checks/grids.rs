//! Checks as tables: objects and findings, what was verified, the checks of one place.

use results::check::Finding;
use results::store::StoredCheck;
use results::wording::thousands;

use super::charts::MEBIBYTE;
use crate::layout::{Align, Block, Grid, Section};
use crate::number::{ABSENT, number};

/// Findings shown of one check; all are counted, and `fathom report --check N` lists more.
pub(super) const FINDINGS_MAX: usize = 50;

/// One row for each check.
pub(super) fn overview(checks: &[StoredCheck]) -> Section {
    let mut grid = Grid::named_by([("check".to_owned(), Align::Right)]).with([
        ("level", Align::Left),
        ("workers", Align::Right),
        ("pages", Align::Right),
        ("clean", Align::Right),
        ("damaged", Align::Right),
        ("affected", Align::Right),
        ("skipped", Align::Right),
        ("unreadable", Align::Right),
        ("not reached", Align::Right),
        ("findings", Align::Right),
        ("MiB/s", Align::Right),
        ("% of reading alone", Align::Right),
        ("CPU s", Align::Right),
        ("read through", Align::Left),
    ]);
    for check in checks {
        let (report, accounting) = (&check.report, &check.report.accounting);
        let or_dash = |value: Option<f64>| value.map_or(ABSENT.to_owned(), |value| format!("{value:.1}"));
        grid.push(vec![
            if check.id > 0 { check.id.to_string() } else { "this".to_owned() },
            report.level.name().to_owned(),
            report.counters.worker_count.to_string(),
            thousands(accounting.page_count),
            thousands(accounting.clean_count),
            thousands(accounting.damaged_count),
            thousands(accounting.affected_count),
            thousands(accounting.skipped_count()),
            thousands(accounting.unreadable_count),
            thousands(accounting.unreached_count),
            thousands(report.finding_count()),
            or_dash(check.bytes_per_s().map(|rate| rate / MEBIBYTE)),
            or_dash(check.share_of_ceiling().map(|share| 100.0 * share)),
            number((report.counters.worker_cpu_ns as f64 / 1e6).round() / 1e3),
            report.counters.reader.clone(),
        ]);
    }
    Section::new("Checks of this place", vec![Block::Grid(grid)])
}

/// What was verified, of what there is.
pub(super) fn coverage(check: &StoredCheck) -> Grid {
    let mut grid = Grid::named_by([("verified".to_owned(), Align::Left)]).with([
        ("count", Align::Right),
        ("of", Align::Right),
        ("not verified", Align::Right),
    ]);
    for (name, share) in check.report.coverage.shares() {
        let counts = [share.verified_count, share.total_count, share.missing_count()].map(thousands);
        grid.push([name.to_owned()].into_iter().chain(counts).collect());
    }
    grid
}

/// One row for each damaged object, causes first.
pub(super) fn objects(check: &StoredCheck) -> Grid {
    let mut grid = Grid::named_by([("object".to_owned(), Align::Left)]).with([
        ("findings", Align::Right),
        ("rows affected", Align::Right),
        ("index entries affected", Align::Right),
        ("cause", Align::Left),
        ("found", Align::Wrapped),
        ("follows from", Align::Wrapped),
        ("next step", Align::Wrapped),
    ]);
    for object in check.report.objects.iter().take(FINDINGS_MAX) {
        grid.push(vec![
            object.object.clone().unwrap_or_else(|| "the database".to_owned()),
            thousands(object.finding_count),
            thousands(object.affected.row_count),
            thousands(object.affected.entry_count),
            object.cause_rule.clone(),
            object.found.clone(),
            object.resolve_first.clone().unwrap_or_else(|| ABSENT.to_owned()),
            object.next_step.clone(),
        ]);
    }
    grid
}
/// One row for each finding; the next step is left out where it is that of its object.
pub(super) fn findings(check: &StoredCheck) -> Grid {
    let report = &check.report;
    let is_of_object = |finding: &Finding| {
        let mut objects = report.objects.iter();
        objects.any(|object| object.object == finding.object && object.next_step == finding.next_step)
    };
    let has_steps = !report.findings.iter().all(is_of_object);
    let steps = has_steps.then_some(("next step", Align::Wrapped));
    let mut grid = Grid::named_by([("rule".to_owned(), Align::Left)])
        .with([
            ("page", Align::Right),
            ("slot", Align::Right),
            ("object", Align::Left),
            ("row", Align::Left),
            ("invariant", Align::Wrapped),
            ("expected", Align::Wrapped),
            ("found", Align::Wrapped),
        ])
        .with(steps)
        .with([("file", Align::Left)]);
    let or_dash = |value: Option<u64>| value.map_or(ABSENT.to_owned(), |value| value.to_string());
    for finding in report.findings.iter().take(FINDINGS_MAX) {
        let mut cells = vec![
            finding.rule.clone(),
            or_dash(finding.page),
            or_dash(finding.slot),
            finding.object.clone().unwrap_or_else(|| ABSENT.to_owned()),
            finding.row.clone().unwrap_or_else(|| ABSENT.to_owned()),
            finding.invariant.clone(),
            finding.expected.clone(),
            finding.found.clone(),
        ];
        cells.extend(has_steps.then(|| finding.next_step.clone()));
        cells.push(end_of_path(&finding.file));
        grid.push(cells);
    }
    grid
}

/// The last parts of a path; the whole of it is in the export.
fn end_of_path(file: &str) -> String {
    let parts: Vec<&str> = file.rsplit('/').take(3).collect();
    let end: Vec<&str> = parts.into_iter().rev().collect();
    end.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_path_is_shown_by_its_end() {
        assert_eq!(end_of_path("/a/b/c/base/5/16384"), "base/5/16384");
        assert_eq!(end_of_path("db"), "db");
    }
}
