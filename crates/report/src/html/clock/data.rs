//! What scripts draw from, embedded once: the series of all runs, thinned to what a page may weigh.

use results::model::{Run, RunState, StoredRun};
use results::observations::Series;
use serde::Serialize;

use super::super::definitions::Definitions;
use super::super::human::Unit;
use super::super::page::Page;
use super::{THROUGHPUT, has_course, marks, place, thin};
use crate::number::counted_from_one;
use crate::quantity::elapsed_s;
use crate::summary::cell_label;
use crate::timeline::Figures;

/// Values that a page may hold; a value takes about seven bytes.
const VALUES_MAX: usize = 130_000;

/// Digits that are kept of a value: finer than any screen, and a third of the bytes.
const DIGITS: usize = 6;

/// The embedded form, and how many looks one of its values stands for.
pub(in crate::html) struct Embedded {
    pub(in crate::html) json: String,
    pub(in crate::html) thinned: usize,
}

#[derive(Serialize)]
struct Data {
    counters: Vec<Counter>,
    clocks: Vec<Vec<f64>>,
    runs: Vec<RunData>,
}

#[derive(PartialEq, Serialize)]
struct Counter {
    name: String,
    /// As stored and as in `series.csv`.
    unit: String,
    /// Name and the unit that is drawn, that unit, and what a stored value is multiplied with for it.
    title: String,
    shown: String,
    scale: f64,
    definition: String,
    rank: usize,
    /// Does it count the work of the clients?
    work: bool,
}

#[derive(Serialize)]
struct RunData {
    id: i64,
    cell: String,
    block: String,
    note: &'static str,
    seconds: f64,
    series: Vec<SeriesData>,
    marks: Vec<(f64, f64, bool, String)>,
}

#[derive(Serialize)]
struct SeriesData {
    counter: usize,
    clock: usize,
    values: Vec<Option<f64>>,
    /// Last, average, smallest, largest over all looks.
    figures: [f64; 4],
}

/// Collects the series of all runs that have any.
pub(in crate::html) fn embedded(page: &Page<'_>) -> Embedded {
    let definitions = Definitions::load();
    let drawn = |run: &Run| -> usize {
        run.observations
            .series
            .iter()
            .filter(|series| figures(series).is_some())
            .map(|series| series.values.len())
            .sum()
    };
    let values: usize = page.runs.iter().map(|stored| drawn(&stored.run)).sum();
    let thinned = values.div_ceil(VALUES_MAX).max(1);
    let mut data = Data { counters: Vec::new(), clocks: Vec::new(), runs: Vec::new() };
    for stored in page.runs.iter().filter(|stored| has_course(&stored.run.observations.series)) {
        let run = run_data(page, stored, thinned, &mut data, &definitions);
        data.runs.push(run);
    }
    for (index, counter) in data.counters.iter_mut().enumerate() {
        let series = data.runs.iter().flat_map(|run| &run.series).filter(|series| series.counter == index);
        let unit = Unit::of_named(&counter.name, &counter.unit, series.map(|series| series.figures[3]));
        counter.title = unit.titled(&counter.name);
        (counter.shown, counter.scale) = (unit.words().to_owned(), unit.value(1.0));
    }
    let json = serde_json::to_string(&data).expect("plain data has a JSON form");
    Embedded { json: harmless(&json), thinned }
}

/// JSON inside a script element: nothing in it may end the element or begin a comment.
fn harmless(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

fn figures(series: &Series) -> Option<Figures> {
    Figures::of(series).filter(|figures| figures.max != 0.0 || figures.min != 0.0)
}

fn run_data(
    page: &Page<'_>,
    stored: &StoredRun,
    thinned: usize,
    data: &mut Data,
    definitions: &Definitions,
) -> RunData {
    let run = &stored.run;
    let mut list = Vec::new();
    for series in &run.observations.series {
        let Some(figures) = figures(series) else { continue };
        let counter = counter(series, &mut data.counters, definitions);
        let points = thin(series, thinned);
        let clock: Vec<f64> = points.iter().map(|(at_s, _)| (at_s * 1e3).round() / 1e3).collect();
        let known = data.clocks.iter().rposition(|other| *other == clock);
        let clock = known.unwrap_or_else(|| {
            data.clocks.push(clock);
            data.clocks.len() - 1
        });
        let values = points.iter().map(|(_, value)| value.map(rounded)).collect();
        let figures = [figures.last, figures.mean, figures.min, figures.max].map(rounded);
        list.push(SeriesData { counter, clock, values, figures });
    }
    let span = |mark: super::super::chart::panels::Mark| {
        let (from, to) = mark.span_s;
        (rounded(from), rounded(to), mark.is_checkpoint, mark.title)
    };
    RunData {
        id: stored.run_id,
        cell: cell_label(page.results, run.key.cell_index),
        block: counted_from_one(run.key.block_index),
        note: match (run.state, stored.counts()) {
            (_, true) => "",
            (RunState::Invalid, _) => "invalid",
            _ => "does not count",
        },
        seconds: elapsed_s(run),
        series: list,
        marks: marks(run).into_iter().map(span).collect(),
    }
}

fn counter(series: &Series, counters: &mut Vec<Counter>, definitions: &Definitions) -> usize {
    let known =
        counters.iter().position(|counter| counter.name == series.name && counter.unit == series.unit);
    known.unwrap_or_else(|| {
        let definition = definitions.find(&series.name).map_or(String::new(), |entry| entry.text.clone());
        counters.push(Counter {
            name: crate::plain::plain(&series.name),
            unit: crate::plain::plain(&series.unit),
            title: String::new(),
            shown: String::new(),
            scale: 1.0,
            definition,
            rank: place(&series.name),
            work: THROUGHPUT.contains(&series.name.as_str()),
        });
        counters.len() - 1
    })
}

/// Six significant digits; what is no number in JSON becomes nothing there.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let digits = DIGITS - 1;
    format!("{value:.digits$e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_six_digits() {
        assert_eq!(
            [1234567.8, 0.000123456789, -2.0 / 3.0, 0.0, 1e-300].map(rounded),
            [1234570.0, 0.000123457, -0.666667, 0.0, 1e-300]
        );
    }

    #[test]
    fn embedded_json_cannot_leave_its_element() {
        let json = harmless(&serde_json::to_string("</script><!-- & -->").unwrap_or_default());
        assert!(!json.contains(['<', '>', '&']));
        assert_eq!(serde_json::from_str::<String>(&json).ok().as_deref(), Some("</script><!-- & -->"));
    }
}
