//! Facts of objects whose sums differ, collected in a second pass and compared one by one.

pub(crate) mod collect;
pub(crate) mod collector;
pub(crate) mod links;
