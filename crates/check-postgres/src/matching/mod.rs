//! What rows state about index entries, and index entries about rows: summed up, and compared one by one where sums differ.

pub(crate) mod collector;
pub(crate) mod differences;
pub(crate) mod entry;
pub(crate) mod exact;
pub(crate) mod exception;
pub(crate) mod exceptions;
pub(crate) mod links;
pub(crate) mod mismatches;
pub(crate) mod sink;
pub(crate) mod stored;
pub(crate) mod sums;
pub(crate) mod uniqueness;
