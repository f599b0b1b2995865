//! What one block says of itself, and reading it again before it is left out.

use std::path::Path;

use check::structure::tally::PageFigures;
use formats::postgres::Damage;
use formats::postgres::btree::{IndexTuple, Opaque, SPECIAL_BYTES, flag};
use formats::postgres::checksum::page_checksum;
use formats::postgres::page::{HEADER_BYTES, ItemState, Page};

/// How often a block is read again that looks damaged and changes meanwhile.
const READ_AGAIN_MAX: usize = 5;

/// How blocks are to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) block_bytes: usize,
    /// Whether blocks carry checksums that are kept.
    pub(super) checksums: bool,
}

/// The two kinds of relations whose structure is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Heap,
    Tree,
}

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Block {
    /// Never used.
    New,
    /// Rows.
    Heap(PageFigures),
    /// The first block of a tree.
    Meta,
    /// A block of a tree.
    Tree {
        level: u32,
        next: u32,
        figures: PageFigures,
    },
    /// Emptied, but still between its siblings.
    HalfDead {
        next: u32,
    },
    /// Out of the tree, to be used again.
    Deleted,
    Damaged,
}

impl Layout {
    /// Looks at a block; `downlinks` gets the children of an inner one.
    pub(super) fn block(
        &self,
        kind: Kind,
        number: u32,
        bytes: &[u8],
        downlinks: Option<&mut Vec<u32>>,
    ) -> Block {
        if bytes.len() < self.block_bytes {
            return Block::Damaged;
        }
        let page = Page::new(bytes);
        if page.is_new() {
            return if page.is_zero() { Block::New } else { Block::Damaged };
        }
        if self.checksums && page.header().checksum != page_checksum(bytes, number) {
            return Block::Damaged;
        }
        let special_bytes = match kind {
            Kind::Heap => 0,
            Kind::Tree => SPECIAL_BYTES,
        };
        let mut damage: Vec<Damage> = Vec::new();
        if !page.check_header(special_bytes, &mut damage) {
            return Block::Damaged;
        }
        let header = page.header();
        let room = self.block_bytes - HEADER_BYTES - special_bytes;
        let mut figures = PageFigures::new(room, usize::from(header.upper - header.lower));
        match kind {
            Kind::Heap if add_items(&page, 1, &mut figures) => Block::Heap(figures),
            Kind::Heap => Block::Damaged,
            Kind::Tree => tree_block(&page, number, figures, downlinks),
        }
    }

    /// Looks at a block that seems damaged once more, until two readings agree: a server may be writing it.
    pub(super) fn block_again(
        &self,
        kind: Kind,
        number: u32,
        path: &Path,
        offset: u64,
        seen: &[u8],
    ) -> Block {
        let mut seen = seen.to_vec();
        let mut again = vec![0; self.block_bytes];
        for _ in 0..READ_AGAIN_MAX {
            let read = disk::input::File::open(path).and_then(|file| file.read_exact_at(&mut again, offset));
            if read.is_err() || again == seen {
                return Block::Damaged;
            }
            match self.block(kind, number, &again, None) {
                Block::Damaged => std::mem::swap(&mut seen, &mut again),
                sound => return sound,
            }
        }
        Block::Damaged
    }
}

fn tree_block(
    page: &Page<'_>,
    number: u32,
    mut figures: PageFigures,
    downlinks: Option<&mut Vec<u32>>,
) -> Block {
    let Some(opaque) = Opaque::read(page) else { return Block::Damaged };
    // Siblings beyond the end of the file are allowed: a server may have added them after the files were listed.
    if !opaque.check(0, number, u32::MAX, &mut Vec::new()) {
        return Block::Damaged;
    }
    if opaque.has(flag::META) {
        return Block::Meta;
    }
    if opaque.has(flag::DELETED) {
        return Block::Deleted;
    }
    if opaque.has(flag::HALF_DEAD) {
        return Block::HalfDead { next: opaque.next };
    }
    let first = opaque.first_data_item();
    if !add_items(page, first, &mut figures) {
        return Block::Damaged;
    }
    if let Some(downlinks) = downlinks.filter(|_| !opaque.is_leaf()) {
        let items = page.items().filter(|item| item.number >= first);
        downlinks.extend(items.filter_map(|item| Some(IndexTuple::read(page.item_bytes(item)?)?.downlink())));
    }
    Block::Tree { level: opaque.level, next: opaque.next, figures }
}

/// Adds the records of a block from a line pointer on; no when one of them lies outside of the block.
fn add_items(page: &Page<'_>, first: u16, figures: &mut PageFigures) -> bool {
    for item in page.items() {
        match item.state {
            ItemState::Normal if page.item_bytes(item).is_none() => return false,
            ItemState::Normal if item.number >= first => figures.add_record(item.length.into()),
            // Only indexes keep the bytes of dead entries.
            ItemState::Dead if item.length > 0 => figures.ghost_count += 1,
            _ => {}
        }
    }
    true
}
