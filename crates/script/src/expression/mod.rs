//! Expressions of `\set`, `\if` and `\elif`: parsed once to a list of operations, evaluated on a stack.

mod evaluate;
mod function;
mod operation;
mod parse;
mod scope;
mod token;

pub(crate) use operation::Expression;
pub(crate) use parse::parse;
pub(crate) use scope::Scope;
pub(crate) use token::after_blanks;
