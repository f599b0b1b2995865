//! BRIN pages: the meta page, the range map, and the tuples that summarise ranges of heap pages.

use crate::postgres::bytes::{u8_at, u16_at, u32_at};
use crate::postgres::damage::{Damage, Invariant};
use crate::postgres::page::{HEADER_BYTES, ITEM_BYTES, Item, ItemState, Page};
use crate::postgres::primitive::{BLOCK_NONE, MAX_ALIGN, Tid, align_up};

/// Length of the special space, bytes.
// EVIDENCE: src/include/access/brin_page.h BrinSpecialSpace: one unit of MAXALIGN
pub const SPECIAL_BYTES: usize = 8;
/// Length of a tuple's header, bytes; the null bits follow.
// EVIDENCE: src/include/access/brin_tuple.h SizeOfBrinTuple: block number u32, info u8
pub const TUPLE_HEADER_BYTES: usize = 5;
/// The shortest tuple, bytes.
// EVIDENCE: brin_tuple.c brin_form_tuple: header and data are each aligned to MAXALIGN
pub const TUPLE_BYTES_MIN: usize = 8;
/// Most heap pages in one range.
// EVIDENCE: src/backend/access/common/reloptions.c pages_per_range 1 to 131072
pub const PAGES_PER_RANGE_MAX: u32 = 131_072;
/// The magic number of the meta page.
// EVIDENCE: brin_page.h BRIN_META_MAGIC
const MAGIC: u32 = 0xA810_9CFA;
/// The only version.
// EVIDENCE: brin_page.h BRIN_CURRENT_VERSION
const VERSION: u32 = 1;
/// Bytes of an entry of the range map.
// EVIDENCE: brin_page.h RevmapContents: an array of ItemPointerData
const MAP_ENTRY_BYTES: usize = 6;
/// Flag of a page whose tuples are being moved away, to make room for the range map.
// EVIDENCE: brin_page.h BRIN_EVACUATE_PAGE
const FLAG_EVACUATE: u16 = 1;

/// Bits of a tuple's info byte.
// EVIDENCE: brin_tuple.h BRIN_OFFSET_MASK, BRIN_EMPTY_RANGE_MASK, BRIN_PLACEHOLDER_MASK, BRIN_NULLS_MASK
mod info {
    pub(super) const OFFSET: u8 = 0x1F;
    pub(super) const EMPTY_RANGE: u8 = 0x20;
    pub(super) const PLACEHOLDER: u8 = 0x40;
    pub(super) const NULLS: u8 = 0x80;
}

/// What a page is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The first page: sizes.
    Meta,
    /// Where the tuple of each range stands.
    RangeMap,
    /// Tuples.
    Tuples,
}

/// The special space of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opaque {
    /// The mark that tells the kind.
    pub mark: u16,
    /// Flags.
    pub flags: u16,
}

impl Opaque {
    /// Reads the special space of a page; `None` if it is too short.
    // EVIDENCE: brin_page.h BrinPageType, BrinPageFlags: the last and the last but one half word of the page
    #[must_use]
    pub fn read(page: &Page<'_>) -> Option<Opaque> {
        let special = page.special();
        let end = special.len();
        Some(Opaque {
            mark: u16_at(special, end.checked_sub(2)?)?,
            flags: u16_at(special, end.checked_sub(4)?)?,
        })
    }

    /// What the page is for; `None` if the mark is none of BRIN's.
    // EVIDENCE: brin_page.h BRIN_PAGETYPE_META 0xF091, REVMAP 0xF092, REGULAR 0xF093
    #[must_use]
    pub fn kind(&self) -> Option<Kind> {
        match self.mark {
            0xF091 => Some(Kind::Meta),
            0xF092 => Some(Kind::RangeMap),
            0xF093 => Some(Kind::Tuples),
            _ => None,
        }
    }

