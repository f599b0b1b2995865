//! Which numbers are times of a log.

/// Seconds since 1970 below which a number is no time of a log: 1973.
pub(crate) const EPOCH_S_MIN: i64 = 100_000_000;
/// Seconds since 1970 above which a number is no time of a log: the year 5138.
pub(crate) const EPOCH_S_MAX: i64 = 100_000_000_000;
