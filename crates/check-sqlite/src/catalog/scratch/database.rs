//! The database in memory.

use formats::sqlite::Encoding;
use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;

use crate::versions::make_case_sensitive;

/// Longest value that an expression may take or make: a definition may ask for any length.
const VALUE_BYTES_MAX: i32 = 64 << 20;

/// An empty database in memory for definitions and rows of a file in that encoding.
pub(super) fn scratch(encoding: Encoding, is_case_sensitive: bool) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open_in_memory()?;
    let name = match encoding {
        Encoding::Utf8 => "UTF-8",
        Encoding::Utf16Le => "UTF-16le",
        Encoding::Utf16Be => "UTF-16be",
    };
    connection.execute_batch(&format!("PRAGMA encoding='{name}'; PRAGMA trusted_schema=OFF;"))?;
    if is_case_sensitive {
        make_case_sensitive(&connection)?;
    }
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX)?;
    connection.authorizer(Some(|context: AuthContext<'_>| match context.action {
        AuthAction::Attach { .. }
        | AuthAction::Detach { .. }
        | AuthAction::CreateVtable { .. }
        | AuthAction::Pragma { .. } => Authorization::Deny,
        _ => Authorization::Allow,
    }))?;
    Ok(connection)
}
