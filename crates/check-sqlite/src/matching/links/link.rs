//! One link, and its form in the bytes of a range.

use formats::sqlite::{BtreePage, Cell, Geometry, PageKind};

/// Longest cell of an enclosing key that is kept in bytes; longer ones are read from their page when they are needed. With
/// such keys one page in thirty is an inner one, and copies would take more than the pages.
pub(super) const CELL_BYTES_MAX: usize = 120;

/// A key above: where it is, and the bytes of its cell when they are at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bound<'b> {
    pub(crate) page: u32,
    pub(crate) slot: u16,
    /// Whether it is on a page of a table.
    pub(crate) is_table: bool,
    /// Empty when the page has to be read.
    pub(crate) cell: &'b [u8],
}

/// What is known about a tree page from above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Link<'b> {
    pub(crate) page: u32,
    /// The page that refers to it; itself for a root.
    pub(crate) parent: u32,
    /// The position among the children of the page above.
    pub(crate) slot: u16,
    pub(crate) tree: u32,
    /// Levels above it; [`LEAF_LEVEL`] for leaves.
    pub(crate) level: u8,
    /// The key that its keys must be above, and the one that they must not be above.
    pub(crate) lower: Option<Bound<'b>>,
    pub(crate) upper: Option<Bound<'b>>,
}

impl<'b> Bound<'b> {
    /// The key of an inner page at a slot.
    pub(crate) fn of(page: u32, bytes: &'b [u8], view: &BtreePage<'b>, slot: usize) -> Self {
        let (cell, damage) = view.cell(slot);
        let whole = bytes.get(cell.offset..cell.offset.saturating_add(cell.size));
        let fits = damage.is_none() && cell.size <= CELL_BYTES_MAX;
        let cell = whole.filter(|_| fits).unwrap_or_default();
        Self { page, slot: u16::try_from(slot).unwrap_or(u16::MAX), is_table: view.kind.is_table(), cell }
    }

    /// The cell of the key; `None` when its page has to be read.
    #[inline]
    pub(crate) fn cell(&self, geometry: Geometry) -> Option<Cell<'b>> {
        let kind = if self.is_table { PageKind::TableInterior } else { PageKind::IndexInterior };
        if self.cell.is_empty() { None } else { Cell::alone(self.cell, kind, geometry) }
    }
}

impl<'b> Link<'b> {
    /// The root of a tree: nothing is above it.
    pub(crate) fn root(page: u32, tree: u32) -> Self {
        Self { page, parent: page, slot: 0, tree, level: 0, lower: None, upper: None }
    }

    pub(crate) fn is_root(&self) -> bool {
        self.parent == self.page
    }

    pub(super) fn write(&self, into: &mut Vec<u8>, keeps_cells: bool) {
        into.extend_from_slice(&self.page.to_le_bytes());
        into.extend_from_slice(&self.parent.to_le_bytes());
        into.extend_from_slice(&self.tree.to_le_bytes());
        into.extend_from_slice(&self.slot.to_le_bytes());
        into.push(self.level);
        for bound in [self.lower, self.upper] {
            let Some(bound) = bound else {
                into.push(0);
                continue;
            };
            let cell = if keeps_cells { bound.cell } else { &[] };
            into.push(if bound.is_table { 2 } else { 1 });
            into.extend_from_slice(&bound.page.to_le_bytes());
            into.extend_from_slice(&bound.slot.to_le_bytes());
            // At most CELL_BYTES_MAX.
            into.push(cell.len() as u8);
            into.extend_from_slice(cell);
        }
    }

    /// Reads a link and moves behind it.
    #[inline]
    pub(super) fn read(bytes: &mut &'b [u8]) -> Option<Self> {
        let page = u32::from_le_bytes(take(bytes)?);
        let parent = u32::from_le_bytes(take(bytes)?);
        let tree = u32::from_le_bytes(take(bytes)?);
        let slot = u16::from_le_bytes(take(bytes)?);
        let [level] = take(bytes)?;
        let (lower, upper) = (read_bound(bytes)?, read_bound(bytes)?);
        Some(Self { page, parent, slot, tree, level, lower, upper })
    }
}

#[inline]
fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (head, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*head)
}

#[inline]
fn read_bound<'b>(bytes: &mut &'b [u8]) -> Option<Option<Bound<'b>>> {
    let [tag] = take(bytes)?;
    if tag == 0 {
        return Some(None);
    }
    let page = u32::from_le_bytes(take(bytes)?);
    let slot = u16::from_le_bytes(take(bytes)?);
    let [length] = take(bytes)?;
    let (cell, rest) = bytes.split_at_checked(usize::from(length))?;
    *bytes = rest;
    Some(Some(Bound { page, slot, is_table: tag == 2, cell }))
}
