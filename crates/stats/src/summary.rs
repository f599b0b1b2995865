//! One group of runs in a few numbers: n, mean, median, min, max, standard deviation and the interval of the mean.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use crate::input::{InputError, require_finite, require_squarable};

/// The confidence of every interval that fathom prints, as a share of 1.
pub const CONFIDENCE: f64 = 0.95;

/// A range that should hold the true value in the stated share of experiments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end, in the unit of the estimate.
    pub low: f64,
    /// The upper end, in the unit of the estimate; never below `low`.
    pub high: f64,
    /// The share of repeated experiments whose interval holds the truth, from 0 to 1.
    pub confidence: f64,
}

impl Interval {
    /// Builds the Student-t interval around an estimate from its standard error and degrees of freedom.
    ///
    /// `degrees_of_freedom` is above zero and need not be whole (Welch). Without spread (`standard_error` zero) the
    /// interval is the estimate itself.
    pub(crate) fn student(estimate: f64, standard_error: f64, degrees_of_freedom: f64) -> Self {
        Self::student_at(CONFIDENCE, estimate, standard_error, degrees_of_freedom)
    }

    pub(crate) fn student_at(
        confidence: f64,
        estimate: f64,
        standard_error: f64,
        degrees_of_freedom: f64,
    ) -> Self {
        let is_spread = standard_error > 0.0;
        let half_width =
            if is_spread { student_quantile(confidence, degrees_of_freedom) * standard_error } else { 0.0 };
        Self { low: estimate - half_width, high: estimate + half_width, confidence }
    }

    /// Tells whether a value lies within, the ends included.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// The t value that leaves half of `1 - confidence` above it.
pub(crate) fn student_quantile(confidence: f64, degrees_of_freedom: f64) -> f64 {
    let upper = 0.5 + confidence / 2.0;
    if degrees_of_freedom > 1000.0 {
        // The quantile of statrs 0.19 loses digits from 1e5 degrees of freedom on (1.83 for 1.96 at 1e7). Here the
        // first two terms of the expansion around the normal quantile (Fisher and Cornish, 1960) are right to 1e-9.
        let z = Normal::standard().inverse_cdf(upper);
        let first = (z.powi(3) + z) / 4.0;
        let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
        return z + first / degrees_of_freedom + second / degrees_of_freedom.powi(2);
    }
    // Welch's degrees of freedom are at least the smaller n minus one, so below 1 only by rounding.
    StudentsT::new(0.0, 1.0, degrees_of_freedom.max(1.0))
        .expect("location 0, scale 1 and degrees of freedom from 1 on are valid")
        .inverse_cdf(upper)
}

/// The chance that Student's t is at least as far from zero as `t`, on either side.
pub(crate) fn student_two_sided_p(t: f64, degrees_of_freedom: f64) -> f64 {
    let student = StudentsT::new(0.0, 1.0, degrees_of_freedom.max(1.0))
        .expect("location 0, scale 1 and degrees of freedom from 1 on are valid");
    (2.0 * student.cdf(-t.abs())).min(1.0)
}

/// What a group of runs says about one quantity; every field in the unit of the values, except `n` and `cv`.
///
/// Nothing is rounded. The unit of replication is the run: one value per run, never one per request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The number of values, at least 1.
    pub n: usize,
    /// The arithmetic mean.
    pub mean: f64,
    /// The middle value; the mean of the two middle values when `n` is even.
    pub median: f64,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
    /// The sample standard deviation (divisor n - 1); absent below two values.
    pub sd: Option<f64>,
    /// The coefficient of variation, `sd / |mean|`; absent below two values or when the mean is zero.
    pub cv: Option<f64>,
    /// The Student-t interval of the mean with [`CONFIDENCE`]; absent below two values.
    ///
    /// Assumes independent runs of a roughly normal quantity; docs/report/statistics.md tells how far it holds without.
    pub interval: Option<Interval>,
}

impl Summary {
    /// Summarises the values, in any order; costs one sorted copy.
    ///
    /// # Errors
    /// There is no value, or one of them is infinite, not a number, or beyond 1e150.
    pub fn of(values: &[f64]) -> Result<Self, InputError> {
        require_finite(values)?;
        require_squarable(values)?;
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let (Some(&min), Some(&max)) = (sorted.first(), sorted.last()) else {
            return Err(InputError::Empty);
        };
        let n = sorted.len();
        let mean = mean(&sorted).clamp(min, max);
        let sd = (n >= 2).then(|| variance(&sorted, mean).sqrt());
        Ok(Self {
            n,
            mean,
            median: median_of_sorted(&sorted),
            min,
            max,
            sd,
            cv: sd.filter(|_| mean != 0.0).map(|sd| sd / mean.abs()),
            interval: sd.map(|sd| Interval::student(mean, sd / (n as f64).sqrt(), (n - 1) as f64)),
        })
    }

    /// Returns half the width of the interval as a share of the mean: the measure for "repeat until narrow enough".
    ///
    /// Absent when there is no interval or the mean is zero. An interval is narrow by luck now and then: whoever
    /// stops on this number should also ask for a least number of runs.
    pub fn half_width_relative(&self) -> Option<f64> {
        let interval = self.interval.filter(|_| self.mean != 0.0)?;
        Some((interval.high - interval.low) / 2.0 / self.mean.abs())
    }
}

