//! The smallest difference that a design detects, and how often it detects a given one.
//!
//! Runs are taken as lognormal with one relative standard deviation. The t test behind a verdict is computed exactly
//! (noncentral t); where the permutation test beside it may decide, or drift between blocks widens the groups, the test
//! itself runs on [`STUDIES`] made-up studies with a fixed seed.

use crate::compare::{LogRatio, Method};
use crate::design::noise::{Noise, log_sd};
use crate::design::noncentral::t_test_power;
use crate::design::reach::{Correction, Design, reach};
use crate::input::InputError;
use crate::permutation::{Stratum, arrangement_count, attainable_p_min, two_sided_p};
use crate::random::{Random, derive_seed};

/// The power that designs are judged by: a true difference of the stated size is shown in 80 of 100 studies.
pub const POWER: f64 = 0.8;

/// Made-up studies behind a simulated power; its standard error is at most 0.016, at 80 % 0.013.
pub const STUDIES: u32 = 1000;

/// Permutations with more arrangements than this agree with the t test closely enough to be left out.
const ARRANGEMENTS_MAX: f64 = 1000.0;

/// A permutation test whose smallest p is this many times below its level does not limit the power.
const CLEARANCE: f64 = 20.0;

/// Stream of made-up studies among those derived from a seed.
const STREAM: u64 = 0x706f_7765_7200;

/// Computes the chance that one comparison shows a true difference, all others of the family showing none.
///
/// `difference` is relative: 0.2 where the candidate's values are 1.2 times as large. Cost: at most a few hundredths of
/// a second.
///
/// # Errors
/// `alpha` is not between 0 and 1, the difference is not above -1, or a spread is negative, zero from run to run or not
/// finite.
pub fn power(design: &Design, difference: f64, noise: Noise, alpha: f64) -> Result<f64, InputError> {
    let spread = log_sd(noise.run_sd)?;
    if !(difference > -1.0 && difference.is_finite()) {
        return Err(InputError::NotADifference(difference));
    }
    let trial = Trial::of(design, drift_over_run(noise)?, alpha)?;
    Ok(trial.map_or(0.0, |trial| trial.power(difference.ln_1p() / spread)))
}

/// Computes the smallest relative difference (0.12: the candidate's values are 1.12 times as large) that is shown with
/// the chance `power`; `None` where the design cannot decide, or only beyond a factor of e^50 standard deviations.
///
/// Cost: at most a few tenths of a second; for several spreads without drift use [`smallest_effect`] once.
///
/// # Errors
/// As [`power()`]; and `power` is not between 0 and 1.
pub fn smallest_difference(
    design: &Design,
    noise: Noise,
    power: f64,
    alpha: f64,
) -> Result<Option<f64>, InputError> {
    let spread = log_sd(noise.run_sd)?;
    let effect = smallest_effect(design, drift_over_run(noise)?, power, alpha)?;
    Ok(effect.map(|effect| relative_difference(effect, spread)))
}

/// The same in standard deviations of the logarithms of runs, for a drift of so many of them.
///
/// # Errors
/// As [`smallest_difference`].
pub fn smallest_effect(
    design: &Design,
    drift_over_run: f64,
    power: f64,
    alpha: f64,
) -> Result<Option<f64>, InputError> {
    if !(power > 0.0 && power < 1.0) {
        return Err(InputError::NotAProbability(power));
    }
    let Some(trial) = Trial::of(design, drift_over_run, alpha)? else { return Ok(None) };
    let (mut low, mut high) = (0.0, 1.0);
    while trial.power(high) < power {
        (low, high) = (high, 2.0 * high);
        if high > EFFECT_MAX {
            return Ok(None);
        }
    }
    // A thousandth of the effect is far below what the simulation tells apart.
    while high - low > 1e-3 * high {
        let middle = f64::midpoint(low, high);
        if trial.power(middle) < power { low = middle } else { high = middle }
    }
    Ok(Some(high))
}

/// The largest effect that is searched, in standard deviations.
const EFFECT_MAX: f64 = 1000.0;

/// Turns an effect in standard deviations into a relative difference of runs with this standard deviation of logarithms.
fn relative_difference(effect: f64, spread: f64) -> f64 {
    (effect * spread).exp_m1()
}

