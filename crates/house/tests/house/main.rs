//! The house rules that hold for the repository as a whole.
//!
//! They read files, never a network: `cargo metadata` runs offline.
#![allow(clippy::unwrap_used)]

mod engines;
mod graph_of_crates;
mod language;
mod licences;
mod metadata;
mod modules;
mod rules;
mod skips;
mod structure;
mod style;
mod tree;
mod unsafe_code;
