//! Before anything of a workload of the user's own runs: does the engine accept schema and statements of every cell?

use std::sync::Arc;

use results::model::Cell;

use crate::assignment::Assignment;
use crate::engine::{Limitation, Target, TargetError};
use crate::own::{self, OwnWorkload};
use crate::run::RunError;
use crate::work::Work;

/// Why a target cannot run a workload of the user's own; nothing where it can.
pub(super) fn own_limitation(target: &mut dyn Target, work: &Work) -> Option<Limitation> {
    (work.own.is_some() && target.own_databases().is_none()).then(|| Limitation {
        subject: "workload".to_owned(),
        text: format!("{} has no database for a workload of your own", target.engine().id),
        refuses: true,
    })
}

/// Tests the workload of every cell for which `is_due`; each different one once. Costs the making of its schema.
///
/// # Errors
/// The label of a cell, and the first of its statements that an engine refuses, with file and line.
pub(super) fn rehearse(
    targets: &mut [Box<dyn Target>],
    assignment: &Assignment,
    cells: &[Cell],
    is_due: &dyn Fn(u32) -> bool,
) -> Result<(), (String, RunError)> {
    let mut rehearsed: Vec<(usize, Arc<OwnWorkload>)> = Vec::new();
    for cell in cells.iter().filter(|cell| is_due(cell.index)) {
        let work = assignment.work(cell, 0);
        let Some(own) = work.own.clone() else { return Ok(()) };
        let place = assignment.target_index(cell);
        let is_known = |(target, known): &(usize, Arc<OwnWorkload>)| *target == place && *known == own;
        let Some(target) = targets.get_mut(place).filter(|_| !rehearsed.iter().any(is_known)) else {
            continue;
        };
        let tested = test(target.as_mut(), &work, &own);
        // The next prepare removes what is left anyway.
        let _ = target.clean();
        tested.map_err(|error| (cell.label(), RunError::Target(error)))?;
        rehearsed.push((place, own));
    }
    Ok(())
}

fn test(target: &mut dyn Target, work: &Work, own: &OwnWorkload) -> Result<(), TargetError> {
    target.prepare(work)?;
    let engine = target.engine().id;
    match target.own_databases() {
        Some(databases) => own::rehearse(databases, engine, work, own),
        None => Ok(()),
    }
}
