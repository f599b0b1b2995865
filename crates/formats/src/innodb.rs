//! InnoDB: where things lie in a tablespace, and the header that all pages share. MySQL 5.7 and later, MariaDB 10.
//!
//! A page number is a `u32` that counts from 0 in its tablespace. All numbers are big-endian.

use std::ops::Range;

/// The page size of nearly every tablespace, bytes.
// EVIDENCE: MySQL manual, innodb_page_size: default 16384
pub const PAGE_BYTES_DEFAULT: u32 = 16384;
/// The page number that means "no page".
// EVIDENCE: fil0fil.h FIL_NULL
pub const PAGE_NONE: u32 = u32::MAX;
/// Bytes of the header that all pages have.
// EVIDENCE: storage/innobase/include/fil0fil.h FIL_PAGE_DATA 38
pub const HEADER_BYTES: usize = 38;

/// What stands at a fixed place of a tablespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FixedPage {
    /// The first page: header of the tablespace and descriptors of the first extents.
    SpaceHeader,
    /// Descriptors of extents.
    ExtentDescriptors,
    /// Insert-buffer map: free space and buffered changes of the pages of indexes.
    InsertBufferMap,
    /// Inodes: which extents belong to which segment of an index.
    Inodes,
    /// System tablespace: header of the insert buffer.
    InsertBufferHeader,
    /// System tablespace: root of the insert buffer's tree.
    InsertBufferRoot,
    /// System tablespace: transactions.
    Transactions,
    /// System tablespace: header of the first rollback segment.
    RollbackSegment,
    /// System tablespace: header of the data dictionary.
    Dictionary,
    /// System tablespace: pages on their way, kept twice.
    Doublewrite,
}

impl FixedPage {
    /// The name in texts, with the name of the format.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::SpaceHeader => "header of the tablespace and extent descriptors (FSP_HDR)",
            Self::ExtentDescriptors => "extent descriptors (XDES)",
            Self::InsertBufferMap => "insert-buffer map (IBUF_BITMAP)",
            Self::Inodes => "inodes (INODE)",
            Self::InsertBufferHeader => "insert-buffer header (SYS)",
            Self::InsertBufferRoot => "root of the insert buffer (INDEX)",
            Self::Transactions => "transaction system (TRX_SYS)",
            Self::RollbackSegment => "first rollback segment (SYS)",
            Self::Dictionary => "header of the data dictionary (SYS)",
            Self::Doublewrite => "doublewrite buffer",
        }
    }
}

/// What is due at a page number. `is_system`: tablespace 0.
// EVIDENCE: fsp0types.h: FSP_XDES_OFFSET 0, FSP_IBUF_BITMAP_OFFSET 1, FSP_FIRST_INODE_PAGE_NO 2; both repeat every
// page size pages (equivalents.md 12). System tablespace: FSP_IBUF_HEADER_PAGE_NO 3, FSP_IBUF_TREE_ROOT_PAGE_NO 4,
// FSP_TRX_SYS_PAGE_NO 5, FSP_FIRST_RSEG_PAGE_NO 6, FSP_DICT_HDR_PAGE_NO 7; two blocks of one extent from page 64
#[must_use]
pub fn fixed_page(page: u32, page_bytes: u32, is_system: bool) -> Option<FixedPage> {
    match (page, page % page_bytes.max(1)) {
        (0, _) => Some(FixedPage::SpaceHeader),
        (_, 0) => Some(FixedPage::ExtentDescriptors),
        (_, 1) => Some(FixedPage::InsertBufferMap),
        (2, _) => Some(FixedPage::Inodes),
        (3, _) if is_system => Some(FixedPage::InsertBufferHeader),
        (4, _) if is_system => Some(FixedPage::InsertBufferRoot),
        (5, _) if is_system => Some(FixedPage::Transactions),
        (6, _) if is_system => Some(FixedPage::RollbackSegment),
        (7, _) if is_system => Some(FixedPage::Dictionary),
        (64..192, _) if is_system && page_bytes == PAGE_BYTES_DEFAULT => Some(FixedPage::Doublewrite),
        _ => None,
    }
}

/// The pages that the descriptors, or the insert-buffer map, of the interval of `page` describe.
#[must_use]
pub fn interval_of(page: u32, page_bytes: u32) -> Range<u64> {
    let page_bytes = page_bytes.max(1);
    let start = u64::from(page / page_bytes) * u64::from(page_bytes);
    start..start + u64::from(page_bytes)
}

