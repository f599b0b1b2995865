//! A matrix of comparisons decided together: better, worse, no difference shown, or too few runs to show one.

use crate::compare::{Comparison, Direction};
use crate::input::InputError;
use crate::summary::Interval;

/// What a comparison amounts to, once corrected for all that were made with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The candidate is better than the reference.
    Better,
    /// The candidate is worse than the reference.
    Worse,
    /// There were runs enough to show a large difference, and none was shown; this is no proof that there is none.
    NoDifferenceShown,
    /// No outcome of these few runs could have shown a difference.
    TooFewRuns,
}

impl Verdict {
    /// Returns the verdict in words, as tables print it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::NoDifferenceShown => "no difference shown",
            Self::TooFewRuns => "too few runs",
        }
    }
}

/// A verdict with the number it rests on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// What the comparison amounts to.
    pub verdict: Verdict,
    /// Holm's adjusted p value: the smallest level at which this comparison, within its family, shows a difference.
    /// Absent for a comparison that took no part in the family, because its runs could not reach the level alone.
    pub p_adjusted: Option<f64>,
    /// The interval of the ratio, corrected for all comparisons decided together (Bonferroni): the chance that any of
    /// them misses its ratio is at most `alpha`. It leaves 1 out where a difference is shown, and holds 1 where none is;
    /// where runs are too few for a verdict it is Student's alone. Absent below two runs on a side.
    pub ratio_interval: Option<Interval>,
}

/// Decides a family of comparisons so that the chance of one false "better" or "worse" among all is at most `alpha`.
///
/// The result has one decision per comparison, in the same order. The correction is Holm's (1979), which needs no
/// independence. Comparisons with fewer than two runs on a side, or whose smallest attainable p is above `alpha`, are
/// "too few runs" whatever their values, so they cannot err and do not burden the others. The same verdict is given
/// when, the other p values being what they are, even the smallest attainable p would not have been enough.
///
/// # Errors
/// `alpha` is not between 0 and 1.
pub fn verdicts(comparisons: &[Comparison], alpha: f64) -> Result<Vec<Decision>, InputError> {
    if !(alpha > 0.0 && alpha < 1.0) {
        return Err(InputError::NotAProbability(alpha));
    }
    let family: Vec<usize> =
        (0..comparisons.len()).filter(|&index| can_decide(&comparisons[index], alpha)).collect();
    let p_values: Vec<f64> = family.iter().map(|&index| comparisons[index].p_value).collect();
    let adjusted = holm(&p_values);
    let none = Decision { verdict: Verdict::TooFewRuns, p_adjusted: None, ratio_interval: None };
    let mut decisions = vec![none; comparisons.len()];
    for (place, &index) in family.iter().enumerate() {
        let comparison = &comparisons[index];
        let verdict = if adjusted[place] <= alpha {
            direction_of(comparison)
        } else if best_case(&p_values, place, comparison.p_attainable_min) <= alpha {
            Verdict::NoDifferenceShown
        } else {
            Verdict::TooFewRuns
        };
        decisions[index] = Decision { verdict, p_adjusted: Some(adjusted[place]), ratio_interval: None };
    }
    let interval_count = comparisons.iter().filter(|comparison| comparison.log_ratio.is_some()).count();
    for (decision, comparison) in decisions.iter_mut().zip(comparisons) {
        let confidence = 1.0 - alpha / interval_count.max(1) as f64;
        let interval = comparison.log_ratio.map(|log_ratio| log_ratio.ratio_interval_at(confidence));
        decision.ratio_interval = interval.map(|interval| agreeing(interval, decision.verdict, comparison));
    }
    Ok(decisions)
}

