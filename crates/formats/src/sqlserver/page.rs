//! A page: where it is, its header, its slots.

use std::fmt;

use super::bytes::{u8_at, u16_at, u32_at};
use super::{Damage, Fault};

/// Length of a page, bytes, in all versions.
// EVIDENCE: Microsoft Learn, "Page and extent architecture guide": pages of 8 KB
pub const PAGE_BYTES: usize = 8192;
/// Length of the header, bytes; records follow.
// EVIDENCE: Microsoft Learn, "Page and extent architecture guide": a 96-byte header
pub const HEADER_BYTES: usize = 96;
/// Pages of an extent.
// EVIDENCE: Microsoft Learn, "Page and extent architecture guide": eight contiguous pages
pub const EXTENT_PAGES: u32 = 8;
/// Flag: sectors carry a signature, the bits it displaced stand in the header.
// OBSERVED: northwnd-2000-torn.mdf, flag 0x100 on all protected pages
pub const FLAG_TORN: u16 = 0x100;
/// Flag: the header holds a checksum.
// OBSERVED: northwnd-2008-checksum.mdf, flag 0x200 on all protected pages
pub const FLAG_CHECKSUM: u16 = 0x200;
/// Bit of the type flags that compressed pages are reported with.
// EVIDENCE: sqlskills.com, "Inside the Storage Engine: Anatomy of a page", m_typeFlagBits of compressed pages
const TYPE_FLAG_COMPRESSED: u8 = 0x80;

/// A page of a database: file and place in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct PageId {
    /// Number of the file, from 1; 0 in "no page".
    pub file: u16,
    /// Number of the page in the file, from 0.
    pub page: u32,
}

impl PageId {
    /// Reads a page number of four bytes and a file number of two.
    #[must_use]
    pub fn at(bytes: &[u8], offset: usize) -> Option<Self> {
        Some(Self { page: u32_at(bytes, offset)?, file: u16_at(bytes, offset.checked_add(4)?)? })
    }

    /// Whether it names no page.
    #[must_use]
    pub fn is_none(self) -> bool {
        self.file == 0
    }
}

impl fmt::Display for PageId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.file, self.page)
    }
}

/// A record: page and slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct RecordId {
    /// The page.
    pub page: PageId,
    /// The slot in the page, from 0.
    pub slot: u16,
}

impl RecordId {
    /// Reads page, file and slot number, eight bytes.
    #[must_use]
    pub fn at(bytes: &[u8], offset: usize) -> Option<Self> {
        Some(Self { page: PageId::at(bytes, offset)?, slot: u16_at(bytes, offset.checked_add(6)?)? })
    }
}

impl fmt::Display for RecordId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.page, self.slot)
    }
}

/// A position in the log. Compares as the log runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Lsn {
    /// Virtual log file.
    pub file: u32,
    /// Block in it.
    pub block: u32,
    /// Record in the block.
    pub slot: u16,
}

impl Lsn {
    /// Reads ten bytes.
    #[must_use]
    pub fn at(bytes: &[u8], offset: usize) -> Option<Self> {
        Some(Self {
            file: u32_at(bytes, offset)?,
            block: u32_at(bytes, offset.checked_add(4)?)?,
            slot: u16_at(bytes, offset.checked_add(8)?)?,
        })
    }
}

/// What a page is for.
// EVIDENCE: sqlskills.com, "Inside the Storage Engine: Anatomy of a page", list of m_type
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PageKind {
    /// Never written, or written as nothing.
    Blank,
    /// Rows of a heap, or of the leaves of a clustered index.
    Data,
    /// Entries of an index.
    Index,
    /// Pieces of large values, small ones together.
    TextMix,
    /// Inner nodes and pieces of large values.
    TextTree,
    /// Intermediate results of a sort.
    Sort,
    /// Which extents are free.
    Gam,
    /// Which mixed extents have free pages.
    Sgam,
    /// Which extents and single pages an allocation unit owns.
    Iam,
    /// One byte for each page: allocated, how full.
    Pfs,
    /// The description of the database.
    Boot,
    /// The description of the file.
    FileHeader,
    /// Which extents changed since the last full backup.
    DifferentialMap,
    /// Which extents were changed by operations that log little.
    BulkMap,
    /// Other kinds that exist and are not looked into: 14, 18, 19, 20.
    Other,
    /// None that exists.
    Unknown(u8),
}

