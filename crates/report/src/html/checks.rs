//! Checks of the files of one database: where every page went, what was found, and the speed beside
//! that of reading alone.

use results::check::GapKind;
use results::store::StoredCheck;
use results::verdict::VerdictKind;
use results::wording::thousands;

use super::chart::levels::{Dot, LevelChart, Spot};
use super::chart::places::Places;
use super::chart::shares::{Against, Bar, Shares, against};
use super::definitions::{Definitions, Tables};
use super::figure::figure;
use super::markup::{Markup, markup};
use super::tables;
use crate::layout::{Align, Block, Grid, Section};
use crate::number::{ABSENT, number};
use crate::tables::moment;

/// Findings shown of one check; all are counted, and `fathom report --check N` lists more.
const FINDINGS_MAX: usize = 50;

/// Levels of checks further apart than this would flatten the slower ones on a linear axis.
const LINEAR_FACTOR_MAX: f64 = 20.0;

const MEBIBYTE: f64 = 1_048_576.0;

/// The body of a page about the checks of one place: the wanted one first, then the others of the same place.
pub(super) fn html(checks: &[StoredCheck], definitions: &Definitions) -> Markup {
    let definitions = &definitions.of(Tables::Checks);
    let mut html: Markup = checks.iter().take(1).map(|check| detail(check, true, definitions)).collect();
    let charts = [accounting(checks), speed(checks), scaling(checks)].into_iter().flatten();
    let charts = charts.map(|svg| figure(&svg, &Markup::default())).collect::<Markup>();
    html.push(&markup!("<div class=\"charts\">{}</div>", charts));
    html.push(&tables::titled(&overview(checks), definitions));
    html.extend(checks.iter().skip(1).map(|check| detail(check, false, definitions)));
    html
}

fn name(check: &StoredCheck) -> String {
    let place = check.place.rsplit('/').next().unwrap_or(&check.place);
    let workers = check.report.counters.worker_count;
    let plural = if workers == 1 { "" } else { "s" };
    format!("check {} · {place} · {} · {workers} worker{plural}", check.id, check.report.level.name())
}

/// All pages of each check, by what became of them.
fn accounting(checks: &[StoredCheck]) -> Option<Markup> {
    let bar = |check: &StoredCheck| {
        let accounting = &check.report.accounting;
        let part = |words: &str, pages: u64| {
            let percent = 100.0 * pages as f64 / accounting.page_count.max(1) as f64;
            (percent, format!("{words}: {pages} of {} pages", accounting.page_count))
        };
        Bar {
            label: name(check),
            parts: seen(vec![
                part("clean", accounting.clean_count),
                part("damaged", accounting.damaged_count),
                part("affected", accounting.affected_count),
                part("skipped", accounting.skipped_count()),
                part("unreadable", accounting.unreadable_count),
                part("not reached", accounting.unreached_count),
            ]),
        }
    };
    let names = [
        ("clean", "2"),
        ("damaged", "1"),
        ("affected", "4"),
        ("skipped", "run"),
        ("unreadable", "3"),
        ("not reached", "idle"),
    ];
    let names = names.map(|(name, colour)| (name.to_owned(), colour)).to_vec();
    let title = "Pages by outcome, in % (small parts are drawn larger to be visible)".to_owned();
    Shares { title, names, bars: checks.iter().map(bar).collect() }.draw()
}

/// The least that is drawn of what there is, percent: four pixels.
const PERCENT_SEEN: f64 = 0.8;

/// Widens small parts at the cost of the largest: one damaged page among millions must not look like none.
fn seen(mut parts: Vec<(f64, String)>) -> Vec<(f64, String)> {
    let mut taken = 0.0;
    for (percent, _) in parts.iter_mut().filter(|(percent, _)| *percent > 0.0 && *percent < PERCENT_SEEN) {
        taken += PERCENT_SEEN - *percent;
        *percent = PERCENT_SEEN;
    }
    if let Some((largest, _)) = parts.iter_mut().max_by(|one, other| one.0.total_cmp(&other.0)) {
        *largest -= taken;
    }
    parts
}

