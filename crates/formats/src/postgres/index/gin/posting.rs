//! Row pointers of a key: packed or plain, in an entry or in the pages of its posting tree.

use crate::postgres::bytes::{u16_at, u32_at};
use crate::postgres::damage::{Damage, Invariant};
use crate::postgres::index::gin::{Opaque, PostingItem, ROOT_BLOCK, SPECIAL_BYTES, flag};
use crate::postgres::page::{HEADER_BYTES, Page};
use crate::postgres::primitive::{Tid, align_up};

/// Length of a row pointer, bytes.
const TID_BYTES: usize = 6;
/// Length of what stands before the packed bytes of a segment: the first row pointer, and the number of bytes.
// EVIDENCE: ginblock.h GinPostingList: first @0, nbytes @6, bytes @8; aligned to two bytes
const SEGMENT_HEADER_BYTES: usize = 8;
/// Bits of a packed row pointer that hold the item number.
// EVIDENCE: src/backend/access/gin/ginpostinglist.c MaxHeapTuplesPerPageBits
const ITEM_BITS: u32 = 11;
/// Bytes of one packed difference, at most.
// EVIDENCE: ginpostinglist.c decode_varbyte: seven bits each, the seventh byte has no continuation
const PACKED_BYTES_MAX: u32 = 7;
/// Where the contents of a page of a posting tree begin: after the header and the right bound.
// EVIDENCE: ginblock.h GinDataPageGetData
const DATA_OFFSET: usize = HEADER_BYTES + 8;
/// Length of an item of an inner page, bytes.
// EVIDENCE: ginblock.h PostingItem: child_blkno 4 bytes (high half first), key 6 bytes
const ITEM_BYTES: usize = 10;

/// Row pointers as they stand: packed segments, or one after the other.
#[derive(Clone, Copy, Debug)]
pub struct PostingList<'a> {
    bytes: &'a [u8],
    is_packed: bool,
}

impl<'a> PostingList<'a> {
    /// Row pointers in segments that fill `bytes`.
    #[must_use]
    pub fn packed(bytes: &'a [u8]) -> PostingList<'a> {
        PostingList { bytes, is_packed: true }
    }

    /// Row pointers one after the other, as before 9.4.
    #[must_use]
    pub fn plain(bytes: &'a [u8]) -> PostingList<'a> {
        PostingList { bytes, is_packed: false }
    }

    /// The row pointers, in the order in which they stand; ends where the bytes make no sense.
    #[must_use]
    pub fn tids(&self) -> Postings<'a> {
        Postings { rest: self.bytes, is_packed: self.is_packed, segment: &[], value: 0, is_broken: false }
    }

    /// Tests that row pointers are possible, ascend and end with the bytes; gives their number and the last.
    pub fn check(
        &self,
        offset_bytes: usize,
        item: Option<u16>,
        damage: &mut Vec<Damage>,
    ) -> (usize, Option<Tid>) {
        let mut tids = self.tids();
        let (mut count, mut last) = (0, None);
        let mut report = |expected: String, found: String| {
            let damage_here = Damage::at(Invariant::GinPosting, offset_bytes, expected, found);
            damage.push(Damage { item, ..damage_here });
        };
        // Bounded by the bytes: each row pointer takes one at least.
        for tid in tids.by_ref() {
            count += 1;
            if let Some(before) = last.filter(|before| *before >= tid) {
                report(format!("ascending TIDs, after {before}"), tid.to_string());
                return (count, last);
            }
            if tid.item == 0 {
                report("TIDs with an offset number".to_owned(), tid.to_string());
                return (count, last);
            }
            last = Some(tid);
        }
        if tids.is_broken {
            report(
                format!("TIDs in {} bytes, whole segments", self.bytes.len()),
                format!("bytes that are not a TID, after {count} of them"),
            );
        }
        (count, last)
    }
}

/// The row pointers of a list.
#[derive(Clone, Debug)]
pub struct Postings<'a> {
    rest: &'a [u8],
    is_packed: bool,
    /// Packed bytes of the segment under way.
    segment: &'a [u8],
    value: u64,
    is_broken: bool,
}

