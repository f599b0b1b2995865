//! What a factor does over all levels of the others, and whether two factors act on each other.
//!
//! Within each block, at each combination of the levels of the other factors, two levels of a factor meet once: every such
//! place gives one difference of logarithms. Pooled over blocks and combinations they decide with far fewer blocks than
//! two cells alone.

use std::collections::BTreeMap;
use std::fmt;

use crate::compare::{BlockedValue, Comparison, Direction, LogRatio, Method};
use crate::design::contrasts::{ContrastError, Factor};
use crate::family::Judged;
use crate::input::{InputError, require_positive};
use crate::permutation::{Stratum, attainable_p_min, two_sided_p};
use crate::random::derive_seed;
use crate::summary::{Interval, mean, variance};
use crate::verdict::{Decision, Verdict, verdicts};

/// One configuration with its runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// One level per factor of the study, in the order of its factors.
    pub levels: Vec<String>,
    /// Its runs.
    pub runs: Vec<BlockedValue>,
}

/// Which level of a factor the others are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against {
    /// The first.
    First,
    /// The one before.
    Previous,
}

/// What one level of a factor does against another, over the levels of the other factors.
#[derive(Clone, Debug, PartialEq)]
pub struct MainEffect {
    /// The factor.
    pub factor: String,
    /// Its level that is compared with.
    pub reference: String,
    /// Its other level.
    pub candidate: String,
    /// Combinations of the levels of the other factors in which both were measured; 1 without other factors.
    pub combinations: usize,
    /// The geometric mean of the ratios, its interval, p and verdict among all effects decided together.
    pub judged: Judged,
}

/// How much the effect of one factor depends on another: a ratio of ratios, 1 where it does not.
#[derive(Clone, Debug, PartialEq)]
pub struct Interaction {
    /// The two factors.
    pub factors: [String; 2],
    /// The first level of each.
    pub reference: [String; 2],
    /// The other level of each.
    pub candidate: [String; 2],
    /// Combinations of the levels of the remaining factors; 1 without any.
    pub combinations: usize,
    /// The first factor's ratio (candidate over reference) at the candidate's level of the second factor, over its ratio
    /// at the reference's level; absent when not all four were measured in one block.
    pub ratio: Option<f64>,
    /// Its interval, corrected for all interactions decided together; absent below two blocks.
    pub interval: Option<Interval>,
    /// The larger of the p values of sign flips and of Student's t.
    pub p_value: f64,
    /// The same after Holm's correction; absent where no p could reach the level.
    pub p_adjusted: Option<f64>,
    /// Is the interaction shown?
    pub is_shown: bool,
}

/// Why effects cannot be computed.
#[derive(Clone, Debug, PartialEq)]
pub enum EffectError {
    /// A factor or level is not known.
    Name(ContrastError),
    /// A value or the level of the test.
    Value(InputError),
}

