//! What a report says: coverage, resumed checks, structure.

pub(crate) mod coverage;
pub(crate) mod resume;
pub(crate) mod structure;
