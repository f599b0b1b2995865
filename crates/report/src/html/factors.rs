//! The compared quantity over the factors: the published graph forms and their tables.

mod effects;
pub(super) mod facets;

use results::model::{Level, RunState};

use super::chart::heat::HeatMap;
use super::chart::levels::{Dot, Spot};
use super::definitions::Definitions;
use super::figure::figure;
use super::human::{self, Unit};
use super::markup::{Markup, markup};
use super::metrics;
use super::page::Page;
use super::tables;
use crate::number::{counted_from_one, number};
use crate::outcome::{Destination, sections};
use crate::summary::{CellSummary, Estimate, Matrix, StudySummary};
use facets::{Facets, Roles, facets, is_numeric, ordered, share_axis};

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

/// A shade of a heat map in standard deviations between runs: the means of few runs differ by less, mostly.
const STEP_IN_DEVIATIONS: f64 = 2.0;

/// Taken for the spread between runs where no configuration has two.
const NOISE_PERCENT_UNKNOWN: f64 = 5.0;

/// The section.
pub(super) fn html(page: &Page<'_>, definitions: &Definitions) -> Markup {
    let summary = page.summary;
    let facets = quantity_facets(page);
    let maps = heat_maps(summary);
    let noted = |(map, note): &(HeatMap, String)| Some(figure(&map.draw()?, &markup!("{}", note)));
    let maps = maps.iter().filter_map(noted);
    let found = &summary.effects;
    let mut html = markup!(
        "<div class=\"charts\">{}{}{}{}</div>",
        drawn(&facets, &caption(summary, &facets, definitions)),
        logarithmic(page, &facets),
        effects::charts(summary, found, definitions),
        maps.collect::<Markup>()
    );
    html.push(&shown(summary, Destination::PageFactors, definitions));
    html.push(&metrics::html(summary, &metric_charts(page), definitions));
    html
}

/// The sections of one part of the page, each under its title.
fn shown(summary: &StudySummary, part: Destination, definitions: &Definitions) -> Markup {
    sections(summary, part).iter().map(|section| tables::titled(section, definitions)).collect()
}

fn caption(summary: &StudySummary, facets: &Facets, definitions: &Definitions) -> Markup {
    let is_void = |spot: &Spot| spot.dots.iter().any(|dot| !dot.counts);
    let mut charts = facets.charts.iter().map(|(_, chart)| chart);
    let has_void = charts.clone().any(|chart| chart.series.iter().flat_map(|(_, spots)| spots).any(is_void));
    let mark = if charts.any(|chart| chart.has_marks()) { "the large mark" } else { "the bar" };
    markup!(
        "{}: each small point is one run, {} is the mean, the line its 95 % {}.{}",
        definitions.header(summary.quantity.name()),
        mark,
        definitions.header("interval"),
        if has_void { " × is a run that does not count." } else { "" }
    )
}

/// The unit in which the compared quantity is drawn.
fn compared_unit(summary: &StudySummary) -> Unit {
    let largest = summary.cells.iter().filter_map(|cell| Some(cell.estimate?.max));
    Unit::of(summary.quantity.unit(), largest)
}

/// The compared quantity with all its runs.
pub(super) fn quantity_facets(page: &Page<'_>) -> Facets {
    let summary = page.summary;
    let unit = compared_unit(summary);
    let y_title = unit.titled(&capital(summary.quantity.words()));
    facets(summary, Roles::of(&summary.factors, contrasts(page)), &y_title, |cell, _| Spot {
        mean: cell.estimate.map(|estimate| unit.value(estimate.mean)),
        interval: cell
            .estimate
            .and_then(|estimate| estimate.interval)
            .map(|range| (unit.value(range.low), unit.value(range.high))),
        title: mean_words(cell, &unit),
        words: None,
        dots: dots(page, cell.cell_index, &unit),
    })
}

/// The contrasts of the study's design.
pub(super) fn contrasts<'a>(page: &Page<'a>) -> &'a [String] {
    &page.results.study.design.against
}

