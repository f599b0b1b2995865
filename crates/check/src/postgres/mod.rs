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
//! entry states the row that the table must have, hashed and summed (`keyed`, `ledger`). Row pointers whose rows are dead may
//! have entries or not; they are remembered while heaps are read, which is why B-trees come second.
//!
//! A running server changes blocks while they are read: each block is read again before it is accused. Facts between
//! blocks, and transactions, count for what stood still since the last checkpoint (`cluster::Snapshot`).

mod archive;
mod batch;
mod block;
mod block_rules;
mod bounds;
mod brin;
mod brin_plan;
mod brin_summaries;
mod brin_values;
mod btree;
mod btree_keys;
mod catalog;
mod catalog_agreement;
mod catalog_reader;
mod catalog_rows;
mod causes;
mod cluster;
mod cluster_files;
mod collector;
mod coverage;
pub mod decode;
pub mod drill;
mod drill_edits;
mod engine;
mod entry;
mod exact;
mod exceptions;
mod finding;
mod free_space;
mod gin;
mod gin_blocks;
mod gin_outcome;
mod gin_rows;
mod gist;
mod gist_tree;
mod hash;
mod hash_values;
mod heap;
mod index_entries;
mod key_forms;
mod keyed;
mod ledger;
mod links;
mod live_files;
mod naming;
mod order;
mod outcome;
mod pass;
mod passes;
mod plan;
mod plan_files;
mod row;
mod rules;
mod run;
mod seams;
mod source;
mod spgist;
mod structure;
mod sums;
mod toast_values;
mod transaction_logs;
mod transactions;
mod truncations;
mod tuples;
mod uniqueness;
mod unverified;

pub use cluster::{Cluster, OpenError, Standing};
pub use engine::ENGINE;
pub use rules::RULES;
pub(crate) use run::data_directory_of;
pub use run::{CheckError, check_cluster, check_file, check_running};
pub use source::{Part, is_archive_name};
pub use structure::{structure_cluster, structure_file};
