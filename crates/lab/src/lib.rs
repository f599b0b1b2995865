//! Experiments: from a spec to stored runs that can be trusted.
//!
//! `spec` reads what is asked, `plan` orders it, `engine` provides the engine under test, `client`
//! drives it, `gates` decide whether a run counts, and `laboratory` ties them together, storing each
//! run as it ends. Engines are crates of their own (`lab-sqlite`, `lab-postgres`); this one knows none.

#![forbid(unsafe_code)]

pub mod assignment;
pub mod cache;
pub mod ceilings;
pub mod child;
pub mod client;
pub mod engine;
pub mod environment;
pub mod estimate;
pub mod expand;
pub mod gates;
pub mod inventory;
pub mod laboratory;
pub mod observe;
pub mod own;
mod path_bytes;
pub mod reading;
pub mod run;
pub mod schedule;
pub mod spec;
pub mod task;
pub mod work;
