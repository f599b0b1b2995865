//! The answer to the question of a study, for the head of a page: what was best, by how much, how sure that is, what
//! limits it now, and what was not shown. Computed from the summary, like the verdict.

use serde::Serialize;

use super::contrasts;
use crate::number::{Decimals, factor, number, p_value, percent};
use crate::safety;
use crate::summary::{
    CeilingLine, CellSummary, ExpectationOutcome, ExpectationState, InvalidRun, StudySummary, Verdict,
};

/// Configurations whose values fit one line.
const VALUES_MAX: usize = 8;

/// Expected results that are named; more are counted.
const EXPECTED_MAX: usize = 3;

/// Invalid runs that are named; more are counted.
const NAMED_MAX: usize = 4;

/// Beyond this share of a ceiling the ceiling does not hold for the run, and is not called near.
const CEILING_PERCENT_MAX: f64 = 120.0;

/// What a reader wants to know first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// Runs that do not count, and why; `None` when all gates passed. It stands before everything else.
    pub invalid: Option<String>,
    /// What the answer holds for, in one line: `PostgreSQL 15.18 · vda ext4 (virtio) · 2 CPUs · 6 runs per configuration`.
    pub context: String,
    /// The same with machine and settings.
    pub environment: String,
    /// What speaks against it, or bounds what it shows; before any value.
    pub cautions: Vec<String>,
    /// One sentence: the best configuration and by how much, or that none was shown to be better.
    pub headline: String,
    /// How sure that is; empty where the headline says all.
    pub certainty: String,
    /// The compared value of each configuration, in one line; empty where there are many.
    pub values: String,
    /// What became of the expected results, those that did not hold first.
    pub expected: Vec<String>,
    /// The top wait and the nearest ceiling of the best configuration, with their figures.
    pub limit: String,
    /// What the study did not show, and what else its comparisons came to.
    pub remarks: Vec<String>,
}

impl Answer {
    /// Computes the answer.
    pub fn of(summary: &StudySummary) -> Self {
        let reading = contrasts::reading(summary);
        let best = winner(summary).filter(|_| reading.is_none());
        let (mut headline, certainty) = match (reading, best) {
            (Some(reading), _) => (reading.headline, reading.certainty),
            (None, Some(cell)) => (headline(summary, cell), certainty(summary, cell)),
            (None, None) => (summary.verdict.first().cloned().unwrap_or_default(), String::new()),
        };
        let safety = safety::sentence(summary);
        if let Some(safety) = &safety {
            headline = format!("{headline} {safety}");
        }
        Self {
            invalid: invalid(summary),
            context: context(summary),
            environment: summary.conditions.environment.join("; "),
            cautions: summary.conditions.cautions.clone(),
            headline,
            certainty,
            values: values(summary),
            expected: expected(summary),
            limit: limit(summary, best.or_else(|| best_mean(summary))),
            remarks: summary
                .verdict
                .iter()
                .skip(1)
                .filter(|text| Some(*text) != safety.as_ref())
                .cloned()
                .collect(),
        }
    }
}

/// `p99 response time: connections=1 2.10 ms, connections=4 8.30 ms.`
fn values(summary: &StudySummary) -> String {
    let known: Vec<(&str, f64)> =
        summary.cells.iter().filter_map(|cell| Some((cell.label.as_str(), cell.estimate?.mean))).collect();
    if known.len() < 2 || known.len() > VALUES_MAX {
        return String::new();
    }
    let decimals = Decimals::for_values(known.iter().map(|(_, mean)| *mean));
    let quantity = summary.quantity;
    let of_one =
        |(label, mean): &(&str, f64)| format!("{label} {}", quantity.with_unit(&decimals.write(*mean)));
    let named: Vec<String> = known.iter().map(of_one).collect();
    format!("Mean {}: {}.", summary.quantity.words(), named.join(", "))
}

/// `Expected "p99 below 10 ms": did not hold (connections=64: 14.1).`
fn expected(summary: &StudySummary) -> Vec<String> {
    let with = |state: ExpectationState| {
        summary.expectations.iter().filter(move |outcome| outcome.state == state).collect::<Vec<_>>()
    };
    let (broken, held) = (with(ExpectationState::NotHeld), with(ExpectationState::Held));
    let of_one = |outcome: &&ExpectationOutcome| {
        format!("Expected \"{}\": {} ({}).", outcome.claim, outcome.state.words(), outcome.detail)
    };
    let mut sentences: Vec<String> = broken.iter().chain(&held).take(EXPECTED_MAX).map(of_one).collect();
    let more = (broken.len() + held.len()).saturating_sub(sentences.len());
    if more > 0 {
        let not_held = broken.len().saturating_sub(EXPECTED_MAX);
        sentences.push(format!("{more} more expected results, of which {not_held} did not hold."));
    }
    sentences
}

/// The conditions in one line, with the runs per configuration.
fn context(summary: &StudySummary) -> String {
    let counts: Vec<usize> =
        summary.cells.iter().map(|cell| cell.estimate.map_or(0, |estimate| estimate.n)).collect();
    let (low, high) = (counts.iter().min().copied().unwrap_or(0), counts.iter().max().copied().unwrap_or(0));
    let runs = if low == high { low.to_string() } else { format!("{low} to {high}") };
    let word = if high == 1 { "run" } else { "runs" };
    format!("{} · {runs} {word} per configuration", summary.conditions.context)
}

/// The best mean among those that were shown to be better than the reference.
fn winner(summary: &StudySummary) -> Option<&CellSummary> {
    let is_better =
        |cell: &&CellSummary| cell.comparison.is_some_and(|comparison| comparison.verdict == Verdict::Better);
    best_of(summary, summary.cells.iter().filter(is_better))
}

