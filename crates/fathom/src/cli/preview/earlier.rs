//! The spread of earlier studies of an experiment, from the results file.

use lab::assignment::Assignment;
use results::measure::Measure;
use results::model::{Cell, StoredRun};
use results::store::{Store, StoredStudy};
use stats::compare::BlockedValue;
use stats::design::noise::{Measured, measured, pooled};

/// The latest studies that are read; what a machine was like long ago says little of today.
const STUDIES_MAX: usize = 5;

/// The spread of earlier studies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct EarlierSpread {
    /// Numbers of studies that it was measured in.
    pub(crate) studies: usize,
    /// The spread, over all of them.
    pub(crate) measured: Measured,
}

/// Measures the spread of the metric in the latest studies of the same experiment, scale and engine.
pub(crate) fn spread(store: &Store, assignment: &Assignment, measure: &Measure) -> Option<EarlierSpread> {
    let resolved = assignment.resolved();
    let mut studies = store.studies().ok()?;
    studies.retain(|StoredStudy { study, .. }| {
        study.experiment == resolved.name
            && study.engine == resolved.engine.id
            && study.scale == resolved.scale
    });
    let latest = studies.iter().rev().take(STUDIES_MAX);
    let found: Vec<Measured> = latest.filter_map(|stored| of_study(store, stored, measure)).collect();
    Some(EarlierSpread { studies: found.len(), measured: pooled(&found)? })
}

fn of_study(store: &Store, stored: &StoredStudy, measure: &Measure) -> Option<Measured> {
    let cells = store.cells(stored.id).ok()?;
    let mut runs = store.runs(stored.id).ok()?;
    runs.retain(StoredRun::counts);
    if measure.is_latency() {
        // Their histograms are read one by one.
        runs = runs.iter().filter_map(|run| store.run(run.run_id).ok()).collect();
    }
    let values = |cell: &Cell| -> Vec<BlockedValue> {
        let of_cell = runs.iter().filter(|stored| stored.run.key.cell_index == cell.index);
        of_cell
            .filter_map(|stored| {
                Some(BlockedValue { block: stored.run.key.block_index, value: measure.value(&stored.run)? })
            })
            .collect()
    };
    // A value of zero has no logarithm: such a study says nothing.
    measured(&cells.iter().map(values).collect::<Vec<_>>()).ok().flatten()
}
