//! PostgreSQL, managed or external, and the servers that speak its protocol.
//!
//! `server` finds server binaries, and makes and removes a cluster of our own; `managed` drives it as a target. `external` drives a
//! server that a URL (read by `address`) names, inside a database of our own. `workload` has the tables and statements of both.
//! `own` has workloads of the user's own on both: scripts, copies of databases, rows in bulk.
//! `wire` is the protocol for the measured loop in `session`; `control` uses it too, blocking. What a server is
//! able to report is found out by `capabilities`, read by `counters`, `series` and `waits`.

#![forbid(unsafe_code)]

mod address;
mod capabilities;
mod control;
mod costs;
mod counted;
mod counters;
mod driver;
mod engine;
mod expand;
mod external;
mod inventory;
mod managed;
mod own;
mod series;
mod server;
mod server_location;
mod server_side;
mod session;
mod settings;
mod waits;
mod wire;
mod workload;

pub use address::exercise_address;
pub use driver::DRIVER;
pub use engine::ENGINE;
pub use expand::{NewDatabase, SourceDatabase, expand_database};
pub use external::{ExternalOptions, ExternalPostgres};
pub use managed::{ManagedOptions, ManagedPostgres};
pub use own::exercise_scripts;
pub use series::series_of;
pub use server::discovery::{ServerBinaries, find_servers, require_servers};
pub use server::{cluster, discovery};
pub use server_location::ServerLocation;
pub use session::{PostgresConnector, PostgresSession};
pub use settings::managed_limitations;
pub use waits::live::{LiveInterval, LivePostgres};
pub use wire::{exercise_answers, exercise_startup};
