//! Files of a cluster beside its relations, their names, and the maps of a relation.

pub mod control;
pub mod file_name;
pub mod free_space;
pub mod maps;
pub mod relmap;
pub mod transaction;
