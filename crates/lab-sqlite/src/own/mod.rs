//! Workloads of the user's own on SQLite: how their statements are executed, what they may not do, and how rows are loaded.
//!
//! All of a statement happens inside `execute`, on the client's thread: nothing is sent, so a pipeline is a script whose
//! statements are executed at once. A client that shares its thread lets the others run while it waits for a lock.

mod bulk_load;
mod connection;
mod connector;
mod failure;
mod guard;
mod place;
mod syntax;
mod turn;
mod values;

pub(crate) use bulk_load::Loader;
pub(crate) use connector::OwnConnector;
pub(crate) use failure::engine_error;
pub(crate) use guard::confine;
pub(crate) use syntax::parse_all;
