//! A PostgreSQL server of fathom's own: its programs, its cluster, its processes.

pub mod cluster;
pub(crate) mod confine;
pub mod discovery;
mod leftovers;
pub(crate) mod memory;
pub(crate) mod process;
pub(crate) mod user;
pub(crate) mod wal_place;
