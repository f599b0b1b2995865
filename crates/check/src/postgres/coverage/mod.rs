//! What a check verified of what there is: counted while blocks are read, put together at the end.

mod counts;
mod shares;

pub(crate) use counts::Covered;
