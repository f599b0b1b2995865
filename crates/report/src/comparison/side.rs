//! One side of a comparison: a study, or the part of it that takes part.

use results::model::{Cell, Level};
use results::store::StudyResults;

/// What one side of a comparison is made from.
#[derive(Clone, Debug)]
pub struct Side {
    /// As the user named it.
    pub name: String,
    /// Row number of the study in its results file.
    pub study_id: i64,
    /// The study, with those cells and runs alone that take part; see [`restrict`].
    pub results: StudyResults,
}

/// Keeps the cells whose levels (or fixed parameters) have these values, and their runs.
///
/// # Errors
/// A name that is neither factor nor parameter, or a value that no cell has: a sentence that names what there is.
pub fn restrict(results: &StudyResults, wanted: &[(String, String)]) -> Result<StudyResults, String> {
    let mut restricted = results.clone();
    for (name, value) in wanted {
        let values = |cells: &[Cell]| {
            let mut values: Vec<String> = Vec::new();
            for level in cells.iter().filter_map(|cell| level(results, cell, name)) {
                if !values.contains(&level.to_string()) {
                    values.push(level.to_string());
                }
            }
            values
        };
        let known = values(&results.cells);
        if known.is_empty() {
            let factors: Vec<&str> =
                results.study.factors.iter().map(|factor| factor.name.as_str()).collect();
            let there = if factors.is_empty() { "none".to_owned() } else { factors.join(", ") };
            return Err(format!(
                "study of {} has no parameter \"{name}\"; its factors: {there}",
                results.study.experiment
            ));
        }
        restricted
            .cells
            .retain(|cell| level(results, cell, name).is_some_and(|level| level.to_string() == *value));
        if restricted.cells.is_empty() {
            return Err(format!("no configuration has {name}={value}; there are {}", known.join(", ")));
        }
    }
    let is_kept = |cell_index: u32| restricted.cells.iter().any(|cell| cell.index == cell_index);
    restricted.runs.retain(|stored| is_kept(stored.run.key.cell_index));
    restricted.latencies.retain(|latency| is_kept(latency.cell_index));
    Ok(restricted)
}

/// Keeps one cell and its runs.
pub(crate) fn restrict_to_cell(side: &Side, cell_index: u32) -> Side {
    let mut side = side.clone();
    side.results.cells.retain(|cell| cell.index == cell_index);
    side.results.runs.retain(|stored| stored.run.key.cell_index == cell_index);
    side
}

/// The value that a parameter has in a cell: as a level or, when it does not vary, as a fixed parameter.
pub(super) fn level<'a>(results: &'a StudyResults, cell: &'a Cell, name: &str) -> Option<&'a Level> {
    let all = cell.levels.iter().chain(&results.study.fixed);
    all.filter(|(known, _)| known == name).map(|(_, level)| level).next()
}
