//! Connections to somebody else's server, with what to do when there is none.

use super::super::control::{Control, identifier};
use super::super::wire::{Login, WireError};
use crate::target::TargetError;

/// Connects; the error names the server and has a hint.
pub(super) fn connect(login: &Login) -> Result<Control, TargetError> {
    Control::connect(login).map_err(|error| {
        let hint = match &error {
            WireError::Tls(_) => {
                "name the authority with sslrootcert=FILE in the URL, or ask for less with sslmode (docs/postgres.md)"
            }
            _ => "check the URL, and that the server runs and lets this user in",
        };
        let text = format!(
            "could not connect to database \"{}\" at {} as user \"{}\": {error}",
            login.database, login.endpoint, login.user
        );
        TargetError::refused(text, hint)
    })
}

/// Where the database is once it is kept, and how to remove it, as lines for people.
pub(super) fn kept_words(login: &Login) -> Vec<String> {
    let name = identifier(&login.database);
    vec![
        format!("kept the database of the last run: {name} at {}", login.endpoint),
        format!("remove it with: DROP DATABASE {name}"),
    ]
}
