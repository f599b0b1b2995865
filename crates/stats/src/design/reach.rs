//! The smallest p value that a design can reach, and the fewest blocks that can reach a verdict.
//!
//! A permutation test cannot give a p below one over the number of its arrangements. A design whose smallest p lies above
//! the level cannot decide, whatever happens; that is known before it runs.

use crate::compare::Method;
use crate::input::InputError;
use crate::permutation::attainable_p_min;

/// How p values are corrected for the number of comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Correction {
    /// Holm's, as [`crate::verdict::verdicts`]: the smallest p of m comparisons is multiplied by m.
    Holm,
    /// That of [`crate::family::judge`]: the labels of all cells are dealt together, so that the smallest p does not grow
    /// with the number of comparisons.
    StepDown,
}

/// The parts of a design on which its smallest p depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Design {
    /// Blocks, each with all cells: the repetitions of a spec.
    pub blocks: u32,
    /// Runs of each cell in a block; 1 in the studies of fathom.
    pub runs_per_block: u32,
    /// Comparisons decided together; 0 counts as 1.
    pub comparisons: u32,
    /// How they are corrected.
    pub correction: Correction,
}

impl Design {
    /// A study of fathom: every cell once in each block, decided by [`crate::family::judge`].
    pub fn of(blocks: u32, comparisons: u32) -> Self {
        Self { blocks, runs_per_block: 1, comparisons, correction: Correction::StepDown }
    }
}

/// What a design can reach at best.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reach {
    /// Which runs exchange labels: within blocks when that can decide, otherwise all.
    pub method: Method,
    /// The smallest p of one comparison.
    pub p_min: f64,
    /// The same after the correction; at most 1.
    pub p_min_corrected: f64,
    /// Is `p_min_corrected` at most the level, with two runs or more in each cell?
    pub can_decide: bool,
}

/// Computes what a design can reach with the test that fathom chooses for it.
///
/// # Errors
/// `alpha` is not between 0 and 1.
pub fn reach(design: &Design, alpha: f64) -> Result<Reach, InputError> {
    let within = reach_with(design, Method::WithinBlocks, alpha)?;
    if within.can_decide { Ok(within) } else { reach_with(design, Method::AllRuns, alpha) }
}

/// As [`reach`], with a given test.
///
/// # Errors
/// `alpha` is not between 0 and 1.
pub fn reach_with(design: &Design, method: Method, alpha: f64) -> Result<Reach, InputError> {
    require_level(alpha)?;
    let (blocks, runs) = (design.blocks as usize, design.runs_per_block as usize);
    let p_min = match method {
        Method::AllRuns => attainable_p_min(&[(blocks * runs, blocks * runs)]),
        Method::WithinBlocks => attainable_p_min(&vec![(runs, runs); blocks]),
    };
    let p_min_corrected = match design.correction {
        Correction::Holm => (p_min * f64::from(design.comparisons.max(1))).min(1.0),
        Correction::StepDown => p_min,
    };
    // One run on a side has no spread; one block has no difference between differences.
    let values = match method {
        Method::AllRuns => blocks * runs,
        Method::WithinBlocks => blocks,
    };
    Ok(Reach { method, p_min, p_min_corrected, can_decide: values >= 2 && p_min_corrected <= alpha })
}

/// The fewest blocks with which every comparison can reach a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlocksNeeded {
    /// With labels dealt among all runs; drift between blocks then hides differences.
    pub all_runs: Option<u32>,
    /// With labels dealt within blocks; drift between blocks then plays no part.
    pub within_blocks: Option<u32>,
}

/// Finds the fewest blocks that can decide, by counting up; `None` for a test that would need more than `BLOCKS_MAX`.
///
/// The blocks of `design` play no part.
///
/// # Errors
/// `alpha` is not between 0 and 1.
pub fn blocks_needed(design: &Design, alpha: f64) -> Result<BlocksNeeded, InputError> {
    require_level(alpha)?;
    let fewest = |method| {
        (1..=BLOCKS_MAX).find(|&blocks| {
            reach_with(&Design { blocks, ..*design }, method, alpha).is_ok_and(|reach| reach.can_decide)
        })
    };
    Ok(BlocksNeeded { all_runs: fewest(Method::AllRuns), within_blocks: fewest(Method::WithinBlocks) })
}

