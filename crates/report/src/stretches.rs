//! Counters while a checkpoint was written and while none was, and how they go together with the throughput.

use results::model::{Cell, Run};
use results::observations::Series;
use results::store::StudyResults;
use serde::Serialize;
use stats::stretches::{mean_over_time, rank_correlation};

use crate::layout::{Align, Block, Grid, Section};
use crate::number::ABSENT;
use crate::timeline::{name_with_unit, short};

/// Throughput, the best first: what the clients were told, else what the server counts.
const THROUGHPUT: [&str; 5] = [
    "rows_acknowledged_per_s",
    "transactions_acknowledged_per_s",
    "write_transactions_per_s",
    "transactions_per_s",
    "log_bytes_per_s",
];

/// The log, which the published timeline holds the device against.
const LOG: &str = "log_bytes_per_s";

/// Pages that are written behind the sessions' backs; while there are any, a second is busy.
const WRITERS: [&str; 2] = ["checkpoint_pages_per_s", "background_pages_per_s"];

/// One counter of one configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CounterStretches {
    /// Name of the series, with its unit where the name does not tell it.
    pub counter: String,
    /// Mean while nothing was written behind the sessions' backs.
    pub quiet: Option<f64>,
    /// Mean while something was.
    pub busy: Option<f64>,
    /// Rank correlation with the throughput, mean over the runs.
    pub rho_throughput: Option<f64>,
    /// Rank correlation with the bytes of the log, mean over the runs.
    pub rho_log: Option<f64>,
}

/// Quiet and busy seconds of one configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellStretches {
    /// Index within the study.
    pub cell_index: u32,
    /// `placement=together`.
    pub label: String,
    /// Runs that it is made from.
    pub run_count: usize,
    /// Name of the series that is taken for the throughput.
    pub throughput: String,
    /// Time without a checkpoint, over all runs, in seconds.
    pub quiet_s: f64,
    /// Time with one.
    pub busy_s: f64,
    /// In the order of the series.
    pub counters: Vec<CounterStretches>,
}

/// What one run says, without its series: those are too long to hold for all runs of a study at once.
#[derive(Clone, Debug, PartialEq)]
pub struct RunStretches {
    throughput: &'static str,
    quiet_s: f64,
    busy_s: f64,
    counters: Vec<RunCounter>,
}

#[derive(Clone, Debug, PartialEq)]
struct RunCounter {
    name: String,
    counter: String,
    /// Does it keep one value?
    is_still: bool,
    quiet: Option<Mean>,
    busy: Option<Mean>,
    rho_throughput: Option<f64>,
    rho_log: Option<f64>,
}

/// A mean, and the time that it is one of.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Mean {
    value: f64,
    seconds: f64,
}

/// Puts together what the counting runs of each configuration say; a configuration without quiet or without busy seconds
/// is left out.
pub fn cells(results: &StudyResults, runs: &[(u32, RunStretches)]) -> Vec<CellStretches> {
    let of_cell = |cell: &Cell| {
        let own: Vec<&RunStretches> =
            runs.iter().filter(|(index, _)| *index == cell.index).map(|(_, run)| run).collect();
        together(cell.index, crate::summary::cell_label(results, cell.index), &own)
    };
    results.cells.iter().filter_map(of_cell).collect()
}

/// Quiet and busy seconds of one run that was read with its series; `None` without any throughput.
pub fn of_run(run: &Run) -> Option<RunStretches> {
    let throughput = THROUGHPUT.into_iter().find(|name| find(run, name).is_some())?;
    let pieces = pieces(run, find(run, throughput)?);
    let time = |is_busy: bool| {
        pieces.iter().filter(|piece| piece.is_busy == is_busy).map(Piece::seconds).sum::<f64>()
    };
    let counters = run.observations.series.iter();
    Some(RunStretches {
        throughput,
        quiet_s: time(false),
        busy_s: time(true),
        counters: counters.filter_map(|series| counter(run, series, throughput, &pieces)).collect(),
    })
}

/// A piece of a run between two looks.
#[derive(Clone, Copy, Debug)]
struct Piece {
    from_ns: i64,
    to_ns: i64,
    is_busy: bool,
}

impl Piece {
    fn seconds(&self) -> f64 {
        (self.to_ns - self.from_ns) as f64 / 1e9
    }

    fn middle_ns(&self) -> i64 {
        self.from_ns + (self.to_ns - self.from_ns) / 2
    }
}

