//! Levels of the factors, and the label of the cell that has them.

use results::model::Level;
use results::store::StudyResults;
use serde::{Serialize, Serializer};

/// Levels of a cell, by factor; an object in JSON, in the order of the factors.
#[derive(Clone, Debug, PartialEq)]
pub struct Levels(pub Vec<(String, Level)>);

impl Serialize for Levels {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, level)| (name, level)))
    }
}

/// Label of a cell by its index; the index itself when the cell is not stored.
pub(crate) fn cell_label(results: &StudyResults, cell_index: u32) -> String {
    let cell = results.cells.iter().find(|cell| cell.index == cell_index);
    cell.map_or_else(|| format!("cell {cell_index}"), results::model::Cell::label)
}
