//! Two groups of runs compared: the ratio of their means, its interval, and whether chance alone explains it.
//!
//! Everything happens on logarithms, because times and rates are positive and their effects multiply. The unit is
//! the run: thousands of requests inside one run share its luck and are not thousands of observations.

use crate::input::{InputError, require_positive};
use crate::permutation::{Stratum, attainable_p_min, two_sided_p};
use crate::summary::{Interval, mean, student_two_sided_p, variance};

/// Which way a quantity improves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// Elapsed times, latencies, bytes written.
    SmallerIsBetter,
    /// Rates: rows, transactions or bytes per second.
    LargerIsBetter,
}

/// Among which runs the test deals the labels anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// Among all runs of both groups; the interval is Welch's.
    AllRuns,
    /// Among the runs of one block only; the interval is that of the differences within the blocks.
    WithinBlocks,
}

/// One run's value and the block (one repetition of all cells) in which it was taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockedValue {
    /// The number of the block.
    pub block: u32,
    /// The value of the run, above zero.
    pub value: f64,
}

/// What two groups of runs say about each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// The runs of the reference that were used.
    pub n_reference: usize,
    /// The runs of the candidate that were used.
    pub n_candidate: usize,
    /// The runs of both groups that were not used, because their block lacks a run of the other group.
    pub n_left_out: usize,
    /// Which way the quantity improves.
    pub direction: Direction,
    /// How labels were dealt and the interval made.
    pub method: Method,
    /// The geometric mean of the candidate over that of the reference; absent when a group has no run.
    pub ratio: Option<f64>,
    /// The interval of `ratio` at 95 %, as if this were the only comparison; absent when there are too few runs for one.
    /// Beside verdicts stands the one that is corrected with them, see [`crate::verdict::Decision`].
    pub ratio_interval: Option<Interval>,
    /// What the interval is made of; absent with it.
    pub log_ratio: Option<LogRatio>,
    /// The two-sided p value, at most 1: the larger of that of the permutation test and that of the t statistic
    /// behind the interval.
    ///
    /// The first is exact whatever the distribution, if the groups share one; the second holds for roughly normal
    /// logarithms whose spreads differ, where the first may raise four times the false alarms it should. The larger
    /// of both is valid where either is, and never disagrees with the interval: p is at most 0.05 only when the
    /// interval leaves 1 out.
    pub p_value: f64,
    /// The smallest p value that the test could have given with these numbers of runs.
    pub p_attainable_min: f64,
}

/// Compares two groups of runs whose order in time played no part in the plan.
///
/// The test is the two-sided permutation test on the difference of mean logarithms: under the assumption that both
/// groups come from one distribution its p value is exact (enumerated up to 200,000 arrangements, drawn with `seed`
/// beyond). Welch's t on logarithms gives the interval and must agree, see [`Comparison::p_value`]; with no spread in
/// either group the interval is the ratio itself and the permutation decides alone.
/// Costs at most a few hundredths of a second.
///
/// # Errors
/// A value is not finite or not above zero; the index is that within its own group. An empty group is no error: the
/// comparison then has no ratio and p is 1.
pub fn compare(
    reference: &[f64],
    candidate: &[f64],
    direction: Direction,
    seed: u64,
) -> Result<Comparison, InputError> {
    Ok(compare_all(&logarithms(reference)?, &logarithms(candidate)?, direction, seed))
}

/// Compares two groups of runs taken in interleaved blocks with a random order within each block.
///
/// Labels are dealt within the blocks when that can reach `p_needed` (the level over the number of comparisons
/// planned): this test is exact whatever the blocks do to the values, and no block effect widens it. Few blocks
/// cannot reach a small p that way (pairs in 5 blocks: 0.0625), so with fewer blocks labels are dealt among all runs
/// instead, provided that each block holds the two groups in the same proportion: an effect of the blocks then falls
/// on both groups alike and only makes the test more cautious. The choice rests on the counts alone, never on the
/// values, and so keeps the error rate. Runs in blocks that lack the other group are left out.
///
/// # Errors
/// As [`compare`]; and `p_needed` is not between 0 and 1.
pub fn compare_in_blocks(
    reference: &[BlockedValue],
    candidate: &[BlockedValue],
    direction: Direction,
    p_needed: f64,
    seed: u64,
) -> Result<Comparison, InputError> {
    if !(p_needed > 0.0 && p_needed < 1.0) {
        return Err(InputError::NotAProbability(p_needed));
    }
    let blocks = shared_blocks(reference, candidate)?;
    let sizes = sizes_of(&blocks);
    let n_reference = sizes.iter().map(|size| size.0).sum::<usize>();
    let n_candidate = sizes.iter().map(|size| size.1).sum::<usize>();
    let is_proportional = sizes.iter().all(|size| size.1 * n_reference == size.0 * n_candidate);
    let comparison = if attainable_p_min(&sizes) > p_needed && is_proportional {
        let reference: Vec<f64> = blocks.iter().flat_map(|block| block.reference.iter().copied()).collect();
        let candidate: Vec<f64> = blocks.iter().flat_map(|block| block.candidate.iter().copied()).collect();
        compare_all(&reference, &candidate, direction, seed)
    } else {
        compare_within(&blocks, direction, seed)
    };
    let n_left_out = reference.len() + candidate.len() - n_reference - n_candidate;
    Ok(Comparison { n_left_out, ..comparison })
}

