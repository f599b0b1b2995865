//! One equation between columns, and how the rows of a table came out.

use stats::identities::Outcome;

use crate::table::{Row, Table};

/// Most contradictions of one identity that are kept; the rest is counted.
const CONTRADICTIONS_MAX: usize = 1_000;

/// One equation between columns, and how the rows came out.
#[derive(Clone, Debug, PartialEq)]
pub struct Identity {
    /// The equation in words.
    pub name: &'static str,
    /// Rows (or groups of rows) that have all its columns.
    pub checked: usize,
    /// Of them, those that hold to the last printed digit, or within the tolerance of the equation.
    pub hold: usize,
    /// Of them, those that differ by their rounding alone.
    pub rounding: usize,
    /// Line and reason of each row that contradicts it.
    pub contradictions: Vec<(u64, String)>,
    /// Are the values that were measured in question? Else it is about a percentage or an order that was derived from them.
    pub is_of_measured_values: bool,
}

impl Identity {
    pub(super) fn new(name: &'static str) -> Self {
        Self {
            name,
            checked: 0,
            hold: 0,
            rounding: 0,
            contradictions: Vec::new(),
            is_of_measured_values: true,
        }
    }

    pub(super) fn of_derived(name: &'static str) -> Self {
        Self { is_of_measured_values: false, ..Self::new(name) }
    }

    /// An equation between numbers of a tool.
    pub(crate) fn of_tool(name: &'static str) -> Self {
        Self::new(name)
    }

    /// Counts one outcome; the reason why it does not hold is put among the doubts as well.
    pub(crate) fn compare(&mut self, line: u64, outcome: Outcome, subject: &str, doubts: &mut Vec<String>) {
        let before = self.contradictions.len();
        self.add(line, outcome, subject);
        doubts.extend(
            self.contradictions[before..].iter().map(|(_, reason)| format!("{}: {reason}", self.name)),
        );
    }

    /// Counts one outcome; `subject` names what was compared.
    pub(super) fn add(&mut self, line: u64, outcome: Outcome, subject: &str) {
        self.checked += 1;
        let reason = match outcome {
            Outcome::Holds => {
                self.hold += 1;
                return;
            }
            Outcome::Rounding => {
                self.rounding += 1;
                return;
            }
            Outcome::Broken { expected, found } => {
                format!("{subject} is {}, computed {}", shown(found), shown(expected))
            }
            Outcome::Implausible { limit, found } => {
                format!("{subject} is {}, at most {} is possible", shown(found), shown(limit))
            }
            Outcome::WrongUnit { factor } => {
                format!("{subject}: the unit is wrong by a factor of {}", shown(factor))
            }
        };
        self.contradict(line, reason);
    }

    pub(super) fn contradict(&mut self, line: u64, reason: String) {
        if self.contradictions.len() < CONTRADICTIONS_MAX {
            self.contradictions.push((line, reason));
        }
    }

    /// `15 of 15 rows hold, 6 of them by rounding`.
    pub fn words(&self) -> String {
        let consistent = self.hold + self.rounding;
        let rounding = match self.rounding {
            0 => String::new(),
            count => format!(", {count} of them within their rounding"),
        };
        format!("{}: {consistent} of {} hold{rounding}", self.name, self.checked)
    }
}

/// A number as sentences show it: up to six significant digits.
pub(super) fn shown(value: f64) -> String {
    if value == value.trunc() && value.abs() < 1e15 {
        return format!("{value}");
    }
    let digits = (5 - value.abs().log10().floor() as i32).clamp(0, 12) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// The numbers of these columns in a row; `None` unless it has all of them.
pub(super) fn numbers<const N: usize>(table: &Table, row: &Row, names: [&str; N]) -> Option<[f64; N]> {
    let mut values = [0.0; N];
    for (value, name) in values.iter_mut().zip(names) {
        *value = table.number(row, name)?;
    }
    Some(values)
}

/// A whole number of a column that counts.
pub(super) fn count(table: &Table, row: &Row, name: &str) -> Option<u64> {
    table
        .number(row, name)
        .filter(|value| *value >= 0.0 && *value < 9e15 && value.fract() == 0.0)
        .map(|value| value as u64)
}
