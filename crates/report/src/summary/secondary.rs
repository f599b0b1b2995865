//! Metrics beside the one that is compared.

use results::measure::Measure;
use results::model::Cell;
use results::store::StudyResults;
use serde::Serialize;

use super::cells::Estimate;
use super::levels::Levels;

/// One secondary metric over the cells of a study.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SecondaryMetric {
    /// What it is.
    pub measure: Measure,
    /// Its values over the counting runs of each cell, in the order of the cells.
    pub cells: Vec<SecondaryCell>,
}

/// A secondary metric in one cell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SecondaryCell {
    /// The levels of the cell.
    pub levels: Levels,
    /// Its counting runs; `None` where none measured it.
    pub estimate: Option<Estimate>,
}

/// The secondary metrics of the design that some run measured.
pub(super) fn secondary(results: &StudyResults) -> Vec<SecondaryMetric> {
    let of_cell = |measure: &Measure, cell: &Cell| {
        let runs =
            results.runs.iter().filter(|stored| stored.run.key.cell_index == cell.index && stored.counts());
        let values: Vec<f64> = runs.filter_map(|stored| measure.value(&stored.run)).collect();
        SecondaryCell { levels: Levels(cell.levels.clone()), estimate: Estimate::of_positive(&values) }
    };
    let of_metric = |name: &String| {
        let measure = Measure::named(name);
        let cells = results.cells.iter().map(|cell| of_cell(&measure, cell)).collect();
        SecondaryMetric { measure, cells }
    };
    let metrics = results.study.design.secondary.iter().map(of_metric);
    metrics.filter(|metric| metric.cells.iter().any(|cell| cell.estimate.is_some())).collect()
}
