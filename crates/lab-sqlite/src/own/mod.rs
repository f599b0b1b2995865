//! Workloads of the user's own on SQLite: how their statements are executed, what they may not do, and how rows are loaded.
//!
//! Each client has a connection on its own thread, and all of a statement happens inside `execute`: nothing is sent, so a
//! pipeline is a script whose statements are executed at once.

mod bulk_load;
mod connection;
mod connector;
mod failure;
mod guard;
mod place;
mod syntax;
mod values;

pub(crate) use bulk_load::Loader;
pub(crate) use connector::OwnConnector;
pub(crate) use guard::confine;
pub(crate) use syntax::parse_all;
