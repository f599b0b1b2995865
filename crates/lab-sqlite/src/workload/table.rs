//! The table of every workload.

/// Page size unless `sqlite.page_size` says otherwise: the published 8 KiB.
pub(crate) const PAGE_SIZE_BYTES: u64 = 8192;

/// Name of the workload's table.
pub(crate) const TABLE: &str = "fathom_rows";
