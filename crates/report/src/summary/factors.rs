//! Factors against each other: means as a matrix, the best of each level, and what a level gains over the first.

use results::model::{Factor, Level};
use serde::Serialize;
use stats::change::speed_up;

use crate::quantity::Quantity;
use crate::summary::{CellSummary, Levels};

/// The best cell at one level of one factor, by mean.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BestOfLevel {
    /// The factor.
    pub factor: String,
    /// Its level.
    pub level: Level,
    /// The best cell at that level.
    pub cell_index: u32,
    /// Its label.
    pub label: String,
    /// Its mean, in the unit of the quantity.
    pub mean: f64,
    /// Runs behind the mean.
    pub n: usize,
}

/// Numbers over two factors.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Matrix {
    /// Levels of the other factors; empty when there are just two factors.
    pub others: Levels,
    /// Factor down the rows.
    pub row_factor: Factor,
    /// Factor along the columns: the last of the study.
    pub column_factor: Factor,
    /// `values[row][column]`; absent where no run counts.
    pub values: Vec<Vec<Option<f64>>>,
}

/// Finds the best cell at each level of each factor that varies.
pub(super) fn best_per_level(
    factors: &[Factor],
    cells: &[CellSummary],
    quantity: Quantity,
) -> Vec<BestOfLevel> {
    let varied: Vec<&Factor> = factors.iter().filter(|factor| varies(factor)).collect();
    if varied.len() < 2 {
        return Vec::new();
    }
    let levels =
        varied.iter().flat_map(|factor| factor.levels.iter().map(move |level| (&factor.name, level)));
    levels.filter_map(|(factor, level)| best_at(factor, level, cells, quantity)).collect()
}

fn best_at(factor: &str, level: &Level, cells: &[CellSummary], quantity: Quantity) -> Option<BestOfLevel> {
    let at_level = cells
        .iter()
        .filter(|cell| cell.levels.0.iter().any(|(name, other)| name == factor && other == level));
    let known = at_level.filter_map(|cell| Some((cell, cell.estimate?)));
    let (cell, estimate) = known
        .reduce(|best, other| if quantity.is_better(other.1.mean, best.1.mean) { other } else { best })?;
    Some(BestOfLevel {
        factor: factor.to_owned(),
        level: level.clone(),
        cell_index: cell.cell_index,
        label: cell.label.clone(),
        mean: estimate.mean,
        n: estimate.n,
    })
}

/// Lays the means out over the last two factors; nothing where one of them has a single level.
pub(super) fn means(factors: &[Factor], cells: &[CellSummary]) -> Vec<Matrix> {
    laid_out(factors, cells, &|cell| cell.estimate.map(|estimate| estimate.mean))
}

/// Of one level nothing can be better than at another: the table of all cells says it all.
fn varies(factor: &Factor) -> bool {
    factor.levels.len() > 1
}

fn laid_out(
    factors: &[Factor],
    cells: &[CellSummary],
    value: &dyn Fn(&CellSummary) -> Option<f64>,
) -> Vec<Matrix> {
    let [.., row_factor, column_factor] = factors else { return Vec::new() };
    if !varies(row_factor) || !varies(column_factor) {
        return Vec::new();
    }
    let mut matrices: Vec<Matrix> = Vec::new();
    for cell in cells {
        let Some((others, [row, column])) = cell.levels.0.split_last_chunk::<2>() else { continue };
        let known = matrices.iter().position(|matrix| matrix.others.0 == others);
        let index = known.unwrap_or_else(|| {
            matrices.push(Matrix {
                others: Levels(others.to_vec()),
                row_factor: row_factor.clone(),
                column_factor: column_factor.clone(),
                values: vec![vec![None; column_factor.levels.len()]; row_factor.levels.len()],
            });
            matrices.len() - 1
        });
        let place = |factor: &Factor, level: &Level| factor.levels.iter().position(|other| other == level);
        if let (Some(row), Some(column)) = (place(row_factor, &row.1), place(column_factor, &column.1)) {
            matrices[index].values[row][column] = value(cell);
        }
    }
    matrices
}

/// Turns geometric means into factors: the time at the first column's level over the time at each.
pub(super) fn improvement_factors(
    factors: &[Factor],
    cells: &[CellSummary],
    quantity: Quantity,
) -> Vec<Matrix> {
    let mut matrices = laid_out(factors, cells, &|cell| cell.geometric_mean);
    for row in matrices.iter_mut().flat_map(|matrix| &mut matrix.values) {
        let reference = row.first().copied().flatten();
        for value in row {
            *value = value
                .zip(reference)
                .and_then(|(mean, reference)| speed_up(quantity.cost_of(mean), quantity.cost_of(reference)));
        }
    }
    matrices
}
