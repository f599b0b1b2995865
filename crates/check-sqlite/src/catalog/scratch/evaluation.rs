//! What is computed for each row of a table, and what is asked for.

use formats::sqlite::Encoding;

use check::rule::Rule;

use crate::versions::Dependence;

/// What is computed for each row of a table, and how.
#[derive(Debug, Clone)]
pub(crate) struct Evaluation {
    pub(super) encoding: Encoding,
    /// The results in their order, by the table that computes them.
    pub(super) parts: Vec<Part>,
    /// The columns that the expressions need, by their place in a record; `None` for the rowid.
    pub(crate) bound: Vec<Option<usize>>,
    /// The first results: each must be true.
    pub(crate) tests: Vec<ValueTest>,
    /// By result: which versions or builds of SQLite may compute another one.
    pub(crate) dependences: Vec<Dependence>,
}

/// One scratch table and the results that it computes.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) making: String,
    pub(super) insert: String,
    pub(super) select: String,
    pub(super) delete: String,
    /// The values that are put in, by their place among those bound.
    pub(super) inputs: Vec<usize>,
}

/// A result that must be true in each row.
#[derive(Debug, Clone)]
pub(crate) struct ValueTest {
    pub(crate) rule: &'static Rule,
    /// What is expected, in words.
    pub(crate) expected: String,
}

/// An expression to be computed.
#[derive(Debug)]
pub(crate) struct Wish {
    pub(crate) expression: String,
    pub(crate) test: Option<ValueTest>,
    /// The column that must hold the value of the expression, after its affinity; the result tells whether it does.
    pub(crate) stored_in: Option<String>,
}