/// The fields that all pages have, as they stand, and those of index pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The page itself.
    pub page: u32,
    /// Left neighbour in its level, or [`PAGE_NONE`].
    pub previous: u32,
    /// Right neighbour in its level, or [`PAGE_NONE`].
    pub next: u32,
    /// Position in the log of the last change.
    pub lsn: u64,
    /// Code of the kind; see [`kind_name`].
    pub kind: u16,
    /// Tablespace.
    pub space: u32,
    /// Index pages: level, records, number of the index.
    pub index: Option<IndexHeader>,
}

/// The fields of an index page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexHeader {
    /// Records of users.
    pub record_count: u16,
    /// Level, 0 for leaves.
    pub level: u16,
    /// Number of the index.
    pub index_id: u64,
}

/// Kinds with the header of an index page.
// EVIDENCE: fil0fil.h FIL_PAGE_INDEX 17855, FIL_PAGE_RTREE 17854, FIL_PAGE_SDI 17853, FIL_PAGE_TYPE_INSTANT 18
const INDEX_KINDS: [u16; 4] = [17855, 17854, 17853, 18];

impl Header {
    /// Reads a header; `None` when the bytes end before it does.
    // EVIDENCE: fil0fil.h FIL_PAGE_OFFSET 4, FIL_PAGE_PREV 8, FIL_PAGE_NEXT 12, FIL_PAGE_LSN 16, FIL_PAGE_TYPE 24,
    // FIL_PAGE_SPACE_ID 34; page0page.h PAGE_HEADER 38: PAGE_N_RECS 16, PAGE_LEVEL 26, PAGE_INDEX_ID 28
    #[must_use]
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let half = |offset: usize| Some(u16::from_be_bytes(*bytes.get(offset..)?.first_chunk()?));
        let word = |offset: usize| Some(u32::from_be_bytes(*bytes.get(offset..)?.first_chunk()?));
        let long = |offset: usize| Some(u64::from_be_bytes(*bytes.get(offset..)?.first_chunk()?));
        let kind = half(24)?;
        let index = || {
            Some(IndexHeader {
                record_count: half(38 + 16)?,
                level: half(38 + 26)?,
                index_id: long(38 + 28)?,
            })
        };
        Some(Self {
            page: word(4)?,
            previous: word(8)?,
            next: word(12)?,
            lsn: long(16)?,
            kind,
            space: word(34)?,
            index: if INDEX_KINDS.contains(&kind) { index() } else { None },
        })
    }
}

/// Whether the first page of a file is that of a tablespace.
///
/// The kind of the first page, its number, and flags that tell a size: each alone would be weak.
#[must_use]
pub fn is_first_page(bytes: &[u8]) -> bool {
    let header = Header::new(bytes);
    header.is_some_and(|header| header.kind == 8 && header.page == 0) && page_bytes(bytes).is_some()
}

/// The page size that the first page of a tablespace tells, bytes; `None` when its flags cannot be.
// EVIDENCE: fsp0fsp.h FSP_SPACE_FLAGS 16 of the header @38; MariaDB fsp0types.h: bit 4 FCRC32 marker, then the low four
// bits are the size code (5 = 16 KiB);
// fsp0types.h: else ZIP_SSIZE bits 1 to 4 (512 << n, compressed), PAGE_SSIZE bits 6 to 9 (512 << n; 0 = 16 KiB)
#[must_use]
pub fn page_bytes(first_page: &[u8]) -> Option<u32> {
    let flags = u32::from_be_bytes(*first_page.get(54..)?.first_chunk()?);
    let size = |code: u32| match code {
        // 4 KiB to 64 KiB; the code is the power of two beyond 512.
        3..=7 => Some(512u32 << code),
        _ => None,
    };
    if flags & 16 != 0 {
        return size(flags & 15);
    }
    match (flags >> 1 & 15, flags >> 6 & 15) {
        (0, 0) => Some(PAGE_BYTES_DEFAULT),
        (0, code) => size(code),
        (code @ 1..=5, _) => Some(512 << code),
        _ => None,
    }
}

/// The name of a kind of page.
// EVIDENCE: fil0fil.h FIL_PAGE_*
#[must_use]
pub fn kind_name(kind: u16) -> &'static str {
    match kind {
        0 => "allocated, never used",
        2 => "undo log",
        3 => "inodes (INODE)",
        4 => "free list of the insert buffer",
        5 => "insert-buffer map (IBUF_BITMAP)",
        6 => "system page (SYS)",
        7 => "transaction system (TRX_SYS)",
        8 => "header of the tablespace (FSP_HDR)",
        9 => "extent descriptors (XDES)",
        10..=12 => "piece of a long value (BLOB)",
        18 => "root of an index with added columns (INDEX)",
        17853 => "dictionary information of MySQL 8 (SDI)",
        17854 => "spatial index (RTREE)",
        17855 => "index (INDEX)",
        _ => "of an unknown type",
    }
}

