//! Which configurations answer to each other, and what their runs say.

use std::collections::BTreeMap;

use results::measure::Measure;
use results::model::{Cell, Run, RunState, StoredRun};
use results::store::StudyResults;
use stats::compare::{BlockedValue, Comparison, Direction, compare};
use stats::design::contrasts::Pair as Groups;
use stats::family::{Judged, judge, judge_apart};
use stats::summary::Interval;

use super::pair::{Pair, PlanState, WaitShare};
use super::plans::{self, plans};
use super::side::{Side, level};
use crate::summary::{ALPHA, Estimate, Range, Verdict};
use crate::waits;

/// Group of sessions whose waits stand side by side.
const CLIENTS: &str = "clients";

/// Time of the sessions that no wait accounts for.
const NO_WAIT: &str = "no wait";

/// Shares below this on both sides are not listed.
const SHARE_MIN_PERCENT: f64 = 1.0;

/// Pairs the cells of two studies.
///
/// Two cells answer to each other when they agree in every factor of either study that both of them know; with one
/// cell on each side, these two. A cell is paired once, the first that fits.
pub(super) fn matched<'a>(
    baseline: &'a StudyResults,
    candidate: &'a StudyResults,
) -> Vec<(&'a Cell, &'a Cell)> {
    if let ([left], [right]) = (baseline.cells.as_slice(), candidate.cells.as_slice()) {
        return vec![(left, right)];
    }
    let factors = baseline.study.factors.iter().chain(&candidate.study.factors);
    let names: Vec<&str> = factors.map(|factor| factor.name.as_str()).collect();
    let agree = |left: &Cell, right: &Cell| {
        names.iter().all(|name| match (level(baseline, left, name), level(candidate, right, name)) {
            (Some(one), Some(other)) => one.to_string() == other.to_string(),
            _ => true,
        })
    };
    let mut pairs: Vec<(&Cell, &Cell)> = Vec::new();
    for left in &baseline.cells {
        let is_free = |right: &&Cell| !pairs.iter().any(|(_, taken)| taken.index == right.index);
        if let Some(right) = candidate.cells.iter().filter(is_free).find(|right| agree(left, right)) {
            pairs.push((left, right));
        }
    }
    pairs
}

/// A run whose gates failed and whose place nothing took.
pub(super) fn is_left_invalid(stored: &StoredRun) -> bool {
    stored.run.state == RunState::Invalid && stored.superseded_by.is_none()
}

/// The runs of one cell that take part, with their values.
struct Group<'a> {
    runs: Vec<&'a Run>,
    values: Vec<BlockedValue>,
}

impl<'a> Group<'a> {
    fn of(results: &'a StudyResults, cell: &Cell, measure: &Measure) -> Self {
        let of_cell = results.runs.iter().filter(|stored| stored.run.key.cell_index == cell.index);
        let runs: Vec<&Run> = of_cell.filter(|stored| stored.counts()).map(|stored| &stored.run).collect();
        let value =
            |run: &&Run| Some(BlockedValue { block: run.key.block_index, value: measure.value(run)? });
        let values = runs.iter().filter_map(value).collect();
        Self { runs, values }
    }

    fn plain(&self) -> Vec<f64> {
        self.values.iter().map(|value| value.value).collect()
    }

    fn estimate(&self) -> Option<Estimate> {
        Estimate::of_positive(&self.plain())
    }

    /// Absent without runs, or when a value has no logarithm.
    fn geometric_mean(&self) -> Option<f64> {
        let n = self.values.len() as f64;
        let sum: f64 = self.values.iter().map(|value| value.value.ln()).sum();
        Some((sum / n).exp()).filter(|mean| mean.is_finite() && *mean > 0.0)
    }

    /// Why nothing can be compared; `None` when there is something.
    fn why_not(&self, side: &str, measure: &Measure) -> Option<String> {
        if self.runs.is_empty() {
            return Some(format!("no run of the {side} counts"));
        }
        if self.values.is_empty() {
            return Some(format!("no run of the {side} measured {}", measure.name));
        }
        let zero = self.values.iter().find(|value| value.value <= 0.0 || !value.value.is_finite());
        zero.map(|value| {
            format!("a run of the {side} has {} {}, of which no ratio exists", measure.name, value.value)
        })
    }
}

/// The measure over the counting runs of a cell, and the geometric mean of these.
pub(super) fn group_estimate(
    results: &StudyResults,
    cell: &Cell,
    measure: &Measure,
) -> (Option<Estimate>, Option<f64>) {
    let group = Group::of(results, cell, measure);
    (group.estimate(), group.geometric_mean())
}

