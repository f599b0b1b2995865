//! What a study will take, said before it starts: runs, time, disk space.
//!
//! The time is that of earlier runs of the same cells where there are any, else a rough model: commits that wait for
//! the device, plus a cost per row, plus what it takes to prepare a run. The costs were seen on two shared cores;
//! another machine may differ by a factor of [`MODEL_FACTOR`] either way, and the range says so.

use results::model::Cell;

use crate::spec::Resolved;
use crate::work::{Amount, Durability, WarmUp, Work, Workload};

mod space;

pub use space::Space;
use space::TimedRows;
pub(crate) use space::data_bytes;

/// The model may be wrong by this factor, up or down.
pub const MODEL_FACTOR: f64 = 3.0;

/// Earlier runs are repeated within this share of their time.
const REPEAT_SPREAD: f64 = 0.25;

/// Commits that share one flush of the log, at most: what group commit gave on PostgreSQL at 1 to 16 connections.
const GROUP_COMMIT_MAX: u32 = 16;

/// What a study will take.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// Runs, without repetitions of invalid ones.
    pub runs: u64,
    /// Runs at the cap, when the study repeats until an interval is narrow; else equal to `runs`.
    pub runs_max: u64,
    /// Shortest and longest expected time of all runs, in seconds; `None` when nothing tells: commits wait for a
    /// device whose sync latency is not known, and no earlier run exists.
    pub seconds: Option<(f64, f64)>,
    /// Bytes that each directory needs: those of the largest cell, since each run removes its rows, beside what stays from
    /// run to run.
    pub space: Space,
    /// Where the figures come from, one sentence for people.
    pub basis: String,
}

/// What earlier runs say of a cell; absent without any.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Earlier {
    /// Mean seconds of the measured part, of runs of the same study.
    pub seconds: Option<f64>,
    /// Most rows per second, of runs of the same experiment with the same levels.
    pub rows_per_s: Option<f64>,
}

/// Estimates a study. `sync_latency_ns` is the time of one flush on the log's device, and `earlier` tells of earlier runs
/// of a cell. Costs nothing but these calls, a few per cell.
pub fn estimate(
    resolved: &Resolved,
    sync_latency_ns: Option<u64>,
    earlier: &dyn Fn(&Cell) -> Earlier,
) -> Estimate {
    let cells = resolved.cells();
    let engine = resolved.engine.as_str();
    let blocks = u64::from(resolved.repetitions);
    let blocks_max = resolved.repeat_until.map_or(blocks, |until| u64::from(until.blocks_max));
    let mut range = Some((0.0, 0.0));
    let mut known_count = 0;
    let space = space::space(resolved, &|cell, work| {
        rows_in_time(work, engine, sync_latency_ns, || earlier(cell).rows_per_s)
    });
    for cell in &cells {
        let work = resolved.work(cell, 0);
        let cell_range = match earlier(cell).seconds.filter(|seconds| seconds.is_finite() && *seconds >= 0.0)
        {
            Some(seconds) => {
                known_count += 1;
                let preparing = preparing_seconds(engine);
                let (low, high) = (1.0 - REPEAT_SPREAD, 1.0 + REPEAT_SPREAD);
                Some((low * (seconds + preparing), high * (seconds + preparing * MODEL_FACTOR)))
            }
            None => model_seconds(&work, engine, sync_latency_ns),
        };
        range = range
            .zip(cell_range)
            .map(|((low, high), (cell_low, cell_high))| (low + cell_low, high + cell_high));
    }
    Estimate {
        runs: blocks * cells.len() as u64,
        runs_max: blocks_max * cells.len() as u64,
        seconds: range.map(|(low, high)| (low * blocks as f64, high * blocks_max as f64)),
        space,
        basis: basis(known_count, cells.len(), sync_latency_ns),
    }
}

