//! Which numbers are times of a log.

/// Seconds since 1970 below which a number is no time of a log: 1973.
pub(crate) const EPOCH_S_MIN: i64 = 100_000_000;
/// Seconds since 1970 above which a number is no time of a log: the year 2255. The nanoseconds between any two times that
/// are accepted fit 63 bits.
pub(crate) const EPOCH_S_MAX: i64 = 9_000_000_000;
