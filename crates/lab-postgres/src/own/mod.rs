//! Workloads of the user's own: scripts over the wire, databases kept from one run to the next, rows in bulk.
//!
//! `session` is a client that executes scripts: `request` encodes its statements, `reply` reads what comes back, `state`
//! remembers what is prepared; `statements` and `pipeline` join them. `databases` makes the database of a run and copies
//! of it, `targets` does so for both targets; `parse` has the server parse all statements before a run, `load` copies rows.

mod databases;
mod exercise;
mod load;
mod parse;
mod pipeline;
mod reply;
mod request;
mod session;
mod state;
mod statements;
mod targets;

pub(crate) use databases::{Databases, OwnNames};
pub use exercise::exercise_scripts;
pub(crate) use targets::Own;
