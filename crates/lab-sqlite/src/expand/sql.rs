//! Names in statements, and why a statement did not succeed.

use std::path::Path;

use lab::expand::ExpandError;

/// A name as an SQL identifier.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// An error of SQLite, with what was being done to which file.
pub(super) fn engine(action: &'static str, place: &Path) -> impl Fn(rusqlite::Error) -> ExpandError {
    let place = format!("\"{}\"", place.display());
    move |error| ExpandError::Engine { action, place: place.clone(), reason: error.to_string() }
}
