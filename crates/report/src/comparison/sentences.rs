//! The outcome of a comparison in a few sentences: regressions first, then what became better, then what was not shown.

use super::{ComparisonSummary, OtherWork, Pair, Part, PlanState};
use crate::number::{p_value, percent};
use crate::safety;
use crate::summary::{Verdict, runs_needed};

/// Most configurations that a sentence names; more are counted.
const NAMES_MAX: usize = 4;

pub(super) fn sentences(summary: &ComparisonSummary) -> Vec<String> {
    let mut sentences = Vec::new();
    if summary.pairs.is_empty() {
        sentences.push(
            "No configuration of one side matches one of the other, so nothing is compared.".to_owned(),
        );
        return sentences;
    }
    if !summary.other_work.is_empty() {
        let work: Vec<String> = summary.other_work.iter().map(OtherWork::words).collect();
        sentences.push(format!("No verdict: the sides do different work: {}.", work.join("; ")));
        return sentences;
    }
    let with = |verdict: Verdict| -> Vec<&Pair> {
        summary.pairs.iter().filter(|pair| pair.verdict == Some(verdict)).collect()
    };
    let (worse, better) = (with(Verdict::Worse), with(Verdict::Better));
    let (regressions, small): (Vec<&Pair>, Vec<&Pair>) =
        worse.iter().copied().partition(|pair| pair.is_regression);
    let threshold = percent(summary.threshold_percent);
    if !regressions.is_empty() {
        sentences.push(format!(
            "Regression: {} is worse by more than {threshold} % at {}.",
            summary.measure.name,
            named(&regressions, summary)
        ));
    }
    if !small.is_empty() {
        sentences.push(format!("Worse, but by no more than {threshold} %: {}.", named(&small, summary)));
    }
    if !better.is_empty() {
        sentences.push(format!("Better: {}.", named(&better, summary)));
    }
    sentences.extend(safety(summary, !better.is_empty(), !worse.is_empty()));
    let same = with(Verdict::NoDifferenceShown).len();
    if same > 0 {
        let of = format!("{same} of {} pairs", summary.pairs.len());
        sentences.push(format!("No difference shown at {of}; this is not proof of equality."));
    }
    let few = with(Verdict::TooFewRuns).len();
    if few > 0 {
        let needed = match runs_needed(summary.pairs.len()) {
            Some(n) => format!("at least {n} counting runs on each side"),
            None => "more than a dozen counting runs on each side".to_owned(),
        };
        sentences.push(format!(
            "Too few runs at {few} of {} pairs: {needed} could show one.",
            summary.pairs.len()
        ));
    }
    sentences.extend(replanned(summary));
    let is_silent = |pair: &&Pair| pair.verdict.is_none() && !pair.is_invalid;
    let not_compared = summary.pairs.iter().filter(is_silent).count();
    if not_compared > 0 {
        sentences.push(format!("Not compared: {not_compared} of {} pairs.", summary.pairs.len()));
    }
    sentences
}

/// What the faster side gives up.
pub(super) fn safety(summary: &ComparisonSummary, is_better: bool, is_worse: bool) -> Option<String> {
    let parameters = summary.changes.iter().filter(|change| change.part == Part::Parameter);
    let risks = parameters.filter_map(|change| {
        let (baseline, candidate) = (change.baseline.as_ref()?, change.candidate.as_ref()?);
        let of_candidate = is_better.then(|| safety::of_change(&change.name, candidate, baseline)).flatten();
        of_candidate
            .or_else(|| is_worse.then(|| safety::of_change(&change.name, baseline, candidate)).flatten())
    });
    let risks: Vec<String> = risks.collect();
    (!risks.is_empty()).then(|| format!("Note: {}.", risks.join("; ")))
}

/// Plans that changed, and what that means for the verdict.
fn replanned(summary: &ComparisonSummary) -> Vec<String> {
    let changed = |is_invalid: bool| {
        let all = summary.pairs.iter();
        let of_kind = all.filter(|pair| pair.plan == PlanState::Changed && pair.is_invalid == is_invalid);
        of_kind.map(|pair| pair.candidate_label.as_str()).collect::<Vec<_>>()
    };
    let (invalid, other) = (changed(true), changed(false));
    let of = |labels: &[&str]| {
        format!("at {} of {} pairs ({})", labels.len(), summary.pairs.len(), at_most_some(labels))
    };
    let mut sentences = Vec::new();
    if !invalid.is_empty() {
        sentences.push(format!("Plan changed {}: the comparison is invalid.", of(&invalid)));
    }
    if !other.is_empty() {
        sentences.push(format!(
            "The configurations differ and so do their plans {}: the difference may come from the plan alone.",
            of(&other)
        ));
    }
    sentences
}

/// `connections=4 (+12.3 % [+8.0, +16.9], p = 0.012), ...`.
fn named(pairs: &[&Pair], summary: &ComparisonSummary) -> String {
    let one = |pair: &&Pair| {
        let signed = |value: f64| if value >= 0.0 { format!("+{}", percent(value)) } else { percent(value) };
        let interval = pair.difference_percent_interval.map_or_else(String::new, |interval| {
            format!(" [{}, {}]", signed(interval.low), signed(interval.high))
        });
        let label = if pair.baseline_label == pair.candidate_label || summary.pairs.len() > 1 {
            pair.candidate_label.clone()
        } else {
            format!("{} against {}", pair.candidate_label, pair.baseline_label)
        };
        let p = pair.p_adjusted.or(pair.p_value).map_or_else(String::new, |p| format!(", {}", p_value(p)));
        format!("{label} ({} %{interval}{p})", pair.difference_percent.map_or_else(|| "-".to_owned(), signed))
    };
    at_most_some(&pairs.iter().map(one).collect::<Vec<_>>())
}

fn at_most_some<S: AsRef<str>>(all: &[S]) -> String {
    let named: Vec<&str> = all.iter().take(NAMES_MAX).map(AsRef::as_ref).collect();
    match all.len().saturating_sub(NAMES_MAX) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}
