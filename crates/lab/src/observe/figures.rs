//! Numbers of a run that follow from what its samplers saw, so that they can be averaged, compared and claimed.

use results::model::{Event, Metric};
use results::observations::{Observations, Series};

use super::manual_checkpoint::{MANUAL_CHECKPOINT, SAMPLER, took_ns};
use super::series::PERIOD;

/// Largest values and counts, under names of docs/lab/metrics.md. `marks` are those of the run, which ended at `ended_ns`.
pub(crate) fn metrics(seen: &Observations, marks: &[Event], ended_ns: u64) -> Vec<Metric> {
    let mut metrics = Vec::new();
    if let Some(series) = seen.series.iter().find(|series| series.name == "log_size_bytes")
        && let Some(value) = largest(series)
    {
        metrics.push(Metric::new("log_size_bytes_max", value, "bytes", &series.source));
    }
    if let Some(record) = seen.samplers.iter().find(|record| record.name == SAMPLER) {
        let source = "counted when the engine had answered";
        metrics.push(Metric::new("manual_checkpoints", record.samples_taken as f64, "1", source));
        let asked = marks.iter().filter(|mark| mark.kind == MANUAL_CHECKPOINT);
        let refused = asked.filter(|mark| took_ns(mark).is_none()).count();
        metrics.push(Metric::new("manual_checkpoints_refused", refused as f64, "1", source));
        let unseen = unseen(marks, ended_ns);
        metrics.push(Metric::new(
            "manual_checkpoints_unseen",
            unseen as f64,
            "1",
            "marks on the run's clock",
        ));
    }
    metrics
}

/// Checkpoints that the engine said to have done, and that left no mark from one sample before they were asked for to
/// one after the answer. Those of the last moment are not judged: what they leave lies beyond the last sample.
fn unseen(marks: &[Event], ended_ns: u64) -> usize {
    let sample_ns = PERIOD.as_nanos() as i64;
    let is_checkpoint = |mark: &&Event| mark.kind == "checkpoint_start" || mark.kind == "checkpoint_end";
    let is_unseen = |asked: &&Event| {
        let Some(took_ns) = took_ns(asked).filter(|_| asked.kind == MANUAL_CHECKPOINT) else { return false };
        let around = asked.at_ns - sample_ns..=asked.at_ns + took_ns + sample_ns;
        let is_judged = *around.end() <= ended_ns as i64;
        is_judged && !marks.iter().filter(is_checkpoint).any(|mark| around.contains(&mark.at_ns))
    };
    marks.iter().filter(is_unseen).count()
}

fn largest(series: &Series) -> Option<f64> {
    series.values.iter().flatten().copied().reduce(f64::max)
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
            metrics(&seen, &[], 1).into_iter().map(|metric| (metric.name, metric.value)).collect();
        let wanted = [
            ("log_size_bytes_max", 3.0),
            ("manual_checkpoints", 2.0),
            ("manual_checkpoints_refused", 0.0),
            ("manual_checkpoints_unseen", 0.0),
        ];
        assert_eq!(found, wanted.map(|(name, value)| (name.to_owned(), value)));
        assert!(metrics(&Observations::default(), &[], 1).is_empty());
    }

    #[test]
    fn a_checkpoint_is_seen_when_a_mark_lies_within_one_sample_of_it() {
        let mark = |at_ms: i64, kind: &str, text: &str| Event {
            at_ns: at_ms * 1_000_000,
            kind: kind.to_owned(),
            text: text.to_owned(),
        };
        let asked = |at_ms| mark(at_ms, MANUAL_CHECKPOINT, "took 0.500 s");
        let marks = [
            asked(1000),
            mark(2400, "checkpoint_start", ""),
            asked(4000),
            mark(5600, "checkpoint_end", ""),
            mark(6000, MANUAL_CHECKPOINT, "could not be had: no"),
            asked(9000),
        ];
        assert_eq!(unseen(&marks, 10_000_000_000), 1, "that of 4 s; that of 9 s is too late to be judged");
    }
}
