//! One configuration in numbers: what its counting runs say, and how it compares with the reference.

use results::model::{Cell, Factor, Run};
use results::store::StudyResults;
use serde::Serialize;
use stats::change::Gain;
use stats::compare::BlockedValue;
use stats::design::reach::{Design, blocks_needed};
use stats::summary::{Interval, Summary};

use crate::quantity::Quantity;
use crate::summary::Levels;

/// Level of the family of comparisons: the chance of one false "better" or "worse" among all of them.
pub const ALPHA: f64 = 0.05;

/// A range, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Range {
    /// The lower end.
    pub low: f64,
    /// The upper end; never below `low`.
    pub high: f64,
}

impl From<Interval> for Range {
    fn from(interval: Interval) -> Self {
        Self { low: interval.low, high: interval.high }
    }
}

/// What a group of runs says about one quantity; every field but `n` in the unit of the quantity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Number of runs; at least 1.
    pub n: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub median: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Sample standard deviation; absent below two runs.
    pub sd: Option<f64>,
    /// Student-t interval of the mean; absent below two runs.
    pub interval: Option<Range>,
}

impl Estimate {
    /// Summarises values; `None` when there are none, or one is not finite.
    pub fn of(values: &[f64]) -> Option<Self> {
        let summary = Summary::of(values).ok()?;
        Some(Self {
            n: summary.n,
            mean: summary.mean,
            median: summary.median,
            min: summary.min,
            max: summary.max,
            sd: summary.sd,
            interval: summary.interval.map(Range::from),
        })
    }

    /// As [`Estimate::of`], of times or rates, which are never below zero: an interval of a noisy mean ends there, and
    /// covers no less often for it. What a user measured may be below zero, and keeps its interval then.
    pub fn of_positive(values: &[f64]) -> Option<Self> {
        let mut estimate = Self::of(values)?;
        if estimate.min >= 0.0 {
            estimate.interval = estimate.interval.map(|range| Range { low: range.low.max(0.0), ..range });
        }
        Some(estimate)
    }
}

/// How much less time the runs of one cell took than those of another, by their geometric means: the ratio that the
/// interval and the test are about.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Change {
    /// `100 * (1 - t / t_ref)`; negative when it took longer.
    pub time_reduction_percent: f64,
    /// `t_ref / t`.
    pub speed_up: f64,
}

impl Change {
    /// What one mean is against another; `None` without both, or when one is not above zero.
    pub(super) fn of(mean: Option<f64>, mean_reference: Option<f64>, quantity: Quantity) -> Option<Self> {
        let gain = Gain::of(quantity.cost_of(mean?), quantity.cost_of(mean_reference?))?;
        Some(Self { time_reduction_percent: gain.time_reduction_percent, speed_up: gain.speed_up })
    }
}

/// What a comparison amounts to, once corrected for all that were made with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Better than the reference.
    Better,
    /// Worse than the reference.
    Worse,
    /// Runs enough to show a large difference, and none was shown.
    NoDifferenceShown,
    /// No outcome of these few runs could have shown a difference.
    TooFewRuns,
}

impl Verdict {
    /// The verdict in words, as tables print it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Better => stats::verdict::Verdict::Better.words(),
            Self::Worse => stats::verdict::Verdict::Worse.words(),
            Self::NoDifferenceShown => stats::verdict::Verdict::NoDifferenceShown.words(),
            Self::TooFewRuns => stats::verdict::Verdict::TooFewRuns.words(),
        }
    }
}

impl From<stats::verdict::Verdict> for Verdict {
    fn from(verdict: stats::verdict::Verdict) -> Self {
        match verdict {
            stats::verdict::Verdict::Better => Self::Better,
            stats::verdict::Verdict::Worse => Self::Worse,
            stats::verdict::Verdict::NoDifferenceShown => Self::NoDifferenceShown,
            stats::verdict::Verdict::TooFewRuns => Self::TooFewRuns,
        }
    }
}

/// A cell against the reference.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Runs of the reference that were used.
    pub n_reference: usize,
    /// Runs of this cell that were used.
    pub n_candidate: usize,
    /// How many times as fast: the ratio of geometric means of the time (or of the time per row), reference over cell.
    pub speed_up: Option<f64>,
    /// Interval of `speed_up`, corrected for all comparisons of the study: it leaves 1 out where the verdict is
    /// better or worse, and holds it where no difference is shown. Absent below two runs on a side.
    pub speed_up_interval: Option<Range>,
    /// Two-sided p value of the permutation test.
    pub p_value: f64,
    /// The same after Holm's correction for all comparisons of the study; absent when runs were too few to take part.
    pub p_adjusted: Option<f64>,
    /// The decision.
    pub verdict: Verdict,
    /// The margin within which the ratio is shown to lie, where the study could end on that (0.05: 5 %).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<f64>,
}

impl Comparison {
    /// The verdict in words, as tables print it.
    pub fn words(&self) -> String {
        let verdict = self.verdict.words();
        self.within.map_or_else(
            || verdict.to_owned(),
            |margin| format!("{verdict}; within {} %", crate::number::number(100.0 * margin)),
        )
    }
}