/// Computes the interval of the ratio of geometric means alone, as [`compare`] does, without the test.
///
/// Absent unless both groups have two values or more. For trending many ratios; verdicts need the test.
///
/// # Errors
/// As [`compare`].
pub fn ratio_interval(reference: &[f64], candidate: &[f64]) -> Result<Option<Interval>, InputError> {
    Ok(LogRatio::welch(&logarithms(reference)?, &logarithms(candidate)?)
        .map(|estimate| estimate.ratio_interval()))
}

/// The logarithms of both groups' values in one block; neither is empty.
struct Block {
    reference: Vec<f64>,
    candidate: Vec<f64>,
}

/// Collects the blocks that hold runs of both groups, in the order of their numbers.
fn shared_blocks(reference: &[BlockedValue], candidate: &[BlockedValue]) -> Result<Vec<Block>, InputError> {
    let mut blocks = std::collections::BTreeMap::<u32, (Vec<f64>, Vec<f64>)>::new();
    for (run, logarithm) in reference.iter().zip(logarithms(&values(reference))?) {
        blocks.entry(run.block).or_default().0.push(logarithm);
    }
    for (run, logarithm) in candidate.iter().zip(logarithms(&values(candidate))?) {
        blocks.entry(run.block).or_default().1.push(logarithm);
    }
    Ok(blocks
        .into_values()
        .filter(|(reference, candidate)| !reference.is_empty() && !candidate.is_empty())
        .map(|(reference, candidate)| Block { reference, candidate })
        .collect())
}

fn sizes_of(blocks: &[Block]) -> Vec<(usize, usize)> {
    blocks.iter().map(|block| (block.reference.len(), block.candidate.len())).collect()
}

fn values(runs: &[BlockedValue]) -> Vec<f64> {
    runs.iter().map(|run| run.value).collect()
}

fn logarithms(values: &[f64]) -> Result<Vec<f64>, InputError> {
    require_positive(values)?;
    Ok(values.iter().map(|value| value.ln()).collect())
}

fn compare_all(reference: &[f64], candidate: &[f64], direction: Direction, seed: u64) -> Comparison {
    let is_empty = reference.is_empty() || candidate.is_empty();
    let estimate = LogRatio::welch(reference, candidate);
    let p_permutation = if is_empty { 1.0 } else { two_sided_p(&[Stratum::new(reference, candidate)], seed) };
    Comparison {
        n_reference: reference.len(),
        n_candidate: candidate.len(),
        n_left_out: 0,
        direction,
        method: Method::AllRuns,
        ratio: (!is_empty).then(|| (mean(candidate) - mean(reference)).exp()),
        ratio_interval: estimate.as_ref().map(LogRatio::ratio_interval),
        log_ratio: estimate,
        p_value: LogRatio::p_value(estimate.as_ref(), p_permutation),
        p_attainable_min: attainable_p_min(&[(reference.len(), candidate.len())]),
    }
}

fn compare_within(blocks: &[Block], direction: Direction, seed: u64) -> Comparison {
    let strata: Vec<Stratum> =
        blocks.iter().map(|block| Stratum::new(&block.reference, &block.candidate)).collect();
    let sizes = sizes_of(blocks);
    let differences: Vec<f64> =
        blocks.iter().map(|block| mean(&block.candidate) - mean(&block.reference)).collect();
    let estimate = LogRatio::paired(&differences);
    let p_permutation = if blocks.is_empty() { 1.0 } else { two_sided_p(&strata, seed) };
    Comparison {
        n_reference: sizes.iter().map(|size| size.0).sum(),
        n_candidate: sizes.iter().map(|size| size.1).sum(),
        n_left_out: 0,
        direction,
        method: Method::WithinBlocks,
        ratio: (!blocks.is_empty()).then(|| mean(&differences).exp()),
        ratio_interval: estimate.as_ref().map(LogRatio::ratio_interval),
        log_ratio: estimate,
        p_value: LogRatio::p_value(estimate.as_ref(), p_permutation),
        p_attainable_min: attainable_p_min(&sizes),
    }
}

