//! Why a URL, or what the environment adds to it, is not accepted.

use lab::engine::TargetError;

/// One thing to do about a URL that cannot be read.
const HINT: &str =
    "write postgresql://user@host:port/database, the password in PGPASSWORD or ~/.pgpass (or service=NAME)";

/// A URL that cannot be read; `reason` quotes no password.
pub(super) fn refused(reason: &str) -> TargetError {
    TargetError::refused(format!("cannot read the URL of the server: {reason}"), HINT)
}
