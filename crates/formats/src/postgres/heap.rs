//! Headers of heap tuples.

use crate::postgres::bytes::{u8_at, u16_at, u32_at};
use crate::postgres::damage::{Damage, Invariant};
use crate::postgres::primitive::{MAX_ALIGN, Tid, Xid, align_up};

/// Length of the fixed part of a tuple header, bytes; the null bitmap follows.
// EVIDENCE: PostgreSQL docs 73.6.1 "Table Row Layout", 23 bytes
pub const TUPLE_HEADER_BYTES: usize = 23;
/// Columns that a tuple can have.
// EVIDENCE: htup_details.h MaxTupleAttributeNumber 1664
pub const COLUMNS_MAX: u16 = 1664;

/// Bits of `infomask`.
// EVIDENCE: src/include/access/htup_details.h, majors 14-18
pub mod mask {
    /// Has null values.
    pub const HAS_NULL: u16 = 0x0001;
    /// Has values of variable width.
    pub const HAS_VARWIDTH: u16 = 0x0002;
    /// Has values kept in TOAST.
    pub const HAS_EXTERNAL: u16 = 0x0004;
    /// Has an object id in the header (before 12).
    pub const HAS_OID_OLD: u16 = 0x0008;
    /// `xmax` is a key-share locker.
    pub const XMAX_KEYSHR_LOCK: u16 = 0x0010;
    /// `xmax` is an exclusive locker.
    pub const XMAX_EXCL_LOCK: u16 = 0x0040;
    /// `xmax`, if valid, only locks.
    pub const XMAX_LOCK_ONLY: u16 = 0x0080;
    /// `xmin` committed.
    pub const XMIN_COMMITTED: u16 = 0x0100;
    /// `xmin` aborted; with committed: frozen.
    pub const XMIN_INVALID: u16 = 0x0200;
    /// `xmin` is frozen.
    pub const XMIN_FROZEN: u16 = 0x0300;
    /// `xmax` committed.
    pub const XMAX_COMMITTED: u16 = 0x0400;
    /// `xmax` aborted or not set.
    pub const XMAX_INVALID: u16 = 0x0800;
    /// `xmax` is a multixact.
    pub const XMAX_IS_MULTI: u16 = 0x1000;
    /// The result of an update.
    pub const UPDATED: u16 = 0x2000;
    /// Moved by the old `VACUUM FULL` (before 9.0).
    pub const MOVED: u16 = 0xC000;
    /// `infomask2`: number of columns.
    pub const NATTS: u16 = 0x07FF;
    /// `infomask2`: bits that are not used.
    pub const UNUSED2: u16 = 0x1800;
    /// `infomask2`: updated with key columns changed, or deleted.
    pub const KEYS_UPDATED: u16 = 0x2000;
    /// `infomask2`: was updated by a heap-only tuple.
    pub const HOT_UPDATED: u16 = 0x4000;
    /// `infomask2`: is a heap-only tuple.
    pub const HEAP_ONLY: u16 = 0x8000;
}

/// The smallest transaction id of ordinary transactions; 2 is the frozen one, 0 none.
// EVIDENCE: src/include/access/transam.h FirstNormalTransactionId
pub const FIRST_NORMAL_XID: Xid = 3;

/// A heap tuple's header, as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TupleHeader {
    /// The transaction that inserted.
    pub xmin: Xid,
    /// The transaction or multixact that deleted, updated or locked; 0 for none.
    pub xmax: Xid,
    /// The command number of insertion or deletion; the moving transaction where bits of `mask::MOVED` are set.
    pub command: u32,
    /// Where the next version stands, or the tuple itself.
    pub ctid: Tid,
    /// Number of columns and HOT bits.
    pub infomask2: u16,
    /// State bits.
    pub infomask: u16,
    /// Offset of the first column.
    pub hoff: u8,
}

impl TupleHeader {
    /// Reads the header at the start of `tuple`; `None` if it is shorter than one.
    // EVIDENCE: PostgreSQL docs 73.6.1: xmin @0, xmax @4, cid/xvac @8, ctid @12, infomask2 @18, infomask @20, hoff @22
    #[inline]
    #[must_use]
    pub fn read(tuple: &[u8]) -> Option<TupleHeader> {
        let tuple = tuple.first_chunk::<TUPLE_HEADER_BYTES>()?;
        Some(TupleHeader {
            xmin: u32_at(tuple, 0)?,
            xmax: u32_at(tuple, 4)?,
            command: u32_at(tuple, 8)?,
            ctid: Tid::read(tuple, 12)?,
            infomask2: u16_at(tuple, 18)?,
            infomask: u16_at(tuple, 20)?,
            hoff: u8_at(tuple, 22)?,
        })
    }

    /// Number of columns that the tuple holds.
    #[inline]
    #[must_use]
    pub fn columns(&self) -> u16 {
        self.infomask2 & mask::NATTS
    }

