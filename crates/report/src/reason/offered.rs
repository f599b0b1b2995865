//! An open loop: the rate that was offered, and whether it was served.

use results::histogram::LatencyHistogram;
use results::model::{Level, Run};
use results::scripts::ScriptRecord;
use results::store::StudyResults;
use serde::Serialize;

use crate::quantity::elapsed_s;

/// Parameter that makes the loop an open one.
const RATE: &str = "rate";

/// Transactions not begun at the end, as a share of those offered, up to which a rate is served: the arrivals of the
/// last moments.
const UNSERVED_UP_TO: f64 = 0.01;

/// Lateness up to which a run bound by rows served its rate, as a share of the elapsed time. Where a rate of r meets a
/// capacity of c, the mean start is late by (1 - c / r) / 2 of the elapsed time: 0.025 stands for 95 % served.
const LATE_UP_TO: f64 = 0.025;

/// What an open loop offered, and what became of it. Sums and means over the counting runs of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OfferedRate {
    /// Transactions per second whose start was due: those begun and those not begun at the end. Where runs are bound by
    /// rows, every transaction is begun some time, and it is the rate that was asked for.
    pub offered_per_s: f64,
    /// Transactions per second that were acknowledged.
    pub achieved_per_s: f64,
    /// Transactions due within the runs and not begun at their end; with a latency limit also those that were skipped, since
    /// they would have begun later than it.
    pub unserved: u64,
    /// Were transactions skipped?
    #[serde(skip)]
    pub has_skipped: bool,
    /// Mean time from the intended to the real start in seconds; absent without latencies.
    pub late_start_s: Option<f64>,
    /// Transactions that were due and not begun, on average over the time (rate times mean lateness, Little's law).
    pub backlog: Option<f64>,
    /// Was the rate served?
    pub is_served: bool,
}

impl OfferedRate {
    /// The offered rate of a configuration; `None` in a closed loop.
    pub(super) fn of(results: &StudyResults, cell_index: u32, runs: &[&Run]) -> Option<Self> {
        let asked_per_s = asked_per_s(results, cell_index)?;
        let time_s: f64 = runs.iter().map(|run| elapsed_s(run)).sum();
        let clients = || runs.iter().flat_map(|run| &run.clients);
        let transactions: u64 = clients().map(|client| client.transactions).sum();
        let unserved: u64 = clients().map(|client| client.arrivals_unserved).sum();
        // They were offered and begun.
        let failed: u64 = runs.iter().flat_map(|run| &run.scripts).map(ScriptRecord::failed).sum();
        if time_s <= 0.0 || transactions == 0 {
            return None;
        }
        let late_start_s = late_start_s(results, cell_index);
        let achieved_per_s = transactions as f64 / time_s;
        let is_bound_by_time = level(results, cell_index, "duration").is_some();
        // Each client may be in a transaction when its last arrivals come.
        let due = transactions + failed + unserved;
        let is_few = unserved as f64 <= UNSERVED_UP_TO * due as f64 || unserved <= clients().count() as u64;
        let mean_time_s = time_s / runs.len() as f64;
        let is_late = late_start_s.is_some_and(|late_s| late_s > LATE_UP_TO * mean_time_s);
        let is_served = if is_bound_by_time || unserved > 0 { is_few && !is_late } else { !is_late };
        let offered_per_s = if is_bound_by_time || unserved > 0 { due as f64 / time_s } else { asked_per_s };
        Some(Self {
            offered_per_s,
            achieved_per_s,
            unserved,
            has_skipped: runs
                .iter()
                .any(|run| run.metric("skipped_transactions").is_some_and(|count| count > 0.0)),
            late_start_s,
            backlog: late_start_s.map(|late_s| late_s * offered_per_s),
            is_served,
        })
    }

    /// The rate, its service and its backlog in one sentence.
    pub(super) fn sentence(&self) -> String {
        let Self { offered_per_s, achieved_per_s, unserved, .. } = *self;
        let verdict = if self.is_served { "was reached, so no limit applies" } else { "was not reached" };
        let mut text = format!(
            "the offered rate {verdict}: {offered_per_s:.1} transactions/s offered, {achieved_per_s:.1} achieved"
        );
        if !self.is_served {
            text.push_str(&format!(" ({:.1} %)", 100.0 * achieved_per_s / offered_per_s));
        }
        let why = match self.has_skipped {
            true => "skipped as later than the latency limit, or not started by the end",
            false => "not started by the end",
        };
        match unserved {
            0 => {}
            1 => text.push_str(&format!("; 1 transaction was {why}")),
            count => text.push_str(&format!("; {count} transactions were {why}")),
        }
        if let (Some(late_s), Some(backlog)) = (self.late_start_s, self.backlog) {
            text.push_str(&format!(
                "; starts were {:.2} ms late on average, a backlog of {backlog:.1} transactions",
                1e3 * late_s
            ));
        }
        text + "."
    }
}

/// The rate that a configuration was asked for.
fn asked_per_s(results: &StudyResults, cell_index: u32) -> Option<f64> {
    match level(results, cell_index, RATE)? {
        Level::Integer(rate) => Some(*rate as f64),
        Level::Float(rate) => Some(*rate),
        Level::Boolean(_) | Level::Text(_) => None,
    }
}

fn level<'a>(results: &'a StudyResults, cell_index: u32, parameter: &str) -> Option<&'a Level> {
    let cell = results.cells.iter().find(|cell| cell.index == cell_index)?;
    let mut levels = cell.levels.iter().chain(&results.study.fixed);
    levels.find(|(name, _)| name == parameter).map(|(_, level)| level)
}

/// Mean response time, which counts from the intended start, without the mean service time.
fn late_start_s(results: &StudyResults, cell_index: u32) -> Option<f64> {
    let latency = results.latencies.iter().find(|latency| latency.cell_index == cell_index)?;
    let mean_s = |histogram: &LatencyHistogram| (histogram.count() > 0).then(|| histogram.mean_ns() / 1e9);
    let late_s = mean_s(latency.response_time.as_ref()?)? - mean_s(&latency.service_time)?;
    Some(late_s.max(0.0))
}
