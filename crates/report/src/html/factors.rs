//! The compared quantity over the factors: the published graph forms and their tables.

use results::model::{Level, RunState};

use super::chart::heat::HeatMap;
use super::chart::levels::{Dot, LevelChart, Spot};
use super::definitions::Definitions;
use super::figure::figure;
use super::markup::{Markup, markup};
use super::page::Page;
use super::tables;
use crate::number::{Decimals, counted_from_one, factor, number};
use crate::outcome::{Destination, sections};
use crate::quantity::Quantity;
use crate::summary::{CellSummary, Matrix, StudySummary};

/// A logarithmic picture is offered beside the linear one when the values span more than this factor.
const SPAN_FOR_LOGARITHMS: f64 = 20.0;

/// Metrics drawn beside the compared quantity, when they differ between the configurations.
const DRAWN: [&str; 6] = [
    "log_flushes",
    "log_bytes",
    "checkpoint_pages",
    "pages_allocated",
    "data_written_bytes",
    "engine_written_bytes",
];
const DRAWN_MAX: usize = 4;

/// Charts of one quantity: one per combination of the factors before the last two.
pub(super) struct Facets {
    /// Heading of each (the levels of the other factors) and the chart.
    pub(super) charts: Vec<(String, LevelChart)>,
}

/// The section.
pub(super) fn html(page: &Page<'_>, definitions: &Definitions) -> Markup {
    let summary = page.summary;
    let facets = quantity_facets(page);
    let maps = heat_maps(summary);
    let maps = maps.iter().filter_map(|map| Some(figure(&map.draw()?, &Markup::default())));
    let mut html = markup!(
        "<div class=\"charts\">{}{}{}{}</div>",
        drawn(&facets, &caption(summary, definitions)),
        logarithmic(&facets),
        gains(summary, definitions),
        maps.collect::<Markup>()
    );
    html.push(&shown(summary, Destination::PageFactors, definitions));
    html.push(&metric_charts(summary));
    html.push(&shown(summary, Destination::PageMetrics, definitions));
    html
}

/// The sections of one part of the page, each under its title.
fn shown(summary: &StudySummary, part: Destination, definitions: &Definitions) -> Markup {
    sections(summary, part).iter().map(|section| tables::titled(section, definitions)).collect()
}

fn caption(summary: &StudySummary, definitions: &Definitions) -> Markup {
    markup!(
        "{}: each small point is one run, the large mark their mean, the bar its 95 % {}; × is a run that does \
         not count.",
        definitions.header(summary.quantity.name()),
        definitions.header("interval"),
    )
}

/// The compared quantity with all its runs.
pub(super) fn quantity_facets(page: &Page<'_>) -> Facets {
    let summary = page.summary;
    let quantity = summary.quantity;
    let y_title = format!("{} [{}]", capital(quantity.words()), quantity.unit());
    let means: Vec<f64> = summary.cells.iter().filter_map(|cell| Some(cell.estimate?.mean)).collect();
    let decimals = Decimals::for_values(means);
    facets(summary, &y_title, |cell, _| Spot {
        mean: cell.estimate.map(|estimate| estimate.mean),
        interval: cell.estimate.and_then(|estimate| estimate.interval).map(|range| (range.low, range.high)),
        title: mean_words(cell, quantity, decimals),
        words: None,
        dots: dots(page, cell.cell_index),
    })
}

/// `batch_size=1: mean 1.315 s, 95 % interval 0.774 to 1.855, n = 5`.
fn mean_words(cell: &CellSummary, quantity: Quantity, decimals: Decimals) -> String {
    let Some(estimate) = cell.estimate else { return String::new() };
    let interval = estimate.interval.map_or_else(String::new, |range| {
        format!(", 95 % interval {} to {}", decimals.write(range.low), decimals.write(range.high))
    });
    let mean = decimals.write(estimate.mean);
    format!("{}: mean {mean} {}{interval}, n = {}", cell.label, quantity.unit(), estimate.n)
}

fn dots(page: &Page<'_>, cell_index: u32) -> Vec<Dot> {
    let quantity = page.summary.quantity;
    let ended = page.results.runs.iter().filter(|stored| {
        stored.run.key.cell_index == cell_index
            && matches!(stored.run.state, RunState::Valid | RunState::Invalid)
            && stored.run.elapsed_ns > 0
    });
    ended
        .filter_map(|stored| {
            let value = quantity.value(&stored.run)?;
            let why_not = match (&stored.run.state, &stored.suspect, stored.superseded_by) {
                (RunState::Invalid, _, _) => ", invalid: excluded from means",
                (_, Some(_), _) => ", suspect: excluded from means",
                (_, _, Some(_)) => ", superseded: excluded from means",
                _ => "",
            };
            let block = counted_from_one(stored.run.key.block_index);
            let title = format!("run {}, block {block}: {value} {}{why_not}", stored.run_id, quantity.unit());
            Some(Dot { value, title, counts: stored.counts() })
        })
        .collect()
}

