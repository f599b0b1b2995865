//! Embedded SQLite as an engine of the laboratory: it runs inside fathom, on the clients' own threads. `vfs` stands between
//! it and its files and times every call.

mod cache_counters;
mod costs;
mod counters;
mod database;
mod engine;
mod expand;
mod files;
mod guid;
mod inventory;
mod limits;
mod look_up;
mod schema;
mod series;
mod session;
mod sync_call;
mod target;
mod vfs;
mod waits;

pub use engine::ENGINE;
pub use expand::{Source, expand_file};
pub use limits::limitations;
pub use session::{SqliteConnector, SqliteSession};
pub use sync_call::sync_call;
pub use target::SqliteTarget;
