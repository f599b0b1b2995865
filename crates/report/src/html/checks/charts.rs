//! Checks as pictures: where the pages went, speed beside that of reading alone, speed over the workers.

use results::store::StoredCheck;
use results::wording::counted;

use super::super::chart::levels::{Dot, LevelChart, Spot};
use super::super::chart::places::Places;
use super::super::chart::shares::{Against, Bar, Shares, against};
use super::super::markup::Markup;
use crate::tables::file_name;

/// Levels of checks further apart than this would flatten the slower ones on a linear axis.
const LINEAR_FACTOR_MAX: f64 = 20.0;

pub(super) const MEBIBYTE: f64 = 1_048_576.0;

/// All pages of each check, by what became of them.
pub(super) fn accounting(checks: &[StoredCheck]) -> Option<Markup> {
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
    let title = "Pages by outcome, in %".to_owned();
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
pub(super) fn speed(checks: &[StoredCheck]) -> Option<Markup> {
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
pub(super) fn scaling(checks: &[StoredCheck]) -> Option<Markup> {
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

/// `check 4 · bad.db · full · 4 workers`; one that was not stored has no number.
fn name(check: &StoredCheck) -> String {
    let number = if check.id > 0 { format!("check {} · ", check.id) } else { String::new() };
    let workers = counted(check.report.counters.worker_count, "worker");
    format!("{number}{} · {} · {workers}", file_name(&check.place), check.report.level.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_damaged_page_among_millions_is_drawn() {
        let parts =
            seen(vec![(99.9999, "clean".to_owned()), (0.0001, "damaged".to_owned()), (0.0, String::new())]);
        let widths: Vec<f64> = parts.iter().map(|(percent, _)| *percent).collect();
        assert!((widths[0] - 99.2).abs() < 1e-9 && widths[1..] == [PERCENT_SEEN, 0.0], "{widths:?}");
    }
}