fn best_mean(summary: &StudySummary) -> Option<&CellSummary> {
    best_of(summary, summary.cells.iter())
}

fn best_of<'a>(
    summary: &StudySummary,
    cells: impl Iterator<Item = &'a CellSummary>,
) -> Option<&'a CellSummary> {
    let known = cells.filter_map(|cell| Some((cell, cell.estimate?.mean)));
    let best =
        known.reduce(|best, other| if summary.quantity.is_better(other.1, best.1) { other } else { best });
    best.map(|(cell, _)| cell)
}

fn headline(summary: &StudySummary, cell: &CellSummary) -> String {
    let reference = summary.reference_index.map(|index| &summary.cells[index]);
    let (Some(reference), Some(change), Some(estimate)) = (reference, cell.vs_reference, cell.estimate)
    else {
        return summary.verdict.first().cloned().unwrap_or_default();
    };
    let means: Vec<f64> = [cell, reference].iter().filter_map(|cell| Some(cell.estimate?.mean)).collect();
    let decimals = Decimals::for_values(means.iter().copied());
    let mean_reference = reference.estimate.map_or(f64::NAN, |estimate| estimate.mean);
    let quantity = summary.quantity;
    let per_piece = summary.quantity.per_piece();
    format!(
        "{} is {} times as fast as {}: mean {} {} against {}, {} % less time{per_piece}.",
        cell.label,
        factor(change.speed_up),
        reference.label,
        summary.quantity.words(),
        quantity.with_unit(&decimals.write(estimate.mean)),
        quantity.with_unit(&decimals.write(mean_reference)),
        percent(change.time_reduction_percent),
    )
}

fn certainty(summary: &StudySummary, cell: &CellSummary) -> String {
    let Some(comparison) = cell.comparison else { return String::new() };
    let interval = comparison.speed_up_interval.map_or_else(String::new, |interval| {
        format!("95 % interval of the factor {} to {}, ", factor(interval.low), factor(interval.high))
    });
    let count = summary.cells.iter().filter(|cell| cell.comparison.is_some()).count();
    let corrected =
        if count > 1 { format!(" after correction for {count} comparisons") } else { String::new() };
    format!(
        "{interval}{}{corrected}; n = {} and {} runs.",
        p_value(comparison.p_adjusted.unwrap_or(comparison.p_value)),
        comparison.n_candidate,
        comparison.n_reference
    )
}

fn limit(summary: &StudySummary, cell: Option<&CellSummary>) -> String {
    let Some(cell) = cell else { return String::new() };
    let reason = summary.reasons.iter().find(|reason| reason.cell_index == cell.cell_index);
    let wait = reason.map(|reason| {
        let named = match (reason.limit, reason.offered_rate.filter(|rate| rate.is_served)) {
            (Some(limit), _) => limit.words().to_owned(),
            (None, Some(_)) => "offered rate reached, no limit".to_owned(),
            (None, None) if reason.dominant_wait.is_some() => {
                "no single limit with half of the time".to_owned()
            }
            (None, None) => "not explained, no wait was recorded".to_owned(),
        };
        match (reason.dominant_wait.as_ref(), reason.dominant_percent) {
            (Some(wait), Some(share)) => {
                format!("{named}; top wait {wait} with {} % of the sessions' active time", percent(share))
            }
            _ => named,
        }
    });
    let near = |line: &&CeilingLine| line.label == cell.label && line.percent <= CEILING_PERCENT_MAX;
    let ceilings = summary.ceilings.iter().filter(near);
    let nearest = ceilings.max_by(|left, right| left.percent.total_cmp(&right.percent));
    let ceiling = nearest.map(|line| {
        format!(
            "{} device at {:.0} % of its measured maximum ({} of {} {})",
            line.role,
            line.percent,
            number(line.achieved.round()),
            number(line.possible.round()),
            line.unit
        )
    });
    match (wait, ceiling) {
        // Whoever measured an imported study may know it.
        (None, None) if summary.imported.is_some() => String::new(),
        (None, None) => {
            "Its limit is unknown: no waits were sampled, and no ceiling was measured.".to_owned()
        }
        (wait, ceiling) => {
            let parts: Vec<String> = wait.into_iter().chain(ceiling).collect();
            format!("Limit of {}: {}.", cell.label, parts.join("; "))
        }
    }
}

fn invalid(summary: &StudySummary) -> Option<String> {
    let runs = &summary.invalid_runs;
    if runs.is_empty() {
        return None;
    }
    let of_one = |run: &InvalidRun| {
        let clients = match run.clients.as_slice() {
            [] => String::new(),
            [one] => format!(", client {one}"),
            [first, rest @ ..] => format!(", client {first} and {} more", rest.len()),
        };
        let gates: Vec<&str> = run.failed_gates.iter().map(|gate| gate.gate.as_str()).collect();
        let gates = if gates.is_empty() { "no gate was stored".to_owned() } else { gates.join(", ") };
        let again = run
            .superseded_by
            .map_or_else(|| "not repeated".to_owned(), |run_id| format!("repeated as run {run_id}"));
        format!("run {} ({}{clients}: {gates}; {again})", run.run_id, run.cell)
    };
    let named: Vec<String> = runs.iter().take(NAMED_MAX).map(of_one).collect();
    let more = match runs.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let all = summary.record.runs.len();
    let verb = if runs.len() == 1 { "is invalid: kept, but" } else { "are invalid: kept, but" };
    Some(format!("{} of {all} runs {verb} excluded from means: {}{more}.", runs.len(), named.join("; ")))
}