/// Makes an interval agree with its verdict. The permutation may deny what Student's t shows: the interval then reaches
/// to 1. Holm's correction may show what Bonferroni's leaves open: the interval then ends beside 1.
pub(crate) fn agreeing(interval: Interval, verdict: Verdict, comparison: &Comparison) -> Interval {
    match verdict {
        // The runs are too few for the permutation to deny anything: Student's interval stands alone.
        Verdict::TooFewRuns => interval,
        Verdict::NoDifferenceShown => {
            Interval { low: interval.low.min(1.0), high: interval.high.max(1.0), ..interval }
        }
        Verdict::Better | Verdict::Worse if comparison.ratio.is_some_and(|ratio| ratio < 1.0) => {
            Interval { high: interval.high.min(1.0_f64.next_down()), ..interval }
        }
        Verdict::Better | Verdict::Worse => Interval { low: interval.low.max(1.0_f64.next_up()), ..interval },
    }
}

/// Adjusts the p values of a family after Holm: the k-th smallest (k from 0) of n is multiplied by `n - k`, never
/// falls below one that was smaller before, and never exceeds 1. The result is in the order of the argument.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut ascending: Vec<usize> = (0..p_values.len()).collect();
    ascending.sort_by(|&left, &right| p_values[left].total_cmp(&p_values[right]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut largest = 0.0_f64;
    for (rank, index) in ascending.into_iter().enumerate() {
        largest = largest.max(p_values[index] * (p_values.len() - rank) as f64).min(1.0);
        adjusted[index] = largest;
    }
    adjusted
}

pub(crate) fn can_decide(comparison: &Comparison, alpha: f64) -> bool {
    comparison.n_reference >= 2 && comparison.n_candidate >= 2 && comparison.p_attainable_min <= alpha
}

/// The adjusted p that one comparison would have had with its smallest attainable p, all others as they are.
fn best_case(p_values: &[f64], place: usize, p_attainable_min: f64) -> f64 {
    let mut supposed = p_values.to_vec();
    supposed[place] = p_attainable_min;
    holm(&supposed)[place]
}

pub(crate) fn direction_of(comparison: &Comparison) -> Verdict {
    let is_smaller = comparison.ratio.is_some_and(|ratio| ratio < 1.0);
    if is_smaller == (comparison.direction == Direction::SmallerIsBetter) {
        Verdict::Better
    } else {
        Verdict::Worse
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::compare::{Method, compare};
    use crate::random::Random;

    fn made_up(p_value: f64, p_attainable_min: f64, ratio: f64, direction: Direction) -> Comparison {
        Comparison {
            n_reference: 5,
            n_candidate: 5,
            n_left_out: 0,
            direction,
            method: Method::AllRuns,
            ratio: Some(ratio),
            ratio_interval: None,
            log_ratio: None,
            p_value,
            p_attainable_min,
        }
    }

    fn words(comparisons: &[Comparison]) -> Vec<&'static str> {
        verdicts(comparisons, 0.05).unwrap().iter().map(|decision| decision.verdict.words()).collect()
    }

    #[test]
    fn holm_gives_the_values_worked_out_by_hand() {
        // Ascending 0.005 x 4 = 0.02, 0.01 x 3 = 0.03, 0.03 x 2 = 0.06, 0.04 x 1 raised to 0.06.
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (found, expected) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - expected).abs() < 1e-12, "{adjusted:?}");
        }
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }

    #[test]
    fn the_direction_says_whether_a_smaller_ratio_is_better() {
        let (smaller, larger) = (Direction::SmallerIsBetter, Direction::LargerIsBetter);
        let comparisons = [(0.5, smaller), (2.0, smaller), (0.5, larger), (2.0, larger)]
            .map(|(ratio, direction)| made_up(1e-4, 1e-5, ratio, direction));
        assert_eq!(words(&comparisons), ["better", "worse", "worse", "better"]);
    }

    #[test]
    fn the_border_belongs_to_the_level_and_nothing_is_rounded() {
        let smaller = Direction::SmallerIsBetter;
        assert_eq!(words(&[made_up(0.05, 0.001, 0.5, smaller)]), ["better"]);
        assert_eq!(words(&[made_up(0.050_000_001, 0.001, 0.5, smaller)]), ["no difference shown"]);
    }

    #[test]
    fn three_against_three_is_too_few_however_far_apart() {
        let comparison =
            compare(&[1.0, 1.1, 1.2], &[100.0, 101.0, 102.0], Direction::SmallerIsBetter, 1).unwrap();
        let decisions = verdicts(&[comparison], 0.05).unwrap();
        assert_eq!((decisions[0].verdict, decisions[0].p_adjusted), (Verdict::TooFewRuns, None));
    }

    #[test]
    fn the_interval_leaves_1_out_exactly_where_a_difference_is_shown() {
        let mut random = Random::new(11);
        let mut seen = [0; 4];
        for _ in 0..400 {
            let count = 1 + (random.below(5) as usize);
            let comparisons: Vec<Comparison> = (0..count)
                .map(|_| {
                    let (n, factor) = (3 + random.below(5), 1.0 + 0.3 * random.below(6) as f64);
                    let mut runs = |factor: f64| -> Vec<f64> {
                        (0..n).map(|_| factor * (0.2 * random.normal_pair().0).exp()).collect()
                    };
                    let (reference, candidate) = (runs(1.0), runs(factor));
                    compare(&reference, &candidate, Direction::SmallerIsBetter, 1).unwrap()
                })
                .collect();
            for decision in verdicts(&comparisons, 0.05).unwrap() {
                let is_shown = matches!(decision.verdict, Verdict::Better | Verdict::Worse);
                let holds_1 = decision.ratio_interval.unwrap().contains(1.0);
                let is_free = decision.verdict == Verdict::TooFewRuns;
                assert!(is_free || holds_1 != is_shown, "{decision:?}");
                seen[decision.verdict as usize] += 1;
            }
        }
        assert!(seen[1] > 0 && seen[2] > 0 && seen[3] > 0, "{seen:?}");
    }

    #[test]
    fn two_comparisons_have_wider_intervals_than_one() {
        let one =
            compare(&[1.0, 1.1, 1.2, 1.3, 1.4], &[2.0, 2.1, 2.4, 2.2, 2.3], Direction::SmallerIsBetter, 1);
        let one = one.unwrap();
        let alone = verdicts(&[one], 0.05).unwrap()[0].ratio_interval.unwrap();
        assert_eq!(
            Some((alone.low, alone.high)),
            one.ratio_interval.map(|interval| (interval.low, interval.high))
        );
        let together = verdicts(&[one, one], 0.05).unwrap()[0].ratio_interval.unwrap();
        assert_eq!(together.confidence, 0.975);
        assert!(together.low < alone.low && together.high > alone.high);
    }

    #[test]
    fn four_against_four_suffices_alone_and_not_in_a_matrix() {
        let smaller = Direction::SmallerIsBetter;
        let apart = compare(&[1.0, 1.1, 1.2, 1.3], &[9.0, 9.1, 9.2, 9.3], smaller, 1).unwrap();
        assert_eq!(words(&[apart]), ["worse"]);
        let mixed = compare(&[1.0, 2.0, 3.0, 4.0], &[1.5, 2.5, 3.5, 3.8], smaller, 1).unwrap();
        assert_eq!(words(&[mixed]), ["no difference shown"]);
        assert_eq!(words(&[apart, mixed]), ["too few runs", "too few runs"]);
    }

    #[test]
    fn a_cell_without_runs_does_not_burden_the_others() {
        let smaller = Direction::SmallerIsBetter;
        let apart = compare(&[1.0, 1.1, 1.2, 1.3], &[9.0, 9.1, 9.2, 9.3], smaller, 1).unwrap();
        let empty = compare(&[], &[1.0, 2.0], smaller, 1).unwrap();
        assert_eq!(words(&[empty, apart]), ["too few runs", "worse"]);
    }

    #[test]
    fn a_level_that_is_no_probability_is_refused() {
        assert_eq!(verdicts(&[], 0.0), Err(InputError::NotAProbability(0.0)));
        assert!(verdicts(&[], f64::NAN).is_err());
        assert!(verdicts(&[], 0.05).unwrap().is_empty());
    }
}
