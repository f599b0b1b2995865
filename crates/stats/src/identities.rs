//! Checks that figures of a table obey what ties them together: sums, quotients, shares, bounds.
//!
//! A table that breaks its own arithmetic carries a wrong figure, a wrong unit or a wrong label. The same checks read
//! published tables (some of which fail) and guard the tables that fathom prints.

mod index;
mod rates;
mod table;
mod wait_table;

pub use index::{IndexLevel, fill_percent, fragment_size, level_records, logical_reads, reads_once};
pub use rates::{
    ByteUnit, PrintStyle, Throughput, littles_law, peak_rate, rate_from_pages, rate_product, throughput,
    throughput_unit,
};
pub use table::{
    PercentCheck, ascending, descending, one_definition, percent_of_change, product, sum, whole_batches,
};
pub use wait_table::{CommonTotal, average, common_total, smallest_prefix, wait_sum, waits_within_elapsed};

use std::str::FromStr;

/// What became of one check.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    /// The figure is what the others give, to the last printed digit.
    Holds,
    /// The figure differs by no more than the printing explains: inputs rounded, or digits cut instead of rounded.
    Rounding,
    /// The figure should equal another one and does not.
    Broken {
        /// What the other figures give.
        expected: f64,
        /// What is printed.
        found: f64,
    },
    /// The figure is beyond what the other figures allow, though no exact value follows from them.
    Implausible {
        /// The largest value that the others allow.
        limit: f64,
        /// The figure.
        found: f64,
    },
    /// The figure is impossible as printed and right in another unit.
    WrongUnit {
        /// How many of the printed units make the right one: 1000 when bytes are printed for kilobytes.
        factor: f64,
    },
}

impl Outcome {
    /// Tells whether the figure stands, exactly or up to its printing.
    pub fn is_consistent(self) -> bool {
        matches!(self, Self::Holds | Self::Rounding)
    }

    /// Returns the graver of two outcomes, the first when they are equally grave.
    pub fn and(self, other: Self) -> Self {
        if other.gravity() > self.gravity() { other } else { self }
    }

    fn gravity(self) -> u8 {
        match self {
            Self::Holds => 0,
            Self::Rounding => 1,
            Self::WrongUnit { .. } => 2,
            Self::Implausible { .. } => 3,
            Self::Broken { .. } => 4,
        }
    }
}

/// A figure as it was printed: its value and how many digits stood behind the point.
///
/// It stands for all values that round to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Printed {
    /// The value, finite.
    pub value: f64,
    /// The digits behind the decimal point.
    pub decimals: u32,
}

impl Printed {
    /// Takes a value of a column that prints this many digits behind the point, whether or not trailing zeros show.
    pub fn new(value: f64, decimals: u32) -> Self {
        Self { value, decimals }
    }

    /// Returns the step of the last printed digit: 0.01 for two digits behind the point.
    pub fn unit(self) -> f64 {
        0.1_f64.powi(self.decimals as i32)
    }

    /// Returns the least value that rounds to the figure.
    pub fn low(self) -> f64 {
        self.value - self.unit() / 2.0
    }

    /// Returns the value from which on numbers no longer round to the figure.
    pub fn high(self) -> f64 {
        self.value + self.unit() / 2.0
    }

    /// Checks the figure against its recomputed value: `Holds` when it is that value rounded, `Rounding` when digits
    /// were cut, else `Broken`. A value half-way between two figures may be printed as either.
    pub fn check(self, recomputed: f64) -> Outcome {
        // Figures have at most about 12 digits here; the slack is for the representation of decimals in binary.
        let slack = 1e-12 * recomputed.abs().max(self.value.abs()) + 1e-9 * self.unit();
        let difference = recomputed - self.value;
        if difference.abs() <= self.unit() / 2.0 + slack {
            Outcome::Holds
        } else if difference * recomputed.signum() > 0.0 && difference.abs() < self.unit() - slack {
            Outcome::Rounding
        } else {
            Outcome::Broken { expected: recomputed, found: self.value }
        }
    }
}

impl FromStr for Printed {
    type Err = std::num::ParseFloatError;

    /// Reads digits with an optional sign, decimal point and digits behind it; the digits shown are those printed.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let value: f64 = text.parse()?;
        let decimals = text.split_once('.').map_or(0, |(_, digits)| digits.len());
        Ok(Self { value, decimals: decimals as u32 })
    }
}

/// Checks that two numbers are equal up to a share of the larger one; `tolerance` 0.01 allows a difference of 1 %.
///
/// For figures whose inputs were averaged or taken at slightly different times, so that digits prove nothing.
pub fn close_to(expected: f64, found: f64, tolerance: f64) -> Outcome {
    if (expected - found).abs() <= tolerance * expected.abs().max(found.abs()) {
        Outcome::Holds
    } else {
        Outcome::Broken { expected, found }
    }
}

/// Checks that a figure stays within a limit that follows from other figures; equal to it is within.
pub fn within_limit(found: f64, limit: f64) -> Outcome {
    if found <= limit { Outcome::Holds } else { Outcome::Implausible { limit, found } }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_figure_is_rounded_or_cut_or_wrong() {
        let printed: Printed = "512".parse().unwrap();
        assert_eq!(printed.check(512.49), Outcome::Holds);
        assert_eq!(printed.check(511.5), Outcome::Holds);
        assert_eq!(printed.check(512.71), Outcome::Rounding);
        assert_eq!(printed.check(511.4), Outcome::Broken { expected: 511.4, found: 512.0 });
        assert_eq!(printed.check(513.0), Outcome::Broken { expected: 513.0, found: 512.0 });
        assert_eq!(Printed::new(-1.5, 1).check(-1.56), Outcome::Rounding);
    }

    #[test]
    fn a_value_half_way_may_be_printed_as_either_neighbour() {
        assert_eq!(Printed::new(2.5, 1).check(2.45), Outcome::Holds);
        assert_eq!(Printed::new(2.4, 1).check(2.45), Outcome::Holds);
    }

    #[test]
    fn the_digits_shown_are_the_digits_printed() {
        assert_eq!("20.0".parse(), Ok(Printed::new(20.0, 1)));
        assert_eq!("16976".parse(), Ok(Printed::new(16976.0, 0)));
        assert!("n/a".parse::<Printed>().is_err());
    }

    #[test]
    fn the_graver_outcome_is_kept() {
        let broken = Outcome::Broken { expected: 1.0, found: 2.0 };
        assert_eq!(Outcome::Holds.and(Outcome::Rounding), Outcome::Rounding);
        assert_eq!(broken.and(Outcome::Holds), broken);
        assert!(Outcome::Rounding.is_consistent() && !broken.is_consistent());
        assert!(!Outcome::WrongUnit { factor: 1000.0 }.is_consistent());
    }

    #[test]
    fn limits_include_their_border() {
        assert_eq!(within_limit(5.0, 5.0), Outcome::Holds);
        assert_eq!(within_limit(5.1, 5.0), Outcome::Implausible { limit: 5.0, found: 5.1 });
        assert_eq!(close_to(100.0, 99.0, 0.01), Outcome::Holds);
        assert!(!close_to(100.0, 98.9, 0.01).is_consistent());
        assert!(
            !close_to(100.0, f64::NAN, 0.01).is_consistent() && !within_limit(f64::NAN, 1.0).is_consistent()
        );
    }
}