/// One candidate with the cells that answer to those of the baseline.
pub(super) struct Matched<'a> {
    /// The candidate.
    pub candidate: &'a Side,
    /// Cells of the baseline and of the candidate.
    pub cells: Vec<(&'a Cell, &'a Cell)>,
    /// Is it a part of the study that the baseline is a part of?
    pub is_within_study: bool,
}

/// A comparison that waits to be decided with all others: the candidate's number, the pair's, its two groups.
struct Open {
    place: (usize, usize),
    groups: Groups,
}

/// Judges every pair of every candidate, all of them as one family; the result has one list per candidate.
pub(super) fn judged(
    baseline: &Side,
    candidates: &[Matched<'_>],
    measure: &Measure,
    threshold_percent: f64,
) -> Vec<Vec<Pair>> {
    let mut values: Vec<Vec<BlockedValue>> = Vec::new();
    let mut of_baseline: BTreeMap<u32, usize> = BTreeMap::new();
    let mut open: Vec<Open> = Vec::new();
    let mut all: Vec<Vec<Pair>> = Vec::new();
    for (number, matched) in candidates.iter().enumerate() {
        let mut pairs = Vec::new();
        for (index, (left, right)) in matched.cells.iter().enumerate() {
            let one = Group::of(&baseline.results, left, measure);
            let other = Group::of(&matched.candidate.results, right, measure);
            let mut pair = described(baseline, matched.candidate, (left, right), (&one, &other));
            pair.why_not = one.why_not("baseline", measure).or_else(|| other.why_not("candidate", measure));
            if pair.why_not.is_none() {
                let reference = *of_baseline.entry(left.index).or_insert_with(|| {
                    values.push(one.values.clone());
                    values.len() - 1
                });
                values.push(other.values);
                let groups = Groups { reference, candidate: values.len() - 1 };
                match pair.is_invalid {
                    true => {
                        pair.why_not = Some("the plans differ: no verdict".to_owned());
                        put_ratio(&mut pair, &values, groups, measure);
                    }
                    false => open.push(Open { place: (number, index), groups }),
                }
            }
            pairs.push(pair);
        }
        all.push(pairs);
    }
    let groups: Vec<_> = open.iter().map(|open| open.groups).collect();
    let seed = baseline.results.study.seed;
    let is_within_study = candidates.iter().all(|matched| matched.is_within_study);
    let judged = decided(&values, &groups, is_within_study, measure, seed);
    for (Open { place: (number, index), .. }, judged) in open.into_iter().zip(judged) {
        put_judged(&mut all[number][index], &judged, measure, threshold_percent);
    }
    all
}

/// Labels are dealt within blocks where all sides are parts of one study; runs of two studies share no block.
fn decided(
    values: &[Vec<BlockedValue>],
    groups: &[Groups],
    is_within_study: bool,
    measure: &Measure,
    seed: u64,
) -> Vec<Judged> {
    let direction = direction(measure);
    let judged = if is_within_study {
        judge(values, groups, direction, ALPHA, seed)
    } else {
        let plain: Vec<Vec<f64>> =
            values.iter().map(|values| values.iter().map(|value| value.value).collect()).collect();
        judge_apart(&plain, groups, direction, ALPHA, seed)
    };
    // Values without a ratio were sorted out before.
    judged.unwrap_or_default()
}

/// The pair with everything that needs no test.
fn described(
    baseline: &Side,
    candidate: &Side,
    (left, right): (&Cell, &Cell),
    (one, other): (&Group<'_>, &Group<'_>),
) -> Pair {
    let mut pair = pair_of(left, right, one, other);
    pair.plan = plans::state(&plans(&baseline.results, left), &plans(&candidate.results, right));
    // Configurations that differ may have plans of their own; one configuration with two is two experiments.
    pair.is_invalid = pair.plan == PlanState::Changed && pair.baseline_label == pair.candidate_label;
    let of_candidate =
        candidate.results.runs.iter().filter(|stored| stored.run.key.cell_index == right.index);
    pair.candidate_invalid = of_candidate.filter(|stored| is_left_invalid(stored)).count();
    pair
}

/// Difference and interval of a pair that gets no verdict.
fn put_ratio(pair: &mut Pair, values: &[Vec<BlockedValue>], groups: Groups, measure: &Measure) {
    let plain = |group: usize| values[group].iter().map(|value| value.value).collect::<Vec<f64>>();
    let (reference, candidate) = (plain(groups.reference), plain(groups.candidate));
    if let Ok(comparison) = compare(&reference, &candidate, direction(measure), 0) {
        put_difference(pair, &comparison, comparison.ratio_interval);
    }
}

fn put_judged(pair: &mut Pair, judged: &Judged, measure: &Measure, threshold_percent: f64) {
    let Judged { comparison, decision } = judged;
    put_difference(pair, comparison, decision.ratio_interval);
    pair.p_value = Some(comparison.p_value);
    pair.p_adjusted = decision.p_adjusted;
    pair.verdict = Some(decision.verdict.into());
    let worse_by = pair.difference_percent.map(|by| if measure.is_smaller_better { by } else { -by });
    pair.is_regression =
        pair.verdict == Some(Verdict::Worse) && worse_by.is_some_and(|by| by > threshold_percent);
}

/// Which way the measure improves.
pub(crate) fn direction(measure: &Measure) -> Direction {
    if measure.is_smaller_better { Direction::SmallerIsBetter } else { Direction::LargerIsBetter }
}

/// Takes the verdict off a pair whose sides do different work; the difference stays.
pub(super) fn unjudge(pair: &mut Pair) {
    (pair.verdict, pair.p_value, pair.p_adjusted, pair.is_regression) = (None, None, None, false);
    pair.why_not.get_or_insert_with(|| "the sides do different work: no verdict".to_owned());
}

fn put_difference(pair: &mut Pair, comparison: &Comparison, interval: Option<Interval>) {
    let percent = |ratio: f64| 100.0 * (ratio - 1.0);
    pair.difference_percent = comparison.ratio.map(percent);
    pair.difference_percent_interval =
        interval.map(|interval| Range { low: percent(interval.low), high: percent(interval.high) });
}

fn pair_of(left: &Cell, right: &Cell, one: &Group<'_>, other: &Group<'_>) -> Pair {
    Pair {
        baseline_label: left.label(),
        candidate_label: right.label(),
        baseline: one.estimate(),
        candidate: other.estimate(),
        baseline_geometric_mean: one.geometric_mean(),
        candidate_geometric_mean: other.geometric_mean(),
        difference_percent: None,
        difference_percent_interval: None,
        p_value: None,
        p_adjusted: None,
        verdict: None,
        why_not: None,
        is_regression: false,
        plan: PlanState::NotRecorded,
        is_invalid: false,
        candidate_invalid: 0,
        waits: wait_shares(&one.runs, &other.runs),
    }
}

/// Shares of the clients' session time, the largest change first.
fn wait_shares(baseline: &[&Run], candidate: &[&Run]) -> Vec<WaitShare> {
    let sides = [baseline, candidate].map(shares);
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in sides.iter().flatten().flatten() {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let percent = |side: &Option<Vec<(String, f64)>>, name: &str| {
        let known = side.as_ref()?;
        Some(known.iter().find(|(known, _)| known == name).map_or(0.0, |(_, percent)| *percent))
    };
    let share = |name: &&str| WaitShare {
        wait_type: (*name).to_owned(),
        baseline_percent: percent(&sides[0], name),
        candidate_percent: percent(&sides[1], name),
    };
    let mut shares: Vec<WaitShare> = names.iter().map(share).collect();
    let sizes =
        |share: &WaitShare| [share.baseline_percent, share.candidate_percent].map(|size| size.unwrap_or(0.0));
    shares.retain(|share| sizes(share).iter().any(|size| *size >= SHARE_MIN_PERCENT));
    let change = |share: &WaitShare| (sizes(share)[1] - sizes(share)[0]).abs();
    shares.sort_by(|left, right| change(right).total_cmp(&change(left)));
    shares
}

/// Percent of the clients' session time by wait type, idle classes and the rest; `None` when nothing was seen.
fn shares(runs: &[&Run]) -> Option<Vec<(String, f64)>> {
    let tables = waits::table(runs);
    let clients = tables.iter().find(|table| table.group == CLIENTS)?;
    let whole = clients.time.session_s;
    if whole <= 0.0 {
        return None;
    }
    let percent = |seconds: f64| 100.0 * seconds / whole;
    let mut shares: Vec<(String, f64)> =
        clients.rows.iter().map(|row| (row.wait_type.clone(), percent(row.wait_s))).collect();
    shares.extend(clients.rest.iter().map(|row| ("other waits".to_owned(), percent(row.wait_s))));
    shares
        .extend(clients.time.idle_by_class.iter().map(|(class, s)| (format!("{class} (idle)"), percent(*s))));
    shares.push((NO_WAIT.to_owned(), percent(clients.time.no_wait_s)));
    Some(shares)
}
