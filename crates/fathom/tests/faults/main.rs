//! Faults of devices, memory and file systems under the program: a file system in user space hands out the files of a
//! database, except where a fault is planned.
//!
//! `FATHOM_FAULTS="postgres heap EachReading" cargo test -p fathom --test faults -- --nocapture` runs the cells whose
//! names have all these words, and prints what the check said.
#![allow(clippy::unwrap_used)]

mod fault;
mod matrix;
mod mount;
mod postgres;
#[path = "../../../check/tests/postgres/server.rs"]
#[allow(dead_code)]
mod server;
mod sqlite;
mod sqlserver;
