//! How findings name rows and index entries: by key, with values.

mod entries;
mod rows;
mod values;