impl Postings<'_> {
    fn next_plain(&mut self) -> Option<Tid> {
        let tid = Tid::read(self.rest, 0)?;
        self.rest = self.rest.get(TID_BYTES..)?;
        Some(tid)
    }

    fn next_segment(&mut self) -> Option<Tid> {
        if self.rest.is_empty() {
            return None;
        }
        let start = Tid::read(self.rest, 0);
        let length = u16_at(self.rest, TID_BYTES).map(usize::from);
        let (Some(tid), Some(length)) = (start, length) else { return self.broken() };
        let end = SEGMENT_HEADER_BYTES + length;
        let (Some(segment), true) =
            (self.rest.get(SEGMENT_HEADER_BYTES..end), u32::from(tid.item) < 1 << ITEM_BITS)
        else {
            return self.broken();
        };
        self.segment = segment;
        self.rest = self.rest.get(align_up(end, 2)..).unwrap_or(&[]);
        self.value = (u64::from(tid.block) << ITEM_BITS) | u64::from(tid.item);
        Some(tid)
    }

    fn next_packed(&mut self) -> Option<Tid> {
        let mut difference = 0u64;
        for place in 0..PACKED_BYTES_MAX {
            let Some((byte, rest)) = self.segment.split_first() else { return self.broken() };
            self.segment = rest;
            let is_last = place + 1 == PACKED_BYTES_MAX;
            difference |= u64::from(if is_last { *byte } else { byte & 0x7F }) << (7 * place);
            if byte & 0x80 == 0 {
                break;
            }
        }
        self.value = self.value.wrapping_add(difference);
        let Ok(block) = u32::try_from(self.value >> ITEM_BITS) else { return self.broken() };
        Some(Tid { block, item: (self.value & ((1 << ITEM_BITS) - 1)) as u16 })
    }

    fn broken(&mut self) -> Option<Tid> {
        self.is_broken = true;
        (self.rest, self.segment) = (&[], &[]);
        None
    }
}

impl Iterator for Postings<'_> {
    type Item = Tid;

    #[inline]
    fn next(&mut self) -> Option<Tid> {
        match (self.is_packed, self.segment.is_empty()) {
            (false, _) => self.next_plain(),
            (true, false) => self.next_packed(),
            (true, true) => self.next_segment(),
        }
    }
}

/// A page of a posting tree.
#[derive(Clone, Copy, Debug)]
pub struct PostingPage<'a> {
    page: Page<'a>,
    opaque: Opaque,
}

impl<'a> PostingPage<'a> {
    /// Looks at a page whose flags say that it is one.
    #[must_use]
    pub fn new(page: &Page<'a>, opaque: Opaque) -> PostingPage<'a> {
        PostingPage { page: *page, opaque }
    }

    /// The largest row pointer that the page may hold; `None` at the right edge of its level.
    // EVIDENCE: ginblock.h GinDataPageGetRightBound; gindatapage.c dataIsMoveRight: without meaning at the right edge
    #[must_use]
    pub fn right_bound(&self) -> Option<Tid> {
        self.opaque.next().and_then(|_| Tid::read(self.page.bytes(), HEADER_BYTES))
    }

    /// The row pointers of a leaf; none where its length is impossible.
    #[must_use]
    pub fn list(&self) -> PostingList<'a> {
        let bytes = self.page.bytes();
        if self.opaque.has(flag::COMPRESSED) {
            let end = usize::from(self.page.header().lower);
            return PostingList::packed(bytes.get(DATA_OFFSET..end).unwrap_or(&[]));
        }
        let end = DATA_OFFSET + usize::from(self.opaque.count) * TID_BYTES;
        PostingList::plain(bytes.get(DATA_OFFSET..end).unwrap_or(&[]))
    }

    /// The children of an inner page, in order.
    pub fn items(&self) -> impl Iterator<Item = PostingItem> + use<'a> {
        let bytes = self.page.bytes();
        // At most 65535 turns, and no more than fit the page.
        (0..usize::from(self.opaque.count)).map_while(move |number| {
            let start = DATA_OFFSET + number * ITEM_BYTES;
            let half = |offset| u16_at(bytes, start + offset).map(u32::from);
            Some(PostingItem { child: (half(0)? << 16) | half(2)?, bound: Tid::read(bytes, start + 4)? })
        })
    }

    /// Tests the length of the contents; `false` if they cannot be read. `records_end`: the page's lower bound is where
    /// its data ends, as since 9.4.
    pub fn check_length(&self, records_end: bool, damage: &mut Vec<Damage>) -> bool {
        let lower = usize::from(self.page.header().lower);
        let room = self.page.bytes().len().saturating_sub(SPECIAL_BYTES);
        let count = usize::from(self.opaque.count);
        let is_leaf = self.opaque.has(flag::LEAF);
        let end = match (is_leaf, self.opaque.has(flag::COMPRESSED)) {
            (true, true) => lower,
            (true, false) => DATA_OFFSET + count * TID_BYTES,
            (false, _) => DATA_OFFSET + count * ITEM_BYTES,
        };
        let must_agree = records_end && !is_leaf;
        let fits = (DATA_OFFSET..=room).contains(&end) && (!must_agree || end == lower);
        if !fits {
            damage.push(Damage::at(
                Invariant::GinPage,
                12,
                format!("contents of a posting tree that end from byte {DATA_OFFSET} to {room}, as the header says"),
                format!("{count} items, which end at byte {end}; lower {lower}"),
            ));
        }
        fits
    }

    /// Tests the bounds of an inner page: children other than this one and the fixed blocks, in order of their bounds.
    // EVIDENCE: gindatapage.c dataLocateItem: the last bound of a page has no meaning; contrib/amcheck/verify_gin.c (18)
    pub fn check_items(&self, block: u32, blocks: u32, damage: &mut Vec<Damage>) -> bool {
        let mut last: Option<Tid> = None;
        let count = usize::from(self.opaque.count);
        let is_right_edge = self.opaque.next().is_none();
        for (number, item) in self.items().enumerate() {
            let offset = DATA_OFFSET + number * ITEM_BYTES;
            let place = (number + 1) as u16;
            if item.child <= ROOT_BLOCK || item.child >= blocks || item.child == block {
                let expected = format!("a child from block 2 on, below {blocks}");
                damage.push(
                    Damage::at(Invariant::GinPage, offset, expected, format!("block {}", item.child))
                        .of_item(place),
                );
                return false;
            }
            if is_right_edge && number + 1 == count {
                break;
            }
            if last.is_some_and(|last| last >= item.bound) || item.bound.item == 0 {
                let expected = match last {
                    Some(last) => format!("a bound above {last}"),
                    None => "a bound".to_owned(),
                };
                damage.push(
                    Damage::at(Invariant::GinPosting, offset + 4, expected, item.bound.to_string())
                        .of_item(place),
                );
                return false;
            }
            last = Some(item.bound);
        }
        true
    }
}

