//! What a view saw that cannot be true.

use std::ops::RangeInclusive;

/// A broken invariant inside one page: which, where, the values that would have been right, and what stands there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damage {
    /// Which invariant.
    pub fault: Fault,
    /// Offset in the page of the bytes that show it.
    pub offset_bytes: u32,
    /// The slot concerned, counted from 0, if there is one.
    pub slot: Option<u16>,
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
    pub fn new(fault: Fault, offset_bytes: usize, expected: RangeInclusive<u64>, found: u64) -> Self {
        let (low, high) = expected.into_inner();
        let offset_bytes = u32::try_from(offset_bytes).unwrap_or(u32::MAX);
        Self { fault, offset_bytes, slot: None, low, high, found }
    }

    /// The same damage with the slot that it concerns.
    #[must_use]
    pub fn at_slot(self, slot: usize) -> Self {
        Self { slot: Some(u16::try_from(slot).unwrap_or(u16::MAX)), ..self }
    }

    /// What should stand there, in words.
    #[must_use]
    pub fn expected_text(&self) -> String {
        let range = match (self.low, self.high) {
            (low, high) if low == high => low.to_string(),
            (low, u64::MAX) => format!("at least {low}"),
            (low, high) => format!("{low} to {high}"),
        };
        match self.fault {
            Fault::Checksum => format!("checksum {:#010x}", self.low),
            Fault::RecordOverlap => "bytes that no other record uses".to_owned(),
            Fault::RecordKind => "a record of a kind that such a page holds".to_owned(),
            _ => format!("{} {range}", self.fault.what()),
        }
    }

    /// What stands there, in words.
    #[must_use]
    pub fn found_text(&self) -> String {
        match self.fault {
            Fault::Checksum => format!("{:#010x}", self.found),
            Fault::RecordOverlap => {
                format!("bytes {} to {} are used twice", self.offset_bytes, self.found.saturating_sub(1))
            }
            Fault::RecordKind => format!("kind {}", self.found),
            _ => self.found.to_string(),
        }
    }
}

/// The invariants of the format that one page can break by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Fault {
    /// The checksum in the header is not that of the page's bytes.
    Checksum,
    /// A sector does not carry the signature of the write.
    TornSector,
    /// The header is of another version than 1.
    HeaderVersion,
    /// The kind of page is none that exists.
    PageKind,
    /// More slots than the page has room for.
    SlotCount,
    /// The end of the records lies outside the page, or inside the slot array.
    FreeData,
    /// The header's count of free bytes is not what the records leave.
    FreeCount,
    /// The header's count of ghosts is not that of the ghost records.
    GhostCount,
    /// A slot points outside the space of the records.
    SlotOffset,
    /// A record is of a kind that its page cannot hold.
    RecordKind,
    /// The fixed part of a record does not fit.
    FixedLength,
    /// The column count of a record does not fit.
    ColumnCount,
    /// The offsets of variable columns do not rise, or lead out of the page.
    VariableOffset,
    /// A record ends behind the space of the records.
    RecordEnd,
    /// Two records share bytes.
    RecordOverlap,
    /// A record of a large value has impossible lengths or links.
    LobRecord,
    /// A page of the allocation maps has not its two records.
    MapRecord,
}

impl Fault {
    /// What the invariant is about, in words.
    #[must_use]
    pub fn what(self) -> &'static str {
        match self {
            Self::Checksum => "checksum",
            Self::TornSector => "signature of the sector",
            Self::HeaderVersion => "header version",
            Self::PageKind => "page kind",
            Self::SlotCount => "slot count",
            Self::FreeData => "end of the records",
            Self::FreeCount => "free bytes",
            Self::GhostCount => "ghost records",
            Self::SlotOffset => "offset in the slot",
            Self::RecordKind => "record kind",
            Self::FixedLength => "end of the fixed part",
            Self::ColumnCount => "column count",
            Self::VariableOffset => "end of a variable column",
            Self::RecordEnd => "end of the record",
            Self::RecordOverlap => "bytes used",
            Self::LobRecord => "length or links of a large value",
            Self::MapRecord => "record of the map",
        }
    }
}