fn basis(known_count: usize, cell_count: usize, sync_latency_ns: Option<u64>) -> String {
    if known_count == cell_count {
        return "earlier runs of the same cells".to_owned();
    }
    let model = match sync_latency_ns {
        Some(latency) => format!("a rough model with {:.2} ms per flush", latency as f64 / 1e6),
        None => "a rough model; the time of a flush is not known".to_owned(),
    };
    match known_count {
        0 => model,
        _ => format!("earlier runs for {known_count} of {cell_count} cells, {model} for the others"),
    }
}

/// Shortest and longest expected seconds of one run.
fn model_seconds(work: &Work, engine: &str, sync_latency_ns: Option<u64>) -> Option<(f64, f64)> {
    let preparing = preparing_seconds(engine);
    if let Amount::Time(time) = work.amount {
        let fixed = time.as_secs_f64() + warm_up_seconds(work, engine, sync_latency_ns).unwrap_or(0.0);
        return Some((fixed + preparing / MODEL_FACTOR, fixed * 1.05 + preparing * MODEL_FACTOR));
    }
    let Amount::Rows(rows) = work.amount else { return None };
    let warm_up = warm_up_seconds(work, engine, sync_latency_ns)?;
    let total = rows_seconds(rows, work, engine, sync_latency_ns)? + warm_up + preparing;
    // An open loop cannot end before its last arrival, nor can its warm-up.
    let warm_up_arrivals = match work.warm_up {
        WarmUp::None => 0.0,
        WarmUp::Time(time) => time.as_secs_f64(),
        WarmUp::Rows(rows) => arrival_seconds(rows, work),
    };
    let arrivals = arrival_seconds(rows, work) + warm_up_arrivals;
    Some(((total / MODEL_FACTOR).max(arrivals), (total * MODEL_FACTOR).max(arrivals * 1.05 + preparing)))
}

fn warm_up_seconds(work: &Work, engine: &str, sync_latency_ns: Option<u64>) -> Option<f64> {
    match work.warm_up {
        WarmUp::None => Some(0.0),
        WarmUp::Time(time) => Some(time.as_secs_f64()),
        WarmUp::Rows(rows) => {
            let seconds = rows_seconds(rows, work, engine, sync_latency_ns)?;
            Some(seconds.max(arrival_seconds(rows, work)))
        }
    }
}

/// Seconds until the last arrival of so many rows; 0 without a rate.
fn arrival_seconds(rows: u64, work: &Work) -> f64 {
    work.rate_per_s.map_or(0.0, |rate| (rows as f64 / work.batch_size as f64).ceil() / rate)
}

/// Commits divided among those that share a flush, plus a cost per row; `None` when the flush is not known.
fn rows_seconds(rows: u64, work: &Work, engine: &str, sync_latency_ns: Option<u64>) -> Option<f64> {
    let commits = (rows as f64 / work.batch_size as f64).ceil();
    let flush_seconds = match (engine, work.workload, work.durability) {
        ("noop", _, _) | (_, _, Durability::Relaxed | Durability::None) => 0.0,
        (_, workload, _) if !workload.adds_rows() => 0.0,
        _ => sync_latency_ns? as f64 / 1e9,
    };
    let group = if engine == "sqlite" { 1 } else { work.connections.min(GROUP_COMMIT_MAX) };
    Some(commits * flush_seconds / f64::from(group) + rows as f64 * row_seconds(work, engine))
}

/// Seconds that a row costs without its commit, seen on two shared cores.
fn row_seconds(work: &Work, engine: &str) -> f64 {
    let row = match (engine, work.workload) {
        ("noop", _) => return 1e-6,
        (_, Workload::Populate) => 120e-6,
        (_, Workload::RandomInsert) => 20e-6,
        (_, Workload::GuidPopulate) => 60e-6,
        // Look-ups and tasks have a row per statement: what it costs depends on the tables, which are not known here.
        (_, workload) if workload.has_stock() => work.subject.table_rows as f64 * 5e-6,
        (_, Workload::RawRead) => work.subject.raw.time.as_secs_f64(),
        (_, _) => 30e-6,
    };
    row + 10e-6 * f64::from(work.secondary_indexes)
}

