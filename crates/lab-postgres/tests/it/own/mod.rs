//! Workloads of the user's own on real servers: scripts, databases that are kept, rows in bulk.

mod databases;
mod errors;
mod load;
mod parse;
mod pgbench_tests;
mod runs;
mod scripts;
mod support;
