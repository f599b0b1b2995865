//! Rows of the base tables that describe all others.
//!
//! The tables of allocation units, rowsets and columns of rowsets have fixed places and are read by offset; all other
//! tables are read through the columns that the third of them describes.

use super::bytes::{u8_at, u16_at, u32_at, u64_at};
use super::page::PageId;
use super::record::Record;
use super::types::TypeInfo;

/// Object numbers of base tables.
// EVIDENCE: Microsoft Learn, "System base tables"; OBSERVED: object numbers in versions 655 to 706
pub mod object {
    /// sysrscols: columns of rowsets.
    pub const COLUMNS_OF_ROWSETS: u32 = 3;
    /// sysrowsets: heaps and B-trees.
    pub const ROWSETS: u32 = 5;
    /// sysallocunits: allocation units.
    pub const ALLOCATION_UNITS: u32 = 7;
    /// sysprufiles: files of the database; number in column 2, path in column 11.
    // OBSERVED: versions 655, 661 and 706 alike
    pub const FILES: u32 = 24;
    /// sysschobjs: objects.
    pub const OBJECTS: u32 = 34;
    /// syscolpars: columns of tables.
    pub const COLUMNS: u32 = 41;
    /// sysidxstats: indexes and statistics.
    pub const INDEXES: u32 = 54;
    /// sysiscols: columns of indexes.
    pub const INDEX_COLUMNS: u32 = 55;
    /// sysclsobjs: schemas and others.
    pub const CLASSES: u32 = 64;
}

/// A row of sysallocunits.
// OBSERVED: offsets in versions 655 to 706
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AllocationUnit {
    /// Its number.
    pub id: u64,
    /// 1 rows, 2 large values, 3 rows that overflow.
    pub kind: u8,
    /// The rowset that it belongs to.
    pub owner: u64,
    /// First page, as the table has it; may be another than the first leaf in upgraded files.
    pub first: PageId,
    /// Root of the B-tree.
    pub root: PageId,
    /// First IAM page.
    pub first_iam: PageId,
    /// Pages in use, as counted by the server; may be stale.
    pub used_page_count: u64,
}

impl AllocationUnit {
    /// Reads a row.
    #[must_use]
    pub fn new(record: &Record<'_>) -> Option<Self> {
        let bytes = record.bytes;
        Some(Self {
            id: u64_at(bytes, 4)?,
            kind: u8_at(bytes, 12)?,
            owner: u64_at(bytes, 13)?,
            first: PageId::at(bytes, 27)?,
            root: PageId::at(bytes, 33)?,
            first_iam: PageId::at(bytes, 39)?,
            used_page_count: u64_at(bytes, 45)?,
        })
    }
}

/// A row of sysrowsets.
// OBSERVED: offsets in versions 655 to 706
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rowset {
    /// Its number.
    pub id: u64,
    /// The object: a table, a view with an index, or an internal table.
    pub object_id: u32,
    /// 0 heap, 1 clustered index, more nonclustered indexes.
    pub index_id: u32,
    /// Number of the partition, from 1.
    pub partition: u32,
    /// Rows, as counted by the server; may be stale.
    pub row_count: u64,
    /// 0 none, 1 rows, 2 pages.
    pub compression: u8,
}

impl Rowset {
    /// Reads a row.
    #[must_use]
    pub fn new(record: &Record<'_>) -> Option<Self> {
        let bytes = record.bytes;
        Some(Self {
            id: u64_at(bytes, 4)?,
            object_id: u32_at(bytes, 13)?,
            index_id: u32_at(bytes, 17)?,
            partition: u32_at(bytes, 21)?,
            row_count: u64_at(bytes, 31)?,
            compression: u8_at(bytes, 39)?,
        })
    }
}

/// Where a column stands in one kind of record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Offset of a column of fixed length; minus one minus the position of a variable one; 0 when it is not there.
    pub offset: i16,
    /// Bit in the null bitmap, from 1; 0 when it has none.
    pub null_bit: u16,
    /// Bit in the byte, of a column of type bit.
    pub bit: u8,
}

