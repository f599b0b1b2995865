//! Claims that can be computed: `elapsed_s[batch_size=10] < elapsed_s[batch_size=1]` and its few relatives.
//!
//! ```text
//! METRIC[factor=level, ...] OP [NUMBER *] METRIC[factor=level, ...]     OP: < <= > >= ==
//! METRIC[factor=level, ...] OP NUMBER
//! METRIC equal                          the same in all cells
//! strictly_increasing(METRIC, factor)   larger at each level than at the one before, in the order of the spec
//! strictly_decreasing(METRIC, factor)
//! no_difference(METRIC, factor)         the comparison of each two levels ends in "no difference shown"
//! ```
//!
//! A factor that a claim does not name may have any level: the claim must hold at each of them. Both sides of a
//! comparison name the same factors, so that each cell has one partner.

use std::fmt;

use results::measure::Measure;
use results::model::{Cell, Factor, Level};

use unknown_reference::{find_factor, unknown_in_selector};

mod parse;
mod rule;
mod unknown_reference;

pub use rule::ClaimError;
pub(crate) use rule::{Name, Operand, Operator, Right, Rule};

/// A claim in its parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    pub(crate) rule: Rule,
}

/// Outcome of comparing two cells by their runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// One is shown to be larger.
    Shown,
    /// There are enough runs, and no difference is shown.
    NotShown,
    /// There are too few runs for a verdict.
    TooFewRuns,
}

/// What a claim is evaluated on.
pub trait Figures {
    /// Mean of a metric over the runs of the cell that count; `None` when it was not measured.
    fn mean(&self, metric: &str, cell: &Cell) -> Option<f64>;

    /// Verdict on two cells by a metric; `None` when it was not measured.
    fn difference(&self, metric: &str, cell: &Cell, other: &Cell) -> Option<Difference>;
}

/// What became of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimOutcome {
    /// It holds at every combination of levels that it covers.
    Holds {
        /// The figures of the place where it came closest to not holding, and of how many comparisons.
        found: String,
    },
    /// It does not hold.
    Broken {
        /// The first place where it does not, with the figures.
        found: String,
    },
    /// It can be neither shown nor refuted.
    NotShown {
        /// What is missing.
        reason: String,
    },
}

impl Claim {
    /// Parses the text of a claim; at most 1000 bytes.
    pub fn parse(text: &str) -> Result<Self, ClaimError> {
        parse::claim(text).map(|rule| Self { rule })
    }

    /// Says what in the claim does not exist among these factors: a factor or a level that it names.
    pub fn unknown_reference(&self, factors: &[Factor]) -> Option<ClaimError> {
        let selectors = |operand: &'_ Operand| operand.selectors.clone();
        let (names, selectors) = match &self.rule {
            Rule::Compare { left, right, .. } => {
                let mut all = selectors(left);
                if let Right::Metric { operand, .. } = right {
                    all.extend(selectors(operand));
                }
                (Vec::new(), all)
            }
            Rule::Equal { .. } => (Vec::new(), Vec::new()),
            Rule::Monotonic { factor, .. } | Rule::NoDifference { factor, .. } => {
                (vec![factor.clone()], Vec::new())
            }
        };
        let factor_misfit = names.iter().find_map(|name| find_factor(name, factors).err());
        factor_misfit.or_else(|| selectors.iter().find_map(|selector| unknown_in_selector(selector, factors)))
    }

    /// Evaluates the claim on the cells of a study. Asks for each cell's mean at most a few times.
    pub fn evaluate(&self, factors: &[Factor], cells: &[Cell], figures: &dyn Figures) -> ClaimOutcome {
        if let Some(unknown_reference) = self.unknown_reference(factors) {
            return ClaimOutcome::NotShown { reason: unknown_reference.title };
        }
        let outcome = match &self.rule {
            Rule::Compare { left, operator, right } => compare(left, *operator, right, cells, figures),
            Rule::Equal { metric } => all_equal(metric, cells, figures),
            Rule::Monotonic { metric, factor, increasing } => {
                each_pair(&factor.text, factors, cells, true, |lower, upper| {
                    let (before, after) = (mean(metric, lower, figures)?, mean(metric, upper, figures)?);
                    let holds = if *increasing { before < after } else { before > after };
                    if !holds {
                        return Err(broken(metric, (lower, before), (upper, after)));
                    }
                    Ok(Comparison::of_two(metric, (lower, before), (upper, after), after))
                })
            }
            Rule::NoDifference { metric, factor } => {
                each_pair(&factor.text, factors, cells, false, |one, other| {
                    no_difference(metric, one, other, figures)
                })
            }
        };
        outcome.and_then(|comparisons| closest(&comparisons)).unwrap_or_else(|outcome| outcome)
    }
}

