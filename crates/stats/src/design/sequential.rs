//! Looking at a study while it runs, without raising its error rate: bounds for several looks, and when to stop.

use statrs::distribution::{ContinuousCDF, Normal};

use crate::family::Judged;
use crate::input::InputError;
use crate::verdict::Verdict;

/// One look at the results.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Share of the largest number of blocks that is done, above 0, at most 1.
    pub fraction: f64,
    /// Error rate spent up to and with this look.
    pub spent: f64,
    /// The bound of a standard normal statistic.
    pub bound: f64,
    /// The same as a two-sided level: a p at most this decides at this look.
    pub level: f64,
}

/// What is to be done after a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Stop: a difference is shown.
    Different,
    /// Stop: the ratio is shown to lie within the margin.
    Equivalent,
    /// Neither is shown: measure another block.
    Continue,
    /// Neither is shown, and this was the last look.
    Undecided,
}

/// Computes the bounds of looks at these shares of all blocks, by alpha spending of the O'Brien-Fleming type.
///
/// Spent at share t: `4 (1 - Phi(z(1 - alpha / 4) / sqrt(t)))`, half of it on each side (Lan and DeMets, "Discrete
/// sequential boundaries for clinical trials", Biometrika 70:659, 1983); bounds by recursive integration (Armitage,
/// McPherson and Rowe, JRSS A 132:235, 1969). The levels hold for statistics with independent increments, and closely for
/// Student's t and permutation p values (Jennison and Turnbull, "Group sequential methods", 2000, sections 3.3 and 7);
/// the tests count the false alarms. Looks may be skipped or ended early: the spending does not depend on them.
///
/// Cost: a few milliseconds per look.
///
/// # Errors
/// `alpha` or a share is not between 0 and 1 (a share of 1 is allowed), or shares do not grow.
pub fn looks(fractions: &[f64], alpha: f64) -> Result<Vec<Look>, InputError> {
    if !(alpha > 0.0 && alpha < 1.0) {
        return Err(InputError::NotAProbability(alpha));
    }
    let mut before = 0.0;
    for &fraction in fractions {
        if !(fraction > before && fraction <= 1.0) {
            return Err(InputError::NotAProbability(fraction));
        }
        before = fraction;
    }
    let normal = Normal::standard();
    let mut walk = Walk::start();
    let mut looks = Vec::new();
    let mut spent_before = 0.0;
    for &fraction in fractions {
        let spent = 4.0 * normal.cdf(normal.inverse_cdf(alpha / 4.0) / fraction.sqrt());
        let bound = walk.bound(fraction, spent - spent_before);
        walk.advance(fraction, bound);
        spent_before = spent;
        looks.push(Look { fraction, spent, bound, level: 2.0 * normal.cdf(-bound) });
    }
    Ok(looks)
}

/// The level of the test after `blocks` of at most `blocks_max`, when every block from `blocks_min` on is followed by a
/// look; `None` before that.
///
/// # Errors
/// `alpha` is not between 0 and 1, or the numbers of blocks are not `1 <= blocks_min <= blocks_max`.
pub fn level_after(
    blocks: u32,
    blocks_min: u32,
    blocks_max: u32,
    alpha: f64,
) -> Result<Option<f64>, InputError> {
    if blocks_min == 0 || blocks_min > blocks_max {
        return Err(InputError::NotARange { first: blocks_min, last: blocks_max });
    }
    let last = blocks.min(blocks_max);
    let fractions: Vec<f64> =
        (blocks_min..=last).map(|done| f64::from(done) / f64::from(blocks_max)).collect();
    Ok(looks(&fractions, alpha)?.last().map(|look| look.level))
}

/// Decides after a look at one comparison that was judged at the look's level.
///
/// `margin` is the largest relative difference that counts as none (0.05: ratios from 1 / 1.05 to 1.05). It is shown by two
/// one-sided tests (Schuirmann 1987) at the look's level over the number of `comparisons` decided together: the interval
/// of the ratio at twice that level lies within. A difference that is shown comes first, however small.
pub fn step(judged: &Judged, comparisons: usize, margin: Option<f64>, look: &Look) -> Step {
    if matches!(judged.decision.verdict, Verdict::Better | Verdict::Worse) {
        return Step::Different;
    }
    let level = look.level / comparisons.max(1) as f64;
    // Without any spread the interval is a point: no evidence for a coarse clock.
    let log_ratio = judged.comparison.log_ratio.filter(|log_ratio| log_ratio.standard_error > 0.0);
    let interval = log_ratio.map(|log_ratio| log_ratio.ratio_interval_at(1.0 - 2.0 * level));
    let is_within = interval.zip(margin).is_some_and(|(interval, margin)| {
        margin > 0.0 && interval.low >= 1.0 / (1.0 + margin) && interval.high <= 1.0 + margin
    });
    match (is_within, look.fraction < 1.0) {
        (true, _) => Step::Equivalent,
        (false, true) => Step::Continue,
        (false, false) => Step::Undecided,
    }
}

/// Decides after a look at all comparisons of a study: whether one is left to be continued.
pub fn is_finished(judged: &[Judged], margin: Option<f64>, look: &Look) -> bool {
    judged.iter().all(|each| step(each, judged.len(), margin, look) != Step::Continue)
}

/// Points of Simpson's rule across the range between two bounds; odd.
const POINTS: usize = 401;

/// Beyond this bound a normal statistic lies once in 10^15 times.
const BOUND_MAX: f64 = 8.0;

