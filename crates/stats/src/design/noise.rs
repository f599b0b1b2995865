//! How much runs spread: stated, or taken from earlier runs.

use std::collections::BTreeMap;

use crate::compare::BlockedValue;
use crate::input::{InputError, require_positive};
use crate::summary::mean;

/// How much runs of one cell spread; shares of 1, so 0.05 is 5 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// Standard deviation from run to run over the mean; above 0.
    pub run_sd: f64,
    /// Standard deviation of what the runs of a block have in common (drift over hours) over the mean; 0 without.
    pub block_sd: f64,
}

impl Noise {
    /// Spread from run to run alone.
    pub fn of_runs(run_sd: f64) -> Self {
        Self { run_sd, block_sd: 0.0 }
    }
}

/// What earlier runs say of the spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The spread.
    pub noise: Noise,
    /// The degrees of freedom behind `run_sd`: with 4 it is known within a factor of about 2.
    pub degrees_of_freedom: usize,
}

/// Measures the spread of earlier runs of a study, one element per cell.
///
/// The logarithms are taken as effect of the cell, effect of the block and chance. From the blocks that hold every cell
/// with runs: the mean square of the residuals is that of chance, the mean square between blocks minus it, over the
/// cells, that of blocks, at least 0 (the estimates of a two-way analysis of variance; Searle, Casella and McCulloch,
/// "Variance components", 1992, chapter 4). With one cell, or fewer than two such blocks, the spread within the cells
/// stands for chance and drift together, and `block_sd` is 0. `None` without two runs of any cell.
///
/// # Errors
/// A value is not finite or not above zero; the index is that within its cell.
pub fn measured(cells: &[Vec<BlockedValue>]) -> Result<Option<Measured>, InputError> {
    let mut by_cell: Vec<BTreeMap<u32, f64>> = Vec::new();
    let mut residuals = Vec::new();
    for runs in cells.iter().filter(|runs| !runs.is_empty()) {
        require_positive(&runs.iter().map(|run| run.value).collect::<Vec<_>>())?;
        let mut blocks = BTreeMap::<u32, Vec<f64>>::new();
        runs.iter().for_each(|run| blocks.entry(run.block).or_default().push(run.value.ln()));
        let of_cell: Vec<f64> = runs.iter().map(|run| run.value.ln()).collect();
        let centre = mean(&of_cell);
        residuals.push(of_cell.iter().map(|value| value - centre).collect::<Vec<f64>>());
        by_cell.push(blocks.into_iter().map(|(block, values)| (block, mean(&values))).collect());
    }
    let Some((first, others)) = by_cell.split_first() else { return Ok(None) };
    let complete = first.keys().filter(|block| others.iter().all(|cell| cell.contains_key(block)));
    let table: Vec<Vec<f64>> =
        complete.map(|block| by_cell.iter().map(|cell| cell[block]).collect()).collect();
    if table.len() >= 2 && by_cell.len() >= 2 {
        return Ok(Some(of_table(&table)));
    }
    let degrees_of_freedom: usize = residuals.iter().map(|values| values.len() - 1).sum();
    let squares: f64 = residuals.iter().flatten().map(|value| value * value).sum();
    Ok((degrees_of_freedom > 0).then(|| Measured {
        noise: Noise::of_runs(relative_sd(squares / degrees_of_freedom as f64)),
        degrees_of_freedom,
    }))
}

/// Pools the spreads of several studies: the mean of the variances of the logarithms, weighted with the degrees of freedom.
///
/// `None` for an empty slice.
pub fn pooled(studies: &[Measured]) -> Option<Measured> {
    let degrees_of_freedom: usize = studies.iter().map(|study| study.degrees_of_freedom).sum();
    let pooled = |sd: &dyn Fn(&Noise) -> f64| {
        let weighted =
            studies.iter().map(|study| study.degrees_of_freedom as f64 * sd(&study.noise).powi(2).ln_1p());
        relative_sd(weighted.sum::<f64>() / degrees_of_freedom as f64)
    };
    (degrees_of_freedom > 0).then(|| Measured {
        noise: Noise { run_sd: pooled(&|noise| noise.run_sd), block_sd: pooled(&|noise| noise.block_sd) },
        degrees_of_freedom,
    })
}

/// Logarithms by block (two or more) and cell (two or more).
fn of_table(table: &[Vec<f64>]) -> Measured {
    let (blocks, cells) = (table.len(), table[0].len());
    let of_blocks: Vec<f64> = table.iter().map(|block| mean(block)).collect();
    let of_cells: Vec<f64> =
        (0..cells).map(|cell| mean(&table.iter().map(|block| block[cell]).collect::<Vec<_>>())).collect();
    let centre = mean(&of_blocks);
    let residual =
        |block: usize, cell: usize| table[block][cell] - of_blocks[block] - of_cells[cell] + centre;
    let squares: f64 = (0..blocks)
        .flat_map(|block| (0..cells).map(move |cell| (block, cell)))
        .map(|(block, cell)| residual(block, cell).powi(2))
        .sum();
    let degrees_of_freedom = (blocks - 1) * (cells - 1);
    let chance = squares / degrees_of_freedom as f64;
    let between = of_blocks.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / (blocks as f64 - 1.0);
    let of_block = (between - chance / cells as f64).max(0.0);
    let noise = Noise { run_sd: relative_sd(chance), block_sd: relative_sd(of_block) };
    Measured { noise, degrees_of_freedom }
}

