//! What is asked of numbers that come in, and how a refusal is told.

use std::fmt;

/// Names the first number that a statistic cannot be made from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum InputError {
    /// There is no number at all.
    Empty,
    /// The number at this index (from 0) is infinite or not a number.
    NotFinite {
        /// Position in the slice handed in.
        index: usize,
        /// The number itself.
        value: f64,
    },
    /// The number at this index (from 0) is so large that its square would be infinite.
    TooLarge {
        /// Position in the slice handed in.
        index: usize,
        /// The number itself.
        value: f64,
    },
    /// The number at this index (from 0) is zero or below, and a logarithm or a ratio is needed.
    NotPositive {
        /// Position in the slice handed in.
        index: usize,
        /// The number itself.
        value: f64,
    },
    /// The seconds at this index (from 0) are negative, infinite or not a number.
    NotADuration {
        /// Position in the slice handed in.
        index: usize,
        /// The number itself.
        value: f64,
    },
    /// A probability (a level, a confidence) lies outside of 0 to 1, or on its edge.
    NotAProbability(f64),
    /// A relative standard deviation is not above zero (zero is allowed for drift) or not finite.
    NotASpread(f64),
    /// A relative difference is not above -1 or not finite.
    NotADifference(f64),
    /// The first look comes before the first block, or after the last.
    NotARange {
        /// Blocks before the first look.
        first: u32,
        /// Blocks in all.
        last: u32,
    },
    /// More values than the cost of the statistic allows.
    TooMany {
        /// How many came in.
        count: usize,
        /// The most that are taken.
        max: usize,
    },
}

impl fmt::Display for InputError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => formatter.write_str("no value to summarise: at least one is needed"),
            Self::NotFinite { index, value } => {
                write!(formatter, "value {value} at index {index} is not finite")
            }
            Self::TooLarge { index, value } => {
                write!(formatter, "value {value} at index {index} is larger than {MAGNITUDE_MAX:e}")
            }
            Self::NotPositive { index, value } => write!(
                formatter,
                "value {value} at index {index} is not above zero: a ratio needs positive values on both sides"
            ),
            Self::NotADuration { index, value } => {
                write!(formatter, "{value} seconds at index {index} are no duration: zero or more is needed")
            }
            Self::NotAProbability(value) => write!(formatter, "level {value} is not between 0 and 1"),
            Self::NotASpread(value) => {
                write!(formatter, "{value} is not a relative standard deviation: a number above 0 is needed")
            }
            Self::NotADifference(value) => {
                write!(formatter, "{value} is not a relative difference: a number above -1 is needed")
            }
            Self::NotARange { first, last } => {
                write!(formatter, "a first look after {first} of {last} blocks is not possible")
            }
            Self::TooMany { count, max } => {
                write!(formatter, "{count} values are more than the {max} that are searched")
            }
        }
    }
}

impl std::error::Error for InputError {}

/// The largest magnitude that is summarised: a million squares of it are still finite.
const MAGNITUDE_MAX: f64 = 1e150;

/// Finds the first value whose square would be infinite; all are finite.
pub(crate) fn require_squarable(values: &[f64]) -> Result<(), InputError> {
    match values.iter().position(|value| value.abs() > MAGNITUDE_MAX) {
        Some(index) => Err(InputError::TooLarge { index, value: values[index] }),
        None => Ok(()),
    }
}

/// Finds the first value that is infinite or not a number.
pub(crate) fn require_finite(values: &[f64]) -> Result<(), InputError> {
    match values.iter().position(|value| !value.is_finite()) {
        Some(index) => Err(InputError::NotFinite { index, value: values[index] }),
        None => Ok(()),
    }
}

/// Finds the first value that has no logarithm.
pub(crate) fn require_positive(values: &[f64]) -> Result<(), InputError> {
    require_finite(values)?;
    match values.iter().position(|&value| value <= 0.0) {
        Some(index) => Err(InputError::NotPositive { index, value: values[index] }),
        None => Ok(()),
    }
}
