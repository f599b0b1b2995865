//! Values of columns: where they stand, how they are packed, and their hashes.

pub mod attribute;
pub mod compression;
pub mod hash_value;
pub mod varlena;
