//! The columns that name a configuration.

use crate::layout::{Align, Grid};
use crate::summary::{Levels, StudySummary};

/// One column per factor; `configuration` in a study without any.
pub(super) fn level_columns(summary: &StudySummary) -> Grid {
    if summary.factors.is_empty() {
        return Grid::named_by([("configuration".to_owned(), Align::Left)]);
    }
    let grid = Grid::named_by(summary.factors.iter().map(|factor| (factor.name.clone(), Align::Right)));
    Grid { names_levels: true, ..grid }
}

/// The levels of one configuration, a cell for each.
pub(super) fn level_cells(levels: &Levels) -> Vec<String> {
    if levels.0.is_empty() {
        return vec!["all".to_owned()];
    }
    levels.0.iter().map(|(_, level)| level.to_string()).collect()
}
