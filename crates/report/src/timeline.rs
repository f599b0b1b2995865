//! The counters of one run over its time: last, mean, smallest and largest of each, and a line of blocks.

use results::model::{Event, Run};
use results::observations::{Series, SeriesKind};

use crate::layout::{Align, Block, Grid, Section};
use crate::number::number;

/// Columns of the line over time; all lines of a run share its axis.
const COLUMNS: usize = 24;

/// From the smallest to the largest height of a block.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Marks on the line of events, by the kind of the event.
const MARKS: [(&str, char); 4] =
    [("manual_checkpoint", 'm'), ("checkpoint_start", '['), ("checkpoint_end", ']'), ("log_growth", '+')];

/// The figures of one counter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// Last value seen.
    pub last: f64,
    /// Mean; of a rate weighted by the time that each value stands for.
    pub mean: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
}

impl Figures {
    /// The figures of a series; `None` when it has holes only.
    pub fn of(series: &Series) -> Option<Self> {
        let (mut last, mut min, mut max) = (f64::NAN, f64::INFINITY, f64::NEG_INFINITY);
        let (mut sum, mut weights, mut before_ns) = (0.0, 0.0, 0_i64);
        for (&at_ns, value) in series.at_ns.iter().zip(&series.values) {
            let weight = match series.kind {
                SeriesKind::Rate => (at_ns - before_ns).max(1) as f64,
                SeriesKind::Gauge => 1.0,
            };
            before_ns = at_ns;
            let Some(value) = value.filter(|value| value.is_finite()) else { continue };
            (last, min, max) = (value, min.min(value), max.max(value));
            (sum, weights) = (sum + weight * value, weights + weight);
        }
        (weights > 0.0).then(|| Self { last, mean: sum / weights, min, max })
    }
}

/// The table of all counters of a run; `None` when nothing looked at it.
pub(crate) fn section(run: &Run) -> Option<Section> {
    let series = &run.observations.series;
    if series.is_empty() {
        return None;
    }
    let seconds = run.elapsed_ns as f64 / 1e9;
    let over = format!("0 to {} s", number(seconds));
    let mut grid = Grid::named_by([("counter".to_owned(), Align::Left)]).with([
        ("last", Align::Right),
        ("avg", Align::Right),
        ("min", Align::Right),
        ("max", Align::Right),
        (over.as_str(), Align::Left),
    ]);
    let mut still = Vec::new();
    for one in series {
        let Some(figures) = Figures::of(one) else { continue };
        if figures.min == 0.0 && figures.max == 0.0 {
            still.push(one.name.clone());
            continue;
        }
        let mut row = vec![name_with_unit(one)];
        row.extend([figures.last, figures.mean, figures.min, figures.max].map(short));
        row.push(line(one, run.elapsed_ns as i64, figures.max));
        grid.push(row);
    }
    if run.events.iter().any(|event| mark(event).is_some()) {
        let mut row = vec!["events".to_owned()];
        row.extend(std::iter::repeat_n(String::new(), 4));
        row.push(marks(&run.events, run.elapsed_ns as i64));
        grid.push(row);
    }
    let mut blocks = vec![Block::Grid(grid)];
    let legend = "k, M, G, T are powers of 1000. Each line is scaled from 0 to its own maximum; a blank is a failed sample or one without data. Events: m checkpoint requested, [ checkpoint started, ] checkpoint ended, + WAL growth.";
    blocks.push(Block::Paragraph(legend.to_owned()));
    if !still.is_empty() {
        blocks.push(Block::Paragraph(format!("Always 0: {}.", still.join(", "))));
    }
    Some(Section::new("Counters over time, one sample a second", blocks))
}

/// What looked at the run, how often, at which cost, and what it could not see; `None` when nothing did.
pub(crate) fn samplers(run: &Run) -> Option<Section> {
    let samplers = &run.observations.samplers;
    if samplers.is_empty() {
        return None;
    }
    let mut grid = Grid::named_by([("sampler".to_owned(), Align::Left)]).with([
        ("period ms", Align::Right),
        ("samples", Align::Right),
        ("expected", Align::Right),
        ("CPU s", Align::Right),
        ("% of a core", Align::Right),
    ]);
    let seconds = run.elapsed_ns as f64 / 1e9;
    for sampler in samplers {
        let share = if seconds > 0.0 { 100.0 * sampler.cpu_s / seconds } else { 0.0 };
        grid.push(vec![
            sampler.name.clone(),
            number(sampler.period_ns as f64 / 1e6),
            sampler.samples_taken.to_string(),
            sampler.samples_expected.to_string(),
            number(sampler.cpu_s),
            format!("{share:.2}"),
        ]);
    }
    let mut blocks = vec![Block::Grid(grid)];
    // Sentences, whole: a cell would cut them.
    let problems =
        samplers.iter().filter_map(|one| Some(format!("{}: {}.", one.name, one.problem.as_ref()?)));
    blocks.extend(problems.map(Block::Paragraph));
    Some(Section::new("Samplers and their cost", blocks))
}

/// A unit that the name tells already is left out.
pub(crate) fn name_with_unit(series: &Series) -> String {
    let is_told = series.unit.is_empty()
        || series.unit == "1"
        || series.name.contains("_per_s")
        || series.name.contains(&format!("_{}", series.unit.to_lowercase()));
    if is_told { series.name.clone() } else { format!("{} ({})", series.name, series.unit) }
}