/// The density of a Brownian motion that has stayed within all bounds so far.
struct Walk {
    fraction: f64,
    places: Vec<f64>,
    /// Density times the weight of Simpson's rule.
    masses: Vec<f64>,
}

impl Walk {
    fn start() -> Self {
        Self { fraction: 0.0, places: vec![0.0], masses: vec![1.0] }
    }

    /// The chance to be beyond `bound` on either side at `fraction`, and within before.
    fn beyond(&self, fraction: f64, bound: f64) -> f64 {
        let normal = Normal::standard();
        let (edge, step) = (bound * fraction.sqrt(), (fraction - self.fraction).sqrt());
        let points = self.places.iter().zip(&self.masses);
        points
            .map(|(place, mass)| {
                mass * (normal.cdf((place - edge) / step) + normal.cdf((-place - edge) / step))
            })
            .sum()
    }

    /// The bound beyond which the chance is `spent`.
    fn bound(&self, fraction: f64, spent: f64) -> f64 {
        let (mut low, mut high) = (0.0, BOUND_MAX);
        while high - low > 1e-9 {
            let middle = f64::midpoint(low, high);
            if self.beyond(fraction, middle) > spent { low = middle } else { high = middle }
        }
        high
    }

    fn advance(&mut self, fraction: f64, bound: f64) {
        let (edge, step) = (bound * fraction.sqrt(), (fraction - self.fraction).sqrt());
        let width = 2.0 * edge / (POINTS - 1) as f64;
        let places: Vec<f64> = (0..POINTS).map(|point| -edge + width * point as f64).collect();
        let scale = 1.0 / (step * (2.0 * std::f64::consts::PI).sqrt());
        let density = |place: &f64| -> f64 {
            let arrivals = self.places.iter().zip(&self.masses);
            arrivals.map(|(from, mass)| mass * (-0.5 * ((place - from) / step).powi(2)).exp()).sum::<f64>()
                * scale
        };
        let weight = |point: usize| match point {
            0 => 1.0,
            _ if point == POINTS - 1 => 1.0,
            _ if point % 2 == 1 => 4.0,
            _ => 2.0,
        };
        let masses = places
            .iter()
            .enumerate()
            .map(|(point, place)| density(place) * weight(point) * width / 3.0)
            .collect();
        (self.fraction, self.places, self.masses) = (fraction, places, masses);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn bounds(fractions: &[f64], alpha: f64) -> Vec<f64> {
        looks(fractions, alpha).unwrap().iter().map(|look| look.bound).collect()
    }

    fn assert_close(found: &[f64], expected: &[f64], tolerance: f64) {
        assert_eq!(found.len(), expected.len());
        for (found_one, expected_one) in found.iter().zip(expected) {
            assert!((found_one - expected_one).abs() <= tolerance, "{found:?}, expected {expected:?}");
        }
    }

    #[test]
    fn one_look_at_the_end_is_the_plain_test() {
        let one = looks(&[1.0], 0.05).unwrap()[0];
        assert!((one.bound - 1.959_964).abs() < 1e-5 && (one.level - 0.05).abs() < 1e-7, "{one:?}");
    }

    #[test]
    fn the_bounds_of_five_equal_looks_are_those_of_published_tables() {
        // EVIDENCE: Reboussin, DeMets, Kim and Lan, "Computations for group sequential boundaries using the Lan-DeMets
        // spending function method", Controlled Clinical Trials 21:190, 2000: 4.8769, 3.3569, 2.6803, 2.2898, 2.0310.
        assert_close(
            &bounds(&[0.2, 0.4, 0.6, 0.8, 1.0], 0.05),
            &[4.8769, 3.3569, 2.6803, 2.2898, 2.0310],
            2e-4,
        );
    }

    #[test]
    fn two_equal_looks_give_the_known_bounds() {
        // EVIDENCE: the same method at shares 0.5 and 1: 2.9626 and 1.9686.
        assert_close(&bounds(&[0.5, 1.0], 0.05), &[2.9626, 1.9686], 2e-4);
    }

    #[test]
    fn the_levels_never_exceed_alpha_and_the_whole_is_spent_at_the_end() {
        let looks = looks(&(1..=20).map(|k| f64::from(k) / 20.0).collect::<Vec<_>>(), 0.05).unwrap();
        assert!(looks.windows(2).all(|pair| pair[0].level <= pair[1].level), "{looks:?}");
        assert!((looks[19].spent - 0.05).abs() < 1e-9 && looks[19].level < 0.05);
    }

    #[test]
    fn the_level_after_some_blocks_is_that_of_the_looks_so_far() {
        let all = looks(&[0.6, 0.7, 0.8, 0.9, 1.0], 0.05).unwrap();
        assert_eq!(level_after(8, 6, 10, 0.05).unwrap(), Some(all[2].level));
        assert_eq!(level_after(5, 6, 10, 0.05).unwrap(), None);
        assert_eq!(level_after(99, 6, 10, 0.05).unwrap(), Some(all[4].level));
        assert!(level_after(5, 0, 10, 0.05).is_err() && level_after(5, 11, 10, 0.05).is_err());
    }

    #[test]
    fn shares_that_do_not_grow_and_levels_that_are_none_are_refused() {
        assert!(looks(&[0.5, 0.5], 0.05).is_err() && looks(&[0.5, 1.1], 0.05).is_err());
        assert!(looks(&[f64::NAN], 0.05).is_err() && looks(&[1.0], 0.0).is_err());
        assert!(looks(&[], 0.05).unwrap().is_empty());
    }
}
