//! The table of every workload.

/// Its name.
pub(crate) const TABLE: &str = "fathom_rows";
