//! Rules of one page: records, the order of keys, the bounds set by the pages above.

pub(crate) mod bounds;
pub(crate) mod faults;
pub(crate) mod key_order;
pub(crate) mod keys;
pub(crate) mod look;
pub(crate) mod raw;
pub(crate) mod records;
