//! Axes: round numbers that begin at zero, or powers of ten that say that they do not.

use super::super::human::thousands;

/// Most parts into which an axis is cut.
const PARTS_MAX: f64 = 6.0;

/// Logarithmic axes that span no more than this have lines at 1, 2 and 5.
const SHORT_FACTOR_MAX: f64 = 100.0;

/// How values become heights.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    /// Lower end; zero but for logarithms and negative values.
    pub(crate) min: f64,
    /// Upper end; above `min`.
    pub(crate) max: f64,
    /// Where lines and figures stand, ascending.
    pub(crate) ticks: Vec<f64>,
    is_logarithmic: bool,
}

impl Axis {
    /// Reaches from zero (or from a round number below, where values are negative) to a round number.
    pub(crate) fn from_zero(smallest: f64, largest: f64) -> Self {
        let low = if smallest.is_finite() { smallest.min(0.0) } else { 0.0 };
        let high = if largest.is_finite() { largest.max(0.0) } else { 0.0 };
        if high - low <= 0.0 {
            return Self { min: 0.0, max: 1.0, ticks: vec![0.0, 1.0], is_logarithmic: false };
        }
        let step = round_step((high - low) / (PARTS_MAX - 1.0));
        let (first, last) = ((low / step).floor(), (high / step).ceil());
        let ticks: Vec<f64> = (first as i64..=last as i64).map(|index| index as f64 * step).collect();
        Self { min: first * step, max: last * step, ticks, is_logarithmic: false }
    }

    /// Reaches from zero to the largest value, with round numbers up to there.
    pub(crate) fn up_to(largest: f64) -> Self {
        let mut axis = Self::from_zero(0.0, largest);
        if largest > 0.0 && largest.is_finite() {
            axis.max = largest;
            axis.ticks.retain(|tick| *tick <= largest);
        }
        axis
    }

    /// Reaches over powers of ten, of which short axes begin and end with 1, 2 or 5; `None` unless both ends are above zero.
    pub(crate) fn logarithmic(smallest: f64, largest: f64) -> Option<Self> {
        if !(smallest > 0.0 && largest.is_finite()) {
            return None;
        }
        let (first, last) = (smallest.log10().floor() as i32, largest.log10().ceil() as i32);
        let last = last.max(first + 1);
        let is_long = largest / smallest > SHORT_FACTOR_MAX;
        let steps: &[f64] = if is_long { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let candidates: Vec<f64> = (first..=last)
            .flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)))
            .collect();
        // A hair of rounding moves no end.
        let min = candidates.iter().copied().rfind(|tick| *tick <= smallest * 1.000_001)?;
        let max = candidates.iter().copied().find(|tick| *tick > min && *tick >= largest * 0.999_999)?;
        let ticks = candidates.into_iter().filter(|tick| (min..=max).contains(tick)).collect();
        Some(Self { min, max, ticks, is_logarithmic: true })
    }

    /// Place of a value, 0 at the lower end and 1 at the upper one; values beyond an end stand there.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let share = if self.is_logarithmic {
            (value.max(self.min) / self.min).ln() / (self.max / self.min).ln()
        } else {
            (value - self.min) / (self.max - self.min)
        };
        share.clamp(0.0, 1.0)
    }

    /// Words of a tick: as many decimals as the steps need, thousands set apart, a letter for millions and more.
    pub(crate) fn words(&self, tick: f64) -> String {
        // Decades are far apart: each has a letter of its own.
        let largest = match self.is_logarithmic {
            true => tick,
            false => self.ticks.iter().map(|tick| tick.abs()).fold(0.0, f64::max),
        };
        let (scale, letter) = match largest {
            largest if largest >= 1e12 => (1e12, " T"),
            largest if largest >= 1e9 => (1e9, " G"),
            largest if largest >= 1e6 => (1e6, " M"),
            _ => (1.0, ""),
        };
        if tick == 0.0 {
            return "0".to_owned();
        }
        let text = if self.is_logarithmic {
            match (-(tick / scale).log10().floor()).max(0.0) as usize {
                0 => thousands(tick / scale),
                decimals => format!("{:.decimals$}", tick / scale),
            }
        } else {
            let decimals = self.ticks.iter().map(|tick| decimals_of(tick / scale)).max().unwrap_or(0);
            match decimals {
                0 => thousands(tick / scale),
                _ => format!("{:.decimals$}", tick / scale),
            }
        };
        format!("{text}{letter}")
    }
}

fn round_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|factor| factor * power >= least * 0.999_999);
    factor.unwrap_or(10.0) * power
}

fn decimals_of(value: f64) -> usize {
    (0..9)
        .find(|&decimals| {
            let scaled = value * 10_f64.powi(decimals as i32);
            (scaled - scaled.round()).abs() < 1e-6 * scaled.abs().max(1.0)
        })
        .unwrap_or(9)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_axis_begins_at_zero_and_ends_at_a_round_number_above_all_values() {
        let axis = Axis::from_zero(3.2, 9.4);
        assert_eq!((axis.min, axis.max), (0.0, 10.0));
        assert_eq!(axis.ticks, [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        let words: Vec<String> =
            Axis::from_zero(0.0, 0.22).ticks.iter().map(|t| Axis::from_zero(0.0, 0.22).words(*t)).collect();
        assert_eq!(words, ["0", "0.05", "0.10", "0.15", "0.20", "0.25"]);
        assert_eq!((axis.place(-5.0), axis.place(5.0), axis.place(99.0)), (0.0, 0.5, 1.0));
        assert_eq!(Axis::from_zero(f64::NAN, f64::NEG_INFINITY).ticks, [0.0, 1.0]);
        assert!(Axis::from_zero(-40.0, 90.0).ticks.contains(&0.0));
    }

    #[test]
    fn a_logarithmic_axis_has_no_zero_and_a_short_one_finer_lines() {
        let words = |axis: &Axis| axis.ticks.iter().map(|tick| axis.words(*tick)).collect::<Vec<_>>();
        let long = Axis::logarithmic(0.03, 19.0).unwrap();
        assert_eq!((long.min, long.max), (0.01, 100.0));
        assert_eq!(words(&long), ["0.01", "0.1", "1", "10", "100"]);
        assert!((long.place(1.0) - 0.5).abs() < 1e-12);
        let short = Axis::logarithmic(0.3, 1.9).unwrap();
        assert_eq!(words(&short), ["0.2", "0.5", "1", "2"]);
        assert_eq!(words(&Axis::logarithmic(1.0, 1.0).unwrap()), ["1", "2"]);
        assert_eq!(
            words(&Axis::logarithmic(200.0, 5000.0).unwrap()),
            ["200", "500", "1,000", "2,000", "5,000"]
        );
        assert_eq!(Axis::logarithmic(0.0, 1.0), None);
    }

    #[test]
    fn an_exact_axis_ends_with_its_values() {
        let axis = Axis::up_to(6.05);
        assert_eq!((axis.max, axis.ticks.last().copied()), (6.05, Some(6.0)));
        assert_eq!(Axis::up_to(0.0), Axis::from_zero(0.0, 0.0));
    }

    #[test]
    fn thousands_are_set_apart_and_millions_have_a_letter() {
        let axis = Axis::from_zero(0.0, 42_000.0);
        assert_eq!(axis.words(20_000.0), "20,000");
        assert_eq!(Axis::from_zero(0.0, 6e6).words(2e6), "2 M");
    }
}
