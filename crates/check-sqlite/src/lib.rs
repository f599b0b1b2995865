//! SQLite database files, with their write-ahead log.
//!
//! ```text
//! Anchor    header, log laid over the file, no writer, no hot journal
//! Schema    the tree at page 1, read by hand; Plans: its definitions, understood by SQLite in an empty database
//! PageMap   free list, roots, inner pages: the use of every page but overflow pages
//! pass      every page once, in physical order: inside of pages, keys against pages above, records, sums
//! after     chains joined, pages without use, pointer maps, sums compared; second pass where they differ
//! ```
//!
//! [`structure()`] measures how the trees lie on the pages, with the same anchor and schema.

#![forbid(unsafe_code)]

mod catalog;
mod causes;
pub mod decode;
pub mod drill;
mod engine;
mod finding;
mod map;
mod matching;
mod page;
mod plan;
mod rules;
mod run;
mod source;
mod structure;
mod versions;
mod virtual_tables;

pub(crate) use crate::catalog::candidates::is_database;
pub use crate::catalog::exercise_definition;
pub use crate::engine::ENGINE;
pub(crate) use crate::page::faults::fault_text;
pub use crate::rules::RULES;
pub use crate::run::check;
pub use crate::source::opened::OpenedError;
pub(crate) use crate::source::opened::{Opened, Root};
pub use crate::structure::structure;