    /// Tests mark and flags of a page with a number; its kind, if they can be.
    pub fn check(&self, block: u32, special_offset: usize, damage: &mut Vec<Damage>) -> Option<Kind> {
        let kind = self.kind().filter(|kind| (*kind == Kind::Meta) == (block == 0));
        let allowed = if kind == Some(Kind::Tuples) { FLAG_EVACUATE } else { 0 };
        if kind.is_some() && self.flags & !allowed == 0 {
            return kind;
        }
        let marks = if block == 0 { "0xf091" } else { "0xf092 or 0xf093" };
        damage.push(Damage::at(
            Invariant::BrinPage,
            special_offset,
            format!("mark {marks} and flags within {allowed:#06x}"),
            format!("mark {:#06x}, flags {:#06x}", self.mark, self.flags),
        ));
        None
    }
}

/// The first page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    /// Magic number.
    pub magic: u32,
    /// Version.
    pub version: u32,
    /// Heap pages in one range.
    pub pages_per_range: u32,
    /// The range map takes the pages from 1 to this one; 0 before there is any.
    pub last_map_block: u32,
}

impl Meta {
    /// Reads the first page of an index; `None` if the page is too short.
    // EVIDENCE: brin_page.h BrinMetaPageData, after the page header: magic @0, version @4, pagesPerRange @8,
    // lastRevmapPage @12
    #[must_use]
    pub fn read(page: &Page<'_>) -> Option<Meta> {
        let at = |offset| u32_at(page.bytes(), HEADER_BYTES + offset);
        Some(Meta { magic: at(0)?, version: at(4)?, pages_per_range: at(8)?, last_map_block: at(12)? })
    }

    /// Tests the values, given the number of pages of the index; `false` if the index cannot be read with them.
    pub fn check(&self, blocks: u32, damage: &mut Vec<Damage>) -> bool {
        let before = damage.len();
        let mut refuse = |offset: usize, expected: String, found: String| {
            damage.push(Damage::at(Invariant::BrinMeta, HEADER_BYTES + offset, expected, found));
        };
        if self.magic != MAGIC || self.version != VERSION {
            let found = format!("magic {:#x}, version {}", self.magic, self.version);
            refuse(0, format!("magic {MAGIC:#x}, version {VERSION}"), found);
        }
        if !(1..=PAGES_PER_RANGE_MAX).contains(&self.pages_per_range) {
            let expected = format!("from 1 to {PAGES_PER_RANGE_MAX} table blocks per range");
            refuse(8, expected, self.pages_per_range.to_string());
        }
        if self.last_map_block >= blocks.max(1) {
            let expected = format!("a range map that ends before block {blocks}, where the index ends");
            refuse(12, expected, format!("block {}", self.last_map_block));
        }
        damage.len() == before
    }

    /// The page of the range map, and the entry in it, for a heap page; `None` if the map does not reach so far.
    // EVIDENCE: src/backend/access/brin/brin_revmap.c HEAPBLK_TO_REVMAP_BLK, HEAPBLK_TO_REVMAP_INDEX, revmap_get_blkno
    #[must_use]
    pub fn map_place(&self, heap_block: u32, block_bytes: usize) -> Option<(u32, u32)> {
        let range = heap_block.checked_div(self.pages_per_range)?;
        let per_page = map_entries_per_page(block_bytes);
        let block = range.checked_div(per_page)?.checked_add(1)?;
        (block <= self.last_map_block).then_some((block, range % per_page))
    }

    /// The first heap page of the range that an entry of the map is for; `None` if no heap has so many pages.
    #[must_use]
    pub fn range_start(&self, map_block: u32, entry: u32, block_bytes: usize) -> Option<u32> {
        let per_page = map_entries_per_page(block_bytes);
        let range = map_block.checked_sub(1)?.checked_mul(per_page)?.checked_add(entry)?;
        range.checked_mul(self.pages_per_range).filter(|start| *start != BLOCK_NONE)
    }
}