/// Speed in percent of reading alone, where that was measured.
fn speed(checks: &[StoredCheck]) -> Option<Markup> {
    let bar = |check: &StoredCheck| {
        let (rate, ceiling) = (check.bytes_per_s()?, check.read_ceiling_bytes_per_s?);
        Some(Against {
            label: name(check),
            percent: 100.0 * check.share_of_ceiling()?,
            figures: format!("{:.0} of {:.0} MiB/s", rate / MEBIBYTE, ceiling / MEBIBYTE),
        })
    };
    let bars: Vec<Against> = checks.iter().filter_map(bar).collect();
    against("Speed, in % of a plain read", "reading alone", &bars)
}

/// Speed over the number of workers, for places that were checked with several numbers.
fn scaling(checks: &[StoredCheck]) -> Option<Markup> {
    let mut workers: Vec<u64> = checks.iter().map(|check| check.report.counters.worker_count).collect();
    workers.sort_unstable();
    workers.dedup();
    if workers.len() < 2 {
        return None;
    }
    let mut series: Vec<(String, Vec<Spot>)> = Vec::new();
    for check in checks {
        let Some(rate) = check.bytes_per_s() else { continue };
        let place = check.place.rsplit('/').next().unwrap_or(&check.place);
        let label = format!("{place}, {}", check.report.level.name());
        let known = series.iter().position(|(name, _)| *name == label);
        let index = known.unwrap_or_else(|| {
            series.push((label, vec![Spot::default(); workers.len()]));
            series.len() - 1
        });
        let level = workers.iter().position(|count| *count == check.report.counters.worker_count)?;
        let spot = &mut series[index].1[level];
        let value = rate / MEBIBYTE;
        spot.dots.push(Dot { value, title: format!("{}: {value:.1} MiB/s", name(check)), counts: true });
        let sum: f64 = spot.dots.iter().map(|dot| dot.value).sum();
        spot.mean = Some(sum / spot.dots.len() as f64);
        spot.title = format!("mean of {} checks: {:.1} MiB/s", spot.dots.len(), sum / spot.dots.len() as f64);
    }
    let rates = || series.iter().flat_map(|(_, spots)| spots).filter_map(|spot| spot.mean);
    let (slowest, fastest) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
    let is_logarithmic = fastest > LINEAR_FACTOR_MAX * slowest;
    let chart = LevelChart {
        y_title: "Speed of the pass [MiB/s]".to_owned(),
        x_title: "workers".to_owned(),
        levels: workers.iter().map(u64::to_string).collect(),
        places: Places::of(&workers.iter().map(|count| *count as f64).collect::<Vec<_>>()),
        series,
        is_ordered: true,
        is_logarithmic,
        ..LevelChart::default()
    };
    chart.draw()
}

fn overview(checks: &[StoredCheck]) -> Section {
    let mut grid = Grid::named_by([("check".to_owned(), Align::Right)]).with([
        ("place", Align::Left),
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
            check.id.to_string(),
            check.place.clone(),
            report.level.name().to_owned(),
            report.counters.worker_count.to_string(),
            accounting.page_count.to_string(),
            accounting.clean_count.to_string(),
            accounting.damaged_count.to_string(),
            accounting.affected_count.to_string(),
            accounting.skipped_count().to_string(),
            accounting.unreadable_count.to_string(),
            accounting.unreached_count.to_string(),
            report.finding_count().to_string(),
            or_dash(check.bytes_per_s().map(|rate| rate / MEBIBYTE)),
            or_dash(check.share_of_ceiling().map(|share| 100.0 * share)),
            number((report.counters.worker_cpu_ns as f64 / 1e6).round() / 1e3),
            report.counters.reader.clone(),
        ]);
    }
    Section::new("Checks of this place", vec![Block::Grid(grid)])
}

