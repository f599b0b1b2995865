//! Stored results to something that people and programs read: tables, words, CSV, JSON lines, benchmark text.
//!
//! Pure: values in, strings and bytes out; nothing is printed, no engine is asked. [`summary`] computes every number
//! once; the outputs only lay them out, so that no two of them can disagree.

#![forbid(unsafe_code)]

pub mod catalogue;
pub mod comparison;
pub mod export;
pub mod findings;
pub mod history;
pub mod html;
pub mod inventory;
pub mod io_table;
pub mod markdown;
pub mod number;
pub mod outcome;
pub mod plain;
pub mod quantity;
pub mod reason;
mod safety;
pub mod stretches;
pub mod structure;
pub mod summary;
pub mod text;
pub mod timeline;
pub mod waits;

mod layout;
mod tables;
mod waits_text;
