//! What clients work on: tables, statements, and rows that exist before a run.

pub(crate) mod guid;
pub(crate) mod look_up;
pub(crate) mod schema;
pub(crate) mod sql;
pub(crate) mod table;
