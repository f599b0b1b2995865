//! What a check verified of what there is: counted while blocks are read, put together at the end.

mod counts;
mod shares;
mod standing;

pub(crate) use crate::run::coverage::counts::{Covered, StoredCoverage};
