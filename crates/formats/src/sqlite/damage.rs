//! What a view saw that cannot be true.

/// A broken invariant inside one page: which, where, the values that would have been right, and what stands there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damage {
    /// Which invariant.
    pub fault: Fault,
    /// Offset in the page (or in the header, log header, frame) of the bytes that show it.
    pub offset_bytes: u32,
    /// The cell (counted from 0 in the order of the pointer array), entry or column concerned, if there is one.
    pub slot: Option<u32>,
    /// Lowest value that would have been right.
    pub low: u64,
    /// Highest value that would have been right; equal to `low` when there is only one.
    pub high: u64,
    /// The value found.
    pub found: u64,
}

impl Damage {
    /// Makes a damage without a slot. `expected` is the inclusive range of right values.
    #[must_use]
    pub fn new(
        fault: Fault,
        offset_bytes: usize,
        expected: std::ops::RangeInclusive<u64>,
        found: u64,
    ) -> Self {
        let (low, high) = expected.into_inner();
        let offset_bytes = u32::try_from(offset_bytes).unwrap_or(u32::MAX);
        Self { fault, offset_bytes, slot: None, low, high, found }
    }

    /// The same damage with the cell, entry or column that it concerns.
    #[must_use]
    pub fn at_slot(self, slot: usize) -> Self {
        Self { slot: Some(u32::try_from(slot).unwrap_or(u32::MAX)), ..self }
    }

    /// The right values in words: one number or a range.
    #[must_use]
    pub fn expected_text(&self) -> String {
        match self.fault {
            Fault::Magic => "the text \"SQLite format 3\" and a zero byte".to_owned(),
            Fault::PageSize => "a power of two from 512 to 65536 (1 stands for 65536)".to_owned(),
            Fault::PageKind => {
                "2 (index interior), 5 (table interior), 10 (index leaf) or 13 (table leaf)".to_owned()
            }
            Fault::CellOverlap => "bytes that no other cell or free block uses".to_owned(),
            Fault::SerialType => "a type of 0 to 9, or 12 and more".to_owned(),
            Fault::WalChecksum | Fault::WalMagic => format!("{:#010x}", self.low),
            _ if self.low == self.high => self.low.to_string(),
            _ if self.high == u64::MAX => format!("at least {}", self.low),
            _ => format!("{} to {}", self.low, self.high),
        }
    }

    /// The value found, in words.
    #[must_use]
    pub fn found_text(&self) -> String {
        match self.fault {
            Fault::Magic => "bytes other than zero".to_owned(),
            Fault::WalChecksum | Fault::WalMagic => format!("{:#010x}", self.found),
            Fault::CellOverlap => format!("bytes {} to {} used twice", self.offset_bytes, self.found),
            _ => self.found.to_string(),
        }
    }
}

/// The invariants of the format that one page, header or frame can break by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Fault {
    /// The file does not begin with the fixed text.
    Magic,
    /// The page size is not a power of two from 512 to 65536.
    PageSize,
    /// The read or write version is none of 1 and 2.
    FormatVersion,
    /// Less than 480 bytes of a page are usable.
    ReservedBytes,
    /// The payload fractions are not 64, 32 and 32.
    PayloadFraction,
    /// The schema format is not 0 to 4.
    SchemaFormat,
    /// The text encoding is not 0 to 3.
    TextEncoding,
    /// The 20 bytes kept for expansion are not zero.
    HeaderExpansion,
    /// Incremental vacuum is set in a file without a largest root page.
    IncrementalVacuum,
    /// The first byte of a tree page is none of the four kinds.
    PageKind,
    /// More cells than the page has room for.
    CellCount,
    /// The cell content area begins inside the pointer array or behind the page.
    ContentStart,
    /// A free block begins outside the content area, or not behind its predecessor.
    FreeBlockOrder,
    /// A free block is smaller than 4 bytes or ends behind the page.
    FreeBlockSize,
    /// Bytes in no cell and no free block differ from the count in the header.
    FragmentedBytes,
    /// A cell pointer points outside the content area.
    CellPointer,
    /// A cell ends behind the usable part of the page.
    CellEnd,
    /// Two cells or free blocks share bytes.
    CellOverlap,
    /// A payload is longer than a row can be.
    PayloadLength,
    /// A child or overflow pointer names page 0, page 1 or a page behind the end.
    PagePointer,
    /// Rowids in one page do not rise.
    RowidOrder,
    /// The header of a record does not end inside it.
    RecordHeader,
    /// A serial type that no value can have.
    SerialType,
    /// The fields of a record do not fill it exactly.
    RecordLength,
    /// A trunk page of the freelist counts more leaves than it has room for.
    TrunkLeafCount,
    /// A pointer map entry has a kind other than 1 to 5.
    PointerMapKind,
    /// The log does not begin with one of the two fixed numbers.
    WalMagic,
    /// The version of the log is not 3007000.
    WalVersion,
    /// The page size in the log differs from the one in the database.
    WalPageSize,
    /// The checksum of the log's header does not fit its bytes.
    WalChecksum,
}
