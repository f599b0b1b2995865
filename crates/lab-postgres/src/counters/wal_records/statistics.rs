//! A stretch of the WAL, and what its records add up to.

/// The log that is read at most: the first of it, where a run wrote more.
pub(super) const LOG_READ_BYTES_MAX: u64 = 64 << 20;

/// A stretch of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) from: u64,
    /// Brought to the device.
    pub(super) to: u64,
    pub(super) timeline: u32,
    pub(super) page_bytes: u64,
    pub(super) segment_bytes: u64,
}

/// What a stretch of the log holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct WalStatistics {
    /// Those that committed.
    pub(super) transactions: u64,
    /// Records of transactions, and their bytes.
    pub(super) records: u64,
    pub(super) record_bytes: u64,
    /// Pages that a flush at each commit writes: from the page where the flush before it ended to the one where its
    /// commit record ends.
    pub(super) pages: u64,
    /// Bytes in these pages that were not new: written before, or nothing yet.
    pub(super) padding_bytes: u64,
    /// All records by `manager/type`, those of background processes included.
    pub(super) kinds: Vec<(String, RecordTotals)>,
}

/// Records of one type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RecordTotals {
    pub(super) records: u64,
    pub(super) bytes: u64,
}

/// A position as the server reads it.
pub(super) fn lsn(position: u64) -> String {
    format!("{:X}/{:X}", position >> 32, position & 0xffff_ffff)
}