/// One place where a claim holds.
struct Comparison {
    /// The figures.
    found: String,
    /// How far the claim is from not holding here, as a share of the larger figure.
    margin: f64,
}

impl Comparison {
    fn of_two(metric: &str, one: (&Cell, f64), other: (&Cell, f64), limit: f64) -> Self {
        Self { found: both(metric, one, other), margin: apart(one.1, limit) }
    }
}

/// Difference of two figures as a share of the larger one.
fn apart(one: f64, other: f64) -> f64 {
    let largest = one.abs().max(other.abs());
    if largest > 0.0 { (one - other).abs() / largest } else { 0.0 }
}

type Check = Result<Comparison, ClaimOutcome>;
type Checks = Result<Vec<Comparison>, ClaimOutcome>;

/// The outcome of a claim that no place refuted; one that covered no place is not shown.
fn closest(comparisons: &[Comparison]) -> Result<ClaimOutcome, ClaimOutcome> {
    let Some(closest) = comparisons.iter().min_by(|one, other| one.margin.total_cmp(&other.margin)) else {
        let reason = "there are no two configurations to compare".to_owned();
        return Err(ClaimOutcome::NotShown { reason });
    };
    let found = match comparisons.len() {
        1 => closest.found.clone(),
        count => format!("{}, the closest of {count}", closest.found),
    };
    Ok(ClaimOutcome::Holds { found })
}

fn compare(
    left: &Operand,
    operator: Operator,
    right: &Right,
    cells: &[Cell],
    figures: &dyn Figures,
) -> Checks {
    let covered: Vec<&Cell> = cells.iter().filter(|cell| left.selects(cell)).collect();
    if covered.is_empty() {
        return Err(ClaimOutcome::NotShown { reason: "no cell has these levels".to_owned() });
    }
    let place = |cell: &&Cell| {
        let value = mean(&left.metric, cell, figures)?;
        match right {
            Right::Number(number) => {
                let value_shown = Shown(&left.metric, value);
                let found = format!("{} is {value_shown} at {}", left.metric, cell.label());
                match operator.holds(value, *number) {
                    true => Ok(Comparison { found, margin: apart(value, *number) }),
                    false => Err(ClaimOutcome::Broken { found }),
                }
            }
            Right::Metric { scale, operand } => {
                let partner = cells.iter().find(|other| operand.selects(other) && agree(left, cell, other));
                let Some(partner) = partner else {
                    let reason = format!("no cell to compare {} with", cell.label());
                    return Err(ClaimOutcome::NotShown { reason });
                };
                let other = mean(&operand.metric, partner, figures)?;
                match operator.holds(value, scale * other) {
                    true => {
                        Ok(Comparison::of_two(&left.metric, (cell, value), (partner, other), scale * other))
                    }
                    false => Err(broken(&left.metric, (cell, value), (partner, other))),
                }
            }
        }
    };
    covered.iter().map(place).collect()
}

fn all_equal(metric: &str, cells: &[Cell], figures: &dyn Figures) -> Checks {
    let Some(first) = cells.first() else { return Ok(Vec::new()) };
    let expected = mean(metric, first, figures)?;
    for cell in cells {
        let value = mean(metric, cell, figures)?;
        if value != expected {
            return Err(broken(metric, (first, expected), (cell, value)));
        }
    }
    let found = match cells {
        [only] => format!("{metric} is {} at {}", Shown(metric, expected), only.label()),
        _ => format!("{metric} is {} at all {} configurations", Shown(metric, expected), cells.len()),
    };
    Ok(vec![Comparison { found, margin: 0.0 }])
}

fn no_difference(metric: &str, one: &Cell, other: &Cell, figures: &dyn Figures) -> Check {
    match figures.difference(metric, one, other) {
        Some(Difference::NotShown) => {
            let (first, second) = (mean(metric, one, figures)?, mean(metric, other, figures)?);
            let place = Comparison::of_two(metric, (one, first), (other, second), second);
            // What lies furthest apart comes closest to a difference.
            Ok(Comparison { margin: -place.margin, ..place })
        }
        Some(Difference::Shown) => {
            Err(broken(metric, (one, mean(metric, one, figures)?), (other, mean(metric, other, figures)?)))
        }
        Some(Difference::TooFewRuns) => {
            let reason = format!("too few runs to compare {} with {}", one.label(), other.label());
            Err(ClaimOutcome::NotShown { reason })
        }
        None => Err(not_measured(metric, one)),
    }
}