impl fmt::Display for EffectError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(error) => error.fmt(formatter),
            Self::Value(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for EffectError {}

impl From<InputError> for EffectError {
    fn from(error: InputError) -> Self {
        Self::Value(error)
    }
}

/// Computes the main effects of the named factors, all of them decided together at `alpha` (Holm).
///
/// The ratio is the geometric mean of the ratios at each combination of the other factors' levels, each of equal weight:
/// it speaks of the levels that were measured. Its standard error comes from the spread of the differences between blocks
/// within each combination (degrees of freedom after Satterthwaite 1946), so an effect that differs between combinations
/// does not widen it; whether it does is what [`interactions`] say. p is the larger of Student's and that of the
/// permutation of labels within blocks and combinations (Pesarin and Salmaso, "Permutation tests for complex data", 2010,
/// chapter 1: stratified permutation), which is exact where the factor has no effect at any combination.
///
/// # Errors
/// A factor is not known, a value is not above zero, or `alpha` is not between 0 and 1.
pub fn main_effects(
    factors: &[Factor],
    cells: &[Cell],
    names: &[&str],
    against: Against,
    direction: Direction,
    alpha: f64,
    seed: u64,
) -> Result<Vec<MainEffect>, EffectError> {
    let logarithms = logarithms(cells)?;
    let mut effects = Vec::new();
    for name in names {
        let factor = factor(factors, name)?;
        let levels = &factors[factor].levels;
        for candidate in 1..levels.len() {
            let reference = if against == Against::First { 0 } else { candidate - 1 };
            let places = places(cells, &logarithms, &[factor]);
            let pooled = Pooled::of(places.values().filter_map(|levels_here| {
                let at = |level: usize| levels_here.get(std::slice::from_ref(&levels[level]));
                Some(shared(at(reference)?, at(candidate)?))
            }));
            let seed = derive_seed(seed, &[effects.len() as u64]);
            effects.push((
                factor,
                reference,
                candidate,
                pooled.combinations(),
                pooled.compared(direction, seed),
            ));
        }
    }
    let comparisons: Vec<Comparison> = effects.iter().map(|(.., comparison)| *comparison).collect();
    let decisions = verdicts(&comparisons, alpha)?;
    let named = effects.into_iter().zip(decisions);
    Ok(named
        .map(|((factor, reference, candidate, combinations, comparison), decision)| {
            let factor = &factors[factor];
            MainEffect {
                factor: factor.name.clone(),
                reference: factor.levels[reference].clone(),
                candidate: factor.levels[candidate].clone(),
                combinations,
                judged: Judged { comparison, decision },
            }
        })
        .collect())
}

/// Computes the interactions of two factors: each level of either but the first, against the first levels; all of them
/// decided together at `alpha` (Holm).
///
/// In each block, at each combination of the remaining factors, four runs give one difference of differences of
/// logarithms. p is the larger of Student's t and that of flipping the signs of these, which is exact where runs spread
/// alike, for then a difference of differences is as often above its mean as below.
///
/// # Errors
/// As [`main_effects`]; and both names are one factor.
pub fn interactions(
    factors: &[Factor],
    cells: &[Cell],
    names: [&str; 2],
    alpha: f64,
    seed: u64,
) -> Result<Vec<Interaction>, EffectError> {
    let [one, other] = [factor(factors, names[0])?, factor(factors, names[1])?];
    if one == other {
        let (factor, level) = (names[0].to_owned(), factors[one].levels.first().cloned().unwrap_or_default());
        return Err(EffectError::Name(ContrastError::SameLevel { factor, level }));
    }
    let logarithms = logarithms(cells)?;
    let places = places(cells, &logarithms, &[one, other]);
    let [of_one, of_other] = [&factors[one].levels, &factors[other].levels];
    let mut found: Vec<Found> = Vec::new();
    for left in 1..of_one.len() {
        for right in 1..of_other.len() {
            let pooled = Pooled::of(places.values().filter_map(|levels_here| {
                let at = |one: usize, other: usize| {
                    levels_here.get([of_one[one].clone(), of_other[other].clone()].as_slice())
                };
                Some(crossed([at(0, 0)?, at(left, right)?], [at(left, 0)?, at(0, right)?]))
            }));
            let seed = derive_seed(seed, &[found.len() as u64]);
            // The direction plays no part: an interaction is neither better nor worse.
            let comparison = pooled.compared(Direction::SmallerIsBetter, seed);
            found.push((left, right, pooled.combinations(), comparison));
        }
    }
    let comparisons: Vec<Comparison> = found.iter().map(|(.., comparison)| *comparison).collect();
    let decisions = verdicts(&comparisons, alpha)?;
    let named = |((left, right, combinations, comparison), decision): (Found, Decision)| Interaction {
        factors: [factors[one].name.clone(), factors[other].name.clone()],
        reference: [of_one[0].clone(), of_other[0].clone()],
        candidate: [of_one[left].clone(), of_other[right].clone()],
        combinations,
        ratio: comparison.ratio,
        interval: decision.ratio_interval,
        p_value: comparison.p_value,
        p_adjusted: decision.p_adjusted,
        is_shown: matches!(decision.verdict, Verdict::Better | Verdict::Worse),
    };
    Ok(found.into_iter().zip(decisions).map(named).collect())
}

/// Levels of both factors, combinations, and the comparison of the diagonals.
type Found = (usize, usize, usize, Comparison);

fn factor(factors: &[Factor], name: &str) -> Result<usize, EffectError> {
    factors.iter().position(|factor| factor.name == name).ok_or_else(|| {
        let known = factors.iter().map(|factor| factor.name.clone()).collect();
        EffectError::Name(ContrastError::UnknownFactor { factor: name.to_owned(), known })
    })
}

/// Logarithms of the runs of one cell, by block.
type Runs = BTreeMap<u32, Vec<f64>>;

fn logarithms(cells: &[Cell]) -> Result<Vec<Runs>, InputError> {
    let of_cell = |cell: &Cell| {
        let values: Vec<f64> = cell.runs.iter().map(|run| run.value).collect();
        require_positive(&values)?;
        let mut runs = Runs::new();
        for run in &cell.runs {
            runs.entry(run.block).or_default().push(run.value.ln());
        }
        Ok(runs)
    };
    cells.iter().map(of_cell).collect()
}

/// The runs of each combination of the other factors' levels, by the levels of the chosen factors.
fn places<'a>(
    cells: &[Cell],
    logarithms: &'a [Runs],
    chosen: &[usize],
) -> BTreeMap<Vec<String>, BTreeMap<Vec<String>, &'a Runs>> {
    let mut places = BTreeMap::<Vec<String>, BTreeMap<Vec<String>, &Runs>>::new();
    for (cell, runs) in cells.iter().zip(logarithms) {
        let of_chosen: Option<Vec<String>> =
            chosen.iter().map(|&factor| cell.levels.get(factor).cloned()).collect();
        let levels = cell.levels.iter().enumerate();
        let others =
            levels.filter(|(factor, _)| !chosen.contains(factor)).map(|(_, level)| level.clone()).collect();
        if let Some(of_chosen) = of_chosen {
            places.entry(others).or_default().insert(of_chosen, runs);
        }
    }
    places
}

