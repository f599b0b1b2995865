//! The files of a database: header, WAL, locks, and a view that does not change.

pub(crate) mod anchor;
pub(crate) mod fields;
pub(crate) mod opened;
pub(crate) mod reader;
pub(crate) mod tail;
pub(crate) mod view;
pub(crate) mod wal;