/// A difference of mean logarithms with what is needed to judge it by Student's t.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogRatio {
    /// Mean logarithm of the candidate minus that of the reference.
    pub difference: f64,
    /// Its standard error; 0 without any spread.
    pub standard_error: f64,
    /// At least 1, but for rounding.
    pub degrees_of_freedom: f64,
}

impl LogRatio {
    /// The difference of two groups with unlike variances (Welch 1947; degrees of freedom after Satterthwaite 1946).
    /// Absent unless both groups have two values or more.
    pub(crate) fn welch(reference: &[f64], candidate: &[f64]) -> Option<Self> {
        if reference.len() < 2 || candidate.len() < 2 {
            return None;
        }
        let difference = mean(candidate) - mean(reference);
        let share = |values: &[f64]| variance(values, mean(values)) / values.len() as f64;
        let (share_reference, share_candidate) = (share(reference), share(candidate));
        let sum = share_reference + share_candidate;
        if sum == 0.0 {
            return Some(Self { difference, standard_error: 0.0, degrees_of_freedom: 1.0 });
        }
        // Shares of the sum, so that small variances do not vanish when squared. One group without spread leaves the
        // degrees of freedom of the other.
        let weight = |share: f64, values: &[f64]| (share / sum).powi(2) / (values.len() - 1) as f64;
        let degrees_of_freedom =
            1.0 / (weight(share_reference, reference) + weight(share_candidate, candidate));
        Some(Self { difference, standard_error: sum.sqrt(), degrees_of_freedom })
    }

