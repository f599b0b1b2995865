//! Connections to somebody else's server, with what to do when there is none.

use lab::engine::TargetError;

use super::super::control::{Control, identifier};
use super::super::wire::{INVALID_PASSWORD, Login, WireError};

/// Where a password is looked for, as libpq does.
const PASSWORD_HINT: &str = "set PGPASSWORD, or add a line host:port:database:user:password to ~/.pgpass (mode 0600; \
     PGPASSFILE names another file), or name a service of ~/.pg_service.conf that has it (PGSERVICE or service=NAME)";

/// Connects; the error names the server and has a hint.
pub(in super::super) fn connect(login: &Login) -> Result<Control, TargetError> {
    Control::connect(login).map_err(|error| {
        let hint = match &error {
            WireError::Tls(refusal) => refusal.hint,
            _ if error.code() == Some(INVALID_PASSWORD) => PASSWORD_HINT,
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
