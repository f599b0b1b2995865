//! What a parameter is, and which values it takes.

use std::time::Duration;

use crate::spec::duration::duration_text;

/// What values a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParameterType {
    /// A whole number in this range, both ends included.
    Integer {
        /// Smallest allowed value.
        min: i64,
        /// Largest allowed value.
        max: i64,
    },
    /// A finite number in this range, both ends included; a whole number is accepted too.
    Float {
        /// Smallest allowed value.
        min: f64,
        /// Largest allowed value.
        max: f64,
    },
    /// One of these words, each with what it means.
    Word(&'static [(&'static str, &'static str)]),
    /// A length of time such as `250ms`, `10s`, `5m`, `2h`, in this range.
    Duration {
        /// Shortest allowed time.
        min: Duration,
        /// Longest allowed time.
        max: Duration,
    },
    /// Any text up to this many characters, without control characters.
    Text {
        /// Longest allowed text, in characters.
        chars_max: usize,
    },
    /// True or false.
    Boolean,
    /// A level of the user's own: text, number or boolean, put into SQL as it is.
    Own,
    /// A setting of an engine: text, number or boolean, handed on as it is.
    Setting,
}

impl ParameterType {
    /// The allowed values in words: `a whole number from 1 to 8`.
    pub fn describe(&self) -> String {
        match self {
            Self::Integer { min, max } => format!("a whole number from {min} to {max}"),
            Self::Float { min, max } => format!("a number from {min} to {max}"),
            Self::Word(words) => {
                let names: Vec<String> = words.iter().map(|(name, _)| format!("`{name}`")).collect();
                format!("one of {}", names.join(", "))
            }
            Self::Duration { min, max } => {
                format!("a time from {} to {}, such as \"10s\"", duration_text(*min), duration_text(*max))
            }
            Self::Text { chars_max } => format!("text of at most {chars_max} characters"),
            Self::Boolean => "true or false".to_owned(),
            Self::Own | Self::Setting => "text, a number, true or false".to_owned(),
        }
    }
}

/// One parameter of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// Name in specs, in `--set` and in results.
    pub name: &'static str,
    /// Other names that are understood; results always use `name`.
    pub aliases: &'static [&'static str],
    /// Allowed values.
    pub kind: ParameterType,
    /// Unit of the value; empty when it has none.
    pub unit: &'static str,
    /// Value when the spec does not give one, as it would be written; `None` when the parameter is then not set.
    pub default: Option<&'static str>,
    /// One or two sentences for people.
    pub doc: &'static str,
}

pub(super) const DAY: Duration = Duration::from_secs(24 * 3600);

/// Rows are counted in `i64` by all engines; this bound leaves room for sums over clients and for bytes in `u128`.
pub(super) const ROWS_MAX: i64 = 1 << 48;