/// The relative standard deviation of a lognormal value whose logarithm has this variance.
fn relative_sd(variance: f64) -> f64 {
    variance.exp_m1().sqrt()
}

/// The standard deviation of the logarithm of a lognormal value with this relative standard deviation.
///
/// # Errors
/// The value is not above zero or not finite.
pub fn log_sd(relative_sd: f64) -> Result<f64, InputError> {
    if relative_sd > 0.0 && relative_sd.is_finite() {
        Ok((relative_sd * relative_sd).ln_1p().sqrt())
    } else {
        Err(InputError::NotASpread(relative_sd))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::random::{Random, derive_seed};

    fn study(cells: u32, blocks: u32, run: f64, drift: f64, seed: u64) -> Vec<Vec<BlockedValue>> {
        let mut random = Random::new(seed);
        let mut study = vec![Vec::new(); cells as usize];
        for block in 0..blocks {
            let shared = drift * random.normal_pair().0;
            for (cell, runs) in study.iter_mut().enumerate() {
                let value = (cell as f64 + shared + run * random.normal_pair().0).exp();
                runs.push(BlockedValue { block, value });
            }
        }
        study
    }

    #[test]
    fn chance_and_drift_are_told_apart_whatever_the_cells_take() {
        let (mut run, mut block) = (0.0, 0.0);
        for each in 0..200 {
            let measured = measured(&study(4, 6, 0.05, 0.3, derive_seed(1, &[each]))).unwrap().unwrap();
            assert_eq!(measured.degrees_of_freedom, 15);
            run += log_sd(measured.noise.run_sd).unwrap().powi(2) / 200.0;
            block += log_sd(measured.noise.block_sd).unwrap().powi(2) / 200.0;
        }
        assert!((run.sqrt() - 0.05).abs() < 0.002 && (block.sqrt() - 0.3).abs() < 0.03, "{run} {block}");
    }

    #[test]
    fn a_table_of_two_by_two_has_the_values_worked_out_by_hand() {
        // Logarithms 0, 1 and 2, 5: residuals of 0.5 each, so squares of 1 on one degree of freedom; block means 0.5 and
        // 3.5 spread by 4.5, minus 1 / 2.
        let run = |block, logarithm: f64| BlockedValue { block, value: logarithm.exp() };
        let cells = vec![vec![run(0, 0.0), run(1, 2.0)], vec![run(0, 1.0), run(1, 5.0)]];
        let measured = measured(&cells).unwrap().unwrap();
        let variance = |sd: f64| log_sd(sd).unwrap().powi(2);
        assert!((variance(measured.noise.run_sd) - 1.0).abs() < 1e-9, "{measured:?}");
        assert!((variance(measured.noise.block_sd) - 4.0).abs() < 1e-9, "{measured:?}");
    }

    #[test]
    fn several_studies_are_pooled_by_their_degrees_of_freedom() {
        let study = |run_sd: f64, block_sd: f64, degrees_of_freedom| Measured {
            noise: Noise { run_sd, block_sd },
            degrees_of_freedom,
        };
        let one = study(0.05, 0.1, 4);
        let alone = pooled(&[one]).unwrap();
        assert!((alone.noise.run_sd - 0.05).abs() < 1e-12 && (alone.noise.block_sd - 0.1).abs() < 1e-12);
        // Of variances 0.0025 and 0.01, weighted 1 to 3: 0.008125, for small spreads nearly that of the values.
        let both = pooled(&[one, study(0.1, 0.0, 12)]).unwrap();
        assert!((both.noise.run_sd.powi(2) - 0.008_125).abs() < 1e-4, "{both:?}");
        assert_eq!(both.degrees_of_freedom, 16);
        assert_eq!(pooled(&[]), None);
    }

    #[test]
    fn one_cell_and_few_blocks_give_what_they_can() {
        let one = measured(&study(1, 5, 0.05, 0.0, 3)).unwrap().unwrap();
        assert_eq!((one.degrees_of_freedom, one.noise.block_sd), (4, 0.0));
        assert_eq!(measured(&study(3, 1, 0.05, 0.0, 3)).unwrap(), None);
        assert_eq!(measured(&[]).unwrap(), None);
        assert_eq!(measured(&[Vec::new()]).unwrap(), None);
        let zero = vec![vec![BlockedValue { block: 0, value: 0.0 }]];
        assert!(measured(&zero).is_err());
    }
}