impl PageKind {
    /// The kind of a code.
    #[must_use]
    pub fn of(code: u8) -> Self {
        match code {
            0 => Self::Blank,
            1 => Self::Data,
            2 => Self::Index,
            3 => Self::TextMix,
            4 => Self::TextTree,
            7 => Self::Sort,
            8 => Self::Gam,
            9 => Self::Sgam,
            10 => Self::Iam,
            11 => Self::Pfs,
            13 => Self::Boot,
            15 => Self::FileHeader,
            16 => Self::DifferentialMap,
            17 => Self::BulkMap,
            14 | 18 | 19 | 20 => Self::Other,
            code => Self::Unknown(code),
        }
    }

    /// The name in texts.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Blank => "blank",
            Self::Data => "data",
            Self::Index => "index",
            Self::TextMix => "text mix",
            Self::TextTree => "text tree",
            Self::Sort => "sort",
            Self::Gam => "GAM",
            Self::Sgam => "SGAM",
            Self::Iam => "IAM",
            Self::Pfs => "PFS",
            Self::Boot => "boot",
            Self::FileHeader => "file header",
            Self::DifferentialMap => "differential map",
            Self::BulkMap => "minimally logged map",
            Self::Other => "other",
            Self::Unknown(_) => "unknown",
        }
    }
}

/// The fields of a page header, as they stand.
// EVIDENCE: sqlskills.com, "Inside the Storage Engine: Anatomy of a page"
// OBSERVED: offsets in northwnd-2008-checksum.mdf, versions 539 to 706 alike
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Version of the header; 1.
    pub version: u8,
    /// What the page is for.
    pub kind: PageKind,
    /// Flags of the kind.
    pub type_flags: u8,
    /// Level in a B-tree; 0 for leaves.
    pub level: u8,
    /// Flags.
    pub flags: u16,
    /// High part of the allocation unit's number.
    pub index_id: u16,
    /// Neighbour with smaller keys, or the previous page of a chain.
    pub previous: PageId,
    /// Length of the fixed part of records, bytes, their status included.
    pub fixed_bytes: u16,
    /// Neighbour with greater keys, or the next page of a chain.
    pub next: PageId,
    /// Slots at the end of the page.
    pub slot_count: u16,
    /// Low part of the allocation unit's number.
    pub object_id: u32,
    /// Bytes in no record and no slot.
    pub free_count: u16,
    /// End of the last record.
    pub free_data: u16,
    /// The page itself.
    pub page: PageId,
    /// Free bytes that transactions under way keep.
    pub reserved_count: u16,
    /// Position in the log of the last change.
    pub lsn: Lsn,
    /// Records that are deleted and not yet removed.
    pub ghost_count: u16,
    /// Checksum, or the bits that the signatures displaced.
    pub protection: u32,
}

impl Header {
    /// Reads a header. Fields behind the end of short bytes are 0.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        let byte = |offset| u8_at(bytes, offset).unwrap_or(0);
        let word = |offset| u16_at(bytes, offset).unwrap_or(0);
        let page = |offset| PageId::at(bytes, offset).unwrap_or_default();
        Self {
            version: byte(0),
            kind: PageKind::of(byte(1)),
            type_flags: byte(2),
            level: byte(3),
            flags: word(4),
            index_id: word(6),
            previous: page(8),
            fixed_bytes: word(14),
            next: page(16),
            slot_count: word(22),
            object_id: u32_at(bytes, 24).unwrap_or(0),
            free_count: word(28),
            free_data: word(30),
            page: page(32),
            reserved_count: word(38),
            lsn: Lsn::at(bytes, 40).unwrap_or_default(),
            ghost_count: word(58),
            protection: u32_at(bytes, 60).unwrap_or(0),
        }
    }

    /// The allocation unit that the page says it belongs to.
    // EVIDENCE: sqlskills.com, "How are allocation unit IDs calculated?": index id << 48 | object id << 16
    #[must_use]
    pub fn allocation_unit(&self) -> u64 {
        u64::from(self.index_id) << 48 | u64::from(self.object_id) << 16
    }

    /// Whether its records are compressed.
    #[must_use]
    pub fn is_compressed(&self) -> bool {
        self.type_flags & TYPE_FLAG_COMPRESSED != 0
    }

    /// What the header alone breaks: version, kind, slots and ends that do not fit a page.
    pub fn audit(&self, mut report: impl FnMut(Damage)) {
        if self.version != 1 {
            report(Damage::new(Fault::HeaderVersion, 0, 1..=1, self.version.into()));
        }
        if let PageKind::Unknown(code) = self.kind {
            report(Damage::new(Fault::PageKind, 1, 1..=20, code.into()));
        }
        let has_records =
            matches!(self.kind, PageKind::Data | PageKind::Index | PageKind::TextMix | PageKind::TextTree);
        if !has_records {
            return;
        }
        let slots_max = (PAGE_BYTES - HEADER_BYTES) / 2;
        if usize::from(self.slot_count) > slots_max {
            report(Damage::new(Fault::SlotCount, 22, 0..=slots_max as u64, self.slot_count.into()));
            return;
        }
        let end_max = PAGE_BYTES - 2 * usize::from(self.slot_count);
        let end = usize::from(self.free_data);
        if !(HEADER_BYTES..=end_max).contains(&end) {
            report(Damage::new(Fault::FreeData, 30, HEADER_BYTES as u64..=end_max as u64, end as u64));
        }
        if usize::from(self.free_count) > PAGE_BYTES - HEADER_BYTES {
            let most = (PAGE_BYTES - HEADER_BYTES) as u64;
            report(Damage::new(Fault::FreeCount, 28, 0..=most, self.free_count.into()));
        }
    }
}