/// The arithmetic mean of at least one value, with a second pass that takes back the rounding of the first.
pub(crate) fn mean(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let first = values.iter().sum::<f64>() / n;
    first + values.iter().map(|value| value - first).sum::<f64>() / n
}

/// The sample variance (divisor n - 1) of at least two values around their mean.
pub(crate) fn variance(values: &[f64], mean: f64) -> f64 {
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0)
}

fn median_of_sorted(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        sorted[middle - 1] + (sorted[middle] - sorted[middle - 1]) / 2.0
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn close(left: f64, right: f64) -> bool {
        (left - right).abs() <= 1e-9 * right.abs().max(1.0)
    }

    #[test]
    fn a_summary_has_the_values_worked_out_by_hand() {
        // 2, 4, 4, 5: mean 3.75, squares 3.0625 + 0.0625 + 0.0625 + 1.5625 = 4.75, variance 4.75 / 3.
        let summary = Summary::of(&[4.0, 2.0, 5.0, 4.0]).unwrap();
        assert_eq!((summary.n, summary.mean, summary.median), (4, 3.75, 4.0));
        assert_eq!((summary.min, summary.max), (2.0, 5.0));
        let sd = (4.75_f64 / 3.0).sqrt();
        assert!(close(summary.sd.unwrap(), sd));
        assert!(close(summary.cv.unwrap(), sd / 3.75));
        // t with 3 degrees of freedom leaves 2.5 % above 3.182446305.
        let half_width = 3.182_446_305_284_263 * sd / 2.0;
        let interval = summary.interval.unwrap();
        assert!(close(interval.low, 3.75 - half_width) && close(interval.high, 3.75 + half_width));
        assert_eq!(interval.confidence, 0.95);
        assert!(close(summary.half_width_relative().unwrap(), half_width / 3.75));
    }

    #[test]
    fn the_t_values_are_those_of_the_printed_tables() {
        for (degrees_of_freedom, quantile) in [
            (1.0, 12.706_204_736_174_7),
            (2.0, 4.302_652_729_749_46),
            (4.0, 2.776_445_105_197_79),
            (9.0, 2.262_157_162_798_21),
            (29.0, 2.045_229_642_132_70),
            (1001.0, 1.962_336_708),
            (1e7, 1.959_964_222),
        ] {
            let found = student_quantile(CONFIDENCE, degrees_of_freedom);
            assert!((found - quantile).abs() < 1e-8, "{degrees_of_freedom}: {found}");
        }
    }

    #[test]
    fn the_t_probabilities_belong_to_the_t_values() {
        for degrees_of_freedom in [1.0, 2.5, 4.0, 29.0, 1001.0, 1e6] {
            for t in [
                student_quantile(CONFIDENCE, degrees_of_freedom),
                -student_quantile(CONFIDENCE, degrees_of_freedom),
            ] {
                let p = student_two_sided_p(t, degrees_of_freedom);
                assert!((p - 0.05).abs() < 1e-9, "{degrees_of_freedom}: {p}");
            }
        }
        assert_eq!(student_two_sided_p(0.0, 3.0), 1.0);
    }

    #[test]
    fn one_value_has_no_spread_and_no_interval() {
        let summary = Summary::of(&[7.5]).unwrap();
        assert_eq!((summary.mean, summary.median, summary.min, summary.max), (7.5, 7.5, 7.5, 7.5));
        assert_eq!((summary.sd, summary.cv, summary.interval), (None, None, None));
        assert_eq!(summary.half_width_relative(), None);
    }

    #[test]
    fn equal_values_give_an_interval_of_no_width_and_no_rounding_noise() {
        let summary = Summary::of(&[0.1; 7]).unwrap();
        assert_eq!((summary.mean, summary.sd), (0.1, Some(0.0)));
        assert_eq!(summary.interval.map(|interval| (interval.low, interval.high)), Some((0.1, 0.1)));
        assert_eq!(summary.half_width_relative(), Some(0.0));
    }

    #[test]
    fn a_mean_of_zero_has_no_relative_numbers() {
        let summary = Summary::of(&[-1.0, 1.0]).unwrap();
        assert_eq!((summary.mean, summary.cv, summary.half_width_relative()), (0.0, None, None));
        assert!(summary.interval.unwrap().contains(0.0));
    }

    #[test]
    fn large_values_with_a_small_spread_keep_their_spread() {
        let summary = Summary::of(&[1e9 + 4.0, 1e9 + 7.0, 1e9 + 13.0, 1e9 + 16.0]).unwrap();
        assert!(close(summary.mean, 1e9 + 10.0) && close(summary.sd.unwrap().powi(2), 30.0));
    }

    #[test]
    fn no_value_and_values_that_are_no_numbers_are_refused() {
        assert_eq!(Summary::of(&[]), Err(InputError::Empty));
        let refusal = Summary::of(&[1.0, f64::INFINITY]).unwrap_err();
        assert_eq!(refusal, InputError::NotFinite { index: 1, value: f64::INFINITY });
        assert_eq!(refusal.to_string(), "value inf at index 1 is not finite");
        assert!(Summary::of(&[f64::NAN]).is_err());
        assert_eq!(Summary::of(&[1.0, -1e151]), Err(InputError::TooLarge { index: 1, value: -1e151 }));
    }
}