/// One configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellSummary {
    /// Index within the study.
    pub cell_index: u32,
    /// `batch_size=10 connections=4`.
    pub label: String,
    /// Its levels.
    pub levels: Levels,
    /// The quantity over the counting runs; `None` without any.
    pub estimate: Option<Estimate>,
    /// Its geometric mean, of which all percentages and factors between cells are made; `None` without a counting run.
    pub geometric_mean: Option<f64>,
    /// Rows acknowledged per counting run, smallest and largest; transactions where the workload is the user's own. `None`
    /// without any.
    pub rows: Option<(u64, u64)>,
    /// Is this the cell that the others are compared with?
    pub is_reference: bool,
    /// Against the reference, from the geometric means; `None` for the reference itself.
    pub vs_reference: Option<Change>,
    /// Against the level before of the last factor, the others unchanged; `None` at its first level.
    pub vs_previous: Option<Change>,
    /// The test against the reference; `None` for the reference itself, without runs on both sides, and where the design
    /// does not ask for it.
    pub comparison: Option<Comparison>,
}

/// The values of the counting runs of each cell, in the order of the cells.
pub(super) fn values(results: &StudyResults, quantity: Quantity) -> Vec<Vec<BlockedValue>> {
    results.cells.iter().map(|cell| counting_values(results, cell, quantity)).collect()
}

/// Summarises every cell, in the order of the cells; what is compared is put in later.
pub(super) fn summaries(
    results: &StudyResults,
    values: &[Vec<BlockedValue>],
    quantity: Quantity,
) -> Vec<CellSummary> {
    let means: Vec<Option<f64>> = values.iter().map(|values| mean_of_blocks(values)).collect();
    // Cells come in the order of the spec: the first has the first level of every factor.
    let reference = results.cells.first().map(|cell| cell.index);
    let change = |index: usize, other: usize| Change::of(means[index], means[other], quantity);
    let summary = |(index, cell): (usize, &Cell)| CellSummary {
        cell_index: cell.index,
        label: cell.label(),
        levels: Levels(cell.levels.clone()),
        estimate: estimate(&values[index]),
        geometric_mean: means[index],
        rows: rows(results, cell),
        is_reference: Some(cell.index) == reference,
        vs_reference: if index == 0 { None } else { change(index, 0) },
        vs_previous: previous(results, cell).and_then(|previous| change(index, previous)),
        comparison: None,
    };
    results.cells.iter().enumerate().map(summary).collect()
}

fn counting_values(results: &StudyResults, cell: &Cell, quantity: Quantity) -> Vec<BlockedValue> {
    let runs =
        results.runs.iter().filter(|stored| stored.run.key.cell_index == cell.index && stored.counts());
    runs.filter_map(|stored| {
        Some(BlockedValue { block: stored.run.key.block_index, value: quantity.value(&stored.run)? })
    })
    .collect()
}

/// Of values above zero, of which there is at least one.
pub(crate) fn geometric_mean(values: &[f64]) -> f64 {
    (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp()
}

/// `None` without values.
fn mean_of_blocks(values: &[BlockedValue]) -> Option<f64> {
    let values: Vec<f64> = values.iter().map(|value| value.value).collect();
    let mean = geometric_mean(&values);
    (!values.is_empty() && mean.is_finite()).then_some(mean)
}

fn estimate(values: &[BlockedValue]) -> Option<Estimate> {
    let values: Vec<f64> = values.iter().map(|value| value.value).collect();
    Estimate::of_positive(&values)
}

fn rows(results: &StudyResults, cell: &Cell) -> Option<(u64, u64)> {
    let runs =
        results.runs.iter().filter(|stored| stored.run.key.cell_index == cell.index && stored.counts());
    let rows: Vec<u64> = runs.map(|stored| work(results, &stored.run)).collect();
    rows.iter().min().copied().zip(rows.iter().max().copied())
}

/// What a run did: rows, or transactions where the workload is the user's own.
pub(super) fn work(results: &StudyResults, run: &Run) -> u64 {
    if results.study.is_own_workload() { run.transactions() } else { run.rows() }
}

/// Position of the cell one level earlier in the last factor, all other levels equal.
fn previous(results: &StudyResults, cell: &Cell) -> Option<usize> {
    let factor: &Factor = results.study.factors.last()?;
    let (last, others) = cell.levels.split_last()?;
    let level_index = factor.levels.iter().position(|level| *level == last.1)?;
    let earlier = factor.levels.get(level_index.checked_sub(1)?)?;
    results.cells.iter().position(|candidate| {
        let split = candidate.levels.split_last();
        split.is_some_and(|(level, rest)| level.1 == *earlier && rest == others)
    })
}

/// Smallest number of runs per cell with which each of so many comparisons of a study could show a difference; `None` when
/// no number does.
pub(crate) fn runs_needed(comparison_count: usize) -> Option<usize> {
    let comparisons = u32::try_from(comparison_count).unwrap_or(u32::MAX);
    let needed = blocks_needed(&Design::of(1, comparisons), ALPHA).ok()?;
    let fewest = [needed.all_runs, needed.within_blocks].into_iter().flatten().min();
    fewest.map(|blocks| blocks as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_time_ends_at_zero() {
        let values: Vec<BlockedValue> = [0.05, 0.05, 0.06, 0.52]
            .into_iter()
            .zip(0..)
            .map(|(value, block)| BlockedValue { block, value })
            .collect();
        let interval = estimate(&values).and_then(|estimate| estimate.interval);
        // Mean 0.17, sd 0.2334, t(0.975, 3) = 3.1824: -0.2013 to 0.5413.
        assert_eq!(interval.map(|range| range.low), Some(0.0));
        assert!(interval.is_some_and(|range| (range.high - 0.5413).abs() < 1e-3), "{interval:?}");
    }

    #[test]
    fn the_runs_needed_are_those_whose_smallest_p_reaches_the_corrected_level() {
        // 2 / C(2n, n): 0.333, 0.1, 0.0286. Labels of all cells are dealt together, so more comparisons need no more runs.
        assert_eq!([1, 2, 6, 7, 23].map(runs_needed), [Some(4); 5]);
    }
}
