//! Faults of devices, memory and file systems under the program: a file system in user space hands out the files of a
//! database, except where a fault is planned.
//!
//! `cargo test -p fathom --test faults` runs each family of faults in each kind of file, at one of its places.
//! `FATHOM_FAULTS=all` runs all of them. `FATHOM_FAULTS="postgres heap EachReading"` runs the cells whose names have all
//! these words, and prints what the check said (with `-- --nocapture`).
#![allow(clippy::unwrap_used)]

mod answer;
mod attributes;
mod cells;
mod commands;
mod decode_bytes;
mod fault;
mod leftovers;
mod matrix;
mod mount;
mod postgres;
mod results_file;
#[path = "../../../check-postgres/tests/postgres/scene/server.rs"]
#[allow(dead_code)]
mod server;
mod sqlite;
mod sqlserver;
mod stopped_server;
mod without_fuse;
mod writable;
