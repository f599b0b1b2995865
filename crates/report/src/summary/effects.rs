//! What each factor does over the levels of the others, and which factors act on each other.

use results::model::{Factor, Level};
use results::store::StudyResults;
use serde::Serialize;
use stats::compare::{BlockedValue, Comparison};
use stats::effects::{self, Against, Cell};
use stats::random::derive_seed;
use stats::verdict::verdicts;

use super::cells::{ALPHA, Range, Verdict};
use super::looked::Looked;
use crate::quantity::Quantity;

/// One level of a factor against another, the other factors' levels averaged.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EffectSummary {
    /// The factor.
    pub factor: String,
    /// The level that is compared with: the one before where levels are numbers, else the first.
    pub reference: Level,
    /// The other level.
    pub candidate: Level,
    /// Combinations of the levels of the other factors in which both were measured; 1 without other factors.
    pub combinations: usize,
    /// Geometric mean of the ratios of the compared quantity, candidate over reference; absent without a block of both.
    pub ratio: Option<f64>,
    /// Its interval, corrected for all effects of the study; absent below two blocks.
    pub ratio_interval: Option<Range>,
    /// p after Holm's correction for all effects of the study; absent where no p could reach the level.
    pub p_adjusted: Option<f64>,
    /// The decision.
    pub verdict: Verdict,
}

/// Two factors of which the effect of one depends on the other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InteractionSummary {
    /// The factors.
    pub factors: [String; 2],
    /// The level of each that is compared with.
    pub reference: [Level; 2],
    /// The other level of each.
    pub candidate: [Level; 2],
    /// Ratio of the first factor's levels at the reference and at the candidate of the second.
    pub ratios: [f64; 2],
    /// p after Holm's correction for all interactions of the study.
    pub p_adjusted: f64,
}

/// All effects of a study, decided together, and the interactions that are shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Effects {
    /// By factor, in the order of the study; levels ascend where they are numbers.
    pub effects: Vec<EffectSummary>,
    /// The largest first.
    pub interactions: Vec<InteractionSummary>,
    /// Are there two factors, and blocks enough to show that they interact?
    pub can_show_interactions: bool,
}

impl EffectSummary {
    /// How much the quantity changes, in percent of its value at the reference.
    pub fn percent(&self) -> Option<f64> {
        self.ratio.map(|ratio| 100.0 * (ratio - 1.0))
    }
}

/// Computes effects and interactions from the counting runs; none without factors, or where a value is not above zero.
pub fn effects(results: &StudyResults, quantity: Quantity) -> Effects {
    let factors: Vec<Factor> = results.study.factors.iter().map(ascending).collect();
    let cells = cells(results, &super::cells::values(results, quantity));
    let alpha = Looked::of(results).map_or(ALPHA, |looked| looked.level);
    let Some(effects) = main_effects(&factors, &cells, quantity, alpha, results.study.seed) else {
        return Effects::default();
    };
    let (interactions, can_show_interactions) = interactions(&factors, &cells, alpha, results.study.seed);
    Effects { effects, interactions, can_show_interactions }
}

/// Numbers ascending, so that the level before is the next smaller one.
fn ascending(factor: &Factor) -> Factor {
    let mut factor = factor.clone();
    if is_numeric(&factor) {
        let value = |level: &Level| level.as_number().unwrap_or(f64::NAN);
        factor.levels.sort_by(|left, right| value(left).total_cmp(&value(right)));
    }
    factor
}

fn is_numeric(factor: &Factor) -> bool {
    factor.levels.iter().all(|level| level.as_number().is_some())
}

/// Every cell with its counting runs; `values` are those of each.
fn cells(results: &StudyResults, values: &[Vec<BlockedValue>]) -> Vec<Cell> {
    let of_cell = |(cell, runs): (&results::model::Cell, &Vec<BlockedValue>)| Cell {
        levels: cell.levels.iter().map(|(_, level)| level.to_string()).collect(),
        runs: runs.clone(),
    };
    results.cells.iter().zip(values).map(of_cell).collect()
}

fn named(factor: &Factor) -> stats::design::contrasts::Factor {
    stats::design::contrasts::Factor {
        name: factor.name.clone(),
        levels: factor.levels.iter().map(Level::to_string).collect(),
    }
}

