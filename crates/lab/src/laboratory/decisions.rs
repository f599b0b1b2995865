//! Which comparisons of a study that waits for decisions are decided.

use stats::compare::{BlockedValue, Direction};
use stats::design::contrasts::Pair;
use stats::design::sequential::{Look, Step, looks, step};
use stats::family::judge;

use results::measure::Measure;

use crate::assignment::Assignment;
use crate::schedule::LEVEL;

/// The looks of a study and what is decided at each: the same comparisons as its report makes.
pub(super) struct Decisions {
    /// One per block from the first look on.
    looks: Vec<Look>,
    blocks_min: u32,
    pairs: Vec<Pair>,
    direction: Direction,
    margin: Option<f64>,
    seed: u64,
}

impl Decisions {
    /// `None` where the study does not wait for decisions.
    pub(super) fn of(assignment: &Assignment, measure: &Measure) -> Option<Self> {
        let plan = assignment.resolved().design.looks?;
        let share = |blocks: u32| f64::from(blocks) / f64::from(plan.blocks_max);
        let shares: Vec<f64> = (plan.blocks_min..=plan.blocks_max).map(share).collect();
        let direction = match measure.is_smaller_better {
            true => Direction::SmallerIsBetter,
            false => Direction::LargerIsBetter,
        };
        Some(Self {
            looks: looks(&shares, LEVEL).ok()?,
            blocks_min: plan.blocks_min,
            pairs: assignment.pairs().into_iter().map(|(_, pair)| pair).collect(),
            direction,
            margin: plan.margin,
            seed: assignment.seed(),
        })
    }

    /// How many comparisons are not decided by these values of each cell after so many blocks. What cannot be compared (no
    /// value, or one of zero) takes no part, as in the report.
    pub(super) fn undecided(&self, cells: &[Vec<BlockedValue>], blocks: u32) -> usize {
        let Some(look) = blocks.checked_sub(self.blocks_min).and_then(|index| self.looks.get(index as usize))
        else {
            return self.pairs.len();
        };
        let is_comparable = |cell: usize| {
            !cells[cell].is_empty() && cells[cell].iter().all(|run| run.value > 0.0 && run.value.is_finite())
        };
        let mut pairs = self.pairs.clone();
        pairs.retain(|pair| is_comparable(pair.reference) && is_comparable(pair.candidate));
        let judged = judge(cells, &pairs, self.direction, look.level, self.seed).unwrap_or_default();
        let is_open = |step: Step| matches!(step, Step::Continue | Step::Undecided);
        judged.iter().filter(|one| is_open(step(one, pairs.len(), self.margin, look))).count()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use stats::random::Random;

    use super::*;

    fn decisions(margin: Option<f64>) -> Decisions {
        let shares: Vec<f64> = (6..=12).map(|blocks| f64::from(blocks) / 12.0).collect();
        let pair = |candidate| Pair { reference: 0, candidate };
        Decisions {
            looks: looks(&shares, LEVEL).unwrap(),
            blocks_min: 6,
            pairs: vec![pair(1), pair(2)],
            direction: Direction::SmallerIsBetter,
            margin,
            seed: 1,
        }
    }

    /// Runs that spread by 2 % around each mean.
    fn cells(means: [f64; 3], blocks: u32) -> Vec<Vec<BlockedValue>> {
        let mut random = Random::new(7);
        let mut runs = |mean: f64| -> Vec<BlockedValue> {
            let mut value =
                |block| BlockedValue { block, value: mean * (0.02 * random.normal_pair().0).exp() };
            (0..blocks).map(&mut value).collect()
        };
        means.map(&mut runs).to_vec()
    }

    #[test]
    fn a_difference_is_decided_at_a_look_and_never_before_the_first() {
        assert_eq!(decisions(None).undecided(&cells([1.0, 1.5, 2.0], 6), 6), 0);
        assert_eq!(decisions(None).undecided(&cells([1.0, 1.5, 1.0], 6), 6), 1);
        assert_eq!(decisions(None).undecided(&cells([1.0, 1.5, 2.0], 5), 5), 2);
    }

    #[test]
    fn without_a_difference_a_margin_decides() {
        let alike = cells([1.0, 1.5, 1.0], 10);
        assert_eq!(decisions(Some(0.1)).undecided(&alike, 10), 0);
        assert_eq!(decisions(Some(0.001)).undecided(&alike, 10), 1);
        assert_eq!(decisions(None).undecided(&alike, 12), 1, "undecided at the end is not decided");
    }

    #[test]
    fn what_cannot_be_compared_takes_no_part() {
        let mut values = cells([1.0, 1.5, 2.0], 6);
        values[2].clear();
        assert_eq!(decisions(None).undecided(&values, 6), 0);
        values[1][0].value = 0.0;
        assert_eq!(decisions(None).undecided(&values, 6), 0);
    }
}