/// Lays cells out: the last factor along the axis, the one before as series, the others as charts of their own. All
/// charts share one axis.
fn facets(summary: &StudySummary, y_title: &str, spot: impl Fn(&CellSummary, usize) -> Spot) -> Facets {
    let factors = &summary.factors;
    let (x_title, levels, is_ordered) = match factors.last() {
        Some(last) => (last.name.clone(), last.levels.clone(), is_numeric(&last.levels)),
        None => ("configuration".to_owned(), vec![Level::Text("all".to_owned())], false),
    };
    let mut charts: Vec<(String, LevelChart)> = Vec::new();
    for (index, cell) in summary.cells.iter().enumerate() {
        let (others, series, x) = match cell.levels.0.as_slice() {
            [] => (String::new(), String::new(), 0),
            [.., last] => {
                let place = levels.iter().position(|level| *level == last.1).unwrap_or(0);
                let before = &cell.levels.0[..cell.levels.0.len() - 1];
                let words = |levels: &[(String, Level)]| {
                    levels.iter().map(|(name, level)| format!("{name}={level}")).collect::<Vec<_>>().join(" ")
                };
                let (others, series) = before.split_at(before.len().saturating_sub(1));
                (words(others), words(series), place)
            }
        };
        let known = charts.iter().position(|(heading, _)| *heading == others);
        let chart = known.unwrap_or_else(|| {
            let chart = LevelChart {
                y_title: y_title.to_owned(),
                x_title: x_title.clone(),
                levels: levels.iter().map(Level::to_string).collect(),
                series: Vec::new(),
                stretches: Vec::new(),
                is_ordered,
                is_logarithmic: false,
                range: None,
            };
            charts.push((others, chart));
            charts.len() - 1
        });
        let chart = &mut charts[chart].1;
        let known = chart.series.iter().position(|(name, _)| *name == series);
        let place = known.unwrap_or_else(|| {
            chart.series.push((series, vec![Spot::default(); chart.levels.len()]));
            chart.series.len() - 1
        });
        chart.series[place].1[x] = spot(cell, index);
    }
    share_axis(&mut charts);
    Facets { charts }
}

fn share_axis(charts: &mut [(String, LevelChart)]) {
    let extents = || charts.iter().filter_map(|(_, chart)| chart.extent());
    let smallest = extents().map(|(smallest, _)| smallest).reduce(f64::min);
    let largest = extents().map(|(_, largest)| largest).reduce(f64::max);
    let range = smallest.zip(largest);
    charts.iter_mut().for_each(|(_, chart)| chart.range = range);
}

fn is_numeric(levels: &[Level]) -> bool {
    levels.len() > 1 && levels.iter().all(|level| level.as_number().is_some())
}

fn drawn(facets: &Facets, caption: &Markup) -> Markup {
    let one = |(heading, chart): &(String, LevelChart)| {
        let svg = chart.draw()?;
        let bold = if heading.is_empty() { Markup::default() } else { markup!("<b>{}</b> ", heading) };
        Some(figure(&svg, &markup!("{}{}", bold, caption)))
    };
    facets.charts.iter().filter_map(one).collect()
}

/// The same on logarithms where small values would vanish; the picture says that it does not start at zero.
fn logarithmic(facets: &Facets) -> Markup {
    let range = facets.charts.first().and_then(|(_, chart)| chart.range);
    if !range.is_some_and(|(smallest, largest)| smallest > 0.0 && largest / smallest > SPAN_FOR_LOGARITHMS) {
        return Markup::default();
    }
    let one = |(heading, chart): &(String, LevelChart)| {
        // A bar needs a foot at zero, which logarithms do not have: marks instead.
        let chart = LevelChart { is_logarithmic: true, is_ordered: true, ..chart.clone() };
        Some(figure(&chart.draw()?, &markup!("{} The same values, logarithmic.", heading)))
    };
    facets.charts.iter().filter_map(one).collect()
}

