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

/// Repeats blocks until the interval of every cell's mean is narrow enough.
///
/// Stopping at the first narrow interval makes the stated confidence somewhat too high, the more so the fewer the
/// blocks (Anscombe 1953; Chow and Robbins 1965): the spec's repetitions are the smallest number of blocks, and
/// reports say that the number was not fixed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RepeatUntil {
    /// Largest half width of the interval, in percent of the mean; above 0.
    pub half_width_percent: f64,
    /// Blocks after which it ends in any case.
    pub blocks_max: u32,
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
    /// `cells` holds one entry per cell; a cell without an interval always asks for more, up to the cap.
    pub fn needs_another_block(&self, blocks_done: u32, repetitions: u32, cells: &[Precision]) -> bool {
        if blocks_done >= self.blocks_max {
            return false;
        }
        blocks_done < repetitions || cells.iter().any(|cell| !self.is_narrow(cell))
    }

    fn is_narrow(&self, cell: &Precision) -> bool {
        // Written so that a mean that is not a number is not narrow.
        cell.half_width
            .is_some_and(|half_width| half_width * 100.0 <= self.half_width_percent * cell.mean.abs())
    }
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
        let until = RepeatUntil { half_width_percent: 2.0, blocks_max: 10 };
        let narrow = Precision { mean: 100.0, half_width: Some(2.0) };
        let wide = Precision { mean: 100.0, half_width: Some(2.1) };
        let lone = Precision { mean: 100.0, half_width: None };
        assert!(!until.needs_another_block(3, 3, &[narrow, narrow]));
        assert!(until.needs_another_block(3, 3, &[narrow, wide]));
        assert!(until.needs_another_block(3, 3, &[lone]));
        assert!(
            until.needs_another_block(2, 3, &[narrow]),
            "the repetitions of the spec are due in any case"
        );
    }

    #[test]
    fn blocks_end_at_the_cap_however_wide_the_intervals() {
        let until = RepeatUntil { half_width_percent: 2.0, blocks_max: 10 };
        let wide = Precision { mean: f64::NAN, half_width: Some(1.0) };
        assert!(until.needs_another_block(9, 3, &[wide]));
        assert!(!until.needs_another_block(10, 3, &[wide]));
    }
}
