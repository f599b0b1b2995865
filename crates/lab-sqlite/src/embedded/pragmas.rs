//! Pragmas, set and read back.

use lab::engine::TargetError;
use rusqlite::Connection;

/// Sets a pragma and reads it back: SQLite ignores a value that it does not like without saying so.
pub(crate) fn set_pragma(connection: &Connection, name: &str, value: &str) -> Result<(), TargetError> {
    let refused = |found: &str| {
        TargetError::refused(
            format!("cannot set sqlite.{name} to {value}: SQLite keeps {found}"),
            "choose a value that PRAGMA accepts",
        )
    };
    if !value.chars().all(|character| character.is_ascii_alphanumeric() || "-_".contains(character)) {
        return Err(refused("its default"));
    }
    let context = || format!("could not set pragma {name}");
    let read = |sql: String| -> Result<Option<String>, TargetError> {
        match connection.query_row(&sql, [], |row| row.get::<_, rusqlite::types::Value>(0)) {
            Ok(value) => Ok(Some(pragma_text(&value))),
            Err(rusqlite::Error::QueryReturnedNoRows) => Ok(None),
            Err(error) => Err(TargetError::engine(context(), error)),
        }
    };
    read(format!("PRAGMA {name}={value}"))?;
    let found = read(format!("PRAGMA {name}"))?.unwrap_or_default();
    if found == value || pragma_number(name, value).is_some_and(|number| found == number) {
        return Ok(());
    }
    Err(refused(&found))
}

fn pragma_text(value: &rusqlite::types::Value) -> String {
    match value {
        rusqlite::types::Value::Integer(number) => number.to_string(),
        rusqlite::types::Value::Text(text) => text.clone(),
        other => format!("{other:?}"),
    }
}

/// SQLite accepts words for these and answers with numbers.
pub(crate) fn pragma_number(name: &str, word: &str) -> Option<&'static str> {
    match (name, word) {
        ("synchronous", "off") | ("auto_vacuum", "none") => Some("0"),
        ("synchronous", "normal") | ("auto_vacuum", "full") => Some("1"),
        ("synchronous", "full") | ("auto_vacuum", "incremental") => Some("2"),
        ("synchronous", "extra") => Some("3"),
        _ => None,
    }
}