/// `batch_size=1: mean 1.315 s, 95 % interval 774.0 ms to 1.855 s, n = 5`.
fn mean_words(cell: &CellSummary, unit: &Unit) -> String {
    let Some(estimate) = cell.estimate else { return String::new() };
    let interval = estimate.interval.map_or_else(String::new, |range| {
        format!(", 95 % interval {} to {}", human::number(unit.value(range.low)), unit.write(range.high))
    });
    format!("{}: mean {}{interval}, n = {}", cell.label, unit.write(estimate.mean), estimate.n)
}

fn dots(page: &Page<'_>, cell_index: u32, unit: &Unit) -> Vec<Dot> {
    let quantity = page.summary.quantity;
    let ended = page.results.runs.iter().filter(|stored| {
        stored.run.key.cell_index == cell_index
            && matches!(stored.run.state, RunState::Valid | RunState::Invalid)
            && stored.run.has_values()
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
            Some(Dot { value: unit.value(value), title, counts: stored.counts() })
        })
        .collect()
}

/// Charts with their headings; the first says what all of them show.
fn drawn(facets: &Facets, caption: &Markup) -> Markup {
    let svgs = facets.charts.iter().filter_map(|(heading, chart)| Some((heading, chart.draw()?)));
    let one = |(place, (heading, svg)): (usize, (&String, Markup))| {
        let bold = if heading.is_empty() { Markup::default() } else { markup!("<b>{}</b> ", heading) };
        let caption = if place == 0 { caption.clone() } else { Markup::default() };
        figure(&svg, &markup!("{}{}", bold, caption))
    };
    svgs.enumerate().map(one).collect()
}

/// The same on logarithms where small values would vanish. A symmetric interval would reach below zero there: the
/// geometric mean has one of its own.
fn logarithmic(page: &Page<'_>, linear: &Facets) -> Markup {
    let extents = linear.charts.iter().filter_map(|(_, chart)| chart.range);
    let is_wide = |(smallest, largest): (f64, f64)| {
        smallest > 0.0 && largest.is_finite() && largest / smallest > SPAN_FOR_LOGARITHMS
    };
    if !extents.into_iter().any(is_wide) {
        return Markup::default();
    }
    let (unit, mut charts) = (compared_unit(page.summary), linear.charts.clone());
    for (_, chart) in &mut charts {
        chart.is_logarithmic = true;
        for spot in chart.series.iter_mut().flat_map(|(_, spots)| spots) {
            let counted: Vec<f64> =
                spot.dots.iter().filter(|dot| dot.counts).map(|dot| dot.value.ln()).collect();
            let Some(estimate) = Estimate::of(&counted) else { continue };
            let interval = estimate.interval.map(|range| (range.low.exp(), range.high.exp()));
            (spot.mean, spot.interval) = (Some(estimate.mean.exp()), interval);
            let mean = human::number(estimate.mean.exp());
            spot.title = format!("geometric mean {mean} {}, n = {}", unit.words(), estimate.n);
        }
    }
    share_axis(&mut charts);
    let caption = Markup::trusted(
        "The same runs, logarithmic: the large mark is the geometric mean, the line its 95 % interval.",
    );
    drawn(&Facets { charts }, &caption)
}

/// Every pair of numeric factors, each with what its shades mean.
fn heat_maps(summary: &StudySummary) -> Vec<(HeatMap, String)> {
    let noise = noise_percent(summary);
    let step = 1.0 + STEP_IN_DEVIATIONS * noise.unwrap_or(NOISE_PERCENT_UNKNOWN) / 100.0;
    let note = match noise {
        Some(noise) => format!(
            "One shade is {STEP_IN_DEVIATIONS} standard deviations between runs ({STEP_IN_DEVIATIONS} × {noise:.1} %): \
             smaller differences may be chance."
        ),
        None => format!(
            "One shade is {:.0} %; one run per configuration says nothing of chance.",
            100.0 * (step - 1.0)
        ),
    };
    let of_one = |matrix: &Matrix| {
        let is_numeric = is_numeric(&matrix.row_factor.levels) && is_numeric(&matrix.column_factor.levels);
        is_numeric.then(|| (heat_map(summary, matrix, step), note.clone()))
    };
    summary.means.iter().filter_map(of_one).collect()
}

