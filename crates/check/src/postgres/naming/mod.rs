//! How findings name rows and index entries: by key, with values.

mod entries;
mod rows;
mod values;

pub(super) use rows::{entry_difference, row_text};
