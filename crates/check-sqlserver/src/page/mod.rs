//! Rules of one page that an allocation unit owns: records, links, keys, and the facts of its rows.

pub(crate) mod inside;
pub(crate) mod keys;
pub(crate) mod pieces;
pub(crate) mod rows;