fn drift_over_run(noise: Noise) -> Result<f64, InputError> {
    let run = log_sd(noise.run_sd)?;
    if noise.block_sd == 0.0 { Ok(0.0) } else { Ok(log_sd(noise.block_sd)? / run) }
}

/// A design made ready to be tried with effects in standard deviations of a run.
struct Trial {
    method: Method,
    blocks: usize,
    runs: usize,
    /// What one comparison must reach by the t test: Holm's first step.
    level_t: f64,
    /// What its permutation test must reach.
    level_permutation: f64,
    /// Made-up studies; empty where the noncentral t is enough.
    studies: Vec<Made>,
}

/// The noise of one made-up study, in standard deviations of a run; runs of one block lie side by side.
struct Made {
    reference: Vec<f64>,
    candidate: Vec<f64>,
}

impl Trial {
    /// `None` where the design cannot decide.
    fn of(design: &Design, drift_over_run: f64, alpha: f64) -> Result<Option<Self>, InputError> {
        if !(drift_over_run >= 0.0 && drift_over_run.is_finite()) {
            return Err(InputError::NotASpread(drift_over_run));
        }
        let reach = reach(design, alpha)?;
        if !reach.can_decide {
            return Ok(None);
        }
        let level_t = alpha / f64::from(design.comparisons.max(1));
        let level_permutation = match design.correction {
            Correction::Holm => level_t,
            Correction::StepDown => alpha,
        };
        let (blocks, runs) = (design.blocks as usize, design.runs_per_block as usize);
        let mut trial =
            Self { method: reach.method, blocks, runs, level_t, level_permutation, studies: Vec::new() };
        if trial.permutation_may_decide() || (trial.method == Method::AllRuns && drift_over_run > 0.0) {
            trial.studies = (0..STUDIES).map(|each| trial.made(drift_over_run, each)).collect();
        }
        Ok(Some(trial))
    }

    fn sizes(&self) -> Vec<(usize, usize)> {
        match self.method {
            Method::AllRuns => vec![(self.blocks * self.runs, self.blocks * self.runs)],
            Method::WithinBlocks => vec![(self.runs, self.runs); self.blocks],
        }
    }

    fn permutation_may_decide(&self) -> bool {
        let sizes = self.sizes();
        let arrangements: f64 = sizes.iter().map(|&(left, right)| arrangement_count(left, right)).product();
        arrangements <= ARRANGEMENTS_MAX && attainable_p_min(&sizes) * CLEARANCE > self.level_permutation
    }

    fn made(&self, drift_over_run: f64, each: u32) -> Made {
        let mut random = Random::new(derive_seed(STREAM, &[self.blocks as u64, u64::from(each)]));
        let (mut reference, mut candidate) = (Vec::new(), Vec::new());
        for _ in 0..self.blocks {
            let block = drift_over_run * random.normal_pair().0;
            for _ in 0..self.runs {
                let (left, right) = random.normal_pair();
                reference.push(block + left);
                candidate.push(block + right);
            }
        }
        Made { reference, candidate }
    }

    fn power(&self, effect: f64) -> f64 {
        if self.studies.is_empty() {
            return self.computed_power(effect);
        }
        let shown = self.studies.iter().filter(|study| self.shows(study, effect)).count();
        shown as f64 / self.studies.len() as f64
    }

    /// The t test alone; groups of equal size and spread, without drift or within blocks.
    fn computed_power(&self, effect: f64) -> f64 {
        let count = (self.blocks * self.runs) as f64;
        let degrees_of_freedom = match self.method {
            Method::AllRuns => 2.0 * count - 2.0,
            Method::WithinBlocks => self.blocks as f64 - 1.0,
        };
        t_test_power(effect * (count / 2.0).sqrt(), degrees_of_freedom, self.level_t)
    }

