//! Embedded SQLite: the engine runs inside fathom, on the clients' own threads.

mod schema;
mod session;
mod target;

pub use session::{SqliteConnector, SqliteSession};
pub use target::{SqliteTarget, limitations};
