//! Tuples of B-tree pages: entries, posting lists and separators.

use crate::postgres::bytes::u16_at;
use crate::postgres::damage::{Damage, Invariant};
use crate::postgres::index::btree::VERSION_TID_KEYS;
use crate::postgres::page::Item;
use crate::postgres::primitive::{MAX_ALIGN, Tid, align_up};

/// Length of an index tuple's header, bytes.
// EVIDENCE: src/include/access/itup.h IndexTupleData: t_tid 6 bytes, t_info 2 bytes
pub const TUPLE_HEADER_BYTES: usize = 8;
/// Length of the null bitmap of an index tuple, bytes, whatever the number of columns.
// EVIDENCE: itup.h IndexAttributeBitMapData, INDEX_MAX_KEYS 32
const NULL_BITMAP_BYTES: usize = 4;

/// Bit of `t_info`: `t_tid` is not a heap TID.
// EVIDENCE: nbtree.h INDEX_ALT_TID_MASK
const ALTERNATIVE_TID: u16 = 0x2000;
/// Bit of `t_info`: has null values.
// EVIDENCE: itup.h INDEX_NULL_MASK
const HAS_NULL: u16 = 0x8000;
/// Bits of `t_info`: length of the tuple.
// EVIDENCE: itup.h INDEX_SIZE_MASK
const SIZE_MASK: u16 = 0x1FFF;
/// Bits of `t_tid`'s item number in an alternative tuple: a count.
// EVIDENCE: nbtree.h BT_OFFSET_MASK
const COUNT_MASK: u16 = 0x0FFF;
/// Bit: a pivot tuple ends in a heap TID.
// EVIDENCE: nbtree.h BT_PIVOT_HEAP_TID_ATTR
const PIVOT_HAS_TID: u16 = 0x1000;
/// Bit: a posting list tuple.
// EVIDENCE: nbtree.h BT_IS_POSTING
const IS_POSTING: u16 = 0x2000;

/// What an index tuple stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One row.
    Plain,
    /// Several rows with the same key.
    Posting {
        /// Number of TIDs.
        count: u16,
        /// Offset of the first in the tuple.
        offset: u16,
    },
    /// A separator: a high key or a downlink, with so many key columns left.
    Pivot {
        /// Number of key columns that are present.
        columns: u16,
        /// Whether a heap TID follows the columns.
        has_tid: bool,
    },
}

/// One tuple of a B-tree page, borrowed.
#[derive(Clone, Copy, Debug)]
pub struct IndexTuple<'a> {
    bytes: &'a [u8],
    /// The first six bytes: a heap TID in a plain tuple, a downlink and a count in the others.
    pub tid: Tid,
    info: u16,
}