    /// Runs the test of [`crate::compare`] on one made-up study.
    fn shows(&self, study: &Made, effect: f64) -> bool {
        let candidate: Vec<f64> = study.candidate.iter().map(|value| value + effect).collect();
        let blocks = || study.reference.chunks(self.runs).zip(candidate.chunks(self.runs));
        let estimate = match self.method {
            Method::AllRuns => LogRatio::welch(&study.reference, &candidate),
            Method::WithinBlocks => LogRatio::of_blocks(blocks()),
        };
        if estimate.as_ref().is_none_or(|estimate| estimate.t_p_value().is_some_and(|p| p > self.level_t)) {
            return false;
        }
        if !self.permutation_may_decide() {
            return true;
        }
        let strata: Vec<Stratum> = match self.method {
            Method::AllRuns => vec![Stratum::new(&study.reference, &candidate)],
            Method::WithinBlocks => {
                blocks().map(|(reference, candidate)| Stratum::new(reference, candidate)).collect()
            }
        };
        two_sided_p(&strata, 0) <= self.level_permutation
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn smallest(blocks: u32, comparisons: u32, run_sd: f64, block_sd: f64) -> Option<f64> {
        let design = Design::of(blocks, comparisons);
        smallest_difference(&design, Noise { run_sd, block_sd }, POWER, 0.05).unwrap()
    }

    #[test]
    fn six_blocks_detect_a_fifth_among_a_few_comparisons_and_drift_plays_no_part() {
        let few = smallest(6, 4, 0.05, 0.0).unwrap();
        assert!((0.14..0.18).contains(&few), "{few}");
        assert!((smallest(6, 4, 0.05, 0.3).unwrap() - few).abs() < 1e-9);
        assert!(smallest(5, 4, 0.05, 0.3).unwrap() > 1.0 && smallest(5, 4, 0.05, 0.0).unwrap() < 0.16);
    }

    #[test]
    fn more_blocks_detect_less_and_more_comparisons_and_spread_need_more() {
        for (more, less) in [
            (smallest(8, 4, 0.05, 0.0), smallest(6, 4, 0.05, 0.0)),
            (smallest(20, 4, 0.05, 0.0), smallest(10, 4, 0.05, 0.0)),
            (smallest(8, 1, 0.05, 0.0), smallest(8, 12, 0.05, 0.0)),
            (smallest(8, 4, 0.02, 0.0), smallest(8, 4, 0.1, 0.0)),
        ] {
            assert!(more.unwrap() < less.unwrap(), "{more:?} {less:?}");
        }
    }

    #[test]
    fn a_design_that_cannot_decide_detects_nothing() {
        assert_eq!(smallest(3, 1, 0.05, 0.0), None);
        assert_eq!(power(&Design::of(3, 1), 9.0, Noise::of_runs(0.05), 0.05).unwrap(), 0.0);
    }

    #[test]
    fn a_large_design_agrees_with_the_t_test_of_pairs() {
        // dz = 0.5 with 34 pairs has power 0.8077775 (G*Power 3): differences spread by the root of 2 as much as runs.
        let spread = log_sd(0.05).unwrap();
        let difference = (0.5 * 2.0_f64.sqrt() * spread).exp_m1();
        let computed = power(&Design::of(34, 1), difference, Noise::of_runs(0.05), 0.05).unwrap();
        assert!((computed - 0.807_777_5).abs() < 1e-6, "{computed}");
    }

    #[test]
    fn a_slower_and_a_faster_candidate_are_detected_alike() {
        let design = Design::of(10, 2);
        let chance = |ratio: f64| power(&design, ratio - 1.0, Noise::of_runs(0.1), 0.05).unwrap();
        assert!((chance(1.25) - chance(0.8)).abs() < 1e-12);
    }

    #[test]
    fn values_that_are_no_spread_or_chance_are_refused() {
        let design = Design::of(6, 1);
        let noise = |run_sd: f64, block_sd: f64| Noise { run_sd, block_sd };
        for wrong in [noise(0.0, 0.0), noise(-0.1, 0.0), noise(f64::NAN, 0.0), noise(0.1, -0.1)] {
            assert!(power(&design, 0.1, wrong, 0.05).is_err(), "{wrong:?}");
        }
        assert!(power(&design, -1.0, Noise::of_runs(0.1), 0.05).is_err());
        assert!(power(&design, 0.1, Noise::of_runs(0.1), 1.0).is_err());
        assert!(smallest_effect(&design, 0.0, 1.0, 0.05).is_err());
        assert!(smallest_effect(&design, f64::INFINITY, 0.8, 0.05).is_err());
    }
}
