//! Embedded SQLite as an engine of the laboratory: it runs inside fathom, on the clients' own threads. `vfs` stands between
//! it and its files and times every call.

mod costs;
mod counters;
mod driver;
mod embedded;
mod engine;
mod expand;
mod inventory;
mod limits;
mod own;
mod series;
mod session;
mod sync_call;
mod vfs;
mod waits;
mod workload;

pub use driver::DRIVER;
pub use embedded::SqliteTarget;
pub use engine::ENGINE;
pub use expand::{Source, expand_file};
pub use limits::limitations;
pub use session::{SqliteConnector, SqliteSession};
pub use sync_call::sync_call;
