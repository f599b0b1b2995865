//! `pg_xact` (which transactions committed) and `pg_multixact` (who shares a row lock).

use crate::postgres::bytes::{u8_at, u32_at};
use crate::postgres::primitive::{BLOCK_SIZE_DEFAULT, Xid};

/// Blocks per segment file of these logs.
// EVIDENCE: src/include/access/slru.h SLRU_PAGES_PER_SEGMENT
pub const BLOCKS_PER_SEGMENT: usize = 32;
/// Bytes per segment file, at the default block size.
pub const SEGMENT_BYTES: usize = BLOCKS_PER_SEGMENT * BLOCK_SIZE_DEFAULT;

/// How a transaction ended.
// EVIDENCE: src/include/access/clog.h TRANSACTION_STATUS_*
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Not ended; in a stopped cluster without prepared transactions: aborted by the stop.
    InProgress,
    /// Committed.
    Committed,
    /// Aborted.
    Aborted,
    /// A subtransaction whose parent says more.
    SubCommitted,
}

/// Where something stands in a log of segment files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentPosition {
    /// Number of the segment; its name is this in four hexadecimal digits.
    pub segment: u32,
    /// Offset in the segment file, bytes.
    pub offset_bytes: usize,
}

fn place(byte: u64, segment_bytes: usize) -> SegmentPosition {
    SegmentPosition {
        segment: (byte / segment_bytes as u64) as u32,
        offset_bytes: (byte % segment_bytes as u64) as usize,
    }
}

/// Where the two bits of a transaction stand, for a block size.
// EVIDENCE: clog.c CLOG_XACTS_PER_BYTE 4
#[inline]
#[must_use]
pub fn status_place(xid: Xid, block_bytes: usize) -> SegmentPosition {
    place(u64::from(xid) / 4, block_bytes * BLOCKS_PER_SEGMENT)
}

/// Reads the status of a transaction from the segment that [`status_place`] names; `None` beyond its end.
#[inline]
#[must_use]
pub fn status(segment: &[u8], xid: Xid, block_bytes: usize) -> Option<Status> {
    let byte = u8_at(segment, status_place(xid, block_bytes).offset_bytes)?;
    Some(match byte >> (xid % 4 * 2) & 3 {
        0 => Status::InProgress,
        1 => Status::Committed,
        2 => Status::Aborted,
        _ => Status::SubCommitted,
    })
}

/// Whether `a` came before `b`: transaction ids go round, so "before" is within half the circle.
// EVIDENCE: src/backend/access/transam/transam.c TransactionIdPrecedes, for ordinary ids
#[inline]
#[must_use]
pub fn precedes(a: Xid, b: Xid) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// Where the offset of a multixact's members stands in `pg_multixact/offsets`.
// EVIDENCE: multixact.c MULTIXACT_OFFSETS_PER_PAGE: four bytes each (14 to 18)
#[must_use]
pub fn multi_offset_place(multi: u32, block_bytes: usize) -> SegmentPosition {
    place(u64::from(multi) * 4, block_bytes * BLOCKS_PER_SEGMENT)
}

/// Reads the offset at a place.
#[must_use]
pub fn multi_offset(segment: &[u8], place: SegmentPosition) -> Option<u32> {
    u32_at(segment, place.offset_bytes)
}

/// Members per group: four flag bytes, then four transaction ids.
// EVIDENCE: multixact.c MULTIXACT_MEMBERS_PER_MEMBERGROUP, MULTIXACT_FLAGBYTES_PER_GROUP
const MEMBERS_PER_GROUP: u32 = 4;
const GROUP_BYTES: usize = 20;
/// Members that one multixact can have: one per backend; also the bound of loops over them.
// EVIDENCE: MaxBackends is at most 2^18 - 1
pub const MEMBERS_MAX: u32 = 1 << 18;

/// Where member number `member` stands in `pg_multixact/members`: the flag byte, and the transaction id.
// EVIDENCE: multixact.c MXOffsetToMemberPage, MXOffsetToMemberOffset, MXOffsetToFlagsBitShift
#[must_use]
pub fn member_places(member: u32, block_bytes: usize) -> (SegmentPosition, SegmentPosition) {
    let groups_per_block = block_bytes / GROUP_BYTES;
    let group = (member / MEMBERS_PER_GROUP) as usize;
    let index = (member % MEMBERS_PER_GROUP) as usize;
    let start = (group / groups_per_block) as u64 * block_bytes as u64
        + (group % groups_per_block * GROUP_BYTES) as u64;
    let segment_bytes = block_bytes * BLOCKS_PER_SEGMENT;
    (place(start + index as u64, segment_bytes), place(start + 4 + index as u64 * 4, segment_bytes))
}

/// Whether a member's status says that it updated or deleted, rather than only locked.
// EVIDENCE: multixact.h MultiXactStatusNoKeyUpdate 4, MultiXactStatusUpdate 5
#[must_use]
pub fn is_update(member_status: u8) -> bool {
    member_status == 4 || member_status == 5
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_bits_per_transaction_low_first() {
        let segment = [0b1001_0100u8, 0b11];
        let read: Vec<_> = (0..5).map(|xid| status(&segment, xid, 8192)).collect();
        assert_eq!(
            read,
            vec![
                Some(Status::InProgress),
                Some(Status::Committed),
                Some(Status::Committed),
                Some(Status::Aborted),
                Some(Status::SubCommitted)
            ]
        );
        assert_eq!(status(&segment, 8, 8192), None);
        assert_eq!(status_place(1_048_576, 8192), SegmentPosition { segment: 1, offset_bytes: 0 });
    }

    #[test]
    fn before_goes_round_the_circle() {
        assert!(precedes(3, 4));
        assert!(precedes(4_294_967_000, 10));
        assert!(!precedes(10, 4_294_967_000));
    }

    #[test]
    fn members_stand_in_groups_of_four_after_their_flags() {
        assert_eq!(
            member_places(5, 8192),
            (
                SegmentPosition { segment: 0, offset_bytes: 21 },
                SegmentPosition { segment: 0, offset_bytes: 28 }
            )
        );
        // 409 groups fill a block; twelve bytes stay empty.
        assert_eq!(member_places(1636, 8192).0, SegmentPosition { segment: 0, offset_bytes: 8192 });
    }
}
