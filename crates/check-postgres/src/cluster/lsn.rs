//! A position in the WAL, as messages show it.

use std::fmt;

/// A position in the WAL, as PostgreSQL writes it: `16/B374D848`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lsn(pub(crate) u64);

impl fmt::Display for Lsn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:X}/{:X}", self.0 >> 32, self.0 & 0xFFFF_FFFF)
    }
}
