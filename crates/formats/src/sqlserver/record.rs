//! Records of data, index and text pages, and the audit of a page's inside.

use super::bytes::{u8_at, u16_at};
use super::page::{Header, PAGE_BYTES, PageId, PageKind, RecordId};
use super::{Damage, Fault};

/// Length of a forwarding stub, bytes.
// EVIDENCE: improve.dk, "Anatomy of a forwarded record: the forwarding stub": status and a pointer of eight bytes
const STUB_BYTES: usize = 9;
/// Length of the mark that row versioning adds behind a record, bytes.
// OBSERVED: pubs-2012-checksum.bak page 362, status 0x70, 14 bytes more than the columns take
const VERSION_MARK_BYTES: usize = 14;

/// What a record is.
// EVIDENCE: sqlskills.com, "Inside the Storage Engine: Anatomy of a record": bits 1 to 3 of the first byte
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RecordKind {
    /// A row in its place.
    Primary,
    /// A row that moved; a stub points to it.
    Forwarded,
    /// What a row that moved left behind.
    Stub,
    /// An entry of an index.
    Index,
    /// A piece of a large value.
    Blob,
    /// A deleted entry.
    GhostIndex,
    /// A deleted row.
    GhostData,
    /// A deleted version.
    GhostVersion,
}

impl RecordKind {
    /// The kind that the first byte of a record tells.
    #[must_use]
    pub fn of(status: u8) -> Self {
        match status >> 1 & 7 {
            0 => Self::Primary,
            1 => Self::Forwarded,
            2 => Self::Stub,
            3 => Self::Index,
            4 => Self::Blob,
            5 => Self::GhostIndex,
            6 => Self::GhostData,
            _ => Self::GhostVersion,
        }
    }

    /// Whether it is deleted and waits to be removed.
    #[must_use]
    pub fn is_ghost(self) -> bool {
        matches!(self, Self::GhostIndex | Self::GhostData | Self::GhostVersion)
    }

    pub(super) fn suits(self, page: PageKind) -> bool {
        match page {
            PageKind::Data => !matches!(self, Self::Index | Self::GhostIndex),
            PageKind::Index => matches!(self, Self::Index | Self::GhostIndex),
            _ => self == Self::Blob,
        }
    }
}

/// A column of variable length, as it stands in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variable<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// Whether they are a pointer or another structure instead of the value.
    // EVIDENCE: improve.dk, "Identifying complex columns in records": the high bit of the offset
    pub is_complex: bool,
}

/// A record whose parts all lie inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// The record, from its status to its end.
    pub bytes: &'a [u8],
    /// What it is.
    pub kind: RecordKind,
    /// Columns that it was written with; 0 without a null bitmap.
    pub column_count: u16,
    bitmap_at: usize,
    variables_at: usize,
    variable_count: u16,
    has_complex: bool,
}

/// Why a record cannot be taken apart: plain numbers, so that the way without damage carries no `Damage` about.
pub(super) struct Broken {
    fault: Fault,
    /// Where, from the start of the record.
    at: usize,
    least: usize,
    most: usize,
    found: usize,
}

impl Broken {
    /// Bytes of the record that were read until the damage.
    pub(super) fn read_bytes(&self) -> usize {
        self.at
    }

    #[cold]
    pub(super) fn damage(self, slot: usize, offset: usize) -> Damage {
        let expected = self.least as u64..=self.most.max(self.least) as u64;
        Damage::new(self.fault, offset + self.at, expected, self.found as u64).at_slot(slot)
    }
}

impl<'a> Record<'a> {
    /// Takes the record in a slot apart.
    ///
    /// # Errors
    /// When it cannot be taken apart, the damage that prevents it.
    pub fn new(page: &'a [u8], header: &Header, slot: usize, offset: usize) -> Result<Self, Damage> {
        Self::take(page, header, offset).map_err(|broken| broken.damage(slot, offset))
    }

