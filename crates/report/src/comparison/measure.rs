//! What is compared: a quantity of every run, a stored metric, or a latency at a share of the transactions.

use results::model::{Metric, Run};
use serde::Serialize;
use stats::compare::Direction;

use super::side::Side;
use crate::quantity::{Quantity, rows_per_s};

/// Names of the latencies that can be compared, with kind and share.
pub const LATENCY_NAMES: [(&str, LatencyAt); 8] = [
    ("service_time_p50_ms", LatencyAt { is_response: false, quantile: 0.5 }),
    ("service_time_p90_ms", LatencyAt { is_response: false, quantile: 0.9 }),
    ("service_time_p99_ms", LatencyAt { is_response: false, quantile: 0.99 }),
    ("service_time_p999_ms", LatencyAt { is_response: false, quantile: 0.999 }),
    ("response_time_p50_ms", LatencyAt { is_response: true, quantile: 0.5 }),
    ("response_time_p90_ms", LatencyAt { is_response: true, quantile: 0.9 }),
    ("response_time_p99_ms", LatencyAt { is_response: true, quantile: 0.99 }),
    ("response_time_p999_ms", LatencyAt { is_response: true, quantile: 0.999 }),
];

/// A latency at a share of the transactions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatencyAt {
    /// From the intended start; else from sending.
    is_response: bool,
    /// Share of the transactions that are no slower.
    quantile: f64,
}

/// The latency with this name, if it is one; its runs must be read with their histograms.
pub fn latency_of(name: &str) -> Option<LatencyAt> {
    LATENCY_NAMES.iter().find(|(known, _)| *known == name).map(|(_, at)| *at)
}

/// What is compared, and which way it improves.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measure {
    /// `elapsed_s`, `rows_per_s`, `transactions_per_s`, a latency, or a metric of docs/lab/metrics.md.
    pub name: String,
    /// Unit of the values; empty until a run of the sides names it.
    pub unit: String,
    /// Is a smaller value better?
    pub is_smaller_better: bool,
}

impl Measure {
    /// The measure with this name: rates (`..._per_s`) are better when larger, everything else when smaller.
    pub fn named(name: &str) -> Self {
        let unit = match name {
            "elapsed_s" => "s",
            "rows_per_s" => "rows/s",
            "transactions_per_s" => "transactions/s",
            _ if latency_of(name).is_some() => "ms",
            _ => "",
        };
        Self { name: name.to_owned(), unit: unit.to_owned(), is_smaller_better: !name.ends_with("_per_s") }
    }

    /// What the studies compare themselves; rows per second when one of them fixed the time and the other the rows.
    pub(super) fn of(baseline: &Side, candidate: &Side) -> Self {
        let quantities = [baseline, candidate].map(|side| Quantity::of(&side.results.study));
        Self::named(if quantities[0] == quantities[1] { quantities[0].name() } else { "rows_per_s" })
    }

    /// The run's value; `None` when the run did not measure it.
    pub fn value(&self, run: &Run) -> Option<f64> {
        let elapsed_s = run.elapsed_ns as f64 / 1e9;
        match self.name.as_str() {
            "elapsed_s" => Some(elapsed_s),
            "rows_per_s" => Some(rows_per_s(run)),
            "transactions_per_s" => (elapsed_s > 0.0).then(|| run.transactions() as f64 / elapsed_s),
            name => match latency_of(name) {
                Some(at) => latency_ms(run, at),
                None => run.metric(name).filter(|_| !Metric::is_identity(name)),
            },
        }
    }

    pub(crate) fn direction(&self) -> Direction {
        if self.is_smaller_better { Direction::SmallerIsBetter } else { Direction::LargerIsBetter }
    }
}

fn latency_ms(run: &Run, at: LatencyAt) -> Option<f64> {
    let histogram = if at.is_response { run.response_time() } else { run.service_time() };
    (histogram.count() > 0).then(|| histogram.quantile_ns(at.quantile) as f64 / 1e6)
}
