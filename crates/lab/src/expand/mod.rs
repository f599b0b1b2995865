//! A database grown to a wanted size: its rows copied with shifted keys.
//!
//! ```text
//! catalog -> Table (columns, keys, references) -> which columns are shifted -> copy 1, 2, 3, ... and a part of one more
//! ```
//!
//! Foreign keys and the distribution of all other values stay as they are: a copy's rows refer to rows of the same copy,
//! and whatever is no key is copied. Statistics of joins and of single columns therefore scale; what depends on unlike
//! rows does not: values that are no key repeat, so that compression finds more than in real data of that size.

mod catalog;
mod growth;
mod portion;
pub mod sample;
mod shift;

use std::path::PathBuf;

pub use catalog::{Column, Kind, Reference, Table};
pub use growth::{Aim, Growing, Steps, grow};
pub use portion::{Statements, mark_name, of_steps};
pub use shift::ExpandError;
pub use shift::{Shift, in_order, shifts};

/// What is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrowthRequest {
    /// Bytes of all files together: at least so many, and at most 5 % more unless one row is larger. The last copy is partial.
    pub size_bytes: u64,
    /// Files (databases on SQLite) that share the copies.
    pub files: u32,
    /// Seed of the sample and of what makes text keys of copies unique.
    pub seed: u64,
}

/// What was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grown {
    /// Copies of the source's rows over all files, the first unshifted one included.
    pub copies: u64,
    /// Copies of some of the rows, at most one for each file, with all rows that those refer to.
    pub partial_copies: u64,
    /// Bytes of all files together.
    pub size_bytes: u64,
    /// Rows by table, over all files, in the order of their names.
    pub rows: Vec<(String, u64)>,
    /// The files, where it is files that were made.
    pub files: Vec<PathBuf>,
    /// Directories that share tables and indexes of a server, where any were named, with the bytes in each.
    pub directories: Vec<(PathBuf, u64)>,
}

/// What text, bytes and UUIDs of keys get before the number of their copy. The rows of the source are in it: a database
/// that was grown before, from the same seed, has keys with the old tag, and more rows.
pub fn tag(seed: u64, source_rows: u64) -> String {
    format!("~{:04x}.{source_rows:x}.", seed & 0xffff)
}