/// Four significant digits at most and a thousand's letter, so that all columns fit beside the line.
pub(crate) fn short(value: f64) -> String {
    const LETTERS: [(f64, &str); 4] = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")];
    for (size, letter) in LETTERS {
        if value.abs() >= size {
            let scaled = if letter == "k" { value / 1e3 } else { value / size };
            return format!("{}{letter}", digits(scaled));
        }
    }
    digits(value)
}

fn digits(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size >= 1000.0 => format!("{value:.0}"),
        size if size >= 100.0 => format!("{value:.1}"),
        size if size >= 10.0 => format!("{value:.2}"),
        size if size >= 0.001 => format!("{value:.3}"),
        _ => number(value),
    }
}

/// One block per column: the value that holds in the middle of the column.
fn line(series: &Series, elapsed_ns: i64, max: f64) -> String {
    (0..COLUMNS)
        .map(|column| {
            let middle_ns = (2 * column as i64 + 1) * elapsed_ns / (2 * COLUMNS as i64);
            let Some(value) = value_at(series, middle_ns) else { return ' ' };
            let height = if max > 0.0 { (value.max(0.0) / max * 8.0).ceil() as usize } else { 1 };
            BLOCKS[height.clamp(1, 8) - 1]
        })
        .collect()
}

/// A rate holds up to its time, a state from its time on.
fn value_at(series: &Series, at_ns: i64) -> Option<f64> {
    let index = match series.kind {
        SeriesKind::Rate => series.at_ns.partition_point(|&time_ns| time_ns < at_ns),
        SeriesKind::Gauge => series.at_ns.partition_point(|&time_ns| time_ns <= at_ns).saturating_sub(1),
    };
    series.values.get(index).copied().flatten().filter(|value| value.is_finite())
}

fn mark(event: &Event) -> Option<char> {
    MARKS.iter().find(|(kind, _)| *kind == event.kind).map(|(_, mark)| *mark)
}

/// The marks at their places; where several fall into one column the first kind of the legend stands.
fn marks(events: &[Event], elapsed_ns: i64) -> String {
    let mut columns = [None::<usize>; COLUMNS];
    for event in events {
        let Some(rank) = MARKS.iter().position(|(kind, _)| *kind == event.kind) else { continue };
        let share = event.at_ns.clamp(0, elapsed_ns.max(1)) as f64 / elapsed_ns.max(1) as f64;
        let column = ((share * COLUMNS as f64) as usize).min(COLUMNS - 1);
        columns[column] = Some(columns[column].map_or(rank, |other| other.min(rank)));
    }
    columns.iter().map(|rank| rank.map_or('·', |rank| MARKS[rank].1)).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn series(kind: SeriesKind, points: &[(i64, Option<f64>)]) -> Series {
        Series {
            name: "log_bytes_per_s".to_owned(),
            unit: "bytes/s".to_owned(),
            source: "made up".to_owned(),
            kind,
            at_ns: points.iter().map(|(at_s, _)| at_s * SECOND).collect(),
            values: points.iter().map(|(_, value)| *value).collect(),
        }
    }

    #[test]
    fn the_mean_of_a_rate_is_weighted_by_time_and_that_of_a_state_is_not() {
        let points = [(1, Some(10.0)), (2, None), (4, Some(40.0))];
        let rate = Figures::of(&series(SeriesKind::Rate, &points)).unwrap();
        assert_eq!(rate, Figures { last: 40.0, mean: 30.0, min: 10.0, max: 40.0 });
        assert_eq!(Figures::of(&series(SeriesKind::Gauge, &points)).unwrap().mean, 25.0);
        assert_eq!(Figures::of(&series(SeriesKind::Gauge, &[(1, None)])), None);
    }

    #[test]
    fn a_rate_stands_for_the_time_before_it_and_a_hole_is_blank() {
        let points = [(2, Some(1.0)), (4, Some(8.0)), (6, None), (8, Some(4.0))];
        let rate = line(&series(SeriesKind::Rate, &points), 8 * SECOND, 8.0);
        assert_eq!(rate, "▁▁▁▁▁▁██████      ▄▄▄▄▄▄");
        let gauge = line(&series(SeriesKind::Gauge, &[(0, Some(1.0)), (4, Some(8.0))]), 8 * SECOND, 8.0);
        assert_eq!(gauge, "▁▁▁▁▁▁▁▁▁▁▁▁████████████");
    }

    #[test]
    fn numbers_are_short_and_keep_their_size() {
        let texts =
            [0.0, 0.0946, 2.446, 61.9, 540.5, 2331.0, 14_861.0, 385_983_279.0, -1.5e10, 2e12].map(short);
        assert_eq!(
            texts,
            ["0", "0.095", "2.446", "61.90", "540.5", "2331", "14.86k", "386.0M", "-15.00G", "2.000T"]
        );
    }

    #[test]
    fn marks_stand_where_they_happened() {
        let event = |kind: &str, at_s: i64| Event {
            at_ns: at_s * SECOND,
            kind: kind.to_owned(),
            text: String::new(),
        };
        let events = [
            event("manual_checkpoint", 0),
            event("checkpoint_start", 6),
            event("checkpoint_end", 12),
            event("log_growth", 99),
            event("warm_up_end", 3),
        ];
        assert_eq!(marks(&events, 24 * SECOND), "m·····[·····]··········+");
        assert_eq!(marks(&[], 0), "·".repeat(COLUMNS));
    }
}
