//! Embedded SQLite: the engine runs inside fathom, on the clients' own threads.

mod cache_counters;
mod counters;
mod database;
mod guid;
mod limits;
mod look_up;
mod schema;
mod series;
mod session;
mod sync_call;
mod target;
mod vfs;
mod waits;

pub use limits::limitations;
pub use session::{SqliteConnector, SqliteSession};
pub use sync_call::sync_call;
pub use target::SqliteTarget;
