//! What is kept of each page: 16 bytes, and the references of inner pages.

use std::collections::HashMap;

use formats::sqlite::{BtreePage, Geometry, PageKind};

use check::structure::tally::PageFigures;

/// What a page is, by its own account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum PageClass {
    /// Not seen.
    #[default]
    Unseen,
    /// No sound tree page: an overflow page, a free one, or damaged.
    Other,
    Tree(PageKind),
}

/// What is kept of one page. A page has at most 65536 bytes, and a record fewer than that.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PageFact {
    pub(super) class: PageClass,
    cell_count: u16,
    cell_bytes: u16,
    cell_bytes_min: u16,
    cell_bytes_max: u16,
    free_bytes: u16,
    /// Overflow pages that the payloads of its cells need.
    pub(super) overflow_page_count: u32,
}

impl PageFact {
    /// Looks at a page; hands over its references when it is an inner one.
    pub(super) fn new(page: u32, bytes: &[u8], geometry: Geometry, children: &mut Vec<u32>) -> Self {
        children.clear();
        let other = Self { class: PageClass::Other, ..Self::default() };
        let header_offset = if page == 1 { 100 } else { 0 };
        let (Some(view), None) = BtreePage::new(bytes, header_offset, geometry) else { return other };
        let Some(free_bytes) = view.free_bytes() else { return other };
        let mut fact = Self {
            class: PageClass::Tree(view.kind),
            cell_count: narrow(view.cell_count),
            free_bytes: narrow(free_bytes),
            cell_bytes_min: u16::MAX,
            ..Self::default()
        };
        let mut total = 0;
        for index in 0..view.cell_count {
            let (cell, None) = view.cell(index) else { return other };
            let size = narrow(cell.size);
            total += cell.size;
            fact.cell_bytes_min = fact.cell_bytes_min.min(size);
            fact.cell_bytes_max = fact.cell_bytes_max.max(size);
            if cell.overflow != 0 {
                let pages = geometry.overflow_page_count(cell.payload_bytes, cell.local.len() as u64);
                fact.overflow_page_count =
                    fact.overflow_page_count.saturating_add(u32::try_from(pages).unwrap_or(u32::MAX));
            }
        }
        // Cells that lie over each other: nothing that such a page says can be counted.
        if total + free_bytes > view.room_bytes() {
            children.clear();
            return other;
        }
        fact.cell_bytes = narrow(total);
        if !view.kind.is_leaf() {
            children.extend((0..=view.cell_count).map(|index| view.child(index)));
        }
        fact
    }

    pub(super) fn is_leaf(&self) -> Option<bool> {
        match self.class {
            PageClass::Tree(kind) => Some(kind.is_leaf()),
            _ => None,
        }
    }

    /// The figures of a tree page; `None` for any other.
    pub(super) fn figures(&self, page: u32, geometry: Geometry) -> Option<PageFigures> {
        let PageClass::Tree(kind) = self.class else { return None };
        let header_bytes = if page == 1 { 100 } else { 0 } + if kind.is_leaf() { 8 } else { 12 };
        let room = (geometry.usable_bytes as usize).saturating_sub(header_bytes);
        let mut figures = PageFigures::new(room, self.free_bytes.into());
        figures.record_count = self.cell_count.into();
        figures.record_bytes = self.cell_bytes.into();
        if self.cell_count > 0 {
            figures.record_bytes_min = self.cell_bytes_min.into();
            figures.record_bytes_max = self.cell_bytes_max.into();
        }
        if !kind.is_leaf() {
            figures.add_bare();
        }
        Some(figures)
    }
}

/// Page sizes end at 65536, and each page has a header, so that all counts of bytes in it fit.
fn narrow(value: usize) -> u16 {
    u16::try_from(value).unwrap_or(u16::MAX)
}

/// What workers learn in the pass: facts in chunks of one claim each, and references. Merges by putting together.
#[derive(Debug, Default)]
pub(super) struct FactTable {
    pages_per_chunk: u32,
    chunks: HashMap<u32, Box<[PageFact]>>,
    children: HashMap<u32, Box<[u32]>>,
    scratch: Vec<u32>,
    /// Pages that could not be read.
    pub(super) unreadable_count: u64,
}

impl FactTable {
    pub(super) fn new(pages_per_chunk: u32) -> Self {
        Self { pages_per_chunk: pages_per_chunk.max(1), ..Self::default() }
    }

    /// Looks at a page and keeps what it says.
    pub(super) fn look(&mut self, page: u32, bytes: &[u8], geometry: Geometry) {
        let fact = PageFact::new(page, bytes, geometry, &mut self.scratch);
        if !self.scratch.is_empty() {
            self.children.insert(page, self.scratch.as_slice().into());
        }
        let index = page.saturating_sub(1);
        let size = self.pages_per_chunk as usize;
        let chunk = self
            .chunks
            .entry(index / self.pages_per_chunk)
            .or_insert_with(|| vec![PageFact::default(); size].into_boxed_slice());
        if let Some(place) = chunk.get_mut((index % self.pages_per_chunk) as usize) {
            *place = fact;
        }
    }

    /// Takes what another worker learned; no two workers look at the same page.
    pub(super) fn merge(&mut self, other: FactTable) {
        for (number, chunk) in other.chunks {
            match self.chunks.entry(number) {
                std::collections::hash_map::Entry::Vacant(place) => {
                    place.insert(chunk);
                }
                // Of a claim that could not be read in one piece, or of pages that only the log has.
                std::collections::hash_map::Entry::Occupied(mut place) => {
                    for (mine, theirs) in place.get_mut().iter_mut().zip(&chunk) {
                        if mine.class == PageClass::Unseen {
                            *mine = *theirs;
                        }
                    }
                }
            }
        }
        self.children.extend(other.children);
        self.unreadable_count += other.unreadable_count;
    }

    pub(super) fn fact(&self, page: u32) -> PageFact {
        let index = page.saturating_sub(1);
        let chunk = self.chunks.get(&(index / self.pages_per_chunk));
        let fact = chunk.and_then(|chunk| chunk.get((index % self.pages_per_chunk) as usize));
        fact.copied().unwrap_or_default()
    }

    pub(super) fn children(&self, page: u32) -> Option<&[u32]> {
        self.children.get(&page).map(AsRef::as_ref)
    }
}
