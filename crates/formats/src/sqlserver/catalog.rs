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
    /// sysrowsetcolumns: columns of rowsets in version 611.
    // OBSERVED: Northwind-xande.bak, sysschobjs
    pub const COLUMNS_OF_ROWSETS_2005: u32 = 4;
    /// syshobtcolumns: places of columns in records in version 611.
    // OBSERVED: Northwind-xande.bak, sysschobjs
    pub const COLUMNS_OF_HOBTS: u32 = 13;
    /// sysrowsets: heaps and B-trees.
    pub const ROWSETS: u32 = 5;
    /// sysallocunits: allocation units.
    pub const ALLOCATION_UNITS: u32 = 7;
    /// sysprufiles: files of the database; number in column 2, path in column 11.
    // OBSERVED: versions 655, 661 and 706 alike
    pub const FILES: u32 = 24;
    /// sysftinds: full-text indexes.
    // OBSERVED: Northwind-xande.bak, sysschobjs
    pub const FULL_TEXT_INDEXES: u32 = 25;
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
            // OBSERVED: version 611 has no such column, its fixed part ends here
            compression: if u16_at(bytes, 2)? > 39 { u8_at(bytes, 39)? } else { 0 },
        })
    }
}

/// Where a column stands in one kind of record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnOffset {
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
    pub leaf: ColumnOffset,
    /// Its place in entries of inner pages.
    pub inner: ColumnOffset,
}

impl RowsetColumn {
    /// Reads a row.
    #[must_use]
    pub fn new(record: &Record<'_>) -> Option<Self> {
        let bytes = record.bytes;
        let bits = u16_at(bytes, 52)?;
        let place = |shift: usize, bit: u8| {
            Some(ColumnOffset {
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

    /// Joins the two rows that version 611 has for a column: of sysrowsetcolumns, and of syshobtcolumns.
    // OBSERVED: names and places of columns in sysschobjs, syscolpars and syshobtcolumns of Northwind-xande.bak itself
    #[must_use]
    pub fn of_2005(
        record: &Record<'_>,
        hobt_column: impl Fn(u64, u32) -> Option<HobtColumn>,
    ) -> Option<Self> {
        let bytes = record.bytes;
        let (rowset, column_id) = (u64_at(bytes, 4)?, u32_at(bytes, 12)?);
        let hobt = hobt_column(rowset, u32_at(bytes, 16)?)?;
        let status = u32_at(bytes, 20)? | hobt.status & !HOBT_NOT_NULL;
        let is_known = status == 0;
        Some(Self {
            rowset,
            column_id,
            type_info: hobt.type_info,
            key_ordinal: hobt.key_ordinal,
            status: if is_known { 0 } else { STATUS_NOT_KNOWN }
                | if hobt.status & HOBT_NOT_NULL != 0 { 128 } else { 0 },
            leaf: hobt.leaf,
            inner: hobt.inner,
        })
    }

    /// Whether bits of its status are set whose meaning is not known: its order and its use are not known either.
    #[must_use]
    pub fn has_unknown_status(&self) -> bool {
        self.status & STATUS_NOT_KNOWN != 0
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
    pub fn value<'a>(&self, record: &Record<'a>, place: ColumnOffset) -> Value<'a> {
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

/// Bit of the status in syshobtcolumns: not null.
// OBSERVED: set in 562 of 702 rows of Northwind-xande.bak, those of columns declared NOT NULL; no other bit is set
const HOBT_NOT_NULL: u32 = 0x20;
/// Bit that stands for bits of version 611 that are not known; no version uses it.
const STATUS_NOT_KNOWN: u32 = 1 << 31;

/// A row of syshobtcolumns in version 611: the place of a column in records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HobtColumn {
    /// The rowset; its number is that of the rows' heap or B-tree.
    pub rowset: u64,
    /// Number of the column in the heap or B-tree.
    pub number: u32,
    status: u32,
    key_ordinal: u16,
    type_info: TypeInfo,
    leaf: ColumnOffset,
    inner: ColumnOffset,
}

impl HobtColumn {
    /// Reads a row.
    // OBSERVED: hobtid at 4, hobtcolumnid at 12, status at 16, ordkey at 20, xtype at 22, length at 23, prec at 25, scale at
    // 26, offsetleaf at 31, offsetint at 33, bitposleaf at 35, bitposint at 36, nullbitleaf at 37, nullbitint at 39:
    // Northwind-xande.bak page 17, by the names in syscolpars
    #[must_use]
    pub fn new(record: &Record<'_>) -> Option<Self> {
        let bytes = record.bytes;
        let place = |offset, bit, null_bit| {
            Some(ColumnOffset {
                offset: u16_at(bytes, offset)? as i16,
                bit: u8_at(bytes, bit)?,
                null_bit: u16_at(bytes, null_bit)?,
            })
        };
        let (code, length) = (u8_at(bytes, 22)?, u16_at(bytes, 23)?);
        Some(Self {
            rowset: u64_at(bytes, 4)?,
            number: u32_at(bytes, 12)?,
            status: u32_at(bytes, 16)?,
            key_ordinal: u16_at(bytes, 20)?,
            type_info: TypeInfo::of_parts(code, length, u8_at(bytes, 25)?, u8_at(bytes, 26)?),
            leaf: place(31, 35, 37)?,
            inner: place(33, 36, 39)?,
        })
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
