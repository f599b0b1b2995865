//! All comparisons of a study decided together, from the runs of all its cells: the test that verdicts rest on.
//!
//! [`judge`] gives each pair of cells its [`Comparison`] and [`Decision`]. What it adds to
//! [`crate::verdict::verdicts`]: the labels of all cells are dealt together (`step_down`), so that the smallest p that can
//! be reached does not grow with the number of comparisons, and six blocks are enough for any number of them.

mod step_down;

use std::collections::BTreeSet;

use crate::compare::{BlockedValue, Comparison, Direction, Method, compare, compare_in_blocks};
use crate::design::contrasts::Pair;
use crate::input::InputError;
use crate::random::derive_seed;
use crate::verdict::{Decision, Verdict, agreeing, can_decide, direction_of, holm, verdicts};

use step_down::{Dealt, step_down_p};

/// Two cells compared and decided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    /// The comparison by itself.
    pub comparison: Comparison,
    /// What it amounts to among all.
    pub decision: Decision,
}

/// Decides comparisons between cells of one study so that the chance of one false "better" or "worse" among all is at
/// most `alpha`.
///
/// `cells` holds the runs of each cell, `pairs` positions in it; the result has one element per pair, in the same order.
/// Labels are dealt within blocks when that can reach `alpha` (six blocks of one run each), otherwise among all runs, as
/// [`compare_in_blocks`] does. The adjusted p of a pair is the largest of three:
///
/// 1. Holm's adjustment (1979) of the p values of Student's t: valid for roughly normal logarithms of unlike spreads.
/// 2. The step-down maximum of Student's t under joint permutation (Westfall and Young, "Resampling-based multiple
///    testing", 1993, algorithm 2.8; Romano and Wolf, "Exact and approximate stepdown methods for multiple hypothesis
///    testing", JASA 100:469, 2005): valid for any distribution if cells that do not differ share one.
/// 3. The p of the pair's own permutation test, exact.
///
/// So the error rate is held where either assumption is true. Cost: at most a few tenths of a second.
///
/// # Errors
/// A value is not finite or not above zero (the index is that within its cell), or `alpha` is not between 0 and 1.
///
/// # Panics
/// A pair names a cell that is not there, or one cell twice.
pub fn judge(
    cells: &[Vec<BlockedValue>],
    pairs: &[Pair],
    direction: Direction,
    alpha: f64,
    seed: u64,
) -> Result<Vec<Judged>, InputError> {
    let compared = |pair: &Pair, seed: u64| {
        let (reference, candidate) = (&cells[pair.reference], &cells[pair.candidate]);
        compare_in_blocks(reference, candidate, direction, alpha, seed)
    };
    judge_with(cells, pairs, &compared, alpha, seed)
}

/// As [`judge`], for cells of several studies: blocks are not shared, and labels are dealt among all runs. What one study
/// had and the other had not (the day, the state of the device) cannot be told from the difference.
///
/// # Errors
/// As [`judge`].
///
/// # Panics
/// As [`judge`].
pub fn judge_apart(
    cells: &[Vec<f64>],
    pairs: &[Pair],
    direction: Direction,
    alpha: f64,
    seed: u64,
) -> Result<Vec<Judged>, InputError> {
    let compared =
        |pair: &Pair, seed: u64| compare(&cells[pair.reference], &cells[pair.candidate], direction, seed);
    let one_block =
        |values: &Vec<f64>| values.iter().map(|&value| BlockedValue { block: 0, value }).collect();
    let cells: Vec<Vec<BlockedValue>> = cells.iter().map(one_block).collect();
    judge_with(&cells, pairs, &compared, alpha, seed)
}

