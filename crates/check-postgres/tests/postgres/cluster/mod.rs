//! Files of the cluster as a whole, in every kind of target.

pub(crate) mod archives;
pub(crate) mod cluster_damage;
pub(crate) mod cluster_files;
pub(crate) mod cluster_state;
pub(crate) mod sources;
pub(crate) mod transaction_logs;
pub(crate) mod wal_pages;