    /// The mean of the differences between the means of blocks (reference, candidate). Absent below two blocks.
    pub(crate) fn of_blocks<'a>(blocks: impl Iterator<Item = (&'a [f64], &'a [f64])>) -> Option<Self> {
        let differences: Vec<f64> =
            blocks.map(|(reference, candidate)| mean(candidate) - mean(reference)).collect();
        Self::paired(&differences)
    }

    /// The mean of the differences of pairs or blocks. Absent below two of them.
    fn paired(differences: &[f64]) -> Option<Self> {
        let n = differences.len();
        (n >= 2).then(|| {
            let difference = mean(differences);
            let standard_error = (variance(differences, difference) / n as f64).sqrt();
            Self { difference, standard_error, degrees_of_freedom: (n - 1) as f64 }
        })
    }

    /// The interval of the ratio at a confidence between 0 and 1.
    pub fn ratio_interval_at(&self, confidence: f64) -> Interval {
        let Self { difference, standard_error, degrees_of_freedom } = *self;
        let interval = Interval::student_at(confidence, difference, standard_error, degrees_of_freedom);
        Interval { low: interval.low.exp(), high: interval.high.exp(), ..interval }
    }

    pub(crate) fn ratio_interval(&self) -> Interval {
        let interval = Interval::student(self.difference, self.standard_error, self.degrees_of_freedom);
        Interval { low: interval.low.exp(), high: interval.high.exp(), ..interval }
    }

    /// The two-sided p value of Student's t; absent without any spread, where t is infinite or undefined.
    pub(crate) fn t_p_value(&self) -> Option<f64> {
        (self.standard_error > 0.0)
            .then(|| student_two_sided_p(self.difference / self.standard_error, self.degrees_of_freedom))
    }

    /// The larger of the p values of the permutation and of the t statistic, see [`Comparison::p_value`].
    pub(crate) fn p_value(estimate: Option<&Self>, p_permutation: f64) -> f64 {
        estimate.and_then(Self::t_p_value).map_or(p_permutation, |p_student| p_student.max(p_permutation))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const SMALLER: Direction = Direction::SmallerIsBetter;

    fn blocked(values: &[f64]) -> Vec<BlockedValue> {
        (0..).zip(values).map(|(block, &value)| BlockedValue { block, value }).collect()
    }

    fn close(left: f64, right: f64) -> bool {
        (left - right).abs() <= 1e-9 * right.abs()
    }

    #[test]
    fn three_against_three_apart_has_the_ratio_and_p_worked_out_by_hand() {
        // Logarithms to base 2: 0 1 2 against 4 5 6. Difference 4, variances 1, standard error sqrt(2/3), 4 degrees
        // of freedom, t 2.776445105.
        let comparison = compare(&[1.0, 2.0, 4.0], &[16.0, 32.0, 64.0], SMALLER, 1).unwrap();
        assert!(close(comparison.ratio.unwrap(), 16.0));
        assert_eq!((comparison.p_value, comparison.p_attainable_min), (0.1, 0.1));
        let half_width = 2.776_445_105_197_79 * (2.0_f64 / 3.0).sqrt();
        let interval = comparison.ratio_interval.unwrap();
        assert!(
            close(interval.low, (4.0 - half_width).exp2()) && close(interval.high, (4.0 + half_width).exp2())
        );
    }

    #[test]
    fn a_group_without_spread_leaves_an_interval_of_numbers() {
        let one_side =
            compare(&[2.0, 2.0, 2.0], &[3.0, 4.0, 5.0], SMALLER, 1).unwrap().ratio_interval.unwrap();
        assert!(one_side.low.is_finite() && one_side.low < one_side.high);
        // The degrees of freedom are then those of the other group: 2, t 4.302652730.
        let logarithms = [3.0_f64.ln(), 4.0_f64.ln(), 5.0_f64.ln()];
        let standard_error = (variance(&logarithms, mean(&logarithms)) / 3.0).sqrt();
        let high = (mean(&logarithms) - 2.0_f64.ln() + 4.302_652_729_749_46 * standard_error).exp();
        assert!(close(one_side.high, high));
        let both_sides = compare(&[2.0, 2.0], &[4.0, 4.0], SMALLER, 1).unwrap();
        let interval = both_sides.ratio_interval.unwrap();
        assert!(close(interval.low, 2.0) && interval.low == interval.high);
        assert_eq!(compare(&[2.0, 2.0], &[2.0, 2.0], SMALLER, 1).unwrap().p_value, 1.0);
    }

    #[test]
    fn too_few_runs_are_told_by_what_is_absent() {
        let nothing = compare(&[], &[1.0], SMALLER, 1).unwrap();
        assert_eq!((nothing.ratio, nothing.ratio_interval, nothing.p_value), (None, None, 1.0));
        let single = compare(&[1.0], &[2.0], SMALLER, 1).unwrap();
        assert!(close(single.ratio.unwrap(), 2.0));
        assert_eq!((single.ratio_interval, single.p_value, single.p_attainable_min), (None, 1.0, 1.0));
    }

    #[test]
    fn values_without_a_logarithm_are_refused() {
        let refusal = compare(&[1.0, 0.0], &[1.0], SMALLER, 1).unwrap_err();
        assert_eq!(refusal, InputError::NotPositive { index: 1, value: 0.0 });
        assert!(compare(&[1.0], &[f64::NAN], SMALLER, 1).is_err());
        assert!(compare_in_blocks(&blocked(&[1.0]), &blocked(&[1.0]), SMALLER, 0.0, 1).is_err());
    }

    #[test]
    fn many_blocks_are_compared_within_and_shed_the_effect_of_the_block() {
        // Each block is ten times slower than the one before; the candidate takes 10 % longer in each.
        let reference: Vec<f64> = (0..12).map(|block| 10_f64.powi(block)).collect();
        let candidate: Vec<f64> = reference.iter().map(|value| value * 1.1).collect();
        let within = compare_in_blocks(&blocked(&reference), &blocked(&candidate), SMALLER, 0.05, 1).unwrap();
        assert_eq!((within.method, within.p_value), (Method::WithinBlocks, 2.0 / 4096.0));
        assert!(close(within.ratio.unwrap(), 1.1));
        let interval = within.ratio_interval.unwrap();
        assert!(interval.low > 1.0999 && interval.high < 1.1001);
        assert!(compare(&reference, &candidate, SMALLER, 1).unwrap().p_value > 0.9);
    }

    #[test]
    fn few_blocks_are_compared_among_all_runs() {
        let (reference, candidate) = ([1.0, 1.1, 0.9, 1.05, 0.95], [2.0, 2.1, 1.9, 2.05, 1.95]);
        let comparison =
            compare_in_blocks(&blocked(&reference), &blocked(&candidate), SMALLER, 0.05, 1).unwrap();
        assert_eq!(comparison, compare(&reference, &candidate, SMALLER, 1).unwrap());
        assert_eq!((comparison.method, comparison.p_value), (Method::AllRuns, 2.0 / 252.0));
    }

    #[test]
    fn runs_without_a_partner_in_their_block_are_left_out_and_counted() {
        let reference = blocked(&[1.0, 1.1, 0.9, 1.0, 1.2]);
        let candidate = blocked(&[2.0, 2.1]);
        let comparison = compare_in_blocks(&reference, &candidate, SMALLER, 0.05, 1).unwrap();
        assert_eq!((comparison.n_reference, comparison.n_candidate, comparison.n_left_out), (2, 2, 3));
    }

    #[test]
    fn blocks_with_unlike_proportions_are_never_pooled() {
        // Two slow blocks hold most of the candidate's runs: pooled, the blocks would pass for an effect.
        let run = |block, value| BlockedValue { block, value };
        let reference = [run(0, 1.0), run(0, 1.1), run(0, 1.2), run(1, 9.0)];
        let candidate = [run(0, 1.1), run(1, 9.1), run(1, 9.2), run(1, 9.0)];
        let comparison = compare_in_blocks(&reference, &candidate, SMALLER, 0.05, 1).unwrap();
        assert_eq!((comparison.method, comparison.p_attainable_min), (Method::WithinBlocks, 1.0 / 16.0));
    }
}