fn judge_with(
    cells: &[Vec<BlockedValue>],
    pairs: &[Pair],
    compared: &dyn Fn(&Pair, u64) -> Result<Comparison, InputError>,
    alpha: f64,
    seed: u64,
) -> Result<Vec<Judged>, InputError> {
    let seeded = |(index, pair): (u64, &Pair)| {
        assert!(pair.reference != pair.candidate, "cell {} is compared with itself", pair.reference);
        compared(pair, derive_seed(seed, &[index]))
    };
    let comparisons: Vec<Comparison> = (0..).zip(pairs).map(seeded).collect::<Result<_, _>>()?;
    let mut decisions = verdicts(&comparisons, alpha)?;
    let family: Vec<usize> =
        (0..pairs.len()).filter(|&index| can_decide(&comparisons[index], alpha)).collect();
    let of_family: Vec<Pair> = family.iter().map(|&index| pairs[index]).collect();
    let of_comparisons: Vec<Comparison> = family.iter().map(|&index| comparisons[index]).collect();
    if let Some(dealt) = dealt(cells, &of_family, &of_comparisons) {
        let of_pairs: Vec<f64> = of_comparisons.iter().map(|comparison| comparison.p_value).collect();
        let of_student: Vec<f64> = of_comparisons.iter().map(student_p).collect();
        let joint = step_down_p(&dealt, &of_family, &of_pairs, alpha, derive_seed(seed, &[JOINT_STREAM]));
        for ((&index, student), joint) in family.iter().zip(holm(&of_student)).zip(joint) {
            let p_adjusted = student.max(joint).max(comparisons[index].p_value);
            decisions[index] = decided(&comparisons[index], p_adjusted, alpha, &decisions[index]);
        }
    }
    let judged = comparisons.into_iter().zip(decisions);
    Ok(judged.map(|(comparison, decision)| Judged { comparison, decision }).collect())
}

/// Stream of the joint permutations among those of a family.
const JOINT_STREAM: u64 = 0x6a6f_696e_7400;

/// The p of Student's t; 0 where both sides have no spread, so that the permutations decide.
fn student_p(comparison: &Comparison) -> f64 {
    comparison.log_ratio.as_ref().and_then(|log_ratio| log_ratio.t_p_value()).unwrap_or(0.0)
}

/// Puts the adjusted p into a decision and makes verdict and interval agree with it; `holm` is the decision after Holm,
/// whose interval has the right confidence.
fn decided(comparison: &Comparison, p_adjusted: f64, alpha: f64, holm: &Decision) -> Decision {
    let verdict = if p_adjusted <= alpha { direction_of(comparison) } else { Verdict::NoDifferenceShown };
    let confidence = holm.ratio_interval.map(|interval| interval.confidence);
    let interval = comparison.log_ratio.zip(confidence).map(|(log_ratio, confidence)| {
        agreeing(log_ratio.ratio_interval_at(confidence), verdict, comparison)
    });
    Decision { verdict, p_adjusted: Some(p_adjusted), ratio_interval: interval }
}

/// Lays the runs out for joint permutation. Absent where the pairs do not all deal labels in the same way, or where too
/// few blocks hold all cells: Holm's correction of single permutations stands then.
fn dealt(cells: &[Vec<BlockedValue>], pairs: &[Pair], comparisons: &[Comparison]) -> Option<Dealt> {
    let method = comparisons.first()?.method;
    if comparisons.iter().any(|comparison| comparison.method != method) {
        return None;
    }
    match method {
        Method::WithinBlocks => Some(Dealt::of(cells, pairs, method)),
        Method::AllRuns => {
            // An effect of a block that lacks a cell would fall on the others alone.
            let named: BTreeSet<usize> =
                pairs.iter().flat_map(|pair| [pair.reference, pair.candidate]).collect();
            let blocks_of =
                |cell: &usize| cells[*cell].iter().map(|run| run.block).collect::<BTreeSet<u32>>();
            let shared = named.iter().map(blocks_of).reduce(|left, right| &left & &right)?;
            let of_shared = |(index, runs): (usize, &Vec<BlockedValue>)| -> Vec<BlockedValue> {
                let is_kept = |run: &&BlockedValue| named.contains(&index) && shared.contains(&run.block);
                runs.iter().filter(is_kept).copied().collect()
            };
            let kept: Vec<Vec<BlockedValue>> = cells.iter().enumerate().map(of_shared).collect();
            let is_enough = named.iter().all(|&cell| kept[cell].len() >= 2);
            is_enough.then(|| Dealt::of(&kept, pairs, method))
        }
    }
}
