//! Whether anything of an assignment is left to run.

use results::store::{Store, StoreError};

use super::progress::StudyProgress;
use crate::assignment::Assignment;

/// Does the results file have every run of the assignment? Then there is nothing to start a target for.
///
/// # Errors
/// The results file cannot be read.
pub fn is_complete(store: &Store, assignment: &Assignment) -> Result<bool, StoreError> {
    let Some(study) = store.find_study(&assignment.key())? else { return Ok(false) };
    let cell_count = assignment.cells().len();
    let progress = StudyProgress::read(store, study, assignment)?;
    let planned = assignment.resolved().repetitions;
    let mut block_index = 0;
    while block_index < planned || adds_block(assignment, &progress, block_index) {
        if (0..cell_count as u32).any(|cell_index| !progress.is_filled(block_index, cell_index)) {
            return Ok(false);
        }
        block_index += 1;
    }
    Ok(true)
}

/// Is another block wanted beyond the planned ones?
pub(super) fn adds_block(assignment: &Assignment, progress: &StudyProgress, block_index: u32) -> bool {
    assignment.resolved().repeat_until.is_some_and(|until| {
        let precisions = progress.precisions(assignment.cells().len());
        let undecided = progress.undecided(block_index).unwrap_or(0);
        until.needs_another_block(block_index, assignment.resolved().repetitions, &precisions, undecided)
    })
}