/// The first bytes of an entry's list: a packed one is one segment.
pub(super) fn list_of_entry(bytes: &[u8], count: u16, is_packed: bool) -> Option<PostingList<'_>> {
    if count == 0 {
        return Some(PostingList::plain(&[]));
    }
    if !is_packed {
        return Some(PostingList::plain(bytes.get(..usize::from(count) * TID_BYTES)?));
    }
    let length = usize::from(u16_at(bytes, TID_BYTES)?);
    Some(PostingList::packed(bytes.get(..SEGMENT_HEADER_BYTES + length)?))
}

/// Block and item of a tuple's first six bytes, the block with all its bits.
pub(super) fn raw_tid(bytes: &[u8]) -> Option<(u32, u16)> {
    let raw = u32_at(bytes, 0)?;
    Some((raw.rotate_left(16), u16_at(bytes, 4)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A segment of row pointers, packed as the server does.
    pub(crate) fn segment(tids: &[(u32, u16)]) -> Vec<u8> {
        let value = |(block, item): (u32, u16)| (u64::from(block) << ITEM_BITS) | u64::from(item);
        let mut packed = Vec::new();
        for pair in tids.windows(2) {
            let mut difference = value(pair[1]) - value(pair[0]);
            while difference > 0x7F {
                packed.push(difference as u8 | 0x80);
                difference >>= 7;
            }
            packed.push(difference as u8);
        }
        let (block, item) = tids[0];
        let mut bytes = Vec::new();
        for half in [(block >> 16) as u16, block as u16, item, packed.len() as u16] {
            bytes.extend(half.to_le_bytes());
        }
        bytes.extend(&packed);
        bytes.resize(align_up(bytes.len(), 2), 0);
        bytes
    }

    fn check(bytes: &[u8]) -> (usize, usize) {
        let mut damage = Vec::new();
        let (count, _) = PostingList::packed(bytes).check(0, None, &mut damage);
        (count, damage.len())
    }

    #[test]
    fn packed_row_pointers_are_those_that_were_packed() {
        let tids = [(0, 1), (0, 2), (0, 291), (1, 1), (70_000, 7), (u32::MAX - 1, 200)];
        let mut bytes = segment(&tids);
        let found: Vec<(u32, u16)> =
            PostingList::packed(&bytes).tids().map(|tid| (tid.block, tid.item)).collect();
        assert_eq!(found, tids);
        assert_eq!(check(&bytes), (6, 0));
        bytes.extend(segment(&[(u32::MAX - 1, 201)]));
        assert_eq!(check(&bytes), (7, 0));
        bytes.extend(segment(&[(5, 5)]));
        assert_eq!(check(&bytes).1, 1, "segments descend");
    }

    #[test]
    fn cut_segments_and_impossible_row_pointers_are_told() {
        let bytes = segment(&[(3, 1), (3, 2), (500, 9)]);
        assert_eq!(check(&bytes), (3, 0));
        assert_eq!(check(&bytes[..9]).1, 1);
        assert_eq!(check(&bytes[..3]).1, 1);
        let mut zero = bytes.clone();
        zero[4] = 0;
        assert_eq!(check(&zero).1, 1, "item number 0");
        let mut same = segment(&[(3, 1), (3, 2)]);
        same[8] = 0;
        assert_eq!(check(&same).1, 1, "the same row pointer twice");
        let mut large = segment(&[(3, 1), (u32::MAX, 9)]);
        large[8..14].fill(0xFF);
        assert_eq!(check(&large).1, 1);
    }
}
