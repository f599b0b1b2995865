//! Numbers of a run that follow from what its samplers saw, so that they can be averaged, compared and claimed.

use results::model::Metric;
use results::observations::{Observations, Series};

use super::manual_checkpoint::SAMPLER;

/// Largest values and counts, under names of docs/metrics.md.
pub(crate) fn metrics(seen: &Observations) -> Vec<Metric> {
    let mut metrics = Vec::new();
    if let Some(series) = seen.series.iter().find(|series| series.name == "log_size_bytes")
        && let Some(value) = largest(series)
    {
        metrics.push(metric("log_size_bytes_max", value, "bytes", &series.source));
    }
    if let Some(record) = seen.samplers.iter().find(|record| record.name == SAMPLER) {
        let source = "counted when the engine had answered";
        metrics.push(metric("manual_checkpoints", record.samples_taken as f64, "1", source));
    }
    metrics
}

fn largest(series: &Series) -> Option<f64> {
    series.values.iter().flatten().copied().reduce(f64::max)
}

fn metric(name: &str, value: f64, unit: &str, source: &str) -> Metric {
    Metric { name: name.to_owned(), value, unit: unit.to_owned(), source: source.to_owned() }
}

#[cfg(test)]
mod tests {
    use results::observations::{SamplerRecord, SeriesKind};

    use super::*;

    #[test]
    fn the_largest_size_of_the_log_and_the_checkpoints_issued_are_figures_of_the_run() {
        let series = Series {
            name: "log_size_bytes".to_owned(),
            unit: "bytes".to_owned(),
            source: "made up".to_owned(),
            kind: SeriesKind::Gauge,
            at_ns: vec![0, 1, 2],
            values: vec![Some(3.0), None, Some(2.0)],
        };
        let record = SamplerRecord {
            name: SAMPLER.to_owned(),
            period_ns: 1,
            samples_expected: 3,
            samples_taken: 2,
            cpu_s: 0.0,
            problem: None,
        };
        let seen = Observations { series: vec![series], samplers: vec![record], ..Observations::default() };
        let found: Vec<(String, f64)> =
            metrics(&seen).into_iter().map(|metric| (metric.name, metric.value)).collect();
        assert_eq!(found, [("log_size_bytes_max".to_owned(), 3.0), ("manual_checkpoints".to_owned(), 2.0)]);
        assert!(metrics(&Observations::default()).is_empty());
    }
}
