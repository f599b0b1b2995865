//! Statements: where one ends, which variables it has, and what is expected of it.

pub(crate) mod expect;
pub(crate) mod scanner;
pub(crate) mod statement;
