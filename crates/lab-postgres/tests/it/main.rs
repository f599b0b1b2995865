//! PostgreSQL under the laboratory: clusters of our own, servers by URL, workloads, counters, waits. The tests use every
//! server that discovery finds.
#![allow(clippy::unwrap_used)]

mod cluster;
mod expand;
mod external;
mod inventory;
mod managed;
mod own;
mod pages;
mod series;
mod settings;
mod support;
#[cfg(feature = "tls")]
mod tls;
mod waits;
mod waits_support;
