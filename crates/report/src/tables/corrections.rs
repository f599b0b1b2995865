//! What was doubted or replaced, with the old and the new value.

use results::model::RunState;
use results::store::CorrectedRun;

use crate::layout::{Align, Block, Grid, Section};
use crate::number::{counted_from_one, number};
use crate::summary::StudySummary;
use crate::tables::{moment, or_dash};

/// The table of corrections; `None` without any.
pub(crate) fn corrections(summary: &StudySummary) -> Option<Section> {
    if summary.corrections.is_empty() {
        return None;
    }
    let is_rate = ["rows_per_s", "transactions_per_s"].contains(&summary.quantity.name());
    let values = match is_rate {
        false => "elapsed time in seconds".to_owned(),
        true => format!("{} per second", summary.work()),
    };
    let title = format!("Corrections (old and new {values}; nothing is deleted)");
    let value = |run: &CorrectedRun| {
        let elapsed_s = run.elapsed_ns as f64 / 1e9;
        let value = if is_rate { run.rows as f64 / elapsed_s } else { elapsed_s };
        let state = if run.state == RunState::Invalid { " (invalid)" } else { "" };
        format!("{}{state}", number(value))
    };
    let mut grid = Grid::named_by([("configuration".to_owned(), Align::Left)]).with([
        ("block", Align::Right),
        ("old run", Align::Right),
        ("old", Align::Right),
        ("new run", Align::Right),
        ("new", Align::Right),
        ("date", Align::Left),
        ("reason", Align::Wrapped),
    ]);
    for correction in &summary.corrections {
        let cell = summary.cells.iter().find(|cell| cell.cell_index == correction.old.key.cell_index);
        grid.push(vec![
            or_dash(cell, |cell| cell.label.clone()),
            counted_from_one(correction.old.key.block_index),
            correction.old.run_id.to_string(),
            value(&correction.old),
            or_dash(correction.new.as_ref(), |new| new.run_id.to_string()),
            correction.new.as_ref().map_or_else(|| "not repeated".to_owned(), value),
            moment(&correction.at),
            correction.reason.clone(),
        ]);
    }
    Some(Section::new(title, vec![Block::Grid(grid)]))
}