fn together(cell_index: u32, label: String, runs: &[&RunStretches]) -> Option<CellStretches> {
    let throughput = runs.first()?.throughput;
    let runs: Vec<&&RunStretches> = runs.iter().filter(|run| run.throughput == throughput).collect();
    let quiet_s: f64 = runs.iter().map(|run| run.quiet_s).sum();
    let busy_s: f64 = runs.iter().map(|run| run.busy_s).sum();
    if quiet_s <= 0.0 || busy_s <= 0.0 {
        return None;
    }
    let mut names: Vec<&str> = Vec::new();
    for counter in runs.iter().flat_map(|run| &run.counters) {
        if !counter.is_still && !names.contains(&counter.name.as_str()) {
            names.push(&counter.name);
        }
    }
    let counters = names.into_iter().map(|name| {
        let own: Vec<&RunCounter> =
            runs.iter().flat_map(|run| &run.counters).filter(|counter| counter.name == name).collect();
        let over_time = |of: fn(&RunCounter) -> Option<Mean>| {
            let means: Vec<(f64, f64)> =
                own.iter().filter_map(|counter| of(counter)).map(|mean| (mean.value, mean.seconds)).collect();
            mean_over_time(&means)
        };
        let over_runs = |of: fn(&RunCounter) -> Option<f64>| {
            let each: Vec<(f64, f64)> =
                own.iter().filter_map(|counter| of(counter)).map(|rho| (rho, 1.0)).collect();
            mean_over_time(&each)
        };
        CounterStretches {
            counter: own.first().map(|counter| counter.counter.clone()).unwrap_or_default(),
            quiet: over_time(|counter| counter.quiet),
            busy: over_time(|counter| counter.busy),
            rho_throughput: over_runs(|counter| counter.rho_throughput),
            rho_log: over_runs(|counter| counter.rho_log),
        }
    });
    let counters = counters.collect();
    Some(CellStretches {
        cell_index,
        label,
        run_count: runs.len(),
        throughput: throughput.to_owned(),
        quiet_s,
        busy_s,
        counters,
    })
}

fn counter(run: &Run, series: &Series, throughput: &str, pieces: &[Piece]) -> Option<RunCounter> {
    let values = |is_busy: bool| -> Vec<(f64, f64)> {
        let own = pieces.iter().filter(|piece| piece.is_busy == is_busy);
        own.filter_map(|piece| Some((value_in(series, piece)?, piece.seconds()))).collect()
    };
    let (quiet, busy) = (values(false), values(true));
    let first = quiet.first().or(busy.first())?.0;
    let mean = |values: &[(f64, f64)]| {
        let seconds = values.iter().map(|(_, seconds)| seconds).sum();
        mean_over_time(values).map(|value| Mean { value, seconds })
    };
    Some(RunCounter {
        name: series.name.clone(),
        counter: name_with_unit(series),
        is_still: quiet.iter().chain(&busy).all(|(value, _)| *value == first),
        quiet: mean(&quiet),
        busy: mean(&busy),
        rho_throughput: rho(run, pieces, &series.name, throughput),
        rho_log: rho(run, pieces, &series.name, LOG),
    })
}

fn rho(run: &Run, pieces: &[Piece], name: &str, other: &str) -> Option<f64> {
    let (one, two) = (find(run, name)?, find(run, other)?);
    if name == other {
        return None;
    }
    let pairs: Vec<(f64, f64)> =
        pieces.iter().filter_map(|piece| Some((value_in(one, piece)?, value_in(two, piece)?))).collect();
    rank_correlation(&pairs).map(|found| found.rho)
}

/// The run cut at the looks of one series, each piece busy or not.
fn pieces(run: &Run, grid: &Series) -> Vec<Piece> {
    let checkpoints = checkpoints(run);
    let mut from_ns = 0;
    let mut pieces = Vec::new();
    for &to_ns in &grid.at_ns {
        let mut piece = Piece { from_ns, to_ns, is_busy: false };
        from_ns = to_ns;
        if to_ns <= piece.from_ns {
            continue;
        }
        let writes = WRITERS.iter().any(|name| {
            find(run, name).and_then(|series| value_in(series, &piece)).is_some_and(|pages| pages > 0.0)
        });
        let overlaps = checkpoints.iter().any(|(began, ended)| *began < to_ns && piece.from_ns < *ended);
        piece.is_busy = writes || overlaps;
        pieces.push(piece);
    }
    pieces
}

/// From begin to end of each checkpoint that has a mark of its begin; to the end of the run where it has no end.
fn checkpoints(run: &Run) -> Vec<(i64, i64)> {
    let mut found: Vec<(i64, i64)> = Vec::new();
    for event in &run.events {
        match event.kind.as_str() {
            "checkpoint_start" => found.push((event.at_ns, run.elapsed_ns as i64)),
            "checkpoint_end" => {
                if let Some(last) = found.last_mut() {
                    last.1 = last.1.min(event.at_ns);
                }
            }
            _ => {}
        }
    }
    found
}

fn find<'a>(run: &'a Run, name: &str) -> Option<&'a Series> {
    run.observations.series.iter().find(|series| series.name == name)
}

/// What a series says of a piece: a rate and a mean hold up to their time, and a state is as good at the piece's end as
/// at its begin.
fn value_in(series: &Series, piece: &Piece) -> Option<f64> {
    let index = series.at_ns.partition_point(|&at_ns| at_ns < piece.middle_ns());
    let is_near = |at_ns: &&i64| **at_ns <= piece.to_ns + (piece.to_ns - piece.from_ns) / 2;
    series.at_ns.get(index).filter(is_near)?;
    series.values.get(index).copied().flatten().filter(|value| value.is_finite())
}

/// The tables of a report, one per configuration.
pub(crate) fn sections(cells: &[CellStretches]) -> Vec<Section> {
    cells.iter().map(section).collect()
}