/// Standard deviation between the runs of one configuration in % of its mean, pooled; `None` without repeated runs.
fn noise_percent(summary: &StudySummary) -> Option<f64> {
    let (mut squares, mut degrees) = (0.0, 0.0);
    for estimate in summary.cells.iter().filter_map(|cell| cell.estimate) {
        let Some(sd) = estimate.sd.filter(|_| estimate.mean > 0.0) else { continue };
        let degrees_here = estimate.n as f64 - 1.0;
        squares += degrees_here * (sd / estimate.mean).powi(2);
        degrees += degrees_here;
    }
    (degrees > 0.0).then(|| 100.0 * (squares / degrees).sqrt())
}

fn heat_map(summary: &StudySummary, matrix: &Matrix, step: f64) -> HeatMap {
    let unit = compared_unit(summary);
    let (rows, columns) = (&matrix.row_factor, &matrix.column_factor);
    let value = |row: &Level, column: &Level| {
        let row = rows.levels.iter().position(|level| level == row)?;
        let column = columns.levels.iter().position(|level| level == column)?;
        *matrix.values.get(row)?.get(column)?
    };
    let field = |row: &Level, column: &Level| {
        value(row, column).map(|mean| {
            let title = format!("{}={row} {}={column}: mean {}", rows.name, columns.name, unit.write(mean));
            (mean, short_field(unit.value(mean)), title)
        })
    };
    let others: Vec<String> =
        matrix.others.0.iter().map(|(name, level)| format!(", {name}={level}")).collect();
    let (row_levels, column_levels) = (ordered(&rows.levels), ordered(&columns.levels));
    let name = unit.titled(&format!("Mean {}", summary.quantity.words()));
    HeatMap {
        title: format!("{name}, darker is larger{}", others.concat()),
        row_title: rows.name.clone(),
        rows: row_levels.iter().map(human::level).collect(),
        column_title: columns.name.clone(),
        columns: column_levels.iter().map(human::level).collect(),
        step,
        values: row_levels
            .iter()
            .map(|row| column_levels.iter().map(|column| field(row, column)).collect())
            .collect(),
    }
}

/// Three significant digits: a field has little room, and its hover text has more.
fn short_field(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => human::thousands(value),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        size if size >= 0.01 => format!("{value:.3}"),
        _ => number(value),
    }
}

/// Small pictures of what else changed with the factors.
fn metric_charts(page: &Page<'_>) -> Markup {
    let summary = page.summary;
    let differs = |name: &&str| {
        let metric = summary.metrics.iter().find(|metric| metric.name == **name)?;
        let means: Vec<f64> = metric.cells.iter().flatten().map(|estimate| estimate.mean).collect();
        let is_flat = means.iter().all(|mean| (mean - means[0]).abs() <= 1e-9 * means[0].abs());
        (means.len() > 1 && !is_flat).then_some(metric)
    };
    let mut html = Markup::default();
    for metric in DRAWN.iter().filter_map(differs).take(DRAWN_MAX) {
        let highs = metric.cells.iter().flatten().map(|estimate| estimate.max);
        let unit = Unit::of_named(&metric.name, &metric.unit, highs);
        let title = format!("{}, mean per run", unit.titled(&metric.name));
        let facets = facets(summary, Roles::of(&summary.factors, contrasts(page)), &title, |cell, index| {
            let estimate = metric.cells.get(index).copied().flatten();
            let words = |estimate: Estimate| {
                let exact = format!("{} {}", human::number(estimate.mean), metric.unit);
                let exact = exact.trim_end_matches(" 1");
                format!("{}: {} ({exact}, n = {})", cell.label, unit.write(estimate.mean), estimate.n)
            };
            Spot {
                mean: estimate.map(|estimate| unit.value(estimate.mean)),
                interval: estimate
                    .and_then(|estimate| estimate.interval)
                    .map(|range| (unit.value(range.low.max(0.0)), unit.value(range.high))),
                title: estimate.map(words).unwrap_or_default(),
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
