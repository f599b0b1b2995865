//! The plans of both sides: a pair whose runs followed different plans differs in more than what was varied.

use results::model::{Cell, Event};
use results::store::StudyResults;

use super::{Changed, Part};

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

/// Whether both sides are known to have followed different plans.
pub(super) fn is_changed(baseline: &[Plan<'_>], candidate: &[Plan<'_>]) -> bool {
    let hashes = |plans: &[Plan<'_>]| plans.iter().map(|plan| plan.hash).collect::<Vec<_>>();
    !baseline.is_empty() && !candidate.is_empty() && hashes(baseline) != hashes(candidate)
}

/// Lists the pairs whose plans differ, or are known on one side alone, each with the first line in which they do.
pub(super) fn changes(
    baseline: &StudyResults,
    candidate: &StudyResults,
    matched: &[(&Cell, &Cell)],
) -> Vec<Changed> {
    let of_pair = |(left, right): &(&Cell, &Cell)| {
        let (one, other) = (plans(baseline, left), plans(candidate, right));
        let is_one_sided = one.is_empty() != other.is_empty();
        (is_changed(&one, &other) || is_one_sided).then(|| Changed {
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