/// Reference and candidate of one block at one combination.
type Place = (Vec<f64>, Vec<f64>);

fn shared(reference: &Runs, candidate: &Runs) -> Vec<Place> {
    let both =
        reference.iter().filter_map(|(block, runs)| Some((runs.clone(), candidate.get(block)?.clone())));
    both.collect()
}

/// The sums of both diagonals: their difference is the difference of differences.
fn crossed(candidate: [&Runs; 2], reference: [&Runs; 2]) -> Vec<Place> {
    let sum = |pair: [&Runs; 2], block: &u32| Some(mean(pair[0].get(block)?) + mean(pair[1].get(block)?));
    let blocks = candidate[0].keys();
    blocks.filter_map(|block| Some((vec![sum(reference, block)?], vec![sum(candidate, block)?]))).collect()
}

/// The places of an effect, by combination.
struct Pooled {
    places: Vec<Vec<Place>>,
}

impl Pooled {
    fn of(places: impl Iterator<Item = Vec<Place>>) -> Self {
        Self { places: places.filter(|places| !places.is_empty()).collect() }
    }

    fn combinations(&self) -> usize {
        self.places.len()
    }

    fn compared(&self, direction: Direction, seed: u64) -> Comparison {
        let all = || self.places.iter().flatten();
        let strata: Vec<Stratum> =
            all().map(|(reference, candidate)| Stratum::new(reference, candidate)).collect();
        let sizes: Vec<(usize, usize)> =
            all().map(|(reference, candidate)| (reference.len(), candidate.len())).collect();
        let estimate = self.log_ratio();
        let p_permutation = if strata.is_empty() { 1.0 } else { two_sided_p(&strata, seed) };
        let difference = self.difference();
        Comparison {
            n_reference: sizes.iter().map(|size| size.0).sum(),
            n_candidate: sizes.iter().map(|size| size.1).sum(),
            n_left_out: 0,
            direction,
            method: Method::WithinBlocks,
            ratio: difference.map(f64::exp),
            ratio_interval: estimate.as_ref().map(LogRatio::ratio_interval),
            log_ratio: estimate,
            p_value: LogRatio::p_value(estimate.as_ref(), p_permutation),
            p_attainable_min: attainable_p_min(&sizes),
        }
    }

    /// The differences of each combination.
    fn differences(&self) -> Vec<Vec<f64>> {
        let of_place = |(reference, candidate): &Place| mean(candidate) - mean(reference);
        self.places.iter().map(|places| places.iter().map(of_place).collect()).collect()
    }

    fn difference(&self) -> Option<f64> {
        let means: Vec<f64> = self.differences().iter().map(|differences| mean(differences)).collect();
        (!means.is_empty()).then(|| mean(&means))
    }

    /// The mean difference with its standard error; absent without a combination of two blocks. Combinations of one block
    /// are taken to spread as the others do on average.
    fn log_ratio(&self) -> Option<LogRatio> {
        let difference = self.difference()?;
        let differences = self.differences();
        let repeated = || differences.iter().filter(|values| values.len() >= 2);
        let degrees_of_freedom: f64 = repeated().map(|values| values.len() as f64 - 1.0).sum();
        if degrees_of_freedom == 0.0 {
            return None;
        }
        let squares: f64 =
            repeated().map(|values| variance(values, mean(values)) * (values.len() as f64 - 1.0)).sum();
        let common = squares / degrees_of_freedom;
        let is_repeated = differences.iter().all(|values| values.len() >= 2);
        let error = |values: &Vec<f64>| {
            let spread = if is_repeated { variance(values, mean(values)) } else { common };
            spread / values.len() as f64
        };
        let errors: Vec<f64> = differences.iter().map(error).collect();
        let sum: f64 = errors.iter().sum();
        let weights = errors.iter().zip(&differences);
        let satterthwaite = || {
            1.0 / weights
                .map(|(error, values)| (error / sum).powi(2) / (values.len() as f64 - 1.0))
                .sum::<f64>()
        };
        Some(LogRatio {
            difference,
            standard_error: sum.sqrt() / differences.len() as f64,
            degrees_of_freedom: if is_repeated && sum > 0.0 { satterthwaite() } else { degrees_of_freedom },
        })
    }
}
