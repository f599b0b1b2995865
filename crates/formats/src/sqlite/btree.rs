//! Pages of tables and indexes, and their cells.

use super::damage::{Damage, Fault};
use super::geometry::Geometry;
use super::read::{u16_at, u32_at, varint};

/// Fewest bytes that a cell occupies, so that a free block fits in its place.
// EVIDENCE: sqlite fileformat2 1.6, "freeblock": at least 4 bytes
pub(super) const CELL_BYTES_MIN: usize = 4;

/// The four kinds of tree pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PageKind {
    /// Index entries that separate child pages.
    IndexInterior,
    /// Rowids that separate child pages.
    TableInterior,
    /// Index entries.
    IndexLeaf,
    /// Rows.
    TableLeaf,
}

impl PageKind {
    /// The kind for the first byte of a tree page.
    // EVIDENCE: sqlite fileformat2 1.6, "B-tree Page Header Format"
    #[must_use]
    pub fn of(byte: u8) -> Option<Self> {
        match byte {
            2 => Some(Self::IndexInterior),
            5 => Some(Self::TableInterior),
            10 => Some(Self::IndexLeaf),
            13 => Some(Self::TableLeaf),
            _ => None,
        }
    }

    /// Whether pages of this kind have no children.
    #[must_use]
    pub fn is_leaf(self) -> bool {
        matches!(self, Self::IndexLeaf | Self::TableLeaf)
    }

    /// Whether pages of this kind belong to a tree with rowids as keys.
    #[must_use]
    pub fn is_table(self) -> bool {
        matches!(self, Self::TableInterior | Self::TableLeaf)
    }

    /// The name in the words of the format.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::IndexInterior => "index interior",
            Self::TableInterior => "table interior",
            Self::IndexLeaf => "index leaf",
            Self::TableLeaf => "table leaf",
        }
    }
}

/// A tree page: its header, and access to its cells.
#[derive(Debug, Clone, Copy)]
pub struct BtreePage<'a> {
    /// What the page holds.
    pub kind: PageKind,
    /// Cells of the page, cut to what the page has room for.
    pub cell_count: usize,
    /// Where the cell content area begins, as the page says; 65536 for a stored 0.
    pub content_start: usize,
    /// Offset of the first free block, 0 for none.
    pub first_free_block: usize,
    /// Bytes in gaps of fewer than 4, as the page says.
    pub fragmented_bytes: usize,
    /// Last child of an interior page, 0 for a leaf.
    pub right_child: u32,
    pub(super) usable: &'a [u8],
    pub(super) pointers_start: usize,
    pub(super) geometry: Geometry,
}

impl<'a> BtreePage<'a> {
    /// Reads the header of a tree page.
    ///
    /// `header_offset` is 100 on page 1 and 0 elsewhere. No view is made when the kind is none of the four; every
    /// other damage leaves a view whose cells can be asked for.
    // EVIDENCE: sqlite fileformat2 1.6, "B-tree Page Header Format"
    #[inline]
    #[must_use]
    pub fn new(page: &'a [u8], header_offset: usize, geometry: Geometry) -> (Option<Self>, Option<Damage>) {
        let usable = page.get(..geometry.usable_bytes as usize).unwrap_or(page);
        let byte = usable.get(header_offset).copied().unwrap_or(0);
        let Some(kind) = PageKind::of(byte) else {
            return (None, Some(Damage::new(Fault::PageKind, header_offset, 2..=13, u64::from(byte))));
        };
        let half = |offset: usize| usize::from(u16_at(usable, header_offset + offset).unwrap_or(0));
        let pointers_start = header_offset + if kind.is_leaf() { 8 } else { 12 };
        let room = usable.len().saturating_sub(pointers_start) / (2 + CELL_BYTES_MIN);
        let stored_count = half(3);
        let cell_count = stored_count.min(room);
        let content_start = if half(5) == 0 { 65536 } else { half(5) };
        let right_child = if kind.is_leaf() { 0 } else { u32_at(usable, header_offset + 8).unwrap_or(0) };
        let view = Self {
            kind,
            cell_count,
            content_start,
            first_free_block: half(1),
            fragmented_bytes: usize::from(usable.get(header_offset + 7).copied().unwrap_or(0)),
            right_child,
            usable,
            pointers_start,
            geometry,
        };
        let damage = if stored_count > room {
            Some(Damage::new(Fault::CellCount, header_offset + 3, 0..=room as u64, stored_count as u64))
        } else {
            view.content_damage(header_offset)
        };
        (Some(view), damage)
    }

    fn content_damage(&self, header_offset: usize) -> Option<Damage> {
        let lowest = self.pointers_start + 2 * self.cell_count;
        let allowed = lowest..=self.usable.len();
        (!allowed.contains(&self.content_start)).then(|| {
            let range = *allowed.start() as u64..=*allowed.end() as u64;
            Damage::new(Fault::ContentStart, header_offset + 5, range, self.content_start as u64)
        })
    }

    /// Child page at a position: left of cell `index`, or the right child for `index == cell_count`.
    ///
    /// 0 for a leaf, and where the cell cannot be read.
    #[inline]
    #[must_use]
    pub fn child(&self, index: usize) -> u32 {
        if self.kind.is_leaf() {
            0
        } else if index >= self.cell_count {
            self.right_child
        } else {
            self.cell_offset(index).and_then(|offset| u32_at(self.usable, offset)).unwrap_or(0)
        }
    }

    #[inline]
    pub(super) fn cell_offset(&self, index: usize) -> Option<usize> {
        u16_at(self.usable, self.pointers_start + 2 * index).map(usize::from)
    }

    /// Key of a cell of a table page; `None` where it cannot be read.
    #[inline]
    #[must_use]
    pub fn rowid(&self, index: usize) -> Option<i64> {
        let offset = self.cell_offset(index)?;
        let skip = match self.kind {
            PageKind::TableInterior => 4,
            PageKind::TableLeaf => varint(self.usable.get(offset..)?)?.1,
            _ => return None,
        };
        let (rowid, _) = varint(self.usable.get(offset.checked_add(skip)?..)?)?;
        Some(rowid.cast_signed())
    }

    /// Bytes that hold neither header, pointers nor cells; `None` when the list of free blocks is damaged.
    ///
    /// Trusts what the page says of itself, so that it costs one step for each free block.
    // EVIDENCE: sqlite fileformat2 1.6: free is what lies before the content area, in free blocks and in fragments
    #[must_use]
    pub fn free_bytes(&self) -> Option<usize> {
        let end = self.usable.len();
        let pointers_end = self.pointers_start + 2 * self.cell_count;
        let mut free_bytes =
            self.content_start.min(end).checked_sub(pointers_end)?.checked_add(self.fragmented_bytes)?;
        let (mut lowest, mut block) = (self.content_start, self.first_free_block);
        // Each block lies behind the one before, so that the walk ends with the page.
        while block != 0 {
            let size = usize::from(u16_at(self.usable, block.checked_add(2)?)?);
            if block < lowest || size < 4 || block + size > end {
                return None;
            }
            free_bytes += size;
            lowest = block + size;
            block = usize::from(u16_at(self.usable, block)?);
        }
        Some(free_bytes)
    }

    /// Bytes of a page that can hold pointers and cells.
    #[must_use]
    pub fn room_bytes(&self) -> usize {
        self.usable.len().saturating_sub(self.pointers_start)
    }
}
