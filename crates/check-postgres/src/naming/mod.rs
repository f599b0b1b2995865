//! How findings name rows and index entries: by key, with values.

mod entries;
mod keys;
mod rows;
mod values;

pub(super) use crate::naming::keys::{column_key_text, tuple_key_text};
pub(super) use crate::naming::rows::{entry_difference, row_text};