/// Blocks up to which [`blocks_needed`] searches.
pub const BLOCKS_MAX: u32 = 40;

/// The smallest p of a main effect ([`crate::effects`]): labels are dealt within each block at each combination of the
/// levels of the other factors, one run of each level there.
pub fn main_effect_p_min(blocks: u32, combinations: u32) -> f64 {
    attainable_p_min(&vec![(1, 1); blocks as usize * combinations as usize])
}

fn require_level(alpha: f64) -> Result<(), InputError> {
    if alpha > 0.0 && alpha < 1.0 { Ok(()) } else { Err(InputError::NotAProbability(alpha)) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn holm(blocks: u32, comparisons: u32) -> Design {
        Design { correction: Correction::Holm, ..Design::of(blocks, comparisons) }
    }

    #[test]
    fn three_repetitions_never_decide_and_five_not_among_seven_comparisons_after_holm() {
        let three = reach(&Design::of(3, 1), 0.05).unwrap();
        assert_eq!((three.p_min, three.can_decide), (0.1, false));
        let five = reach(&holm(5, 7), 0.05).unwrap();
        assert!((five.p_min_corrected - 14.0 / 252.0).abs() < 1e-12 && !five.can_decide, "{five:?}");
        assert!(reach(&holm(5, 6), 0.05).unwrap().can_decide);
    }

    #[test]
    fn six_blocks_decide_within_blocks_whatever_the_number_of_comparisons() {
        for comparisons in [1, 7, 31] {
            let reach = reach(&Design::of(6, comparisons), 0.05).unwrap();
            assert_eq!((reach.method, reach.p_min_corrected), (Method::WithinBlocks, 2.0 / 64.0));
            assert!(reach.can_decide);
        }
        let five = reach(&Design::of(5, 1), 0.05).unwrap();
        assert_eq!((five.method, five.p_min), (Method::AllRuns, 2.0 / 252.0));
    }

    #[test]
    fn the_blocks_needed_are_those_counted_by_hand() {
        let needed = |design: Design| blocks_needed(&design, 0.05).unwrap();
        assert_eq!(needed(Design::of(0, 9)), BlocksNeeded { all_runs: Some(4), within_blocks: Some(6) });
        // 7 comparisons need p of 0.00714: 2 / 924 with 6 against 6, 2 / 2^9 within 9 blocks.
        assert_eq!(needed(holm(0, 7)), BlocksNeeded { all_runs: Some(6), within_blocks: Some(9) });
        // Two runs of each cell in a block deal C(4, 2) = 6 ways: 2 / 216 with 3 blocks.
        let twice = Design { runs_per_block: 2, ..Design::of(0, 1) };
        assert_eq!(needed(twice), BlocksNeeded { all_runs: Some(2), within_blocks: Some(3) });
        assert_eq!(needed(holm(0, 100_000)), BlocksNeeded { all_runs: None, within_blocks: None });
    }

    #[test]
    fn main_effects_reach_a_verdict_with_fewer_blocks() {
        assert_eq!(main_effect_p_min(3, 2), 2.0 / 64.0);
        assert_eq!(main_effect_p_min(3, 5), 2.0 / 32768.0);
    }

    #[test]
    fn a_level_that_is_no_probability_is_refused() {
        assert!(reach(&Design::of(5, 1), 0.0).is_err() && blocks_needed(&Design::of(5, 1), 1.0).is_err());
    }

    #[test]
    fn no_blocks_and_no_comparisons_are_no_panic() {
        let none = reach(&Design::of(0, 0), 0.05).unwrap();
        assert_eq!((none.p_min, none.can_decide), (1.0, false));
    }
}
