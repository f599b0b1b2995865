//! Which sections and grids show a summary; text and Markdown lay the same ones out.

mod ceilings;
mod outcome;
mod record;
mod run;

pub(crate) use outcome::{brief_sections, results_sections};
pub(crate) use record::record_sections;
pub(crate) use run::run_sections;

use crate::number::ABSENT;

/// Writes a value or, when it is absent, a dash.
fn or_dash<T>(value: Option<T>, write: impl Fn(T) -> String) -> String {
    value.map_or_else(|| ABSENT.to_owned(), write)
}
