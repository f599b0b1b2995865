//! SQL Server data files and backups, checked without a server.
//!
//! ```text
//! Source    data files, or the streams of a backup and where each extent belongs
//! Maps      PFS, GAM, SGAM; Catalog: boot page, allocation units; Maps again: IAM chains, owners   (phase allocation)
//! Catalog   rowsets, columns, names                                                    (phase system catalogue)
//! Plan      what is to be proven about each allocation unit
//! pass      every page once, in physical order: protection, header, records, keys, sums  (phase tables, by batches)
//! matching  sums compared; objects whose sums differ are read again, to name page and slot
//! ```
//!
//! `drill` makes one damage in a copy, through the same maps and plan.
//!
//! Pages that the PFS says are not in use are no evidence: they keep what stood there, or what the disk had before.
//! Facts between pages are proven only when no page is newer than the last checkpoint: then the file is what the
//! server left at that moment, and a backup is as good as a stopped database.

mod catalog;
mod context;
mod coverage;
pub mod decode;
pub mod drill;
mod drill_edits;
mod engine;
mod facts;
mod finding;
mod inside;
mod inventory;
mod keys;
mod maps;
mod maps_compare;
mod maps_pages;
mod matching;
mod naming;
mod pieces;
mod plan;
mod prepared;
mod rows;
mod rules;
mod run;
mod scope;
mod second_reading;
mod source;
mod sparse;
mod structure;
mod summary;
mod target;
mod whole;
mod worker;

pub use engine::ENGINE;
pub use inventory::{Inventory, Table, inventory};
pub use rules::RULES;
pub use run::check;
pub use source::{FileKind, recognise};
pub use structure::structure;
pub use target::CheckError;
