//! A PostgreSQL server of fathom's own: its programs, its cluster, its processes.

pub mod cluster;
pub mod discovery;
mod leftovers;
pub(crate) mod memory;
pub(crate) mod process;
pub(crate) mod resource_limits;
pub(crate) mod user;
pub(crate) mod wal_place;
