//! Text without the passwords that may be in it: addresses of servers, connection strings, settings, commands, specs.

mod sql_text;
mod text;

pub use sql_text::{redacted_spec, sql_password};
pub use text::{HIDDEN, redacted};
