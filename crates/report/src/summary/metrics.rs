//! The other numbers of the counting runs, per cell: derived, measured, and latencies.

use results::histogram::LatencyHistogram;
use results::model::{Metric, Run};
use results::store::StudyResults;
use serde::Serialize;

use crate::quantity::{Quantity, derived};
use crate::summary::{Estimate, cell_label};

/// One metric over all cells.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricSummary {
    /// Name from docs/lab/metrics.md.
    pub name: String,
    /// Unit of the values.
    pub unit: String,
    /// Where it was had; several when runs differ.
    pub sources: Vec<String>,
    /// One per cell, in the order of the cells; absent where no counting run has it.
    pub cells: Vec<Option<Estimate>>,
}

/// Which latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LatencyKind {
    /// From sending to the answer.
    ServiceTime,
    /// From the intended start to the answer (open loop).
    ResponseTime,
}

impl LatencyKind {
    /// The kind in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::ServiceTime => "service time",
            Self::ResponseTime => "response time",
        }
    }
}

/// Latencies of one cell, over all its counting runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LatencySummary {
    /// The cell.
    pub cell_index: u32,
    /// Its label.
    pub label: String,
    /// Service or response time.
    pub kind: LatencyKind,
    /// Transactions counted.
    pub count: u64,
    /// Mean in milliseconds.
    pub mean_ms: f64,
    /// Median in milliseconds.
    pub p50_ms: f64,
    /// 90th percentile in milliseconds.
    pub p90_ms: f64,
    /// 99th percentile in milliseconds.
    pub p99_ms: f64,
    /// 99.9th percentile in milliseconds.
    pub p999_ms: f64,
    /// Largest in milliseconds.
    pub max_ms: f64,
}

impl LatencySummary {
    /// Reads the figures off a histogram.
    pub fn of(cell_index: u32, label: String, kind: LatencyKind, histogram: &LatencyHistogram) -> Self {
        let at = |quantile| histogram.quantile_ns(quantile) as f64 / 1e6;
        Self {
            cell_index,
            label,
            kind,
            count: histogram.count(),
            mean_ms: histogram.mean_ns() / 1e6,
            p50_ms: at(0.5),
            p90_ms: at(0.9),
            p99_ms: at(0.99),
            p999_ms: at(0.999),
            max_ms: histogram.max_ns() as f64 / 1e6,
        }
    }
}

const DERIVED_SOURCE: &str = "client records";

/// Collects every metric that a counting run has, in the order of first appearance; without the compared quantity.
pub(super) fn metrics(results: &StudyResults, quantity: Quantity) -> Vec<MetricSummary> {
    let mut collected: Vec<(MetricSummary, Vec<Vec<f64>>)> = Vec::new();
    for stored in results.runs.iter().filter(|stored| stored.counts()) {
        let Some(place) = results.cells.iter().position(|cell| cell.index == stored.run.key.cell_index)
        else {
            continue;
        };
        for (name, value, unit, source) in numbers(&stored.run) {
            if name == quantity.name() || Metric::is_identity(name) {
                continue;
            }
            let known = collected.iter().position(|(metric, _)| metric.name == name && metric.unit == unit);
            let index = known.unwrap_or_else(|| {
                let metric = MetricSummary {
                    name: name.to_owned(),
                    unit: unit.to_owned(),
                    sources: Vec::new(),
                    cells: Vec::new(),
                };
                collected.push((metric, vec![Vec::new(); results.cells.len()]));
                collected.len() - 1
            });
            let (metric, values) = &mut collected[index];
            values[place].push(value);
            if !metric.sources.iter().any(|other| other == source) {
                metric.sources.push(source.to_owned());
            }
        }
    }
    let summarised = |(mut metric, values): (MetricSummary, Vec<Vec<f64>>)| {
        metric.cells = values.iter().map(|values| Estimate::of(values)).collect();
        metric
    };
    collected.into_iter().map(summarised).collect()
}

/// What runs can only be equal in, over all cells: a plan, or what was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IdentitySummary {
    /// Name from docs/lab/metrics.md.
    pub name: String,
    /// One per cell, in the order of the cells: the distinct values of its counting runs, as hexadecimal numbers.
    pub cells: Vec<Vec<String>>,
}

impl IdentitySummary {
    /// Whether the runs agree, within configurations and between them.
    pub fn words(&self) -> String {
        let known = || self.cells.iter().filter(|values| !values.is_empty());
        let differing = known().filter(|values| values.len() > 1).count();
        let mut all: Vec<&String> = known().flatten().collect();
        all.sort();
        all.dedup();
        match (all.as_slice(), differing) {
            ([only], _) => format!("{} equal in all runs ({only})", self.name),
            (_, 0) => format!(
                "{} equal within each configuration, differs between configurations ({} values)",
                self.name,
                all.len()
            ),
            (_, count) => format!(
                "{} differs between runs of the same configuration ({count} of {})",
                self.name,
                known().count()
            ),
        }
    }
}

/// Collects the identities that counting runs have.
pub(super) fn identities(results: &StudyResults) -> Vec<IdentitySummary> {
    let of_cell = |name: &str, cell_index: u32| {
        let counting = results.runs.iter().filter(|stored| stored.counts());
        let mut values: Vec<String> = counting
            .filter(|stored| stored.run.key.cell_index == cell_index)
            .filter_map(|stored| stored.run.metric(name))
            .map(identity)
            .collect();
        values.sort();
        values.dedup();
        values
    };
    let summaries = Metric::IDENTITIES.iter().map(|name| IdentitySummary {
        name: (*name).to_owned(),
        cells: results.cells.iter().map(|cell| of_cell(name, cell.index)).collect(),
    });
    summaries.filter(|identity| identity.cells.iter().any(|values| !values.is_empty())).collect()
}

/// An identity as people tell it apart from others.
pub(crate) fn identity(value: f64) -> String {
    format!("{:012x}", value as u64)
}

/// Derived and measured numbers of one run: name, value, unit, source.
fn numbers(run: &Run) -> impl Iterator<Item = (&str, f64, &str, &str)> {
    let derived = derived(run).into_iter().map(|(name, value, unit)| (name, value, unit, DERIVED_SOURCE));
    let measured = run
        .metrics
        .iter()
        .map(|metric| (metric.name.as_str(), metric.value, metric.unit.as_str(), metric.source.as_str()));
    derived.chain(measured)
}

/// Reads the latencies of every cell that has any; response times only where a loop was open.
pub(super) fn latencies(results: &StudyResults) -> Vec<LatencySummary> {
    let mut summaries = Vec::new();
    for latency in &results.latencies {
        let mut add = |kind, histogram: &LatencyHistogram| {
            if histogram.count() > 0 {
                let label = cell_label(results, latency.cell_index);
                summaries.push(LatencySummary::of(latency.cell_index, label, kind, histogram));
            }
        };
        add(LatencyKind::ServiceTime, &latency.service_time);
        if let Some(response_time) = &latency.response_time {
            add(LatencyKind::ResponseTime, response_time);
        }
    }
    summaries
}
