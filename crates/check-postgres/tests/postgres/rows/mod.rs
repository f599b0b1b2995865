//! Rows: their headers, their columns, and how findings name them.

pub(crate) mod bit_flips;
pub(crate) mod column_types;
pub(crate) mod row_names;
pub(crate) mod row_versions;
