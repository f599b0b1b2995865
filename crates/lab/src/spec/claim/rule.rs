//! The parts of a claim, and why one cannot be used.

use std::ops::Range;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Rule {
    Compare { left: Operand, operator: Operator, right: Right },
    Equal { metric: String },
    Monotonic { metric: String, factor: Name, increasing: bool },
    NoDifference { metric: String, factor: Name },
}

/// A word and where it stands in the text of the claim.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) span: Range<usize>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Operand {
    pub(crate) metric: String,
    pub(crate) selectors: Vec<Selector>,
}

/// `factor=level`; the level as written, compared with the printed form of the factor's levels.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Selector {
    pub(crate) factor: Name,
    pub(crate) level: Name,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Right {
    Number(f64),
    Metric { scale: f64, operand: Operand },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
}

/// What is wrong with the text of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimError {
    /// Bytes of the claim's text.
    pub span: Range<usize>,
    /// What was found and expected.
    pub title: String,
    /// One thing to do.
    pub help: Option<String>,
}
