//! The look at which a study that may end early did end: verdicts are made at its level.

use std::collections::BTreeSet;

use results::model::RunState;
use results::store::StudyResults;
use serde::Serialize;
use stats::design::sequential::{Look, Step, level_after, looks, step};
use stats::family::Judged;

use super::cells::ALPHA;

/// The last look.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Looked {
    /// Blocks that were done.
    pub blocks: u32,
    /// Blocks after which the study ends in any case.
    pub blocks_max: u32,
    /// The level of this look: a p at most this decides. The chance of a false verdict over all looks is [`ALPHA`].
    pub level: f64,
    /// The largest relative difference that counts as none, where there is one.
    pub margin: Option<f64>,
}

impl Looked {
    /// `None` for a study with a fixed number of blocks, and for one whose design is not valid.
    pub(super) fn of(results: &StudyResults) -> Option<Self> {
        let plan = results.study.design.looks?;
        let blocks = blocks_done(results).clamp(1, plan.blocks_max.max(1));
        let level = match level_after(blocks, plan.blocks_min, plan.blocks_max, ALPHA).ok()? {
            Some(level) => level,
            // Read before the first look that the study makes: a look of its own.
            None => looks(&[f64::from(blocks) / f64::from(plan.blocks_max)], ALPHA).ok()?.first()?.level,
        };
        Some(Self { blocks, blocks_max: plan.blocks_max, level, margin: plan.margin })
    }

    /// The margin, where the ratio of one of so many comparisons is shown to lie within.
    pub(super) fn within(&self, judged: &Judged, comparisons: usize) -> Option<f64> {
        let fraction = f64::from(self.blocks) / f64::from(self.blocks_max);
        let look = Look { fraction, spent: 0.0, bound: 0.0, level: self.level };
        self.margin.filter(|_| step(judged, comparisons, self.margin, &look) == Step::Equivalent)
    }
}

/// Blocks in which every cell was run to an end, whatever became of it: as the laboratory counts them.
fn blocks_done(results: &StudyResults) -> u32 {
    let has_ended = |state: RunState| matches!(state, RunState::Valid | RunState::Invalid);
    let runs = results.runs.iter().map(|stored| &stored.run).filter(|run| has_ended(run.state));
    let places: BTreeSet<(u32, u32)> = runs.map(|run| (run.key.block_index, run.key.cell_index)).collect();
    let is_done = |block: &u32| results.cells.iter().all(|cell| places.contains(&(*block, cell.index)));
    let blocks: BTreeSet<u32> = places.iter().map(|(block, _)| *block).filter(is_done).collect();
    u32::try_from(blocks.len()).unwrap_or(u32::MAX)
}
