//! What clients work on: tables and statements, rows that exist before a run, and the WAL that a run needs.

pub(crate) mod fixture;
pub(crate) mod guid;
pub(crate) mod look_up;
pub(crate) mod schema;
pub(crate) mod sql;
pub(crate) mod table;
pub(crate) mod wal_space;
