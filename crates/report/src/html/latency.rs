//! Latency per transaction: percentiles over the factors, distributions, the course over time, and what a throughput costs.

pub(super) mod scripts;

use results::histogram::LatencyHistogram;
use results::model::{Run, StoredRun};
use results::observations::Series;
use results::store::CellLatency;

use super::chart::curve::{Curve, CurveChart, Dimension, Scale};
use super::chart::levels::{Dot, LevelChart, Spot};
use super::definitions::Definitions;
use super::factors::contrasts;
use super::factors::facets::{Roles, empty_chart, ordered, share_axis};
use super::figure::figure;
use super::human;
use super::markup::{Markup, markup};
use super::page::Page;
use super::tables;
use crate::number::counted_from_one;
use crate::outcome::{Destination, sections};
use crate::summary::{CellSummary, cell_label};
use crate::tables::latencies;

/// Percentiles that are drawn, with the transactions that each needs to be told from the largest latency.
const PERCENTILES: [(&str, f64, u64); 5] =
    [("p50", 0.5, 2), ("p90", 0.9, 10), ("p99", 0.99, 100), ("p99.9", 0.999, 1000), ("max", 1.0, 1)];

/// Colour and mark of each, the same in all charts.
const PALETTE: [usize; 5] = [0, 4, 1, 3, 7];

/// The percentile whose runs are drawn one by one.
const OF_RUNS: &str = "p99";

/// Curves of one chart.
const CURVES_MAX: usize = 8;

/// Configurations whose latency is drawn over time.
const COURSES_MAX: usize = 8;

const HEIGHT: f64 = 250.0;

/// Factors that say how much work is asked for, the one that says most first.
const LOADS: [&str; 2] = ["rate", "connections"];

/// The section; empty where no client measured a latency.
pub(super) fn html(page: &Page<'_>, definitions: &Definitions) -> Markup {
    let known: Vec<&CellLatency> =
        page.results.latencies.iter().filter(|latency| histogram(latency).count() > 0).collect();
    if known.is_empty() || !latencies::is_told(page.summary) {
        return Markup::default();
    }
    let is_open = known.iter().any(|latency| latency.response_time.is_some());
    let kind = if is_open { "response time" } else { "service time" };
    let words = if is_open { "from the intended start to the answer" } else { "from sending to the answer" };
    let mut html = markup!("<p class=\"note\">{}: {}.</p>", definitions.header(kind), words);
    let charts: Markup =
        [percentiles(page), against_throughput(page), distributions(page)].into_iter().collect();
    html.push(&markup!("<div class=\"charts\">{}</div>", charts));
    html.push(&courses(page, definitions));
    let shown = sections(page.summary, Destination::PageLatency);
    html.extend(shown.iter().map(|section| tables::titled(section, definitions)));
    html
}

/// What a client waits: from the intended start where there is one.
fn histogram(latency: &CellLatency) -> &LatencyHistogram {
    latency.response_time.as_ref().unwrap_or(&latency.service_time)
}

fn of_cell<'a>(page: &Page<'a>, cell: &CellSummary) -> Option<&'a LatencyHistogram> {
    let latency = page.results.latencies.iter().find(|latency| latency.cell_index == cell.cell_index)?;
    Some(histogram(latency)).filter(|histogram| histogram.count() > 0)
}

/// Milliseconds; `None` where so few transactions do not reach the percentile.
fn at(histogram: &LatencyHistogram, share: f64, least: u64) -> Option<f64> {
    let ns = if share < 1.0 { histogram.quantile_ns(share) } else { histogram.max_ns() };
    (histogram.count() >= least).then(|| (ns as f64 / 1e6).max(1e-3))
}

fn ms(value: f64) -> String {
    format!("{} ms", human::number(value))
}

