//! pgbench: its logs of transactions, its logs of intervals, and what it prints.

mod aggregate;
pub(crate) mod epoch;
mod join;
mod log;
mod output;
mod part;
mod seconds;

pub use join::join;
pub use part::{Part, part};
