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

#![forbid(unsafe_code)]

mod catalog;
pub mod decode;
pub mod drill;
mod engine;
mod finding;
mod maps;
mod matching;
mod naming;
mod page;
mod plan;
mod rules;
mod run;
mod source;
mod structure;
mod whole;

pub use crate::catalog::inventory::{Inventory, Table, inventory};
pub use crate::engine::ENGINE;
pub use crate::rules::RULES;
pub use crate::run::check;
pub use crate::source::{CheckError, FileKind, recognise};
pub use crate::structure::structure;