impl<'a> IndexTuple<'a> {
    /// Reads a tuple; `None` if it is shorter than its header.
    #[inline]
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Option<IndexTuple<'a>> {
        Some(IndexTuple { bytes, tid: Tid::read(bytes, 0)?, info: u16_at(bytes, 6)? })
    }

    /// Length that the tuple records, bytes.
    #[inline]
    #[must_use]
    pub fn length_bytes(&self) -> usize {
        usize::from(self.info & SIZE_MASK)
    }

    /// Whether some column is null.
    #[inline]
    #[must_use]
    pub fn has_nulls(&self) -> bool {
        self.info & HAS_NULL != 0
    }

    /// What the tuple stands for.
    #[inline]
    #[must_use]
    pub fn kind(&self) -> Kind {
        if self.info & ALTERNATIVE_TID == 0 {
            return Kind::Plain;
        }
        let count = self.tid.item & COUNT_MASK;
        if self.tid.item & IS_POSTING != 0 {
            Kind::Posting { count, offset: self.tid.block.min(u32::from(u16::MAX)) as u16 }
        } else {
            Kind::Pivot { columns: count, has_tid: self.tid.item & PIVOT_HAS_TID != 0 }
        }
    }

    /// The child of a downlink.
    #[inline]
    #[must_use]
    pub fn downlink(&self) -> u32 {
        self.tid.block
    }

    /// Offset of the first column in the tuple, bytes.
    // EVIDENCE: itup.h IndexInfoFindDataOffset
    #[inline]
    #[must_use]
    pub fn data_offset(&self) -> usize {
        if self.has_nulls() {
            align_up(TUPLE_HEADER_BYTES + NULL_BITMAP_BYTES, MAX_ALIGN)
        } else {
            TUPLE_HEADER_BYTES
        }
    }

    /// The null bitmap (1 = present); `None` when no value is null.
    #[inline]
    #[must_use]
    pub fn null_bitmap(&self) -> Option<&'a [u8]> {
        if self.has_nulls() {
            Some(self.bytes.get(TUPLE_HEADER_BYTES..TUPLE_HEADER_BYTES + NULL_BITMAP_BYTES).unwrap_or(&[]))
        } else {
            None
        }
    }

    /// The bytes of the columns, padding included; without the TIDs that may follow.
    #[inline]
    #[must_use]
    pub fn data(&self) -> &'a [u8] {
        let end = match self.kind() {
            Kind::Plain => self.length_bytes(),
            Kind::Posting { offset, .. } => usize::from(offset),
            Kind::Pivot { has_tid: true, .. } => self.length_bytes().saturating_sub(MAX_ALIGN),
            Kind::Pivot { .. } => self.length_bytes(),
        };
        self.bytes.get(self.data_offset()..end.min(self.bytes.len())).unwrap_or(&[])
    }

    /// Heap TID at the end of a pivot tuple.
    // EVIDENCE: nbtree.h BTreeTupleGetHeapTID: at tuple size - sizeof(ItemPointerData)
    #[inline]
    #[must_use]
    pub fn pivot_tid(&self) -> Option<Tid> {
        match self.kind() {
            Kind::Pivot { has_tid: true, .. } => Tid::read(self.bytes, self.length_bytes().checked_sub(6)?),
            _ => None,
        }
    }

    /// The heap TIDs of a leaf tuple, in the order in which they stand; none for a pivot.
    #[inline]
    pub fn heap_tids(&self) -> impl Iterator<Item = Tid> + use<'a> {
        let (count, offset, single) = match self.kind() {
            Kind::Plain => (1, 0, true),
            Kind::Posting { count, offset } => (count, usize::from(offset), false),
            Kind::Pivot { .. } => (0, 0, false),
        };
        let (bytes, tid) = (self.bytes, self.tid);
        // At most 4095 turns: the count has twelve bits.
        (0..count).map_while(move |index| {
            if single { Some(tid) } else { Tid::read(bytes, offset + usize::from(index) * 6) }
        })
    }

    /// The key as bytes that are equal in a high key and in the parent's separator: all but `t_tid`'s block.
    #[inline]
    #[must_use]
    pub fn separator(&self) -> (u16, u16, &'a [u8]) {
        (self.tid.item, self.info, self.bytes.get(TUPLE_HEADER_BYTES..self.length_bytes()).unwrap_or(&[]))
    }

    /// The beginning of the tuple, with all columns and the first row pointer: read again, it has the same key.
    #[must_use]
    pub fn key_bytes(&self) -> &'a [u8] {
        let end = match self.kind() {
            Kind::Posting { offset, .. } => usize::from(offset) + 6,
            Kind::Plain | Kind::Pivot { .. } => self.length_bytes(),
        };
        self.bytes.get(..end).unwrap_or(self.bytes)
    }

    /// Tests length and kind. `pivot`: whether the place calls for a separator; `version`: that of the index.
    #[inline]
    pub fn check(&self, item: Item, pivot: bool, version: u32, damage: &mut Vec<Damage>) -> bool {
        let length = self.length_bytes();
        let is_plain = length == usize::from(item.length)
            && length >= self.data_offset()
            && self.info & ALTERNATIVE_TID == 0;
        // Nearly all tuples of leaves.
        (is_plain && !pivot) || self.check_other(item, pivot, version, damage)
    }

    fn check_other(&self, item: Item, pivot: bool, version: u32, damage: &mut Vec<Damage>) -> bool {
        let mut broken = |invariant, expected: String, found: String| {
            damage
                .push(Damage::at(invariant, usize::from(item.offset), expected, found).of_item(item.number));
        };
        let length = self.length_bytes();
        if length != usize::from(item.length) || length < self.data_offset() {
            broken(
                Invariant::BtreeTuple,
                format!("a tuple of the {} bytes of its line pointer", item.length),
                format!("{length} bytes, columns from byte {}", self.data_offset()),
            );
            return false;
        }
        match self.kind() {
            Kind::Pivot { .. } if !pivot => {
                broken(Invariant::BtreeTuple, "a tuple with heap TIDs".into(), "a separator".into());
                false
            }
            Kind::Plain | Kind::Posting { .. } if pivot && version >= VERSION_TID_KEYS => {
                broken(Invariant::BtreeTuple, "a separator".into(), "a tuple with heap TIDs".into());
                false
            }
            Kind::Posting { count, offset } => {
                let end = usize::from(offset) + usize::from(count) * 6;
                if count < 2
                    || usize::from(offset) < self.data_offset()
                    || end > length
                    || self.tid.block > 0x1FFF
                {
                    broken(
                        Invariant::BtreePosting,
                        format!("two TIDs or more inside {length} bytes"),
                        format!("{count} TIDs from byte {}", self.tid.block),
                    );
                    return false;
                }
                let mut last: Option<Tid> = None;
                for tid in self.heap_tids() {
                    if last.is_some_and(|last| last >= tid) {
                        broken(
                            Invariant::BtreePosting,
                            "ascending TIDs".into(),
                            format!("{tid} after {}", last.map_or(String::new(), |last| last.to_string())),
                        );
                        return true;
                    }
                    last = Some(tid);
                }
                true
            }
            Kind::Plain | Kind::Pivot { .. } => true,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::postgres::page::ItemState;

    fn item(length: u16) -> Item {
        Item { number: 1, offset: 8000, length, state: ItemState::Normal }
    }

    fn posting(tids: &[(u16, u16)]) -> Vec<u8> {
        let offset = 16u16;
        let length = (offset + 6 * tids.len() as u16).next_multiple_of(8);
        let mut bytes = vec![0; usize::from(length)];
        bytes[2..4].copy_from_slice(&offset.to_le_bytes());
        bytes[4..6].copy_from_slice(&(IS_POSTING | tids.len() as u16).to_le_bytes());
        bytes[6..8].copy_from_slice(&(ALTERNATIVE_TID | length).to_le_bytes());
        for (index, (block, number)) in tids.iter().enumerate() {
            let at = usize::from(offset) + index * 6;
            bytes[at + 2..at + 4].copy_from_slice(&block.to_le_bytes());
            bytes[at + 4..at + 6].copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn a_posting_list_gives_its_tids_in_order() {
        let bytes = posting(&[(1, 2), (1, 3), (7, 1)]);
        let tuple = IndexTuple::read(&bytes).unwrap();
        let tids: Vec<_> = tuple.heap_tids().map(|tid| (tid.block, tid.item)).collect();
        assert_eq!(tids, vec![(1, 2), (1, 3), (7, 1)]);
        let mut damage = Vec::new();
        assert!(tuple.check(item(bytes.len() as u16), false, 4, &mut damage));
        assert_eq!(damage, vec![]);
    }

    #[test]
    fn tids_out_of_order_and_separators_in_leaves_are_reported() {
        let mut damage = Vec::new();
        let bytes = posting(&[(1, 3), (1, 2)]);
        IndexTuple::read(&bytes).unwrap().check(item(bytes.len() as u16), false, 4, &mut damage);
        assert_eq!(damage[0].invariant, Invariant::BtreePosting);
        let pivot = [0, 0, 9, 0, 1, 0, 16, 0x20, 1, 2, 3, 4, 5, 6, 7, 8];
        assert!(!IndexTuple::read(&pivot).unwrap().check(item(16), false, 4, &mut damage));
        assert!(IndexTuple::read(&pivot).unwrap().check(item(16), true, 4, &mut damage));
    }
}
