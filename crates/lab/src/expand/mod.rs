//! A database grown to a wanted size: its rows copied with shifted keys.
//!
//! ```text
//! catalog -> Table (columns, keys, references) -> which columns are shifted -> copy 1, 2, 3, ... until it is large enough
//! ```
//!
//! Foreign keys and the distribution of all other values stay as they are: a copy's rows refer to rows of the same copy,
//! and whatever is no key is copied. Statistics of joins and of single columns therefore scale; what depends on unlike
//! rows does not: values that are no key repeat, so that compression finds more than in real data of that size.

mod catalog;
pub mod sample;
mod shift;
mod sqlite;
mod sqlite_catalog;

use std::path::PathBuf;

pub(crate) use catalog::{Column, Kind, Reference, Table};
pub use shift::ExpandError;
pub(crate) use shift::{Shift, in_order, shifts};
pub use sqlite::{Source, expand_file};

/// What is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    /// Bytes of all files together: at least so many, or up to 5 % less where one more copy would pass it by more.
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
    /// Bytes of all files together.
    pub size_bytes: u64,
    /// Rows by table, over all files, in the order of their names.
    pub rows: Vec<(String, u64)>,
    /// The files, where it is files that were made.
    pub files: Vec<PathBuf>,
    /// Directories that share tables and indexes of a server, where any were named, with the bytes in each.
    pub directories: Vec<(PathBuf, u64)>,
}

/// Is a size reached, when the last copy of all rows took so many bytes?
pub(crate) fn is_reached(size_bytes: u64, wanted_bytes: u64, copy_bytes: u64) -> bool {
    let missing_bytes = wanted_bytes.saturating_sub(size_bytes);
    let tolerance_bytes = wanted_bytes / 20;
    let passed_bytes = copy_bytes.saturating_sub(missing_bytes);
    missing_bytes == 0 || missing_bytes <= tolerance_bytes && passed_bytes > tolerance_bytes
}

/// What text, bytes and UUIDs of keys get before the number of their copy. The rows of the source are in it: a database
/// that was grown before, from the same seed, has keys with the old tag, and more rows.
pub(crate) fn tag(seed: u64, source_rows: u64) -> String {
    format!("~{:04x}.{source_rows:x}.", seed & 0xffff)
}

#[cfg(test)]
mod tests {
    use super::is_reached;

    #[test]
    fn a_copy_too_many_is_worse_than_five_percent_too_little() {
        // 157 MB in each of two files for 320 MB: a second copy in each would make 628.
        assert!(is_reached(157, 160, 157));
        assert!(!is_reached(150, 160, 157), "more than 5 % are missing");
        assert!(!is_reached(157, 160, 4), "one more copy passes the size by little");
        assert!(is_reached(160, 160, 4));
    }
}
