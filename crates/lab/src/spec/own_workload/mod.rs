//! `[workload]`: a workload of the user's own, as its spec has it.
//!
//! ```text
//! [workload], files -> OwnSpec (texts with placeholders) -> OwnCells -> lab::own::OwnWorkload of each cell, parsed
//! ```

mod blocks;
mod canonical;
mod cells;
mod files;
mod load;
mod read;
mod sql_text;
mod table;
mod template;

pub(crate) use cells::OwnCells;
pub use files::{DataFile, Files, FilesBeside, NoFiles};
pub(crate) use table::OwnSpec;
