//! What a study will take, said before it starts: runs, time, disk space.
//!
//! The time is that of earlier runs of the same cells where there are any, else a rough model: commits that wait for
//! the device, plus a cost per row, plus what it takes to prepare a run. The costs were seen on two shared cores;
//! another machine may differ by a factor of [`MODEL_FACTOR`] either way, and the range says so.

use results::model::Cell;

use crate::engine::TimeCosts;
use crate::spec::Resolved;
use crate::work::{Amount, Durability, WarmUp, Work, Workload};

mod own_workload;
mod space;

use space::TimedRows;
pub(crate) use space::{CEILING_FILE_BYTES_MIN, data_bytes, file_bytes};
pub use space::{PAGE_BYTES, RANDOM_ROW_BYTES, SECONDARY_BYTES, Space, heap_row_bytes};

/// The model may be wrong by this factor, up or down.
pub const MODEL_FACTOR: f64 = 3.0;

/// Earlier runs are repeated within this share of their time.
const REPEAT_SPREAD: f64 = 0.25;

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
    let costs = &resolved.engine.time;
    let blocks = u64::from(resolved.repetitions);
    let blocks_max = resolved.repeat_until.map_or(blocks, |until| u64::from(until.blocks_max));
    let mut range = Some((0.0, 0.0));
    let mut known_count = 0;
    let space = space::space(resolved, &|cell, work| {
        rows_in_time(work, costs, sync_latency_ns, || earlier(cell).rows_per_s)
    });
    for cell in &cells {
        let work = resolved.work(cell, 0);
        let cell_range = match earlier(cell).seconds.filter(|seconds| seconds.is_finite() && *seconds >= 0.0)
        {
            Some(seconds) => {
                known_count += 1;
                let preparing = costs.preparing_s + own_workload::copy_seconds(&work);
                let (low, high) = (1.0 - REPEAT_SPREAD, 1.0 + REPEAT_SPREAD);
                Some((low * (seconds + preparing), high * (seconds + preparing * MODEL_FACTOR)))
            }
            None => model_seconds(&work, costs, sync_latency_ns),
        };
        range = range
            .zip(cell_range)
            .map(|((low, high), (cell_low, cell_high))| (low + cell_low, high + cell_high));
    }
    // Once for each state in which runs begin.
    let loading: f64 = own_workload::loads(resolved).iter().map(|own| own_workload::seconds(own)).sum();
    let seconds = |(low, high): (f64, f64)| {
        (low * blocks as f64 + loading / MODEL_FACTOR, high * blocks_max as f64 + loading * MODEL_FACTOR)
    };
    Estimate {
        runs: blocks * cells.len() as u64,
        runs_max: blocks_max * cells.len() as u64,
        seconds: range.map(seconds),
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
fn model_seconds(work: &Work, costs: &TimeCosts, sync_latency_ns: Option<u64>) -> Option<(f64, f64)> {
    let preparing = costs.preparing_s + own_workload::copy_seconds(work);
    if let Amount::Time(time) = work.amount {
        let fixed = time.as_secs_f64() + warm_up_seconds(work, costs, sync_latency_ns).unwrap_or(0.0);
        return Some((fixed + preparing / MODEL_FACTOR, fixed * 1.05 + preparing * MODEL_FACTOR));
    }
    let Amount::Rows(rows) = work.amount else { return None };
    let warm_up = warm_up_seconds(work, costs, sync_latency_ns)?;
    let total = rows_seconds(rows, work, costs, sync_latency_ns)? + warm_up + preparing;
    // An open loop cannot end before its last arrival, nor can its warm-up.
    let warm_up_arrivals = match work.warm_up {
        WarmUp::None => 0.0,
        WarmUp::Time(time) => time.as_secs_f64(),
        WarmUp::Rows(rows) => arrival_seconds(rows, work),
    };
    let arrivals = arrival_seconds(rows, work) + warm_up_arrivals;
    Some(((total / MODEL_FACTOR).max(arrivals), (total * MODEL_FACTOR).max(arrivals * 1.05 + preparing)))
}

fn warm_up_seconds(work: &Work, costs: &TimeCosts, sync_latency_ns: Option<u64>) -> Option<f64> {
    match work.warm_up {
        WarmUp::None => Some(0.0),
        WarmUp::Time(time) => Some(time.as_secs_f64()),
        WarmUp::Rows(rows) => {
            let seconds = rows_seconds(rows, work, costs, sync_latency_ns)?;
            Some(seconds.max(arrival_seconds(rows, work)))
        }
    }
}

/// Seconds until the last arrival of so many rows; 0 without a rate.
fn arrival_seconds(rows: u64, work: &Work) -> f64 {
    work.rate_per_s.map_or(0.0, |rate| (rows as f64 / work.batch_size as f64).ceil() / rate)
}

/// Commits divided among those that share a flush, plus a cost per row; `None` when the flush is not known.
fn rows_seconds(rows: u64, work: &Work, costs: &TimeCosts, sync_latency_ns: Option<u64>) -> Option<f64> {
    let commits = (rows as f64 / work.batch_size as f64).ceil();
    let changes_rows = work.workload.adds_rows() || work.workload == Workload::Own;
    let waits = costs.waits_for_flushes && work.durability == Durability::Full && changes_rows;
    let flush_seconds = if waits { sync_latency_ns? as f64 / 1e9 } else { 0.0 };
    let group = work.connections.min(costs.commits_per_flush_max);
    Some(commits * flush_seconds / f64::from(group) + rows as f64 * row_seconds(work, costs))
}

/// Seconds that a row costs without its commit, seen on two shared cores.
fn row_seconds(work: &Work, costs: &TimeCosts) -> f64 {
    if let Some(row_s) = costs.row_s {
        return row_s;
    }
    let row = match work.workload {
        Workload::Populate => 120e-6,
        Workload::RandomInsert => 20e-6,
        Workload::GuidPopulate => 60e-6,
        // A transaction, whatever its scripts do.
        Workload::Own => 500e-6,
        // Look-ups and tasks have a row per statement: what it costs depends on the tables, which are not known here.
        workload if workload.has_fixtures() => work.subject.table_rows as f64 * 5e-6,
        Workload::RawRead => work.subject.raw.time.as_secs_f64(),
        _ => 30e-6,
    };
    row + 10e-6 * f64::from(work.secondary_indexes)
}

/// Rows that a run bounded by time may do: those of its rate; else as many as earlier runs did in such a time; else at most
/// as many as the cheapest imaginable run would insert.
fn rows_in_time(
    work: &Work,
    costs: &TimeCosts,
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
    let one = rows_seconds(1_000_000, work, costs, sync_latency_ns.or(Some(0))).unwrap_or(1.0) / 1e6;
    TimedRows { rows: (seconds / one.max(1e-6) * MODEL_FACTOR) as u64, is_bound: work.workload.adds_rows() }
}
