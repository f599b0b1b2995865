//! The order of a study: blocks of all cells, each block shuffled by the seed of the study.
//!
//! A block holds every cell once, so that what drifts over hours (a device that fills, a neighbour on the machine)
//! touches all cells alike and comparisons can be made within blocks.

use stats::random::{Random, derive_seed};

/// Stream of the schedule among those derived from a study's seed; other streams are keys and arrival times.
const SCHEDULE_STREAM: u64 = 0x706c_616e;

/// Which cell runs when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    cell_count: u32,
    seed: u64,
}

impl Schedule {
    /// A schedule for this many cells; the same seed gives the same schedule in every version.
    pub fn new(cell_count: u32, seed: u64) -> Self {
        Self { cell_count, seed }
    }

    /// The cells of a block in the order in which they run: a permutation of `0..cell_count`.
    ///
    /// Depends on the seed and the index of the block only, so that blocks can be added later.
    pub fn block(&self, block_index: u32) -> Vec<u32> {
        let mut cells: Vec<u32> = (0..self.cell_count).collect();
        Random::new(derive_seed(self.seed, &[SCHEDULE_STREAM, u64::from(block_index)])).shuffle(&mut cells);
        cells
    }
}

/// Repeats blocks until the interval of every cell's mean is narrow enough, until every comparison is decided, or until
/// both are so.
///
/// A decision is made at the level of its look, so that the error rate is held over all looks
/// ([`stats::design::sequential`]). Stopping at the first narrow interval makes the stated confidence somewhat too high, the more so the fewer the
/// blocks (Anscombe 1953; Chow and Robbins 1965): the spec's repetitions are the smallest number of blocks, and
/// reports say that the number was not fixed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RepeatUntil {
    /// Largest half width of the interval, in percent of the mean; above 0. `None` asks for no interval.
    pub half_width_percent: Option<f64>,
    /// Is every comparison to be decided?
    pub decision: Option<Decision>,
    /// Blocks after which it ends in any case.
    pub blocks_max: u32,
}

/// Chance of a false difference among the comparisons of a study, over all looks; that of reports.
pub const LEVEL: f64 = 0.05;

/// When a comparison is decided.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Decision {
    /// The largest relative difference that counts as none (0.05: 5 %): a comparison is decided when a difference is shown,
    /// or when the ratio is shown to lie within. `None`: when a difference is shown.
    pub margin: Option<f64>,
}

/// How well the mean of one cell is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precision {
    /// Mean over the runs that count.
    pub mean: f64,
    /// Half the width of its interval, in the unit of the mean; `None` with fewer than two runs that count.
    pub half_width: Option<f64>,
}

impl RepeatUntil {
    /// Is another block wanted after `blocks_done` blocks, of which at least `repetitions` are due?
    ///
    /// `cells` holds one entry per cell; a cell without an interval always asks for more, up to the cap. `undecided` is the
    /// number of comparisons that are not decided.
    pub fn needs_another_block(
        &self,
        blocks_done: u32,
        repetitions: u32,
        cells: &[Precision],
        undecided: usize,
    ) -> bool {
        if blocks_done >= self.blocks_max {
            return false;
        }
        let is_wide = |percent: f64| cells.iter().any(|cell| !is_narrow(cell, percent));
        blocks_done < repetitions
            || self.half_width_percent.is_some_and(is_wide)
            || self.decision.is_some() && undecided > 0
    }
}

fn is_narrow(cell: &Precision, half_width_percent: f64) -> bool {
    // Written so that a mean that is not a number is not narrow.
    cell.half_width.is_some_and(|half_width| half_width * 100.0 <= half_width_percent * cell.mean.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_plan_in_every_version() {
        let schedule = Schedule::new(6, 42);
        assert_eq!(schedule.block(0), [2, 3, 5, 1, 4, 0]);
        assert_eq!(schedule.block(1), [1, 0, 3, 2, 4, 5]);
        assert_eq!(schedule.block(2), [5, 2, 0, 1, 3, 4]);
    }

    #[test]
    fn every_block_holds_each_cell_once() {
        for cell_count in [0, 1, 2, 18, 1000] {
            for block_index in 0..5 {
                let mut block = Schedule::new(cell_count, 7).block(block_index);
                block.sort_unstable();
                assert!(block.iter().copied().eq(0..cell_count));
            }
        }
    }

    #[test]
    fn blocks_and_seeds_differ_in_their_order() {
        let schedule = Schedule::new(20, 1);
        assert_ne!(schedule.block(0), schedule.block(1));
        assert_ne!(schedule.block(0), Schedule::new(20, 2).block(0));
    }

    #[test]
    fn a_first_place_is_had_by_every_cell_about_equally_often() {
        let mut first = [0_u32; 4];
        for seed in 0..4000 {
            first[Schedule::new(4, seed).block(0)[0] as usize] += 1;
        }
        assert!(first.iter().all(|count| (850..1150).contains(count)), "{first:?}");
    }

    #[test]
    fn blocks_go_on_until_every_interval_is_narrow() {
        let until = RepeatUntil { half_width_percent: Some(2.0), decision: None, blocks_max: 10 };
        let narrow = Precision { mean: 100.0, half_width: Some(2.0) };
        let wide = Precision { mean: 100.0, half_width: Some(2.1) };
        let lone = Precision { mean: 100.0, half_width: None };
        assert!(!until.needs_another_block(3, 3, &[narrow, narrow], 0));
        assert!(until.needs_another_block(3, 3, &[narrow, wide], 0));
        assert!(until.needs_another_block(3, 3, &[lone], 0));
        assert!(
            until.needs_another_block(2, 3, &[narrow], 0),
            "the repetitions of the spec are due in any case"
        );
    }

    #[test]
    fn blocks_end_at_the_cap_however_wide_the_intervals() {
        let until = RepeatUntil { half_width_percent: Some(2.0), decision: None, blocks_max: 10 };
        let wide = Precision { mean: f64::NAN, half_width: Some(1.0) };
        assert!(until.needs_another_block(9, 3, &[wide], 0));
        assert!(!until.needs_another_block(10, 3, &[wide], 9));
    }

    #[test]
    fn with_both_conditions_each_asks_for_more() {
        let decision = Some(Decision::default());
        let narrow = Precision { mean: 100.0, half_width: Some(1.0) };
        let wide = Precision { mean: 100.0, half_width: Some(9.0) };
        let both = RepeatUntil { half_width_percent: Some(2.0), decision, blocks_max: 10 };
        assert!(both.needs_another_block(6, 6, &[wide], 0) && both.needs_another_block(6, 6, &[narrow], 1));
        assert!(!both.needs_another_block(6, 6, &[narrow], 0));
        let decided = RepeatUntil { half_width_percent: None, ..both };
        assert!(!decided.needs_another_block(6, 6, &[wide], 0));
    }
}