/// Asks everything about some bytes as a page, and about page numbers and sizes taken from their start. Nothing may panic,
/// and what the arithmetic says must fit together.
///
/// The body of the fuzz target and of the smoke run on the stable compiler.
pub fn exercise(bytes: &[u8]) {
    let word = |offset: usize| {
        bytes.get(offset..).and_then(|rest| rest.first_chunk()).map_or(0, |word| u32::from_be_bytes(*word))
    };
    let size = page_bytes(bytes);
    assert!(size.is_none_or(|size| size.is_power_of_two()), "a page size that cannot be: {size:?}");
    let header = Header::new(bytes);
    let _ = header.map(|header| kind_name(header.kind));
    let numbers = header.map_or([word(0); 3], |header| [header.page, header.previous, header.next]);
    for page in numbers {
        for page_bytes in [word(4), size.unwrap_or(0), PAGE_BYTES_DEFAULT] {
            let interval = interval_of(page, page_bytes);
            assert!(interval.contains(&u64::from(page)), "page {page} is not in {interval:?}");
            for is_system in [false, true] {
                let fixed = fixed_page(page, page_bytes, is_system);
                let _ = fixed.map(FixedPage::name);
                // Each interval begins with its descriptors and the insert-buffer map.
                let is_first = u64::from(page) == interval.start;
                let maps = [Some(FixedPage::SpaceHeader), Some(FixedPage::ExtentDescriptors)];
                assert!(!is_first || maps.contains(&fixed), "page {page}: {fixed:?}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn maps_repeat_every_page_size_pages() {
        let at = |page| fixed_page(page, 16384, false);
        assert_eq!(at(0), Some(FixedPage::SpaceHeader));
        assert_eq!(at(1), Some(FixedPage::InsertBufferMap));
        assert_eq!(at(2), Some(FixedPage::Inodes));
        assert_eq!((at(3), at(64)), (None, None));
        assert_eq!(
            (at(16384), at(16385)),
            (Some(FixedPage::ExtentDescriptors), Some(FixedPage::InsertBufferMap))
        );
        assert_eq!((at(16386), at(32768)), (None, Some(FixedPage::ExtentDescriptors)));
        assert_eq!(fixed_page(4096, 4096, false), Some(FixedPage::ExtentDescriptors));
        assert_eq!(fixed_page(5, 16384, true), Some(FixedPage::Transactions));
        assert_eq!(fixed_page(100, 16384, true), Some(FixedPage::Doublewrite));
        assert_eq!(interval_of(20_000, 16384), 16384..32768);
        assert_eq!(interval_of(u32::MAX, 0), u64::from(u32::MAX)..1 << 32);
    }

    #[test]
    fn a_header_is_read_and_short_bytes_give_none() {
        let mut page = vec![0u8; 16384];
        page[4..8].copy_from_slice(&7u32.to_be_bytes());
        page[12..16].copy_from_slice(&8u32.to_be_bytes());
        page[24..26].copy_from_slice(&17855u16.to_be_bytes());
        page[54..56].copy_from_slice(&99u16.to_be_bytes());
        let header = Header::new(&page).unwrap();
        assert_eq!((header.page, header.next, kind_name(header.kind)), (7, 8, "index (INDEX)"));
        assert_eq!(header.index, Some(IndexHeader { record_count: 99, level: 0, index_id: 0 }));
        assert_eq!(Header::new(&page[..37]), None);
        assert_eq!(Header::new(&page[..50]).unwrap().index, None);
    }

    #[test]
    fn the_page_size_comes_from_the_flags() {
        let with = |flags: u32| {
            let mut page = vec![0u8; 100];
            page[54..58].copy_from_slice(&flags.to_be_bytes());
            page_bytes(&page)
        };
        assert_eq!((with(0), with(0x15), with(0x13)), (Some(16384), Some(16384), Some(4096)));
        assert_eq!((with(4 << 1), with(3 << 6), with(0x1f)), (Some(8192), Some(4096), None));
        assert_eq!(page_bytes(&[0; 10]), None);
    }
}