    /// Whether `xmin` is frozen: visible whatever its number.
    #[inline]
    #[must_use]
    pub fn is_xmin_frozen(&self) -> bool {
        self.infomask & mask::XMIN_FROZEN == mask::XMIN_FROZEN || self.xmin == 2
    }

    /// Whether `xmax` does no more than lock.
    // EVIDENCE: htup_details.h HEAP_XMAX_IS_LOCKED_ONLY
    #[inline]
    #[must_use]
    pub fn is_xmax_lock_only(&self) -> bool {
        let lock = mask::XMAX_IS_MULTI | mask::XMAX_EXCL_LOCK | mask::XMAX_KEYSHR_LOCK;
        self.infomask & mask::XMAX_LOCK_ONLY != 0 || self.infomask & lock == mask::XMAX_EXCL_LOCK
    }

    /// Whether `xmax` is a multixact that locks, from a cluster before 9.3 that pg_upgrade took over: it is not looked up.
    // EVIDENCE: htup_details.h HEAP_LOCKED_UPGRADED
    #[must_use]
    pub fn is_locked_before_upgrade(&self) -> bool {
        self.infomask & mask::XMAX_LOCK_ONLY != 0
            && self.infomask & (mask::XMAX_EXCL_LOCK | mask::XMAX_KEYSHR_LOCK) == 0
    }

    /// Whether `xmax` is a multixact.
    #[inline]
    #[must_use]
    pub fn is_xmax_multi(&self) -> bool {
        self.infomask & mask::XMAX_IS_MULTI != 0
    }

    /// Whether a heap-only tuple follows in the same page.
    // EVIDENCE: htup_details.h HeapTupleHeaderIsHotUpdated
    #[inline]
    #[must_use]
    pub fn is_hot_updated(&self) -> bool {
        self.infomask2 & mask::HOT_UPDATED != 0
            && self.infomask & mask::XMAX_INVALID == 0
            && self.infomask & mask::XMIN_FROZEN != mask::XMIN_INVALID
    }

    /// Whether the tuple has no index entries of its own.
    #[inline]
    #[must_use]
    pub fn is_heap_only(&self) -> bool {
        self.infomask2 & mask::HEAP_ONLY != 0
    }

    /// The null bitmap; `None` when no value is null or the tuple is too short for it.
    #[inline]
    #[must_use]
    pub fn null_bitmap<'a>(&self, tuple: &'a [u8]) -> Option<&'a [u8]> {
        if self.infomask & mask::HAS_NULL == 0 {
            return None;
        }
        tuple.get(TUPLE_HEADER_BYTES..TUPLE_HEADER_BYTES + usize::from(self.columns()).div_ceil(8))
    }

    /// Tests that the header fits its tuple; `false` if the columns cannot be read.
    // EVIDENCE: src/backend/access/common/heaptuple.c heap_form_tuple: hoff = MAXALIGN(23 + bitmap);
    // contrib/amcheck/verify_heapam.c check_tuple_header
    pub fn check(&self, tuple: &[u8], item: u16, damage: &mut Vec<Damage>) -> bool {
        let columns = self.columns();
        let bitmap = if self.infomask & mask::HAS_NULL != 0 { usize::from(columns).div_ceil(8) } else { 0 };
        let expected = align_up(TUPLE_HEADER_BYTES + bitmap, MAX_ALIGN);
        let found = usize::from(self.hoff);
        let mut trusted = true;
        if found != expected || found > tuple.len() {
            damage.push(
                Damage::at(
                    Invariant::TupleHeader,
                    22,
                    format!("columns from byte {expected} of {}", tuple.len()),
                    format!("columns from byte {found}"),
                )
                .of_item(item),
            );
            trusted = false;
        }
        if columns > COLUMNS_MAX {
            damage.push(
                Damage::at(
                    Invariant::TupleHeader,
                    18,
                    format!("at most {COLUMNS_MAX} columns"),
                    format!("{columns} columns"),
                )
                .of_item(item),
            );
            trusted = false;
        }
        // EVIDENCE: verify_heapam.c: "multixact should not be marked committed"
        if self.is_xmax_multi() && self.infomask & mask::XMAX_COMMITTED != 0 {
            damage.push(
                Damage::at(
                    Invariant::TupleHeader,
                    20,
                    "a multixact in xmax without the committed bit",
                    format!("infomask {:#06x}", self.infomask),
                )
                .of_item(item),
            );
        }
        trusted
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_header_that_does_not_fit_its_tuple_is_reported() {
        let mut tuple = vec![0u8; 40];
        tuple[18] = 3;
        tuple[22] = 24;
        let header = TupleHeader::read(&tuple).unwrap();
        let mut damage = Vec::new();
        assert!(header.check(&tuple, 1, &mut damage));
        assert_eq!(damage, vec![]);

        tuple[22] = 32;
        assert!(!TupleHeader::read(&tuple).unwrap().check(&tuple, 1, &mut damage));
        assert_eq!(damage[0].invariant, Invariant::TupleHeader);
        assert!(TupleHeader::read(&tuple[..22]).is_none());
    }
}