/// Findings, what was not checked, and why a check did not finish.
fn detail(check: &StoredCheck, is_open: bool, definitions: &Definitions) -> Markup {
    let report = &check.report;
    let verdict = report.verdict();
    let mut blocks = vec![Block::Paragraph(sentence(&verdict.text))];
    blocks.extend((report.coverage.shares().count() > 0).then(|| Block::Grid(coverage(check))));
    let accounting = &report.accounting;
    let balance = if accounting.is_balanced() { "" } else { " The sum does not match the number of pages." };
    blocks.push(Block::Paragraph(format!(
        "{} pages = {} clean + {} damaged + {} affected + {} skipped + {} unreadable + {} not reached; {} of {} bytes read.{balance}",
        thousands(accounting.page_count),
        thousands(accounting.clean_count),
        thousands(accounting.damaged_count),
        thousands(accounting.affected_count),
        thousands(accounting.skipped_count()),
        thousands(accounting.unreadable_count),
        thousands(accounting.unreached_count),
        thousands(accounting.bytes_read),
        thousands(accounting.bytes_expected)
    )));
    blocks.extend(report.unfinished.iter().map(|why| Block::Paragraph(format!("Not finished: {why}"))));
    if !report.objects.is_empty() {
        blocks.push(Block::Grid(objects(check)));
    }
    if !report.findings.is_empty() {
        blocks.push(Block::Grid(findings(check)));
        let all = report.finding_count();
        let shown = report.findings.len().min(FINDINGS_MAX) as u64;
        if all > shown {
            blocks.push(Block::Paragraph(format!("{shown} of {all} findings are listed here.")));
        }
    }
    for (kind, title) in
        [(GapKind::Coverage, "Not checked:"), (GapKind::OutOfScope, "Not verified by fathom on this engine:")]
    {
        let gaps = report.not_checked.iter().filter(|gap| gap.kind == kind).map(|gap| {
            let object = gap.object.as_ref().map_or(String::new(), |object| format!("{object}: "));
            format!("{object}{} ({})", gap.what, gap.why)
        });
        let gaps: Vec<String> = gaps.collect();
        if !gaps.is_empty() {
            blocks.push(Block::Paragraph(title.to_owned()));
            blocks.push(Block::Items(gaps));
        }
    }
    let section = Section::new(format!("{}, {}", name(check), moment(&check.stored_at)), blocks);
    let is_open = is_open || verdict.kind != VerdictKind::NoDamage;
    tables::folded(&format!("check-{}", check.id), &section, definitions, is_open)
}

/// The text with a capital letter and a full stop.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters.next().map(|letter| letter.to_uppercase().collect()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

/// What was verified, of what there is.
fn coverage(check: &StoredCheck) -> Grid {
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
fn objects(check: &StoredCheck) -> Grid {
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

fn findings(check: &StoredCheck) -> Grid {
    let mut grid = Grid::named_by([("rule".to_owned(), Align::Left)]).with([
        ("page", Align::Right),
        ("slot", Align::Right),
        ("object", Align::Left),
        ("row", Align::Left),
        ("invariant", Align::Wrapped),
        ("expected", Align::Wrapped),
        ("found", Align::Wrapped),
        ("next step", Align::Wrapped),
        ("file", Align::Left),
    ]);
    let or_dash = |value: Option<u64>| value.map_or(ABSENT.to_owned(), |value| value.to_string());
    for finding in check.report.findings.iter().take(FINDINGS_MAX) {
        grid.push(vec![
            finding.rule.clone(),
            or_dash(finding.page),
            or_dash(finding.slot),
            finding.object.clone().unwrap_or_else(|| ABSENT.to_owned()),
            finding.row.clone().unwrap_or_else(|| ABSENT.to_owned()),
            finding.promise.clone(),
            finding.expected.clone(),
            finding.found.clone(),
            finding.next_step.clone(),
            end_of_path(&finding.file),
        ]);
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

    #[test]
    fn one_damaged_page_among_millions_is_drawn() {
        let parts =
            seen(vec![(99.9999, "clean".to_owned()), (0.0001, "damaged".to_owned()), (0.0, String::new())]);
        let widths: Vec<f64> = parts.iter().map(|(percent, _)| *percent).collect();
        assert!((widths[0] - 99.2).abs() < 1e-9 && widths[1..] == [PERCENT_SEEN, 0.0], "{widths:?}");
    }
}