    /// Takes a record apart. What the audit of a page spends its time with: see `Broken` for why it has its own error.
    #[inline(always)]
    pub(super) fn take(page: &'a [u8], header: &Header, offset: usize) -> Result<Self, Broken> {
        let bytes = page.get(offset..page.len().min(PAGE_BYTES)).unwrap_or_default();
        let outside =
            |fault, at: usize| Err(Broken { fault, at, least: 0, most: PAGE_BYTES, found: offset + at });
        let Some(&status) = bytes.first() else { return outside(Fault::SlotOffset, 0) };
        let mut record = Self {
            bytes: &[],
            kind: RecordKind::of(status),
            column_count: 0,
            bitmap_at: 0,
            variables_at: 0,
            variable_count: 0,
            has_complex: false,
        };
        let mark = if status & 0x40 != 0 { VERSION_MARK_BYTES } else { 0 };
        let mut at;
        if record.kind == RecordKind::Stub {
            at = STUB_BYTES;
        } else if matches!(header.kind, PageKind::TextMix | PageKind::TextTree) {
            // EVIDENCE: improve.dk, "Reading LOB pages": status, then the length of the record
            let Some(length) = u16_at(bytes, 2) else { return outside(Fault::RecordEnd, 2) };
            at = usize::from(length) + mark;
        } else {
            let least;
            (at, least) = if header.kind == PageKind::Index {
                (usize::from(header.fixed_bytes), 1)
            } else {
                let Some(length) = u16_at(bytes, 2) else { return outside(Fault::FixedLength, 2) };
                (usize::from(length), 4)
            };
            if at < least || at > bytes.len() {
                return Err(Broken { fault: Fault::FixedLength, at: 0, least, most: bytes.len(), found: at });
            }
            if status & 0x10 != 0 {
                let Some(count) = u16_at(bytes, at) else { return outside(Fault::ColumnCount, at) };
                record.column_count = count;
                record.bitmap_at = at + 2;
                at += 2 + usize::from(count).div_ceil(8);
            }
            if status & 0x20 != 0 {
                let Some(count) = u16_at(bytes, at) else { return outside(Fault::VariableOffset, at) };
                record.variable_count = count;
                record.variables_at = at + 2;
                at = record.end_of_variables(bytes)?;
            }
            at += mark;
        }
        match bytes.get(..at) {
            Some(bytes) => Ok(Self { bytes, ..record }),
            None => outside(Fault::RecordEnd, at),
        }
    }

    /// Follows the ends of the columns of variable length, which rise; the last one.
    #[inline(always)]
    fn end_of_variables(&mut self, bytes: &[u8]) -> Result<usize, Broken> {
        let mut least = self.variables_at + 2 * usize::from(self.variable_count);
        let most = bytes.len();
        let refuse = |at, least, found| Err(Broken { fault: Fault::VariableOffset, at, least, most, found });
        let Some(ends) = bytes.get(self.variables_at..least) else {
            return refuse(self.variables_at, 0, least);
        };
        for (index, end) in ends.as_chunks::<2>().0.iter().enumerate() {
            let raw = u16::from_le_bytes(*end);
            self.has_complex |= raw & 0x8000 != 0;
            let end = usize::from(raw & 0x7fff);
            if end < least || end > most {
                return refuse(self.variables_at + 2 * index, least, end);
            }
            least = end;
        }
        Ok(least)
    }

    /// Whether row versioning added a mark behind it.
    #[must_use]
    pub fn has_version_mark(&self) -> bool {
        self.bytes.first().is_some_and(|status| status & 0x40 != 0)
    }

    /// Whether it is more than a row or entry with its values: it moved, or has a pointer or another structure.
    #[inline]
    #[must_use]
    pub fn is_special(&self) -> bool {
        self.has_complex || matches!(self.kind, RecordKind::Stub | RecordKind::Forwarded | RecordKind::Blob)
    }

    /// Whether the null bitmap says that a column has no value. Bits count from 1; 0 means that there is no bit.
    #[must_use]
    pub fn is_null(&self, null_bit: u16) -> bool {
        let Some(bit) = null_bit.checked_sub(1) else { return false };
        if self.bitmap_at == 0 || bit >= self.column_count {
            return false;
        }
        u8_at(self.bytes, self.bitmap_at + usize::from(bit / 8))
            .is_some_and(|byte| byte >> (bit % 8) & 1 == 1)
    }

    /// Whether the record was written with a column's null bit; later columns have no value in it.
    #[must_use]
    pub fn has_bit(&self, null_bit: u16) -> bool {
        null_bit == 0 || self.bitmap_at == 0 || null_bit <= self.column_count
    }

