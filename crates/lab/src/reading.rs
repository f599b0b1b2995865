//! The record of runs that read: what the caches held, what the devices gave, and by which plan.

use results::model::{Event, GateOutcome, GateResult, Metric, Run, RunState, Warning};

use crate::cache::{self, CachedPages, Verified};
use crate::engine::Answer;
use crate::work::{CacheState, Work};

/// Metrics, marks and cautions that a run which reads adds to its record.
#[derive(Debug, Default)]
pub(crate) struct ReadingRecord {
    pub(crate) metrics: Vec<Metric>,
    pub(crate) events: Vec<Event>,
    pub(crate) warnings: Vec<Warning>,
}

/// Makes the record from the look at the caches before the run, the answers of its look-ups, and the metrics of the run
/// until now.
pub(crate) fn record(
    work: &Work,
    look: Option<&CachedPages>,
    answers: &[Answer],
    metrics: &[Metric],
) -> ReadingRecord {
    let mut record = ReadingRecord::default();
    if let Some(look) = look {
        let metric = |name: &str, value: u64, unit: &str| {
            Metric::new(name, value as f64, unit, "cachestat or mincore of the files just before the run")
        };
        record.metrics.push(metric("file_bytes", look.page_count * look.page_bytes, "bytes"));
        record.metrics.push(metric("resident_bytes", look.resident_count * look.page_bytes, "bytes"));
        let value = |name: &str| metrics.iter().find(|metric| metric.name == name).map(|metric| metric.value);
        let asked = answers
            .iter()
            .map(|answer| Some(answer.physical_reads? * answer.page_bytes))
            .sum::<Option<u64>>();
        let asked = asked.filter(|_| !answers.is_empty()).map(|bytes| bytes as f64);
        let asked = asked.or_else(|| value("task_read_bytes"));
        let state = cache::verify(look, asked, value("storage_read_bytes"));
        record.events.push(mark(Event::CACHE_STATE, state.words().to_owned()));
        if work.subject.cache == CacheState::ColdMachine {
            record.warnings.push(Warning {
                code: "machine_cache_emptied".to_owned(),
                text: "the page cache of the whole machine was given up before the run (drop_caches), not that of its files alone: whatever else ran then read from the devices, too".to_owned(),
            });
        }
        if work.subject.cache.is_cold() && state != Verified::Cold {
            record.warnings.push(Warning {
                code: "cache_not_cold".to_owned(),
                text: format!(
                    "a cold cache was requested, this one was {}: pages in memory before the run, or reads that the storage did not see",
                    state.words()
                ),
            });
        }
    }
    let asked: Option<u64> = answers.iter().map(|answer| answer.physical_reads).sum();
    if let (None, Some(asked)) = (look, asked.filter(|_| !answers.is_empty())) {
        // Whose files nobody can look at: the server's own count tells warm from lukewarm, and nothing tells cold.
        let state = if asked == 0 { Verified::Warm } else { Verified::Lukewarm };
        record.events.push(mark(Event::CACHE_STATE, state.words().to_owned()));
    }
    if let Some(first) = answers.first() {
        record.events.push(mark(Event::PLAN, first.plan.trim_end().to_owned()));
    }
    record
}

fn mark(kind: &str, text: String) -> Event {
    Event { at_ns: 0, kind: kind.to_owned(), text }
}

/// Rates and averages of what each device read in the run, in the words of the published table.
pub(crate) fn device_rates(metrics: &[Metric], elapsed_ns: u64) -> Vec<Metric> {
    let mut rates = Vec::new();
    let seconds = elapsed_ns as f64 / 1e9;
    for reads in
        metrics.iter().filter(|metric| metric.name.starts_with("device_reads.") && metric.value > 0.0)
    {
        let device = reads.name.trim_start_matches("device_reads.");
        let value = |name: &str| {
            let wanted = format!("{name}.{device}");
            metrics.iter().find(|metric| metric.name == wanted).map(|metric| metric.value)
        };
        let mut add = |name: String, value: f64, unit: &str| {
            rates.push(Metric::new(&name, value, unit, &reads.source));
        };
        if let Some(bytes) = value("device_read_bytes") {
            add(format!("device_bytes_per_read.{device}"), bytes / reads.value, "bytes");
            if seconds > 0.0 {
                add(format!("device_read_bytes_per_s.{device}"), bytes / seconds, "bytes/s");
                add(format!("device_reads_per_s.{device}"), reads.value / seconds, "1/s");
            }
        }
        if let Some(read_s) = value("device_read_s") {
            add(format!("device_s_per_read.{device}"), read_s / reads.value, "s");
        }
    }
    rates
}

/// Holds the plan of a run against that of an earlier run of the same cell: another plan is another experiment, so that
/// the run does not count.
pub(crate) fn judge_plan(run: &mut Run, earlier: Option<&str>) {
    let Some(plan) = plan_of(run).map(str::to_owned) else { return };
    let expected = "the plan is that of the earlier runs of the cell".to_owned();
    let (outcome, found) = match earlier {
        None => (GateOutcome::NotApplicable, "no earlier run of the cell counts".to_owned()),
        Some(earlier) if earlier == plan => (GateOutcome::Passed, "yes".to_owned()),
        Some(earlier) => {
            let line = earlier.lines().zip(plan.lines()).find(|(before, now)| before != now);
            let (before, now) = line.unwrap_or(("its end", "more or fewer lines"));
            (GateOutcome::Failed, format!("\"{}\" became \"{}\"", before.trim(), now.trim()))
        }
    };
    if outcome == GateOutcome::Failed {
        run.state = RunState::Invalid;
    }
    run.gates.push(GateResult { gate: "plan_unchanged".to_owned(), outcome, expected, found });
}

/// The plan that a run stored.
pub(crate) fn plan_of(run: &Run) -> Option<&str> {
    run.event(Event::PLAN)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn metric(name: &str, value: f64) -> Metric {
        Metric::new(name, value, "", "")
    }

    #[test]
    fn bytes_per_read_times_reads_per_second_are_bytes_per_second() {
        let metrics = [
            metric("device_reads.vda", 40.0),
            metric("device_read_bytes.vda", 655_360.0),
            metric("device_read_s.vda", 0.5),
        ];
        let rates = device_rates(&metrics, 2_000_000_000);
        let value = |name: &str| rates.iter().find(|metric| metric.name == name).unwrap().value;
        assert_eq!(value("device_bytes_per_read.vda"), 16384.0);
        assert_eq!(
            value("device_bytes_per_read.vda") * value("device_reads_per_s.vda"),
            value("device_read_bytes_per_s.vda")
        );
        assert_eq!(value("device_s_per_read.vda"), 0.0125);
        assert!(device_rates(&[metric("device_reads.vda", 0.0)], 1).is_empty());
    }
}
