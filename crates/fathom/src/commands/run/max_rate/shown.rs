//! A search as text and as JSON.

use std::fmt::Write;

use serde_json::{Value, json};
use stats::rate_search::End;

use super::objective::Objective;
use super::outcome::{Outcome, Start};
use super::probe::Probe;

/// One rate as a line: `500/s: 3 of 3 runs hold; p99<10ms: 4.1, 4.3, 3.9 ms`.
pub(super) fn line(probe: &Probe, objectives: &[Objective]) -> String {
    let mut text =
        format!("{}/s: {} of {} runs hold", rate(probe.rate_per_s), probe.held(), probe.runs.len());
    for (index, objective) in objectives.iter().enumerate() {
        let values: Vec<String> = probe.runs.iter().map(|run| value(run.values[index])).collect();
        // Writing to a String cannot fail.
        let _ = write!(text, "; {objective}: {} {}", values.join(", "), objective.unit());
    }
    let failure = probe.runs.iter().find_map(|run| run.failure.as_deref());
    // What is more than the value of an objective.
    if let Some(failure) =
        failure.filter(|failure| !objectives.iter().any(|one| failure.starts_with(&one.to_string())))
    {
        let _ = write!(text, " ({failure})");
    }
    text
}

/// The result in one sentence.
pub(super) fn sentence(outcome: &Outcome, objectives: &[Objective]) -> String {
    let objectives = words(objectives);
    let found = &outcome.found;
    match (found.highest_holding_per_s, found.lowest_failing_per_s) {
        (Some(holds), Some(_)) => format!("highest rate with {objectives}: {} transactions/s", rate(holds)),
        (Some(holds), None) => {
            format!("{objectives} holds at every rate that was tried, up to {} transactions/s", rate(holds))
        }
        (None, Some(fails)) => {
            format!("{objectives} holds at no rate that was tried, down to {} transactions/s", rate(fails))
        }
        (None, None) => format!("no rate was tried for {objectives}"),
    }
}

/// The whole result for people.
pub(super) fn text(outcome: &Outcome, objectives: &[Objective]) -> String {
    let mut text = String::new();
    let mut add = |line: String| {
        text.push_str(&line);
        text.push('\n');
    };
    add(sentence(outcome, objectives));
    if let Some(fails) = outcome.found.lowest_failing_per_s {
        add(format!("lowest rate of which a run fails: {} transactions/s", rate(fails)));
    }
    if let (Some(threshold), Some(interval)) = (outcome.found.threshold_per_s, outcome.found.interval_per_s) {
        add(format!(
            "rate at which half of the runs would hold: {} transactions/s, 95 % interval {} to {}",
            rate(threshold),
            rate(interval.low),
            rate(interval.high)
        ));
    }
    add(format!("the search ended: {}", ending(outcome)));
    add(String::new());
    match outcome.start {
        Start::Capacity(capacity, study) => {
            add(format!("closed loop: {} transactions/s (study {})", rate(capacity), study.0));
        }
        Start::Rate(start) => add(format!("first rate, from the spec: {} transactions/s", rate(start))),
    }
    let mut probes: Vec<&Probe> = outcome.probes.iter().collect();
    probes.sort_by(|left, right| left.rate_per_s.total_cmp(&right.rate_per_s));
    for probe in probes {
        add(format!("{} (study {})", line(probe, objectives), probe.study.0));
    }
    add("\nthe rates are studies of their own: `fathom report STUDY` prints one".to_owned());
    text
}

/// The whole result for programs. A value that is not finite (transactions were lost) is null.
pub(super) fn json(outcome: &Outcome, objectives: &[Objective]) -> Value {
    let texts: Vec<String> = objectives.iter().map(ToString::to_string).collect();
    let (capacity, study) = match outcome.start {
        Start::Capacity(capacity, study) => (Some(capacity), Some(study.0)),
        Start::Rate(_) => (None, None),
    };
    let probe = |probe: &Probe| {
        let runs: Vec<Value> = probe
            .runs
            .iter()
            .map(|run| {
                json!({
                    "run_id": run.run_id,
                    "holds": run.failure.is_none(),
                    "values": run.values,
                    "failure": run.failure,
                })
            })
            .collect();
        json!({
            "rate_per_s": probe.rate_per_s,
            "study": probe.study.0,
            "holds": probe.tried().holds(),
            "runs": runs,
        })
    };
    json!({
        "objectives": texts,
        "units": objectives.iter().map(Objective::unit).collect::<Vec<_>>(),
        "repeats": outcome.search.repeats,
        "precision_percent": outcome.search.precision * 100.0,
        "closed_loop_per_s": capacity,
        "closed_loop_study": study,
        "rates": outcome.probes.iter().map(probe).collect::<Vec<_>>(),
        "ended": ending(outcome),
        "highest_holding_per_s": outcome.found.highest_holding_per_s,
        "lowest_failing_per_s": outcome.found.lowest_failing_per_s,
        "threshold_per_s": outcome.found.threshold_per_s,
        "threshold_low_per_s": outcome.found.interval_per_s.map(|interval| interval.low),
        "threshold_high_per_s": outcome.found.interval_per_s.map(|interval| interval.high),
        "confidence": outcome.found.interval_per_s.map(|interval| interval.confidence),
    })
}

fn ending(outcome: &Outcome) -> String {
    match outcome.end {
        End::Precise => format!("the two rates are within {:.3} %", outcome.search.precision * 100.0)
            .replace(".000 %", " %"),
        End::RatesUsedUp => format!("{} rates were tried (--rates-max)", outcome.probes.len()),
        End::HoldsEverywhere => "no rate that may be tried fails; the objective may be too lax".to_owned(),
        End::FailsEverywhere => "no rate that may be tried holds; the objective may be too strict".to_owned(),
    }
}

fn words(objectives: &[Objective]) -> String {
    objectives.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ")
}

/// A rate with three digits at least.
fn rate(rate: f64) -> String {
    match rate {
        rate if rate >= 100.0 => results::wording::thousands(rate.round() as u64),
        rate if rate >= 10.0 => format!("{rate:.1}"),
        rate if rate >= 1.0 => format!("{rate:.2}"),
        rate => format!("{rate:.3}"),
    }
}

fn value(value: f64) -> String {
    match value {
        // So many transactions were not started that they hold this quantile.
        value if !value.is_finite() => "inf".to_owned(),
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.3}"),
    }
}
