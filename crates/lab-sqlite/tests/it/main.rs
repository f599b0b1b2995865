//! Embedded SQLite under the laboratory.
#![allow(clippy::unwrap_used)]

mod expand;
mod inventory;
mod own;
