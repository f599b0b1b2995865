//! Statements: where one ends, and which variables it has.

pub(crate) mod scanner;
pub(crate) mod statement;