    /// A column of variable length, counted from 0; `None` when the record ends before it.
    #[must_use]
    pub fn variable(&self, index: usize) -> Option<Variable<'a>> {
        if index >= usize::from(self.variable_count) {
            return None;
        }
        let raw = u16_at(self.bytes, self.variables_at + 2 * index)?;
        let start = match index.checked_sub(1) {
            None => self.variables_at + 2 * usize::from(self.variable_count),
            Some(before) => usize::from(u16_at(self.bytes, self.variables_at + 2 * before)? & 0x7fff),
        };
        let bytes = self.bytes.get(start..usize::from(raw & 0x7fff))?;
        Some(Variable { bytes, is_complex: raw & 0x8000 != 0 })
    }

    /// Columns of variable length that the record has.
    #[must_use]
    pub fn variable_count(&self) -> usize {
        self.variable_count.into()
    }

    /// Whether a column of variable length holds a pointer or another structure instead of its value.
    #[must_use]
    pub fn has_complex(&self) -> bool {
        self.has_complex
    }

    /// Bytes of a column of fixed length.
    #[must_use]
    pub fn fixed(&self, offset: usize, length: usize) -> Option<&'a [u8]> {
        self.bytes.get(offset..offset.checked_add(length)?)
    }

    /// The page below an entry of an inner index page.
    // OBSERVED: the last six bytes of the fixed part, all 525 entries of nine files
    #[must_use]
    pub fn child(&self, header: &Header) -> Option<PageId> {
        PageId::at(self.bytes, usize::from(header.fixed_bytes).checked_sub(6)?)
    }

    /// Where the row of a forwarding stub went.
    // EVIDENCE: improve.dk, "Anatomy of a forwarded record: the forwarding stub"
    #[must_use]
    pub fn forward(&self) -> Option<RecordId> {
        if self.kind == RecordKind::Stub { RecordId::at(self.bytes, 1) } else { None }
    }

    /// The stub that a forwarded row was left by: the last column of variable length.
    // EVIDENCE: improve.dk, "Identifying complex columns in records": complex column 1024, then page, file, slot
    #[must_use]
    pub fn back_pointer(&self) -> Option<RecordId> {
        let last = self.variable(self.variable_count().checked_sub(1)?)?;
        if last.is_complex && u16_at(last.bytes, 0) == Some(1024) {
            RecordId::at(last.bytes, 2)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::audit_records;
    use super::*;

    /// A data page with one record of two fixed bytes and one variable column.
    fn page() -> Vec<u8> {
        let mut page = vec![0; PAGE_BYTES];
        page[..2].copy_from_slice(&[1, 1]);
        let record = [0x30, 0, 6, 0, 7, 8, 2, 0, 0, 1, 0, 15, 0, b'a', b'b'];
        page[96..96 + record.len()].copy_from_slice(&record);
        page[22] = 1;
        page[30..32].copy_from_slice(&111u16.to_le_bytes());
        page[28..30].copy_from_slice(&(8192u16 - 96 - 2 - 15).to_le_bytes());
        page[8190] = 96;
        page
    }

    fn damages(page: &[u8]) -> Vec<Fault> {
        let mut faults = Vec::new();
        audit_records(page, &Header::new(page), |_, _| {}, |damage| faults.push(damage.fault));
        faults
    }

    #[test]
    fn a_record_is_taken_apart() {
        let page = page();
        let header = Header::new(&page);
        let record = Record::new(&page, &header, 0, 96).unwrap();
        assert_eq!(record.fixed(4, 2), Some(&[7, 8][..]));
        assert_eq!(record.variable(0).map(|variable| variable.bytes), Some(&b"ab"[..]));
        assert_eq!((record.variable(1), record.is_null(1), record.column_count), (None, false, 2));
        assert_eq!(damages(&page), []);
    }

    #[test]
    fn each_part_that_does_not_fit_is_reported() {
        let change = |offset: usize, value: u8| {
            let mut page = page();
            page[offset] = value;
            damages(&page)
        };
        assert_eq!(change(8190, 200), [Fault::SlotOffset]);
        assert_eq!(change(96 + 2, 2), [Fault::FixedLength]);
        assert_eq!(change(96 + 12, 0x7f), [Fault::VariableOffset]);
        assert_eq!(change(96 + 11, 12), [Fault::VariableOffset]);
        assert_eq!(change(96 + 11, 40), [Fault::RecordEnd]);
        assert_eq!(change(96, 6), [Fault::RecordKind]);
        assert_eq!(change(28, 1), [Fault::FreeCount]);
        assert_eq!(change(58, 1), [Fault::GhostCount]);
    }

    #[test]
    fn two_slots_of_one_record_overlap() {
        let mut page = page();
        page[22] = 2;
        page[8188] = 96;
        assert_eq!(damages(&page), [Fault::RecordOverlap]);
    }
}
