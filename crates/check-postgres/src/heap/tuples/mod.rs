//! Rules of row versions in a heap block: hint bits, update chains, and the bits that say what kinds of values follow.

pub(crate) mod chains;
pub(crate) mod contradiction;
pub(crate) mod hints;
mod locks;
pub(crate) mod value_bits;
