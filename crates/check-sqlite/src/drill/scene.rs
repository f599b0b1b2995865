//! What the damage of a drill is made from: a page, its neighbourhood, and bytes to be written into it.

use formats::sqlite::{BtreePage, Cell, Geometry, u16_at, u32_at};

use crate::plan::TreePlan;
use crate::run::prepared::Prepared;
use crate::source::reader::PageReader;

/// A page that may be damaged, with what is known about it.
pub(crate) struct Scene<'a> {
    pub(crate) geometry: Geometry,
    pub(crate) page: u32,
    pub(crate) page_count: u32,
    pub(crate) bytes: &'a [u8],
    pub(crate) view: Option<BtreePage<'a>>,
    /// Another page of the same kind, and its number.
    pub(crate) other: &'a [u8],
    /// Free pages as the header says.
    pub(crate) free_count: u32,
    pub(crate) seed: u64,
    pub(crate) prepared: &'a Prepared,
    pub(crate) reader: &'a PageReader,
}

/// Bytes to be written into a page.
#[derive(Debug, Clone)]
pub(crate) struct Edit {
    pub(crate) page: u32,
    pub(crate) offset: usize,
    pub(crate) bytes: Vec<u8>,
}

impl<'a> Scene<'a> {
    /// The cells that lie wholly in the page, with their positions.
    pub(crate) fn cells(&self) -> Vec<(usize, Cell<'a>)> {
        let Some(view) = &self.view else { return Vec::new() };
        let sound = |slot| match view.cell(slot) {
            (cell, None) => Some((slot, cell)),
            _ => None,
        };
        (0..view.cell_count).filter_map(sound).collect()
    }

    /// The same cells, from one on that the seed selects.
    pub(crate) fn cells_from_seed(&self) -> Vec<(usize, Cell<'a>)> {
        let mut cells = self.cells();
        let start = self.seed as usize % cells.len().max(1);
        cells.rotate_left(start);
        cells
    }

    /// What is known about the tree of the page.
    pub(crate) fn plan(&self) -> Option<&'a TreePlan> {
        self.prepared.plans.trees.get(self.prepared.map.tree_of(self.page)?)
    }
}

pub(crate) fn edit(scene: &Scene<'_>, offset: usize, bytes: impl Into<Vec<u8>>) -> Edit {
    Edit { page: scene.page, offset, bytes: bytes.into() }
}

/// The part of a page that is new: from the first byte that differs to the last.
pub(crate) fn difference(page: u32, old: &[u8], new: &[u8]) -> Option<Edit> {
    let differs = |(old, new): (&u8, &u8)| old != new;
    let first = old.iter().zip(new).position(differs)?;
    let last = old.iter().zip(new).rposition(differs)?;
    Some(Edit { page, offset: first, bytes: new.get(first..=last)?.to_vec() })
}

/// One cell that the seed selects.
pub(crate) fn pick<'a>(scene: &Scene<'a>) -> Option<(usize, Cell<'a>)> {
    scene.cells_from_seed().first().copied()
}

/// Where the pointer array of the page begins.
pub(crate) fn pointers_start(scene: &Scene<'_>) -> Option<usize> {
    let view = scene.view.as_ref()?;
    Some(if scene.page == 1 { 100 } else { 0 } + if view.kind.is_leaf() { 8 } else { 12 })
}

/// Where the part of a payload begins that is in the cell.
pub(crate) fn local_start(cell: &Cell<'_>) -> usize {
    cell.offset + cell.size - cell.local.len() - if cell.overflow != 0 { 4 } else { 0 }
}

pub(crate) fn half_bytes(value: usize) -> Vec<u8> {
    u16::try_from(value).unwrap_or(0).to_be_bytes().to_vec()
}

pub(crate) fn put_half(page: &mut [u8], offset: usize, value: usize) {
    if let Some(place) = page.get_mut(offset..offset + 2) {
        place.copy_from_slice(&u16::try_from(value).unwrap_or(0).to_be_bytes());
    }
}

/// A 16-bit number in a page.
pub(crate) fn half(bytes: &[u8], offset: usize) -> usize {
    usize::from(u16_at(bytes, offset).unwrap_or(0))
}

/// A 32-bit number in a page.
pub(crate) fn word(bytes: &[u8], offset: usize) -> u32 {
    u32_at(bytes, offset).unwrap_or(0)
}