fn section(cell: &CellStretches) -> Section {
    let mut grid = Grid::named_by([("counter".to_owned(), Align::Left)]).with([
        ("quiet", Align::Right),
        ("busy", Align::Right),
        ("busy / quiet", Align::Right),
        ("rho rows", Align::Right),
        ("rho log", Align::Right),
    ]);
    let shown = |value: Option<f64>, write: fn(f64) -> String| value.map_or_else(|| ABSENT.to_owned(), write);
    let two = |value: f64| format!("{value:.2}");
    for one in &cell.counters {
        let quotient =
            one.quiet.zip(one.busy).filter(|(quiet, _)| *quiet > 0.0).map(|(quiet, busy)| busy / quiet);
        grid.push(vec![
            one.counter.clone(),
            shown(one.quiet, short),
            shown(one.busy, short),
            shown(quotient, two),
            shown(one.rho_throughput, two),
            shown(one.rho_log, two),
        ]);
    }
    let runs = if cell.run_count == 1 { "1 run".to_owned() } else { format!("{} runs", cell.run_count) };
    let legend = format!(
        "Quiet: {:.1} s of {runs} without background writes; busy: {:.1} s with a checkpoint or background writer activity. rho is the rank correlation of a counter, second by second, with {} and with {LOG}; seconds that follow each other are not independent, so there is no p.",
        cell.quiet_s, cell.busy_s, cell.throughput
    );
    Section::new(
        format!("Counters in quiet and busy seconds: {}", cell.label),
        vec![Block::Grid(grid), Block::Paragraph(legend)],
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use results::model::{Environment, Event, RunKey, RunState};
    use results::observations::{Observations, SeriesKind};

    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn series(name: &str, kind: SeriesKind, values: &[f64]) -> Series {
        Series {
            name: name.to_owned(),
            unit: "1/s".to_owned(),
            source: "made up".to_owned(),
            kind,
            at_ns: (1..=values.len() as i64).map(|second| second * SECOND).collect(),
            values: values.iter().copied().map(Some).collect(),
        }
    }

    fn run(series: Vec<Series>, events: Vec<Event>) -> Run {
        Run {
            key: RunKey { block_index: 0, cell_index: 0, attempt: 0 },
            position: 0,
            started_at: String::new(),
            state: RunState::Valid,
            elapsed_ns: 6_000_000_000,
            clients: Vec::new(),
            metrics: Vec::new(),
            gates: Vec::new(),
            warnings: Vec::new(),
            events,
            settings: Vec::new(),
            environment: Environment::default(),
            observations: Observations { series, ..Observations::default() },
            scripts: Vec::new(),
        }
    }

    fn mark(kind: &str, at_ns: i64) -> Event {
        Event { at_ns, kind: kind.to_owned(), text: String::new() }
    }

    #[test]
    fn seconds_with_a_checkpoint_are_busy_and_counters_are_held_against_the_throughput() {
        let run = run(
            vec![
                series("rows_acknowledged_per_s", SeriesKind::Rate, &[50.0, 60.0, 10.0, 20.0, 40.0, 30.0]),
                series("checkpoint_pages_per_s", SeriesKind::Rate, &[0.0, 0.0, 900.0, 0.0, 0.0, 0.0]),
                series("device_queue_length", SeriesKind::Gauge, &[2.0, 1.0, 6.0, 5.0, 3.0, 4.0]),
                series("still", SeriesKind::Gauge, &[1.0; 6]),
            ],
            vec![
                mark("checkpoint_start", 2 * SECOND + SECOND / 2),
                mark("checkpoint_end", 3 * SECOND + SECOND / 2),
            ],
        );
        let cell = together(0, "all".to_owned(), &[&of_run(&run).unwrap()]).unwrap();
        assert_eq!((cell.quiet_s, cell.busy_s), (4.0, 2.0), "the mark reaches into the fourth second");
        let counter = |name: &str| cell.counters.iter().find(|one| one.counter.starts_with(name)).unwrap();
        let rows = counter("rows_acknowledged_per_s");
        assert_eq!((rows.quiet, rows.busy, rows.rho_throughput), (Some(45.0), Some(15.0), None));
        let queue = counter("device_queue_length");
        assert_eq!((queue.quiet, queue.busy), (Some(2.5), Some(5.5)));
        assert_eq!((queue.rho_throughput, queue.rho_log), (Some(-1.0), None));
        assert!(!cell.counters.iter().any(|one| one.counter.starts_with("still")));
        let text = format!("{:?}", section(&cell));
        assert!(text.contains("Quiet: 4.0 s of 1 run") && text.contains("-1.00"), "{text}");
    }

    #[test]
    fn a_run_without_a_busy_second_has_no_such_table() {
        let rows = series("rows_acknowledged_per_s", SeriesKind::Rate, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(together(0, String::new(), &[&of_run(&run(vec![rows], Vec::new())).unwrap()]), None);
        assert_eq!((of_run(&run(Vec::new(), Vec::new())), together(0, String::new(), &[])), (None, None));
    }
}
