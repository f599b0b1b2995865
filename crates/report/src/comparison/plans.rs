//! The plans of both sides: a pair whose runs followed different plans differs in more than what was varied.

use results::model::{Cell, Event};
use results::store::StudyResults;

use super::changed::{Changed, Part};
use super::pair::{Pair, PlanState};

/// The metric that names a plan.
const PLAN_HASH: &str = "plan_hash";

/// A plan that counting runs of a cell followed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Plan<'a> {
    /// First 48 bits of the SHA-256 of the text.
    hash: u64,
    /// Without figures; empty when the run did not keep it.
    text: &'a str,
}

/// The distinct plans of a cell's counting runs, by their hashes; empty when the runs kept none.
pub(super) fn plans<'a>(results: &'a StudyResults, cell: &Cell) -> Vec<Plan<'a>> {
    let of_cell = |run_cell: u32| run_cell == cell.index;
    let counting = results.runs.iter().filter(|stored| stored.counts() && of_cell(stored.run.key.cell_index));
    let mut plans: Vec<Plan<'a>> = counting
        .filter_map(|stored| {
            let hash = stored.run.metrics.iter().find(|metric| metric.name == PLAN_HASH)?.value;
            Some(Plan { hash: hash as u64, text: stored.run.event(Event::PLAN).unwrap_or_default() })
        })
        .collect();
    plans.sort_by_key(|plan| plan.hash);
    plans.dedup_by_key(|plan| plan.hash);
    plans
}

/// What the plans of both sides say of the pair.
pub(super) fn state(baseline: &[Plan<'_>], candidate: &[Plan<'_>]) -> PlanState {
    let hashes = |plans: &[Plan<'_>]| plans.iter().map(|plan| plan.hash).collect::<Vec<_>>();
    match (baseline.is_empty(), candidate.is_empty()) {
        (true, true) => PlanState::NotRecorded,
        (false, false) if hashes(baseline) == hashes(candidate) => PlanState::Unchanged,
        (false, false) => PlanState::Changed,
        _ => PlanState::OneSided,
    }
}

/// The plans of all pairs in one sentence.
pub(super) fn sentence(pairs: &[Pair]) -> String {
    let parts: Vec<String> = [
        (PlanState::Changed, "changed"),
        (PlanState::OneSided, "recorded on one side only"),
        (PlanState::Unchanged, "unchanged"),
        (PlanState::NotRecorded, "not recorded"),
    ]
    .into_iter()
    .filter_map(|(state, words)| {
        let count = pairs.iter().filter(|pair| pair.plan == state).count();
        (count > 0).then(|| format!("{words} at {count} of {} pairs", pairs.len()))
    })
    .collect();
    let none = pairs.iter().all(|pair| pair.plan == PlanState::NotRecorded);
    let why = if none { "; runs that only write have no plan" } else { "" };
    format!("Query plans: {}{why}.", parts.join(", "))
}

/// Lists the pairs whose plans differ, or are known on one side alone, each with the first line in which they do.
pub(super) fn changes(
    baseline: &StudyResults,
    candidate: &StudyResults,
    matched: &[(&Cell, &Cell)],
) -> Vec<Changed> {
    let of_pair = |(left, right): &(&Cell, &Cell)| {
        let (one, other) = (plans(baseline, left), plans(candidate, right));
        let is_told = matches!(state(&one, &other), PlanState::Changed | PlanState::OneSided);
        is_told.then(|| Changed {
            part: Part::Plan,
            name: right.label(),
            baseline: written(&one, &other),
            candidate: written(&other, &one),
        })
    };
    matched.iter().filter_map(of_pair).collect()
}

/// Each plan by its hash and the first line that the other side's does not have in its place.
fn written(plans: &[Plan<'_>], others: &[Plan<'_>]) -> Option<String> {
    let beside = others.first().map_or("", |plan| plan.text);
    let one = |plan: &Plan<'_>| {
        let mut lines = plan.text.lines().zip(beside.lines().map(Some).chain(std::iter::repeat(None)));
        let differing = lines.find(|(line, other)| Some(*line) != *other).map(|(line, _)| line.trim());
        match differing {
            Some(line) => format!("{line} (plan {:012x})", plan.hash),
            None => format!("plan {:012x}", plan.hash),
        }
    };
    (!plans.is_empty()).then(|| plans.iter().map(one).collect::<Vec<_>>().join("; "))
}
