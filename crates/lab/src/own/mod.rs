//! A workload of the user's own: schema, load, scripts, and what they did.
//!
//! The texts arrive resolved ([`OwnWorkload`]). A [`Plan`] is what one phase of a run executes: the schema, the load, the
//! scripts, or what comes after them. A [`Runner`] takes one client through the scripts of a plan over a connection that
//! implements [`Statements`]; what it counts goes to the [`Tally`](crate::client::Tally) of its thread.

mod after;
mod load;
mod plan;
mod provide;
mod runner;
mod shown;
mod statements;
mod workload;

pub use after::metrics as metrics_after;
pub use load::column_program;
pub use plan::{Part, Plan, PlanError};
pub use provide::{content_name, execute_after, provide, rehearse};
pub use runner::Runner;
pub use shown::sql_parts;
pub use statements::{Answer, At, ResultSet, StatementError, Statements};
pub use workload::{Load, OnError, OwnWorkload, Protocol, SqlText, WeightedScript};
