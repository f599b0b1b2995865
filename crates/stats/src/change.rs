//! How much faster: percent and factors of one elapsed time against another, with the definition named.
//!
//! Published figures mix two definitions. 29,307 s after 36,768 s is "20 % faster" as time saved and "25 % faster" as
//! work per second gained; only a header that says which one is meant can be checked.

/// The meaning of a printed percentage of improvement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PercentDefinition {
    /// The time saved, as a share of the reference time: `100 * (1 - t / t_ref)`; fathom prints this one.
    TimeReduction,
    /// The speed gained, as a share of the reference speed: `100 * (t_ref / t - 1)`.
    SpeedUp,
}

impl PercentDefinition {
    /// Every definition, the one that fathom prints first.
    pub const ALL: [Self; 2] = [Self::TimeReduction, Self::SpeedUp];

    /// Returns the words for a column header.
    pub fn header(self) -> &'static str {
        match self {
            Self::TimeReduction => "% time reduction",
            Self::SpeedUp => "% speed-up",
        }
    }

    /// Returns the formula for the note below a table.
    pub fn formula(self) -> &'static str {
        match self {
            Self::TimeReduction => "100 * (1 - t / t_ref)",
            Self::SpeedUp => "100 * (t_ref / t - 1)",
        }
    }

    /// Computes the percentage; negative when `t` is the longer time. Absent as in [`speed_up`].
    pub fn percent(self, t: f64, t_ref: f64) -> Option<f64> {
        match self {
            Self::TimeReduction => time_reduction_percent(t, t_ref),
            Self::SpeedUp => speed_up(t, t_ref).map(|factor| 100.0 * (factor - 1.0)),
        }
    }
}

/// Computes the time saved in percent of the reference time, `100 * (1 - t / t_ref)`; at most 100, negative when
/// `t` is longer. Absent unless both times are finite and above zero.
pub fn time_reduction_percent(t: f64, t_ref: f64) -> Option<f64> {
    are_times(t, t_ref).then(|| 100.0 * (1.0 - t / t_ref))
}

/// Computes how many times as fast, `t_ref / t`; 1 means no change. Absent unless both times are finite and above
/// zero.
pub fn speed_up(t: f64, t_ref: f64) -> Option<f64> {
    are_times(t, t_ref).then(|| t_ref / t)
}

/// Computes how many times the best of the candidates beats the best of the references: least time against least
/// time.
///
/// This is the published "improvement factor" of one device over another at the same level. The best of several
/// noisy figures flatters both sides; a decision needs [`crate::compare`]. Absent when a side is empty or holds a
/// time that is not finite and above zero.
pub fn improvement_factor(candidates: &[f64], references: &[f64]) -> Option<f64> {
    speed_up(best_time(candidates)?, best_time(references)?)
}

/// Returns the least time; absent when there is none or one of them is not finite and above zero.
pub fn best_time(times: &[f64]) -> Option<f64> {
    times.iter().copied().map(|time| are_times(time, time).then_some(time)).reduce(|left, right| {
        let (left, right) = (left?, right?);
        Some(left.min(right))
    })?
}

/// One level's change against another, under both definitions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// The time saved in percent, see [`time_reduction_percent`].
    pub time_reduction_percent: f64,
    /// How many times as fast, see [`speed_up`].
    pub speed_up: f64,
}

impl Gain {
    /// Compares `t` with `t_ref`; absent unless both are finite and above zero.
    pub fn of(t: f64, t_ref: f64) -> Option<Self> {
        Some(Self {
            time_reduction_percent: time_reduction_percent(t, t_ref)?,
            speed_up: speed_up(t, t_ref)?,
        })
    }
}

/// Compares each level's time with that of the level before it.
///
/// The result has one element per time, in the same order; the first is always absent, and so is one next to a time
/// that is not finite and above zero.
pub fn gains_over_previous(times: &[f64]) -> Vec<Option<Gain>> {
    std::iter::repeat_n(None, times.len().min(1))
        .chain(times.windows(2).map(|pair| Gain::of(pair[1], pair[0])))
        .collect()
}

fn are_times(t: f64, t_ref: f64) -> bool {
    t.is_finite() && t_ref.is_finite() && t > 0.0 && t_ref > 0.0
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_two_definitions_differ_and_are_both_signed() {
        assert!((time_reduction_percent(29_307.0, 36_768.0).unwrap() - 20.29).abs() < 0.005);
        assert!((PercentDefinition::SpeedUp.percent(29_307.0, 36_768.0).unwrap() - 25.46).abs() < 0.005);
        assert_eq!(time_reduction_percent(2.0, 1.0), Some(-100.0));
        assert_eq!(PercentDefinition::SpeedUp.percent(2.0, 1.0), Some(-50.0));
        assert_eq!(speed_up(1.0, 2.0), Some(2.0));
    }

    #[test]
    fn times_that_cannot_be_divided_have_no_percentage() {
        for (t, t_ref) in [(0.0, 1.0), (1.0, 0.0), (-1.0, 1.0), (f64::NAN, 1.0), (1.0, f64::INFINITY)] {
            assert_eq!(
                (time_reduction_percent(t, t_ref), speed_up(t, t_ref)),
                (None, None),
                "{t} against {t_ref}"
            );
        }
    }

    #[test]
    fn the_first_level_has_no_level_before_it() {
        let gains = gains_over_previous(&[10.0, 5.0, 0.0, 5.0]);
        assert_eq!(gains, [None, Gain::of(5.0, 10.0), None, None]);
        assert_eq!(gains[1].unwrap().speed_up, 2.0);
        assert!(gains_over_previous(&[]).is_empty());
    }

    #[test]
    fn an_improvement_factor_compares_the_best_with_the_best() {
        assert_eq!(improvement_factor(&[4.0, 2.0], &[10.0, 12.0]), Some(5.0));
        assert_eq!(improvement_factor(&[], &[10.0]), None);
        assert_eq!(improvement_factor(&[4.0, 0.0], &[10.0]), None);
    }
}
