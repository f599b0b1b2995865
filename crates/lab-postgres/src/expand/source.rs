//! The rows of the source inside the new database, numbers asked of them, and why a step did not succeed.

use lab::expand::ExpandError;

use crate::control::Control;
use crate::wire::WireError;

/// Schema in the new database that holds the source's rows until the copies are made.
pub(super) const SOURCE: &str = "fathom_source";

/// The first value of an answer.
pub(super) fn number(control: &mut Control, sql: &str) -> Result<i64, WireError> {
    let rows = control.work(sql)?;
    let value = rows.into_iter().next().and_then(|row| row.into_iter().next()?).unwrap_or_default();
    value.parse().map_err(|_| WireError::Protocol(format!("the answer \"{value}\" is not a number")))
}

/// An error of the server, with what was being done.
pub(super) fn engine(action: &'static str, name: &str, error: impl std::fmt::Display) -> ExpandError {
    ExpandError::Engine { action, place: format!("database \"{name}\""), reason: error.to_string() }
}
