//! PostgreSQL, managed or external, and the servers that speak its protocol.
//!
//! `discovery` finds server binaries, `cluster` makes and removes one of our own, `managed` drives it as a target.
//! `wire` is the protocol for the measured loop in `session`; `control` uses it too, blocking. What a server is
//! able to tell is found out by `capabilities`, asked for by `counters`.

// The external target, which uses the rest of these, follows.
#![allow(dead_code, unused_imports)]

mod capabilities;
pub mod cluster;
mod control;
mod counters;
pub mod discovery;
mod leftovers;
mod log_place;
mod log_space;
mod managed;
mod marker;
mod process;
mod schema;
mod server_user;
mod session;
mod settings;
mod wire;

pub use discovery::{ServerBinaries, find_servers, require_servers};
pub use managed::{ManagedOptions, ManagedPostgres};
pub use session::{PostgresConnector, PostgresSession};
pub use settings::managed_limitations;
