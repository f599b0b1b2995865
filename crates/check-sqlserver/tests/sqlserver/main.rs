//! SQL Server's files: real ones as they are, and copies of them with one damage each.
//!
//! The files are in `../shared/data/sqlserver` beside the checkout (or below `$FATHOM_SHARED`). Where they are absent,
//! these tests are skipped; those of `own` need none: they make a database of 48 pages (`made`).
#![allow(clippy::unwrap_used)]

#[path = "../../../check/tests/support/advice.rs"]
mod advice;
mod classes;
mod clean;
mod copy;
mod coverage;
mod document;
mod drill;
mod edits;
#[path = "../../../check/tests/support/faults.rs"]
mod faults;
mod faulty;
mod large;
mod made;
mod naming;
mod own;
mod random;
mod several;
mod structure;
mod versions;
mod whole;