/// A row of sysrscols: a column of a rowset.
// EVIDENCE: improve.dk, "Exploring the sys.system_internals_partition_columns.ti field", the view's text
// OBSERVED: offsets in versions 655 to 706
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowsetColumn {
    /// The rowset.
    pub rowset: u64,
    /// Number of the column in the table or in the index; 0 for the number that makes equal keys differ.
    pub column_id: u32,
    /// Its type.
    pub type_info: TypeInfo,
    /// Position in the key, from 1; 0 outside of it.
    pub key_ordinal: u16,
    /// Bits: 2 dropped, 8 descending, 16 makes equal keys differ, 128 not null.
    pub status: u32,
    /// Its place in rows and in entries of leaves.
    pub leaf: Place,
    /// Its place in entries of inner pages.
    pub inner: Place,
}

impl RowsetColumn {
    /// Reads a row.
    #[must_use]
    pub fn new(record: &Record<'_>) -> Option<Self> {
        let bytes = record.bytes;
        let bits = u16_at(bytes, 52)?;
        let place = |shift: usize, bit: u8| {
            Some(Place {
                offset: u16_at(bytes, 44 + shift)? as i16,
                null_bit: u16_at(bytes, 48 + shift)?,
                bit,
            })
        };
        Some(Self {
            rowset: u64_at(bytes, 4)?,
            column_id: u32_at(bytes, 12)?,
            type_info: TypeInfo(u32_at(bytes, 28)?),
            key_ordinal: u16_at(bytes, 36)?,
            status: u32_at(bytes, 40)?,
            leaf: place(0, bits as u8)?,
            inner: place(2, (bits >> 8) as u8)?,
        })
    }

    /// Whether the table has no such column any more.
    #[must_use]
    pub fn is_dropped(&self) -> bool {
        self.status & 2 != 0
    }

    /// Whether the key falls.
    #[must_use]
    pub fn is_descending(&self) -> bool {
        self.status & 8 != 0
    }

    /// Whether it is the number that makes equal keys differ.
    #[must_use]
    pub fn is_uniqueifier(&self) -> bool {
        self.status & 16 != 0
    }

    /// Whether it must have a value.
    #[must_use]
    pub fn is_not_null(&self) -> bool {
        self.status & 128 != 0
    }

    /// The value in a record.
    #[must_use]
    pub fn value<'a>(&self, record: &Record<'a>, place: Place) -> Value<'a> {
        if !record.has_bit(place.null_bit) {
            return Value::Absent;
        }
        if record.is_null(place.null_bit) {
            return Value::Null;
        }
        if place.offset < 0 {
            let index = usize::from((-(place.offset + 1)) as u16);
            return match record.variable(index) {
                // A record ends before variable columns that are empty or null.
                None if place.null_bit == 0 && self.is_uniqueifier() => Value::Null,
                None => Value::Bytes(&[]),
                Some(variable) if variable.is_complex => Value::Elsewhere(variable.bytes),
                Some(variable) => Value::Bytes(variable.bytes),
            };
        }
        let Some(length) = self.type_info.fixed_bytes().filter(|_| place.offset > 0) else {
            return Value::Absent;
        };
        match record.fixed(usize::from(place.offset as u16), length) {
            Some([byte]) if self.type_info.is_bit() => {
                Value::Bytes(if byte >> (place.bit & 7) & 1 == 1 { &[1] } else { &[0] })
            }
            Some(bytes) => Value::Bytes(bytes),
            None => Value::Absent,
        }
    }
}

/// The value of a column in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    /// None.
    Null,
    /// The record was written before the column was added, or the column is not in records of this kind.
    Absent,
    /// The value.
    Bytes(&'a [u8]),
    /// A pointer to the value.
    Elsewhere(&'a [u8]),
}

impl<'a> Value<'a> {
    /// The bytes of a value that stands in the record.
    #[must_use]
    pub fn bytes(self) -> Option<&'a [u8]> {
        if let Self::Bytes(bytes) = self { Some(bytes) } else { None }
    }

    /// A small number.
    #[must_use]
    pub fn number(self) -> Option<u64> {
        let bytes = self.bytes().filter(|bytes| bytes.len() <= 8)?;
        Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// A name.
    #[must_use]
    pub fn text(self) -> Option<String> {
        self.bytes().map(super::boot::utf16)
    }
}
