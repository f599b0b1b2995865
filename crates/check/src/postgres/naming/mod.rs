//! How findings name rows and index entries.

mod entries;