/// The offset that a slot holds; `None` when there is no such slot. 0 stands for an empty slot.
// EVIDENCE: Microsoft Learn, "Page and extent architecture guide": the slot array grows from the end of the page
#[inline]
#[must_use]
pub fn slot_offset(bytes: &[u8], slot: usize) -> Option<u16> {
    let from_end = slot.checked_add(1)?.checked_mul(2)?;
    u16_at(bytes, PAGE_BYTES.checked_sub(from_end)?)
}

/// A page number in the file of which a page of one of the maps is due.
// EVIDENCE: sqlskills.com, "Inside the Storage Engine: GAM, SGAM, PFS and other allocation maps"
pub mod place {
    /// Pages that one PFS page describes.
    pub const PFS_PAGES: u32 = 8088;
    /// Pages that one page of the extent maps describes: 63,904 extents.
    pub const MAP_PAGES: u32 = 511_232;

    /// What stands at fixed places of each file.
    #[must_use]
    pub fn fixed_kind(page: u32, is_first_file: bool) -> Option<super::PageKind> {
        use super::PageKind as Kind;
        if page != 0 && page.is_multiple_of(PFS_PAGES) {
            return Some(Kind::Pfs);
        }
        // The maps follow the start of their interval; the first interval has them behind header and PFS.
        match (page, page % MAP_PAGES) {
            (0, _) => Some(Kind::FileHeader),
            (1, _) => Some(Kind::Pfs),
            (2, _) | (MAP_PAGES.., 0) => Some(Kind::Gam),
            (3, _) | (MAP_PAGES.., 1) => Some(Kind::Sgam),
            (_, 6) => Some(Kind::DifferentialMap),
            (_, 7) => Some(Kind::BulkMap),
            (9, _) if is_first_file => Some(Kind::Boot),
            _ => None,
        }
    }

    /// The PFS page that describes a page.
    #[must_use]
    pub fn pfs_of(page: u32) -> u32 {
        (page / PFS_PAGES * PFS_PAGES).max(1)
    }

    /// The page of an extent map that describes a page; `first` is its place in the first interval: 2 GAM, 3 SGAM,
    /// 6 differential, 7 minimally logged.
    #[must_use]
    pub fn map_of(page: u32, first: u32) -> u32 {
        let start = page / MAP_PAGES * MAP_PAGES;
        match (start, first) {
            (0, first) => first,
            (start, 2) => start,
            (start, 3) => start + 1,
            (start, first) => start + first,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_are_due_at_the_published_places() {
        assert_eq!(place::fixed_kind(0, true), Some(PageKind::FileHeader));
        assert_eq!(place::fixed_kind(9, false), None);
        assert_eq!(place::fixed_kind(1_520_544, true), Some(PageKind::Pfs));
        assert_eq!(place::fixed_kind(511_232, true), Some(PageKind::Gam));
        assert_eq!(place::fixed_kind(511_233, true), Some(PageKind::Sgam));
        assert_eq!(place::fixed_kind(511_238, true), Some(PageKind::DifferentialMap));
        assert_eq!((place::pfs_of(8087), place::pfs_of(8088), place::pfs_of(20_000)), (1, 8088, 16_176));
        assert_eq!((place::map_of(5, 3), place::map_of(600_000, 2)), (3, 511_232));
    }

    #[test]
    fn short_bytes_give_a_header_and_no_slot() {
        assert_eq!(Header::new(&[1, 2]).kind, PageKind::Index);
        assert_eq!(slot_offset(&[0; 100], 0), None);
        assert_eq!(slot_offset(&[0; PAGE_BYTES], usize::MAX), None);
    }
}