/// Gain against the previous level of the last factor.
fn gains(summary: &StudySummary, definitions: &Definitions) -> Markup {
    if !summary.cells.iter().any(|cell| cell.vs_previous.is_some()) {
        return Markup::default();
    }
    let has_room = summary.cells.len() <= 12;
    let mut facets = facets(summary, "Gain over the previous level [% less time]", |cell, _| {
        let gain = cell.vs_previous.map(|change| change.time_reduction_percent);
        let title = cell.vs_previous.map(|change| {
            let times = factor(change.speed_up);
            format!(
                "{}: {:.1} % less time than the level before ({times} times as fast)",
                cell.label, change.time_reduction_percent
            )
        });
        let words = gain.filter(|_| has_room).map(|gain| format!("{gain:.0} %"));
        Spot { mean: gain, title: title.unwrap_or_default(), words, ..Spot::default() }
    });
    facets.charts.iter_mut().for_each(|(_, chart)| chart.is_ordered = false);
    let caption = markup!(
        "{} against the previous level, the other factors unchanged; a negative gain is a longer time. The \
         first level has no previous level.",
        definitions.header("time_reduction_percent")
    );
    drawn(&facets, &caption)
}

fn heat_maps(summary: &StudySummary) -> Vec<HeatMap> {
    let means: Vec<f64> = summary.cells.iter().filter_map(|cell| Some(cell.estimate?.mean)).collect();
    let decimals = Decimals::for_values(means);
    let of_one = |matrix: &Matrix| {
        let is_numeric = is_numeric(&matrix.row_factor.levels) && is_numeric(&matrix.column_factor.levels);
        is_numeric.then(|| heat_map(summary, matrix, decimals))
    };
    summary.means.iter().filter_map(of_one).collect()
}

fn heat_map(summary: &StudySummary, matrix: &Matrix, decimals: Decimals) -> HeatMap {
    let unit = summary.quantity.unit();
    let field = |row: &Level, column: &Level, value: Option<f64>| {
        value.map(|mean| {
            let words = decimals.write(mean);
            let (rows, columns) = (&matrix.row_factor.name, &matrix.column_factor.name);
            let title = format!("{rows}={row} {columns}={column}: mean {words} {unit}");
            (mean, short_field(mean), title)
        })
    };
    let others: Vec<String> =
        matrix.others.0.iter().map(|(name, level)| format!(", {name}={level}")).collect();
    let rows = matrix.row_factor.levels.iter().zip(&matrix.values);
    HeatMap {
        title: format!("Mean {} [{unit}], darker is larger{}", summary.quantity.words(), others.concat()),
        row_title: matrix.row_factor.name.clone(),
        rows: matrix.row_factor.levels.iter().map(Level::to_string).collect(),
        column_title: matrix.column_factor.name.clone(),
        columns: matrix.column_factor.levels.iter().map(Level::to_string).collect(),
        values: rows
            .map(|(row, values)| {
                let columns = matrix.column_factor.levels.iter().zip(values);
                columns.map(|(column, value)| field(row, column, *value)).collect()
            })
            .collect(),
    }
}

/// Three significant digits: a field has little room, and its hover text has more.
fn short_field(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        size if size >= 0.01 => format!("{value:.3}"),
        _ => number(value),
    }
}

/// Small pictures of what else changed with the factors.
fn metric_charts(summary: &StudySummary) -> Markup {
    let differs = |name: &&str| {
        let metric = summary.metrics.iter().find(|metric| metric.name == **name)?;
        let means: Vec<f64> = metric.cells.iter().flatten().map(|estimate| estimate.mean).collect();
        let is_flat = means.iter().all(|mean| (mean - means[0]).abs() <= 1e-9 * means[0].abs());
        (means.len() > 1 && !is_flat).then_some(metric)
    };
    let mut html = Markup::default();
    for metric in DRAWN.iter().filter_map(differs).take(DRAWN_MAX) {
        let unit = if metric.unit == "1" { "count" } else { &metric.unit };
        let facets = facets(summary, &format!("{} [{unit}], mean per run", metric.name), |cell, index| {
            let estimate = metric.cells.get(index).copied().flatten();
            let title = estimate.map(|estimate| {
                format!("{}: {} {} (n = {})", cell.label, number(estimate.mean), metric.unit, estimate.n)
            });
            Spot {
                mean: estimate.map(|estimate| estimate.mean),
                interval: estimate
                    .and_then(|estimate| estimate.interval)
                    .map(|range| (range.low.max(0.0), range.high)),
                title: title.unwrap_or_default(),
                ..Spot::default()
            }
        });
        html.push(&drawn(&facets, &Markup::default()));
    }
    if html.is_empty() {
        html
    } else {
        markup!("<h3>Other metrics by factor</h3><div class=\"charts\">{}</div>", html)
    }
}

fn capital(words: &str) -> String {
    let mut characters = words.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}