/// Percentiles over the levels of the factor along the axis, a chart per combination of the others.
fn percentiles(page: &Page<'_>) -> Markup {
    let summary = page.summary;
    let roles = Roles { series: None, ..Roles::of(&summary.factors, contrasts(page)) };
    let axis = roles.axis.and_then(|place| summary.factors.get(place));
    let levels = axis.map_or_else(Vec::new, |factor| ordered(&factor.levels));
    let mut charts: Vec<(String, LevelChart)> = Vec::new();
    for cell in &summary.cells {
        let Some(histogram) = of_cell(page, cell) else { continue };
        let heading = roles.heading(&cell.levels.0);
        let level = roles.axis.and_then(|place| cell.levels.0.get(place));
        let x = level.and_then(|(_, level)| levels.iter().position(|other| other == level)).unwrap_or(0);
        let known = charts.iter().position(|(other, _)| *other == heading);
        let chart = known.unwrap_or_else(|| {
            let mut chart = empty_chart(axis, "Latency [ms]");
            (chart.is_logarithmic, chart.is_aligned, chart.palette) = (true, true, &PALETTE);
            let none = vec![Spot::default(); chart.levels.len()];
            chart.series = PERCENTILES.iter().map(|(name, ..)| ((*name).to_owned(), none.clone())).collect();
            charts.push((heading, chart));
            charts.len() - 1
        });
        for (place, (name, share, least)) in PERCENTILES.into_iter().enumerate() {
            let value = at(histogram, share, least);
            charts[chart].1.series[place].1[x] = Spot {
                mean: value,
                title: value.map_or_else(String::new, |value| {
                    let count = human::thousands(histogram.count() as f64);
                    format!("{}: {name} {} of {count} transactions", cell.label, ms(value))
                }),
                dots: if name == OF_RUNS { dots(page, cell, share, least) } else { Vec::new() },
                ..Spot::default()
            };
        }
    }
    share_axis(&mut charts);
    let draw = |(heading, chart): &(String, LevelChart)| Some((heading.clone(), chart.draw()?));
    noted(
        charts.iter().filter_map(draw),
        "Large marks are percentiles of all transactions of the counting runs, small points p99 of each run. A percentile \
         that too few transactions reach is left out.",
    )
}

/// Pictures of one kind, each with its heading; the first says what it shows.
fn noted(pictures: impl Iterator<Item = (String, Markup)>, note: &str) -> Markup {
    let one = |(place, (heading, svg)): (usize, (String, Markup))| {
        let words = if place == 0 { note } else { "" };
        let bold = if heading.is_empty() { Markup::default() } else { markup!("<b>{}</b> ", heading) };
        figure(&svg, &markup!("{}{}", bold, words))
    };
    pictures.enumerate().map(one).collect()
}

/// The percentile of each counting run.
fn dots(page: &Page<'_>, cell: &CellSummary, share: f64, least: u64) -> Vec<Dot> {
    let counting =
        page.runs.iter().filter(|stored| stored.counts() && stored.run.key.cell_index == cell.cell_index);
    let dot = |stored: &StoredRun| {
        let value = at(&stored.run.response_time(), share, least)?;
        let block = counted_from_one(stored.run.key.block_index);
        let title = format!("run {}, block {block}: {OF_RUNS} {}", stored.run_id, ms(value));
        Some(Dot { value, title, counts: true })
    };
    counting.filter_map(dot).collect()
}

/// Shares of the transactions that took no longer: a curve per level of the axis, a chart per combination of the others.
fn distributions(page: &Page<'_>) -> Markup {
    let roles = Roles { series: None, ..Roles::of(&page.summary.factors, contrasts(page)) };
    let mut groups: Vec<(String, Vec<Curve>)> = Vec::new();
    for cell in &page.summary.cells {
        let Some(histogram) = of_cell(page, cell) else { continue };
        let heading = roles.heading(&cell.levels.0);
        let level = roles.axis.and_then(|place| cell.levels.0.get(place));
        let name =
            level.map_or_else(|| "all".to_owned(), |(name, level)| format!("{name}={}", human::level(level)));
        let last = groups.iter_mut().rev().find(|(other, _)| *other == heading);
        match last.filter(|(_, curves)| curves.len() < CURVES_MAX) {
            Some((_, curves)) => curves.push(distribution(name, curves.len(), histogram)),
            None => groups.push((heading, vec![distribution(name, 0, histogram)])),
        }
    }
    let all = || groups.iter().flat_map(|(_, curves)| curves).flat_map(|curve| curve.parts.iter().flatten());
    let range = all().map(|at| at.0).reduce(f64::min).zip(all().map(|at| at.0).reduce(f64::max));
    let draw = |(heading, curves): (String, Vec<Curve>)| {
        let x = Dimension { title: "latency [ms]".to_owned(), scale: Scale::Logarithmic, range };
        let y = Dimension {
            title: "Transactions no slower [%]".to_owned(),
            range: Some((0.0, 100.0)),
            ..Dimension::default()
        };
        let chart = CurveChart { x, y, curves, ..CurveChart::default() };
        Some((heading, chart.draw(HEIGHT)?))
    };
    noted(groups.into_iter().filter_map(draw), "Cumulative distribution (CDF); marks are p50, p90 and p99.")
}

