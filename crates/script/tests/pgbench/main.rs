//! The language beside pgbench itself: values, errors, random values, scripts of its own tests.
//!
//! `recorded.txt` has what pgbench 15 gave for each expression, for machines without it. With pgbench it is compared
//! again; `FATHOM_UPDATE=1` writes the values anew for the expressions of the file.
#![allow(clippy::unwrap_used)]

mod cases;
mod conformance;
mod expectations;
mod expressions;
mod oracle;
mod random;
mod running;
mod scripts;
mod support;
