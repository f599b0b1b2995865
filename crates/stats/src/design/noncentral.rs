//! The power of Student's t test: how often it exceeds its critical value when there is a true difference.

use statrs::distribution::{ContinuousCDF, Normal};
use statrs::function::gamma::ln_gamma;

use crate::summary::student_quantile;

/// Intervals of Simpson's rule; even.
const STEPS: usize = 4000;

/// The chance that a two-sided t test at `level` rejects: the noncentral t distribution, both tails.
///
/// `noncentrality` is the true difference over its standard error. With `S` the root of a chi-square variable over its
/// degrees of freedom, the chance is the mean of `Phi(d - c S) + Phi(-d - c S)` over `S` (Johnson, Kotz and
/// Balakrishnan, "Continuous univariate distributions" 2, 1995, chapter 31). `level` lies between 0 and 1,
/// `degrees_of_freedom` is at least 1.
pub(super) fn t_test_power(noncentrality: f64, degrees_of_freedom: f64, level: f64) -> f64 {
    let critical = student_quantile(1.0 - level, degrees_of_freedom);
    let spread = (2.0 * degrees_of_freedom).sqrt().recip();
    let low = (1.0 - 12.0 * spread).max(0.0);
    // Steps in the root of the scale, closer to each other near 0: with few degrees of freedom the chance changes there.
    let start = low.sqrt();
    let step = ((1.0 + 12.0 * spread).sqrt() - start) / STEPS as f64;
    let normal = Normal::standard();
    let shift = noncentrality.abs();
    let rejected = |scale: f64| normal.cdf(shift - critical * scale) + normal.cdf(-shift - critical * scale);
    let (mut sum, mut mass) = (0.0, 0.0);
    for index in 0..=STEPS {
        let root = start + step * index as f64;
        let scale = root * root;
        let weight = root
            * density(scale, degrees_of_freedom)
            * match index {
                0 | STEPS => 1.0,
                _ if index % 2 == 1 => 4.0,
                _ => 2.0,
            };
        mass += weight;
        sum += weight * rejected(scale);
    }
    // Divided by the mass of the same sum, so that a cut tail or a rough step does not move a chance above 1.
    (sum / mass).clamp(0.0, 1.0)
}

/// The density of the root of a chi-square variable over its degrees of freedom.
fn density(scale: f64, degrees_of_freedom: f64) -> f64 {
    if scale == 0.0 {
        return if degrees_of_freedom == 1.0 { (2.0 / std::f64::consts::PI).sqrt() } else { 0.0 };
    }
    let half = degrees_of_freedom / 2.0;
    let logarithm = 2.0_f64.ln() + half * half.ln() - ln_gamma(half)
        + (degrees_of_freedom - 1.0) * scale.ln()
        - half * scale * scale;
    logarithm.exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_power_of_two_groups_is_that_of_published_computations() {
        // EVIDENCE: R's documentation of power.t.test: n = 20, delta = 1, sd = 1 gives power 0.8689528 (one tail), and power 0.90
        // needs n = 22.02110.
        let two =
            |n: f64, delta: f64, level: f64| t_test_power(delta * (n / 2.0).sqrt(), 2.0 * n - 2.0, level);
        assert!((two(20.0, 1.0, 0.05) - 0.868_952_8).abs() < 1e-6, "{}", two(20.0, 1.0, 0.05));
        assert!((two(22.021_10, 1.0, 0.05) - 0.90).abs() < 1e-6, "{}", two(22.021_10, 1.0, 0.05));
        // EVIDENCE: G*Power 3 (Faul et al. 2007): d = 0.5 needs 64 in each group, with power 0.8014596.
        assert!((two(64.0, 0.5, 0.05) - 0.801_459_6).abs() < 1e-6, "{}", two(64.0, 0.5, 0.05));
    }

    #[test]
    fn the_power_of_pairs_is_that_of_published_computations() {
        // EVIDENCE: G*Power 3: dz = 0.5 needs 34 pairs, with power 0.8077775.
        let power = t_test_power(0.5 * 34.0_f64.sqrt(), 33.0, 0.05);
        assert!((power - 0.807_777_5).abs() < 1e-6, "{power}");
    }

    #[test]
    fn small_groups_and_small_levels_agree_with_the_noncentral_t_of_scipy() {
        // EVIDENCE: scipy.stats.nct of SciPy 1.17: nct.sf(c, df, nc) + nct.cdf(-c, df, nc) with c = t.ppf(1 - level / 2, df).
        for (noncentrality, degrees_of_freedom, level, expected) in [
            (6.3, 5.0, 0.05 / 7.0, 0.894_433_399_4),
            (5.16, 6.0, 0.05 / 7.0, 0.811_423_008_6),
            (3.0, 1.0, 0.05, 0.186_132_061_7),
            (10.0, 3.0, 0.001, 0.385_027_496_8),
        ] {
            let power = t_test_power(noncentrality, degrees_of_freedom, level);
            assert!((power - expected).abs() < 1e-6, "{noncentrality} {degrees_of_freedom}: {power}");
        }
    }

    #[test]
    fn without_a_difference_the_power_is_the_level() {
        for degrees_of_freedom in [1.0, 2.0, 5.0, 8.0, 38.0, 500.0] {
            for level in [0.05, 0.01, 0.001] {
                let power = t_test_power(0.0, degrees_of_freedom, level);
                assert!((power - level).abs() < 2e-4 * level, "{degrees_of_freedom} {level}: {power}");
            }
        }
    }
}
