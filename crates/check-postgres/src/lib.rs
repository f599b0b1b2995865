//! PostgreSQL: data directories, stopped or running, base backups, and single relation files, majors 14 to 18.
//!
//! ```text
//! cluster (control file, files) -> transactions (pg_xact) -> catalog (pg_class, pg_attribute, pg_index, ...) -> plan
//!   -> first pass: heaps, TOAST, maps (row pointers that are not live are remembered)
//!   -> second pass: B-trees, hash, GiST and SP-GiST (each entry states its row)
//!   -> sums compared -> relations whose sums differ read again, exactly
//!   -> TOAST tables with packed values read once more, values unpacked -> report
//! ```
//!
//! Rows and index entries are matched both ways: each visible row states the entry that each index must have, each
//! entry states the row that the table must have, hashed and summed (`check::matching`). Row pointers whose rows are dead may
//! have entries or not; they are remembered while heaps are read, which is why B-trees come second.
//!
//! A running server changes blocks while they are read: each block is read again before it is accused. Facts between
//! blocks, and transactions, count for what stood still since the last checkpoint (`cluster::Snapshot`).

#![forbid(unsafe_code)]

mod block;
mod brin;
mod btree;
mod catalog;
mod causes;
mod cluster;
pub mod decode;
pub mod drill;
mod engine;
mod finding;
mod gin;
mod gist;
mod hash;
mod heap;
mod matching;
mod naming;
mod plan;
mod rules;
mod run;
mod source;
mod spgist;
mod structure;

pub use crate::cluster::Cluster;
pub use crate::cluster::state::Standing;
pub use crate::engine::ENGINE;
pub use crate::rules::RULES;
pub(crate) use crate::run::data_directory_of;
pub use crate::run::evidence::CheckError;
pub use crate::run::{check_cluster, check_file, check_running};
pub use crate::source::error::OpenError;
pub use crate::source::is_archive_name;
pub use crate::source::part::Part;
pub use crate::structure::{structure_cluster, structure_file};