/// Seconds to bring the engine into the same state before each run, and to count and remove the rows after it.
fn preparing_seconds(engine: &str) -> f64 {
    match engine {
        "noop" => 0.02,
        "sqlite" => 0.1,
        _ => 1.5,
    }
}

/// Rows that a run bounded by time may do: those of its rate; else as many as earlier runs did in such a time; else at most
/// as many as the cheapest imaginable run would insert.
fn rows_in_time(
    work: &Work,
    engine: &str,
    sync_latency_ns: Option<u64>,
    earlier: impl Fn() -> Option<f64>,
) -> TimedRows {
    let Amount::Time(time) = work.amount else { return TimedRows { rows: 0, is_bound: false } };
    let seconds = time.as_secs_f64();
    if let Some(rate) = work.rate_per_s {
        return TimedRows { rows: (seconds * rate * work.batch_size as f64) as u64, is_bound: false };
    }
    if let Some(rows_per_s) = earlier().filter(|rate| rate.is_finite() && *rate > 0.0) {
        return TimedRows { rows: (seconds * rows_per_s) as u64, is_bound: false };
    }
    let one = rows_seconds(1_000_000, work, engine, sync_latency_ns.or(Some(0))).unwrap_or(1.0) / 1e6;
    TimedRows { rows: (seconds / one.max(1e-6) * MODEL_FACTOR) as u64, is_bound: work.workload.adds_rows() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use results::model::Scale;

    use super::*;
    use crate::plan::RepeatUntil;
    use crate::spec::{Experiment, Request, find};

    const SYNC_NS: Option<u64> = Some(2_500_000);

    fn resolved(name: &str, scale: Scale, engine: &str, overrides: &[(&str, &str)]) -> Resolved {
        let experiment = Experiment::parse(name, find(name).unwrap().text).unwrap();
        let mut request = Request::plain(scale, engine);
        request.overrides =
            overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        experiment.resolve(&request).unwrap()
    }

    fn nothing(_: &Cell) -> Earlier {
        Earlier::default()
    }

    #[test]
    fn runs_are_cells_times_repetitions() {
        let study = resolved("populate-batch-x-connections", Scale::Miniature, "sqlite", &[]);
        let estimate = estimate(&study, SYNC_NS, &nothing);
        assert_eq!((estimate.runs, estimate.runs_max), (30, 30));
    }

    #[test]
    fn repeating_until_narrow_counts_from_the_repetitions_to_the_cap() {
        let mut study = resolved("populate-batch", Scale::Miniature, "sqlite", &[]);
        study.repeat_until = Some(RepeatUntil { half_width_percent: 2.0, blocks_max: 20 });
        let estimate = estimate(&study, SYNC_NS, &nothing);
        assert_eq!((estimate.runs, estimate.runs_max), (15, 60));
    }

    #[test]
    fn the_full_table_needs_its_tebibyte_and_the_log() {
        let study = resolved("populate-batch", Scale::Full, "postgres", &[]);
        let disk_bytes = estimate(&study, SYNC_NS, &nothing).space.total;
        assert!((1 << 40..(1_u64 << 40) + (1 << 34)).contains(&disk_bytes), "{disk_bytes}");
    }

    #[test]
    fn the_published_random_load_needs_its_37_gigabytes() {
        let study = resolved("multi-file", Scale::Full, "postgres", &[]);
        let disk_bytes = estimate(&study, SYNC_NS, &nothing).space.total;
        assert!((37_000_000_000..42_000_000_000).contains(&disk_bytes), "{disk_bytes}");
    }

    #[test]
    fn what_was_seen_on_two_cores_lies_within_the_range() {
        // EVIDENCE: equivalents.md 3.1, 8000 rows over 4 connections on PostgreSQL and 1 client on SQLite.
        for (engine, overrides, seen) in [
            ("postgres", [("batch_size", "1"), ("connections", "4"), ("rows_total", "8000")], 5.9),
            ("postgres", [("batch_size", "10"), ("connections", "4"), ("rows_total", "8000")], 2.1),
            ("postgres", [("batch_size", "100"), ("connections", "4"), ("rows_total", "8000")], 1.1),
            ("sqlite", [("batch_size", "1"), ("connections", "1"), ("rows_total", "2390")], 10.0),
            ("sqlite", [("batch_size", "100"), ("connections", "1"), ("rows_total", "6609")], 1.0),
        ] {
            let study = resolved("populate-batch", Scale::Miniature, engine, &overrides);
            let (low, high) = estimate(&study, SYNC_NS, &nothing).seconds.unwrap();
            assert!(low <= 5.0 * seen && 5.0 * seen <= high, "{engine} {overrides:?}: {low} to {high}");
        }
    }

    #[test]
    fn earlier_runs_replace_the_model() {
        let study = resolved("populate-batch", Scale::Miniature, "sqlite", &[]);
        let all = estimate(&study, None, &|_| Earlier { seconds: Some(2.0), ..Earlier::default() });
        let (low, high) = all.seconds.unwrap();
        assert!(low < 30.0 && 30.0 < high && high < 60.0, "{low} to {high}");
        assert_eq!(all.basis, "earlier runs of the same cells");
        let some = estimate(&study, SYNC_NS, &|cell| Earlier {
            seconds: (cell.index == 0).then_some(2.0),
            ..Earlier::default()
        });
        assert_eq!(
            some.basis,
            "earlier runs for 1 of 3 cells, a rough model with 2.50 ms per flush for the others"
        );
    }

    #[test]
    fn nothing_is_said_about_the_time_when_nothing_is_known() {
        let study = resolved("populate-batch", Scale::Miniature, "sqlite", &[]);
        let estimate = estimate(&study, None, &nothing);
        assert_eq!(estimate.seconds, None);
        assert!(estimate.basis.contains("not known"));
        let study = resolved("populate-batch", Scale::Miniature, "noop", &[]);
        assert!(super::estimate(&study, None, &nothing).seconds.is_some());
    }

    #[test]
    fn a_run_by_time_takes_its_time() {
        let study = resolved("a-a", Scale::Miniature, "postgres", &[("duration", "60s"), ("warm_up", "5s")]);
        let (low, high) = estimate(&study, SYNC_NS, &nothing).seconds.unwrap();
        assert!(low >= 650.0 && high <= 750.0, "{low} to {high}");
    }

    #[test]
    fn an_open_loop_does_not_end_before_its_last_arrival() {
        let study = resolved("a-a", Scale::Miniature, "sqlite", &[("rate", "10"), ("durability", "none")]);
        let (low, _) = estimate(&study, SYNC_NS, &nothing).seconds.unwrap();
        assert!(low >= 10.0 * 4000.0 / 10.0 / 10.0, "{low}");
    }

    #[test]
    fn the_warm_up_of_an_open_loop_takes_its_rate_too() {
        let set = [("rate", "10"), ("durability", "none"), ("warm_up_rows", "4000")];
        let study = resolved("a-a", Scale::Miniature, "sqlite", &set);
        let (low, high) = estimate(&study, SYNC_NS, &nothing).seconds.unwrap();
        // Ten runs of 4000 rows and as many before them, in transactions of ten, ten a second.
        assert!(low >= 10.0 * 2.0 * 40.0 && high <= 1.6 * 10.0 * 2.0 * 40.0, "{low} to {high}");
    }

    #[test]
    fn the_largest_sizes_do_not_overflow() {
        let study = resolved(
            "a-a",
            Scale::Miniature,
            "postgres",
            &[("rows_total", "281474976710656"), ("batch_size", "100_000_000"), ("log_size_mib", "16777216")],
        );
        let estimate = estimate(&study, Some(u64::MAX), &nothing);
        assert!(estimate.space.total > 1 << 60);
        assert!(estimate.seconds.unwrap().1.is_finite());
    }
}
