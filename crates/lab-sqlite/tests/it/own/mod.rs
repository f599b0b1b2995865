//! Workloads of the user's own on SQLite: real files, clients on threads of their own.

mod conflicts;
mod databases;
mod failures;
mod loads;
mod refused;
mod runs;
mod scripts;
mod support;
