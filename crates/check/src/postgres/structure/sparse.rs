//! The modes that read inner blocks only, and some of the leaves.

use std::collections::HashMap;

use formats::postgres::btree::Meta;
use formats::postgres::page::Page;

use super::block::{Block, Kind, Layout};
use super::subject::{BlockReader, Subject};
use crate::structure::tally::PageFigures;
use crate::structure::walk::{Levels, Tree, levels};

/// Blocks whose reading is announced at a time.
const PREFETCH_COUNT: usize = 512;

/// One tree on its way.
pub(super) struct Sparse<'a> {
    layout: Layout,
    reader: &'a mut BlockReader,
    block_count: u32,
    taken: Vec<bool>,
    /// Level of the blocks that the walk comes to next.
    level: u32,
    /// Figures of inner blocks.
    pub(super) figures: HashMap<u32, PageFigures>,
}

/// Follows a tree from its first block; `None` when that does not name a root.
pub(super) fn follow<'a>(
    layout: Layout,
    reader: &'a mut BlockReader,
    subject: &Subject,
) -> Option<(Levels, Sparse<'a>)> {
    let mut bytes = Vec::new();
    if !reader.read(0, &mut bytes) {
        return None;
    }
    let meta = Meta::read(&Page::new(&bytes))?;
    if !meta.check(subject.block_count, &mut Vec::new()) {
        return None;
    }
    let block_count = subject.block_count;
    let taken = vec![false; block_count as usize];
    let figures = HashMap::new();
    let mut sparse = Sparse { layout, reader, block_count, taken, level: meta.level, figures };
    // An index without entries may have no root yet.
    let found = if meta.root == 0 { Levels::default() } else { levels(meta.root, &mut sparse) };
    Some((found, sparse))
}

/// Looks at blocks in the order of the file; damaged ones are left out.
pub(super) fn look(
    layout: Layout,
    kind: Kind,
    reader: &mut BlockReader,
    blocks: &[u32],
    mut take: impl FnMut(u32, &Block, &[u32]),
) {
    let mut sorted = blocks.to_vec();
    sorted.sort_unstable();
    let (mut bytes, mut downlinks) = (Vec::new(), Vec::new());
    for part in sorted.chunks(PREFETCH_COUNT) {
        reader.prefetch(part);
        for &number in part {
            downlinks.clear();
            let block = match reader.read(number, &mut bytes) {
                true => layout.block(kind, number, &bytes, Some(&mut downlinks)),
                false => Block::Damaged,
            };
            take(number, &block, &downlinks);
        }
    }
}

impl Tree for Sparse<'_> {
    fn children(&mut self, pages: &[u32]) -> Vec<Option<Vec<u32>>> {
        let expected = self.level;
        let mut found: HashMap<u32, Vec<u32>> = HashMap::new();
        let figures = &mut self.figures;
        look(self.layout, Kind::Tree, self.reader, pages, |number, block, downlinks| {
            if let Block::Tree { level, figures: page, .. } = block
                && *level == expected
            {
                figures.insert(number, *page);
                found.insert(number, downlinks.to_vec());
            }
        });
        self.level = expected.saturating_sub(1);
        pages.iter().map(|page| found.remove(page)).collect()
    }

    fn are_leaves(&mut self, _pages: &[u32]) -> bool {
        self.level == 0
    }

    fn claim(&mut self, page: u32) -> bool {
        let is_first = (1..self.block_count).contains(&page);
        match self.taken.get_mut(page as usize).filter(|is_taken| is_first && !**is_taken) {
            Some(is_taken) => {
                *is_taken = true;
                true
            }
            None => false,
        }
    }
}