fn distribution(name: String, colour: usize, histogram: &LatencyHistogram) -> Curve {
    let shares = (0..=100).map(|percent| f64::from(percent) / 100.0).chain([0.995, 0.999, 1.0]);
    let mut shares: Vec<f64> = shares.collect();
    shares.sort_by(f64::total_cmp);
    let of_share = |share: f64| (at(histogram, share, 1).unwrap_or(0.0), 100.0 * share);
    let marked = PERCENTILES.into_iter().take(3).filter_map(|(of, share, least)| {
        let value = at(histogram, share, least)?;
        Some(((value, 100.0 * share), format!("{name}: {of} {}", ms(value))))
    });
    Curve { marks: marked.collect(), parts: vec![shares.into_iter().map(of_share).collect()], colour, name }
}

/// What a configuration came to.
struct Reached<'a> {
    throughput: f64,
    cell: &'a CellSummary,
    histogram: &'a LatencyHistogram,
}

/// Latency at the throughput that was reached, over the levels of a factor that says how much work is asked for.
fn against_throughput(page: &Page<'_>) -> Markup {
    let summary = page.summary;
    let load = LOADS.into_iter().find_map(|name| {
        summary.factors.iter().position(|factor| factor.name == name && factor.levels.len() > 2)
    });
    let Some(load) = load else { return Markup::default() };
    let roles = Roles { axis: Some(load), series: None };
    let name = &summary.factors[load].name;
    let mut groups: Vec<(String, Vec<Reached<'_>>)> = Vec::new();
    for cell in &summary.cells {
        let (Some(histogram), Some(throughput)) = (of_cell(page, cell), throughput(page, cell)) else {
            continue;
        };
        let heading = roles.heading(&cell.levels.0);
        match groups.iter_mut().find(|(other, _)| *other == heading) {
            Some((_, points)) => points.push(Reached { throughput, cell, histogram }),
            None => groups.push((heading, vec![Reached { throughput, cell, histogram }])),
        }
    }
    let level = |cell: &CellSummary| cell.levels.0.get(load).map(|(_, level)| level.clone());
    let draw = |(heading, mut points): (String, Vec<Reached<'_>>)| {
        points.sort_by(|one, other| {
            let value = |cell| level(cell).and_then(|level| human::level_value(&level)).unwrap_or(f64::NAN);
            value(one.cell).total_cmp(&value(other.cell))
        });
        let curve = |(colour, (percentile, share, least)): (usize, (&str, f64, u64))| {
            let marks = points.iter().filter_map(|Reached { throughput, cell, histogram }| {
                let value = at(histogram, share, least)?;
                let rate = human::number(*throughput);
                let words = level(cell).as_ref().map_or_else(String::new, human::level);
                let title = format!("{name}={words}: {rate} transactions/s, {percentile} {}", ms(value));
                Some(((*throughput, value), title))
            });
            let marks: Vec<((f64, f64), String)> = marks.collect();
            let line = marks.iter().map(|(at, _)| *at).collect();
            Curve { name: percentile.to_owned(), colour: PALETTE[colour], parts: vec![line], marks }
        };
        let largest = points.iter().map(|point| point.throughput).fold(0.0, f64::max);
        let chart = CurveChart {
            title: "Latency at the throughput reached [ms]".to_owned(),
            x: Dimension {
                title: "transactions/s".to_owned(),
                scale: Scale::Exact,
                // The last mark stands inside.
                range: Some((0.0, 1.04 * largest)),
            },
            y: Dimension { scale: Scale::Logarithmic, ..Dimension::default() },
            curves: PERCENTILES.into_iter().take(3).enumerate().map(curve).collect(),
        };
        Some((heading, chart.draw(HEIGHT)?))
    };
    noted(
        groups.into_iter().filter_map(draw),
        &format!(
            "One mark per level of {name}, in its order. Where the line rises without going right, more work is asked for \
             than is done."
        ),
    )
}

/// Mean transactions per second of the counting runs.
fn throughput(page: &Page<'_>, cell: &CellSummary) -> Option<f64> {
    let counting = page
        .results
        .runs
        .iter()
        .filter(|stored| stored.counts() && stored.run.key.cell_index == cell.cell_index);
    let rate = |run: &Run| run.transactions() as f64 / (run.elapsed_ns as f64 / 1e9);
    let rates: Vec<f64> = counting.map(|stored| rate(&stored.run)).filter(|rate| rate.is_finite()).collect();
    (!rates.is_empty()).then(|| rates.iter().sum::<f64>() / rates.len() as f64)
}

/// Median, p99 and maximum by second of one run of each configuration, all on one vertical axis.
fn courses(page: &Page<'_>, definitions: &Definitions) -> Markup {
    let mut charts = Vec::new();
    for cell in &page.summary.cells {
        let of_cell = page.runs.iter().filter(|stored| stored.run.key.cell_index == cell.cell_index);
        let with_course = of_cell.filter(|stored| stored.counts() && !curves(&stored.run).is_empty());
        let Some(stored) = with_course.min_by_key(|stored| stored.run.key.block_index) else { continue };
        let label = cell_label(page.results, cell.cell_index);
        let block = counted_from_one(stored.run.key.block_index);
        charts.push((format!("{label}: run {}, block {block}", stored.run_id), curves(&stored.run)));
    }
    if charts.is_empty() {
        return Markup::default();
    }
    let values = || {
        let parts = charts.iter().flat_map(|(_, curves)| curves).flat_map(|curve| &curve.parts);
        parts.flatten().map(|at| at.1)
    };
    let range = values().reduce(f64::min).zip(values().reduce(f64::max));
    let count = charts.len();
    let draw = |(title, curves): (String, Vec<Curve>)| {
        let x = Dimension {
            title: "seconds since the start barrier".to_owned(),
            scale: Scale::Exact,
            range: None,
        };
        let y = Dimension { title: "Latency [ms]".to_owned(), scale: Scale::Logarithmic, range };
        Some(figure(&CurveChart { title, x, y, curves }.draw(150.0)?, &Markup::default()))
    };
    let drawn: Markup = charts.into_iter().take(COURSES_MAX).filter_map(draw).collect();
    let of_all = match count > COURSES_MAX {
        true => format!(" ({COURSES_MAX} of {count} configurations)"),
        false => String::new(),
    };
    markup!(
        "<h3>Latency over time</h3><p class=\"note\">Median, {} and maximum of each second, one run of each configuration{}; the \
         charts share their vertical axis.</p>\
         <div class=\"charts\">{}</div>",
        definitions.header("latency_p99_ms"),
        of_all,
        drawn
    )
}

/// The latencies by second of a run; none where there are fewer than two.
fn curves(run: &Run) -> Vec<Curve> {
    const SERIES: [(&str, &str); 3] =
        [("p50", "latency_p50_ms"), ("p99", "latency_p99_ms"), ("max", "latency_max_ms")];
    let curve = |(name, series): (&str, &str)| {
        let series = run.observations.series.iter().find(|other| other.name == series)?;
        let parts = parts(series);
        let colour = PALETTE[PERCENTILES.iter().position(|(other, ..)| *other == name)?];
        let is_long = parts.iter().flatten().count() >= 2;
        is_long.then(|| Curve { name: name.to_owned(), colour, parts, marks: Vec::new() })
    };
    SERIES.into_iter().filter_map(curve).collect()
}

/// Points of a series, cut where a value is missing.
fn parts(series: &Series) -> Vec<Vec<(f64, f64)>> {
    let mut parts = vec![Vec::new()];
    for (at_ns, value) in series.at_ns.iter().zip(&series.values) {
        match value.filter(|value| value.is_finite() && *value > 0.0) {
            Some(value) => {
                parts.last_mut().expect("there is always one part").push((*at_ns as f64 / 1e9, value))
            }
            None => parts.push(Vec::new()),
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}