/// Entries in one page of the range map.
// EVIDENCE: brin_page.h REVMAP_PAGE_MAXITEMS
#[must_use]
pub fn map_entries_per_page(block_bytes: usize) -> u32 {
    (block_bytes.saturating_sub(HEADER_BYTES + SPECIAL_BYTES) / MAP_ENTRY_BYTES) as u32
}

/// Where the tuple of a range stands, by the entry of a page of the range map; `None` for a range without.
// EVIDENCE: brin_revmap.c: an entry is valid when its line pointer is not 0
#[must_use]
pub fn map_entry(page: &Page<'_>, entry: u32) -> Option<Tid> {
    let offset = HEADER_BYTES + entry as usize * MAP_ENTRY_BYTES;
    if entry >= map_entries_per_page(page.bytes().len()) {
        return None;
    }
    Tid::read(page.bytes(), offset).filter(|tid| tid.item != 0)
}

/// The summary of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuple<'a> {
    /// The first heap page of the range.
    pub block: u32,
    info: u8,
    bytes: &'a [u8],
}

impl<'a> Tuple<'a> {
    /// Reads the bytes that a line pointer claims; `None` if they are fewer than a header.
    // EVIDENCE: brin_tuple.h BrinTuple: bt_blkno @0, bt_info @4
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Option<Tuple<'a>> {
        Some(Tuple { block: u32_at(bytes, 0)?, info: u8_at(bytes, 4)?, bytes })
    }

    /// Left by a summarisation under way, or one that was cut off: the whole range counts as matching.
    #[must_use]
    pub fn is_placeholder(&self) -> bool {
        self.info & info::PLACEHOLDER != 0
    }

    /// The range has no rows.
    #[must_use]
    pub fn is_empty_range(&self) -> bool {
        self.info & info::EMPTY_RANGE != 0
    }

    /// Whether all values of a column (0 based, of so many) are null, so that the tuple has none for it.
    // EVIDENCE: brin_tuple.c brin_deconstruct_tuple: a bit per column "all null", then one "has null"; 1 means null
    #[must_use]
    pub fn is_all_null(&self, column: usize) -> bool {
        self.bit(column)
    }

    /// Whether some value of a column (0 based, of so many) is null.
    #[must_use]
    pub fn has_null(&self, column: usize, columns: usize) -> bool {
        self.bit(columns + column)
    }

    /// The bytes where values start; empty if the header leads beyond the tuple.
    #[must_use]
    pub fn data(&self) -> &'a [u8] {
        self.bytes.get(usize::from(self.info & info::OFFSET)..).unwrap_or(&[])
    }

    /// Tests the header, given the number of columns and where ranges start; `false` if values cannot be read.
    // EVIDENCE: brin_tuple.c brin_form_tuple: header and two bits per column, if any is null, rounded up to MAXALIGN; an
    // empty range has all columns null, and a placeholder has what was inserted since
    pub fn check(&self, item: Item, columns: usize, pages_per_range: u32, damage: &mut Vec<Damage>) -> bool {
        let has_nulls = self.info & info::NULLS != 0;
        let bits = if has_nulls { (2 * columns).div_ceil(8) } else { 0 };
        let start = align_up(TUPLE_HEADER_BYTES + bits, MAX_ALIGN);
        let before = damage.len();
        let mut refuse = |expected: String, found: String| {
            let offset = usize::from(item.offset);
            damage.push(Damage::at(Invariant::BrinTuple, offset, expected, found).of_item(item.number));
        };
        if usize::from(self.info & info::OFFSET) != start || self.bytes.len() < start {
            let expected = format!("values from byte {start} on, after the null bits of {columns} columns");
            let found = format!("byte {} of {}", self.info & info::OFFSET, self.bytes.len());
            refuse(expected, found);
        }
        if self.block == BLOCK_NONE || !self.block.is_multiple_of(pages_per_range.max(1)) {
            let expected = format!("the first block of a range of {pages_per_range}");
            refuse(expected, format!("block {}", self.block));
        }
        if self.is_empty_range() && !(0..columns).all(|column| self.is_all_null(column)) {
            let expected = "all columns null, since the range is empty".to_owned();
            refuse(expected, format!("info {:#04x} and columns that are not", self.info));
        }
        damage.len() == before
    }

    fn bit(&self, number: usize) -> bool {
        let byte = self.bytes.get(TUPLE_HEADER_BYTES + number / 8).copied().unwrap_or(0);
        self.info & info::NULLS != 0 && byte >> (number % 8) & 1 == 1
    }
}

