//! Each access method: silent after any history, and each class of damage is found.

pub(crate) mod bounds;
pub(crate) mod brin;
pub(crate) mod brin_classes;
pub(crate) mod free_space;
pub(crate) mod gin;
pub(crate) mod gin_classes;
pub(crate) mod gist;
pub(crate) mod hash;
pub(crate) mod index_entries;
pub(crate) mod spgist;
pub(crate) mod unique_keys;
