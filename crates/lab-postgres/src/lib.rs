//! PostgreSQL, managed or external, and the servers that speak its protocol.
//!
//! `discovery` finds server binaries, `cluster` makes and removes one of our own, `managed` drives it as a target; `external` drives a
//! server that a URL (read by `address`) names, inside a database of our own.
//! `wire` is the protocol for the measured loop in `session`; `control` uses it too, blocking. What a server is
//! able to tell is found out by `capabilities`, asked for by `counters`.

#![forbid(unsafe_code)]

mod address;
mod capabilities;
mod checkpoints;
mod client_counters;
pub mod cluster;
mod confine;
mod connection_string;
mod control;
mod costs;
mod counted;
mod counters;
pub mod discovery;
mod engine;
mod external;
mod external_limits;
mod grow;
mod grow_spread;
mod guid;
mod inventory;
mod leftovers;
mod log_place;
mod log_records;
mod log_space;
mod look_up;
mod managed;
mod memory;
mod own_database;
mod place;
mod process;
mod schema;
mod series;
mod server_user;
mod session;
mod settings;
mod stock;
mod waits;
mod wire;

pub use address::exercise_address;
pub use discovery::{ServerBinaries, find_servers, require_servers};
pub use engine::ENGINE;
pub use external::{ExternalOptions, ExternalPostgres};
pub use grow::{NewDatabase, SourceDatabase, expand_database};
pub use managed::{ManagedOptions, ManagedPostgres};
pub use place::ServerPlace;
pub use series::series_of;
pub use session::{PostgresConnector, PostgresSession};
pub use settings::managed_limitations;
pub use waits::live::{LiveInterval, LivePostgres};
pub use wire::{exercise_answers, exercise_startup};