/// Tests the line pointers of a page of tuples: each is used or free, and none redirects.
// EVIDENCE: brin_pageops.c adds tuples with PageAddItem and removes them with PageIndexTupleDeleteNoCompact
pub fn check_item_states(page: &Page<'_>, damage: &mut Vec<Damage>) {
    for item in page.items() {
        if !matches!(item.state, ItemState::Normal | ItemState::Unused) {
            let offset = HEADER_BYTES + (usize::from(item.number) - 1) * ITEM_BYTES;
            let found = format!("{:?}", item.state).to_lowercase();
            damage.push(
                Damage::at(Invariant::BrinTuple, offset, "a line pointer that is used or free", found)
                    .of_item(item.number),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const META: Meta = Meta { magic: MAGIC, version: 1, pages_per_range: 16, last_map_block: 2 };

    #[test]
    fn each_range_has_its_place_in_the_map_and_back() {
        assert_eq!(map_entries_per_page(8192), 1360);
        assert_eq!(META.map_place(0, 8192), Some((1, 0)));
        assert_eq!(META.map_place(1360 * 16 - 1, 8192), Some((1, 1359)));
        assert_eq!(META.map_place(1360 * 16, 8192), Some((2, 0)));
        assert_eq!(META.map_place(2 * 1360 * 16, 8192), None);
        assert_eq!(META.range_start(2, 3, 8192), Some((1360 + 3) * 16));
        assert_eq!(META.range_start(0, 3, 8192), None);
        let wide = Meta { pages_per_range: PAGES_PER_RANGE_MAX, ..META };
        assert_eq!(
            (wide.range_start(25, 0, 8192), wide.range_start(25, 1359, 8192)),
            (Some(0xFF00_0000), None)
        );
    }

    #[test]
    fn impossible_sizes_are_refused() {
        let refused = |meta: Meta| !meta.check(10, &mut Vec::new());
        assert!(!refused(META) && !refused(Meta { last_map_block: 9, ..META }));
        assert!(refused(Meta { last_map_block: 10, ..META }) && refused(Meta { pages_per_range: 0, ..META }));
        assert!(refused(Meta { version: 2, ..META }) && refused(Meta { magic: 1, ..META }));
    }

    #[test]
    fn null_bits_are_those_of_all_columns_twice() {
        // Three columns: the second is all null, the third has nulls.
        let bytes = [32, 0, 0, 0, 0x80 | 8, 0b10_0010, 0, 0, 1, 2];
        let tuple = Tuple::read(&bytes).unwrap();
        let item = Item { number: 1, offset: 100, length: 10, state: ItemState::Normal };
        let mut damage = Vec::new();
        assert!(tuple.check(item, 3, 16, &mut damage));
        assert_eq!([0, 1, 2].map(|column| tuple.is_all_null(column)), [false, true, false]);
        assert_eq!([0, 1, 2].map(|column| tuple.has_null(column, 3)), [false, false, true]);
        assert_eq!(tuple.data(), [1, 2]);
        assert!(!tuple.check(item, 3, 64, &mut damage) && !tuple.check(item, 13, 16, &mut damage));
        let empty = [32, 0, 0, 0, 0xA0 | 8, 0b000_0011, 0, 0];
        assert!(!Tuple::read(&empty).unwrap().check(item, 3, 16, &mut damage));
    }
}
