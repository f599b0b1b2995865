//! Embedded SQLite: the engine runs inside fathom, on the clients' own threads.

mod counters;
mod database;
mod schema;
mod series;
mod session;
mod target;
mod vfs;
mod waits;

pub use session::{SqliteConnector, SqliteSession};
pub use target::{SqliteTarget, limitations};
