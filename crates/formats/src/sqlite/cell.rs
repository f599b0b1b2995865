//! Cells: one row, entry or child each.

use super::btree::{BtreePage, CELL_BYTES_MIN, PageKind};
use super::damage::{Damage, Fault};
use super::geometry::Geometry;
use super::read::{u32_at, varint};

/// Longest payload that a row or an index entry can have, in bytes.
// EVIDENCE: sqlite limits.html, "Maximum length of a string or BLOB": never above 2^31-1
const PAYLOAD_BYTES_MAX: u64 = i32::MAX as u64;

/// A cell: what the page says about one row, entry or child.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cell<'a> {
    /// Where the cell begins.
    pub offset: usize,
    /// Bytes that the cell occupies; 0 when it could not be read.
    pub size: usize,
    /// Child page left of the cell in an interior page, else 0.
    pub left_child: u32,
    /// Key of a table cell, else 0.
    pub rowid: i64,
    /// Bytes of the payload with what is in overflow pages.
    pub payload_bytes: u64,
    /// The part of the payload that is in the cell.
    pub local: &'a [u8],
    /// First overflow page, 0 when the whole payload is in the cell.
    pub overflow: u32,
}

impl<'a> Cell<'a> {
    /// Reads a cell from bytes that were cut out of a page of this kind: `size` bytes from `offset` on of a sound cell.
    #[inline]
    #[must_use]
    pub fn alone(bytes: &'a [u8], kind: PageKind, geometry: Geometry) -> Option<Self> {
        let page = BtreePage {
            kind,
            cell_count: 1,
            content_start: 0,
            first_free_block: 0,
            fragmented_bytes: 0,
            right_child: 0,
            usable: bytes,
            pointers_start: 0,
            geometry,
        };
        page.sound_cell_at(0)
    }
}

impl<'a> BtreePage<'a> {
    /// Reads a cell. What could be read of a damaged one is filled in; its size is then 0.
    #[inline]
    #[must_use]
    pub fn cell(&self, index: usize) -> (Cell<'a>, Option<Damage>) {
        match self.sound_cell(index) {
            Some(cell) => (cell, None),
            None => self.damaged_cell(index),
        }
    }

    /// Reads a cell that lies in the page as it should; `None` for any other, which [`Self::damaged_cell`] tells about.
    ///
    /// Free of everything that only damage needs, so that it is inlined into the loop over all cells and its result
    /// stays in registers.
    #[inline(always)]
    pub(super) fn sound_cell(&self, index: usize) -> Option<Cell<'a>> {
        self.sound_cell_at(self.cell_offset(index)?)
    }

    #[inline(always)]
    fn sound_cell_at(&self, offset: usize) -> Option<Cell<'a>> {
        if offset < self.content_start || offset + CELL_BYTES_MIN > self.usable.len() {
            return None;
        }
        let mut cell = Cell { offset, ..Cell::default() };
        let mut at = offset;
        if !self.kind.is_leaf() {
            cell.left_child = u32_at(self.usable, at)?;
            at += 4;
        }
        if self.kind == PageKind::TableInterior {
            let (rowid, size) = varint(self.usable.get(at..)?)?;
            cell.rowid = rowid.cast_signed();
            cell.size = (at + size - offset).max(CELL_BYTES_MIN);
            return Some(cell);
        }
        let (payload_bytes, size) = varint(self.usable.get(at..)?)?;
        at += size;
        if self.kind == PageKind::TableLeaf {
            let (rowid, size) = varint(self.usable.get(at..)?)?;
            cell.rowid = rowid.cast_signed();
            at += size;
        }
        if payload_bytes > PAYLOAD_BYTES_MAX {
            return None;
        }
        cell.payload_bytes = payload_bytes;
        let local_bytes = self.geometry.local_payload_bytes(payload_bytes, self.kind.is_table());
        let mut end = at + local_bytes as usize;
        cell.local = self.usable.get(at..end)?;
        if local_bytes != payload_bytes {
            cell.overflow = u32_at(self.usable, end)?;
            end += 4;
        }
        cell.size = (end - offset).max(CELL_BYTES_MIN);
        Some(cell)
    }

    #[cold]
    pub(super) fn damaged_cell(&self, index: usize) -> (Cell<'a>, Option<Damage>) {
        let usable_end = self.usable.len();
        let Some(offset) = self.cell_offset(index) else {
            return (Cell::default(), Some(self.pointer_damage(index, 0)));
        };
        if offset < self.content_start || offset + CELL_BYTES_MIN > usable_end {
            return (Cell { offset, ..Cell::default() }, Some(self.pointer_damage(index, offset)));
        }
        let mut cell = Cell { offset, ..Cell::default() };
        match self.fill(&mut cell) {
            Ok(end) => {
                cell.size = (end - offset).max(CELL_BYTES_MIN);
                (cell, None)
            }
            Err(damage) => (cell, Some(damage.at_slot(index))),
        }
    }

    /// Reads the fields of a cell that begins inside the page; returns where it ends.
    fn fill(&self, cell: &mut Cell<'a>) -> Result<usize, Damage> {
        let usable_end = self.usable.len();
        let end_damage = |end: u64| Damage::new(Fault::CellEnd, cell.offset, 0..=usable_end as u64, end);
        let mut at = cell.offset;
        if !self.kind.is_leaf() {
            cell.left_child = u32_at(self.usable, at).ok_or_else(|| end_damage(at as u64 + 4))?;
            at += 4;
        }
        let number = |at: &mut usize| {
            let (value, size) = varint(self.usable.get(*at..).unwrap_or_default())
                .ok_or_else(|| end_damage(usable_end as u64 + 1))?;
            *at += size;
            Ok(value)
        };
        if self.kind == PageKind::TableInterior {
            cell.rowid = number(&mut at)?.cast_signed();
            return Ok(at);
        }
        let payload_bytes = number(&mut at)?;
        if self.kind == PageKind::TableLeaf {
            cell.rowid = number(&mut at)?.cast_signed();
        }
        if payload_bytes > PAYLOAD_BYTES_MAX {
            return Err(Damage::new(Fault::PayloadLength, cell.offset, 0..=PAYLOAD_BYTES_MAX, payload_bytes));
        }
        cell.payload_bytes = payload_bytes;
        let local_bytes = self.geometry.local_payload_bytes(payload_bytes, self.kind.is_table());
        // Never above the page size, which is 65536 at most.
        let local_end = at + local_bytes as usize;
        cell.local = self.usable.get(at..local_end).ok_or_else(|| end_damage(local_end as u64))?;
        if local_bytes == payload_bytes {
            return Ok(local_end);
        }
        cell.overflow = u32_at(self.usable, local_end).ok_or_else(|| end_damage(local_end as u64 + 4))?;
        Ok(local_end + 4)
    }

    fn pointer_damage(&self, index: usize, found: usize) -> Damage {
        let highest = self.usable.len().saturating_sub(CELL_BYTES_MIN);
        let allowed = self.content_start as u64..=highest as u64;
        Damage::new(Fault::CellPointer, self.pointers_start + 2 * index, allowed, found as u64).at_slot(index)
    }
}