/// Calls `check` on pairs of cells that differ in `factor` only: neighbours in the order of the levels, or all pairs.
fn each_pair(
    factor: &str,
    factors: &[Factor],
    cells: &[Cell],
    neighbours: bool,
    mut check: impl FnMut(&Cell, &Cell) -> Check,
) -> Checks {
    let levels =
        factors.iter().find(|candidate| candidate.name == factor).map_or(&[][..], |found| &found.levels);
    let place = |cell: &Cell| {
        let level = level_of(cell, factor)?;
        levels.iter().position(|candidate| candidate == level)
    };
    let mut comparisons = Vec::new();
    for lower in cells {
        for upper in cells {
            let (Some(from), Some(to)) = (place(lower), place(upper)) else { continue };
            let wanted = if neighbours { to == from + 1 } else { to > from };
            let same_elsewhere = lower
                .levels
                .iter()
                .all(|(name, level)| name == factor || level_of(upper, name) == Some(level));
            if wanted && same_elsewhere {
                comparisons.push(check(lower, upper)?);
            }
        }
    }
    Ok(comparisons)
}

impl Operand {
    fn selects(&self, cell: &Cell) -> bool {
        self.selectors.iter().all(|selector| {
            level_of(cell, &selector.factor.text).is_some_and(|level| selector.level.is(level))
        })
    }
}

impl Name {
    /// Does this text mean that level? By value for numbers, so that `1_000` is 1000.
    fn is(&self, level: &Level) -> bool {
        let number = self.text.replace('_', "").parse::<f64>().ok();
        number.is_some() && number == level.as_number() || level.to_string() == self.text
    }
}

/// Do the cells have the same levels in all factors that the claim leaves open?
fn agree(operand: &Operand, cell: &Cell, other: &Cell) -> bool {
    let named = |name: &str| operand.selectors.iter().any(|selector| selector.factor.text == name);
    cell.levels.iter().all(|(name, level)| named(name) || level_of(other, name) == Some(level))
}

fn level_of<'a>(cell: &'a Cell, factor: &str) -> Option<&'a Level> {
    cell.levels.iter().find(|(name, _)| name == factor).map(|(_, level)| level)
}

fn mean(metric: &str, cell: &Cell, figures: &dyn Figures) -> Result<f64, ClaimOutcome> {
    figures.mean(metric, cell).ok_or_else(|| not_measured(metric, cell))
}

fn not_measured(metric: &str, cell: &Cell) -> ClaimOutcome {
    let where_from = match Measure::find(metric) {
        Some(_) => format!("`fathom explain {metric}` says where it can be had"),
        None => "no row of `after` has this name".to_owned(),
    };
    ClaimOutcome::NotShown { reason: format!("{metric} was not measured at {} ({where_from})", cell.label()) }
}

fn broken(metric: &str, one: (&Cell, f64), other: (&Cell, f64)) -> ClaimOutcome {
    ClaimOutcome::Broken { found: both(metric, one, other) }
}

fn both(metric: &str, (cell, value): (&Cell, f64), (other, other_value): (&Cell, f64)) -> String {
    let (value, other_value) = (Shown(metric, value), Shown(metric, other_value));
    format!("{metric} is {value} at {} and {other_value} at {}", cell.label(), other.label())
}

/// The value of a metric with four significant digits at least; sizes in a unit that suits them, other whole numbers in full.
struct Shown<'a>(&'a str, f64);

/// Units of sizes, the largest first.
const SIZES: [(f64, &str); 3] = [(1_073_741_824.0, "GiB"), (1_048_576.0, "MiB"), (1024.0, "KiB")];

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(metric, value) = self;
        if metric.ends_with("_bytes") {
            return match SIZES.iter().find(|(size, _)| value.abs() >= *size) {
                Some((size, unit)) => write!(f, "{:.3} {unit}", value / size),
                None => write!(f, "{value} bytes"),
            };
        }
        if value.fract() == 0.0 && value.abs() < 1e15 {
            write!(f, "{value:.0}")
        } else if value.abs() >= 1.0 {
            write!(f, "{value:.3}")
        } else if value.abs() >= 1e-4 {
            let decimals = 3 - value.abs().log10().floor() as i32;
            write!(f, "{value:.*}", decimals.unsigned_abs() as usize)
        } else {
            write!(f, "{value:.3e}")
        }
    }
}

impl Operator {
    fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Self::Less => left < right,
            Self::LessOrEqual => left <= right,
            Self::Greater => left > right,
            Self::GreaterOrEqual => left >= right,
            Self::Equal => left == right,
        }
    }
}

#[cfg(test)]
mod tests;
