//! What a run wrote down: the contract between the laboratory that measures and the reports that read.
//!
//! One SQLite file per results directory holds everything: studies, cells, runs with their clients,
//! gates, metrics, warnings and environment. This is the only crate that serialises. Each run is
//! committed when it ends, nothing is ever overwritten, and every part a worker produced merges by
//! addition.

#![forbid(unsafe_code)]

pub mod accounting;
pub mod ceiling;
pub mod check;
pub mod coverage;
pub mod engine;
pub mod finding;
pub mod histogram;
pub mod imported;
pub mod io;
pub mod measure;
pub mod model;
pub mod object;
pub mod observations;
pub mod origin;
pub mod plain;
pub mod redaction;
pub mod scripts;
pub mod settings;
pub mod store;
pub mod structure;
pub mod verdict;
pub mod wording;

pub use engine::EngineId;
