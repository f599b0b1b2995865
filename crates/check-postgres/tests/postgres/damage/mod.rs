//! Damage of every class, one at a time, judged by fathom and by the tools of PostgreSQL.

pub(crate) mod causes;
pub(crate) mod classes;
pub(crate) mod differential;
pub(crate) mod document;
pub(crate) mod drills;
pub(crate) mod one;
pub(crate) mod random;