/// The effects of all factors as one family, although numbers are compared with the level before and words with the first.
fn main_effects(
    factors: &[Factor],
    cells: &[Cell],
    quantity: Quantity,
    alpha: f64,
    seed: u64,
) -> Option<Vec<EffectSummary>> {
    let names: Vec<_> = factors.iter().map(named).collect();
    let mut found = Vec::new();
    for (place, factor) in factors.iter().enumerate() {
        let against = if is_numeric(factor) { Against::Previous } else { Against::First };
        let seed = derive_seed(seed, &[place as u64]);
        let direction = quantity.direction();
        let of_factor =
            effects::main_effects(&names, cells, &[&factor.name], against, direction, alpha, seed).ok()?;
        found.extend(of_factor.into_iter().map(|effect| (factor, effect)));
    }
    let comparisons: Vec<Comparison> = found.iter().map(|(_, effect)| effect.judged.comparison).collect();
    let decisions = verdicts(&comparisons, alpha).ok()?;
    let summary =
        |((factor, effect), decision): ((&Factor, effects::MainEffect), stats::verdict::Decision)| {
            Some(EffectSummary {
                factor: factor.name.clone(),
                reference: level(factor, &effect.reference)?,
                candidate: level(factor, &effect.candidate)?,
                combinations: effect.combinations,
                ratio: effect.judged.comparison.ratio,
                ratio_interval: decision.ratio_interval.map(Range::from),
                p_adjusted: decision.p_adjusted,
                verdict: decision.verdict.into(),
            })
        };
    Some(found.into_iter().zip(decisions).filter_map(summary).collect())
}

fn level(factor: &Factor, words: &str) -> Option<Level> {
    factor.levels.iter().find(|level| level.to_string() == words).cloned()
}

/// The interactions that are shown, all pairs of factors sharing the level of the test.
fn interactions(
    factors: &[Factor],
    cells: &[Cell],
    alpha: f64,
    seed: u64,
) -> (Vec<InteractionSummary>, bool) {
    let pairs = factors.len() * factors.len().saturating_sub(1) / 2;
    let names: Vec<_> = factors.iter().map(named).collect();
    let (mut shown, mut can_be_shown) = (Vec::new(), false);
    for (place, one) in factors.iter().enumerate() {
        for (next, other) in factors.iter().enumerate().skip(place + 1) {
            let seed = derive_seed(seed, &[place as u64, next as u64]);
            let alpha = alpha / pairs as f64;
            let of_pair = effects::interactions(&names, cells, [&one.name, &other.name], alpha, seed);
            let of_pair = of_pair.unwrap_or_default();
            can_be_shown |= of_pair.iter().any(|interaction| interaction.p_adjusted.is_some());
            for interaction in of_pair.into_iter().filter(|interaction| interaction.is_shown) {
                let size = interaction.ratio.map_or(0.0, |ratio| ratio.ln().abs());
                let summary = interaction_summary([place, next], factors, cells, &interaction, pairs);
                shown.extend(summary.map(|summary| (size, summary)));
            }
        }
    }
    shown.sort_by(|one, other| other.0.total_cmp(&one.0));
    (shown.into_iter().map(|(_, summary)| summary).collect(), can_be_shown)
}

fn interaction_summary(
    places: [usize; 2],
    factors: &[Factor],
    cells: &[Cell],
    found: &effects::Interaction,
    pairs: usize,
) -> Option<InteractionSummary> {
    let mean = |one: &str, other: &str| {
        let here =
            cells.iter().filter(|cell| cell.levels[places[0]] == one && cell.levels[places[1]] == other);
        let logarithms: Vec<f64> = here.flat_map(|cell| cell.runs.iter().map(|run| run.value.ln())).collect();
        (!logarithms.is_empty()).then(|| logarithms.iter().sum::<f64>() / logarithms.len() as f64)
    };
    let ratio_at =
        |other: &str| Some((mean(&found.candidate[0], other)? - mean(&found.reference[0], other)?).exp());
    let [one, other] = places.map(|place| &factors[place]);
    Some(InteractionSummary {
        factors: found.factors.clone(),
        reference: [level(one, &found.reference[0])?, level(other, &found.reference[1])?],
        candidate: [level(one, &found.candidate[0])?, level(other, &found.candidate[1])?],
        ratios: [ratio_at(&found.reference[1])?, ratio_at(&found.candidate[1])?],
        p_adjusted: (found.p_adjusted? * pairs as f64).min(1.0),
    })
}
