//! The modes that read inner blocks only, and some of the leaves.

use std::collections::HashMap;

use check::structure::tally::{LevelTally, PageFigures};
use check::structure::walk::{Levels, Tree, levels};
use formats::postgres::btree::Meta;
use formats::postgres::page::Page;
use results::structure::{ObjectStructure, StripMap, StructureMode};

use crate::structure::block::{Block, Kind, Layout};
use crate::structure::gather::Gathered;
use crate::structure::subject::{BlockReader, RelationFiles};
use crate::structure::{Work, empty_object, heap};

/// Blocks whose reading is announced at a time.
const PREFETCH_COUNT: usize = 512;

/// One tree on its way.
struct Sparse<'a> {
    layout: Layout,
    reader: &'a mut BlockReader,
    block_count: u32,
    taken: Vec<bool>,
    /// Level of the blocks that the walk comes to next.
    level: u32,
    /// Figures of inner blocks.
    figures: HashMap<u32, PageFigures>,
}

/// Follows a tree from its first block; `None` when that does not name a root.
fn follow<'a>(
    layout: Layout,
    reader: &'a mut BlockReader,
    subject: &RelationFiles,
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
fn look(
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

impl Work<'_> {
    pub(super) fn heap_sparsely(
        &self,
        layout: Layout,
        subject: &RelationFiles,
        reader: &mut BlockReader,
    ) -> ObjectStructure {
        let all: Vec<u32> = (0..subject.block_count).collect();
        let wanted = self.sample(&all);
        let mut gathered = Gathered { tallies: vec![LevelTally::default()], ..Gathered::default() };
        look(layout, Kind::Heap, reader, &wanted, |number, block, _| gathered.add(number, block, None));
        let is_sample = self.options.mode == StructureMode::Limited || wanted.len() < all.len();
        let mut object = if is_sample {
            let mut object = empty_object(subject, &gathered);
            let mut tally = gathered.tallies.first().copied().unwrap_or_default();
            tally.add_runs(all.len() as u64, 1);
            object.levels = vec![tally.level(0, all.len() as u64, true)];
            (object.free_page_count, object.unused_page_count) = (None, None);
            object
        } else {
            heap(subject, gathered)
        };
        if is_sample {
            object.notes.push("pages are counted by file size, unused ones included".to_owned());
        }
        object
    }

    pub(super) fn tree_sparsely(
        &self,
        layout: Layout,
        subject: &RelationFiles,
        reader: &mut BlockReader,
    ) -> ObjectStructure {
        let mut object = empty_object(subject, &Gathered::default());
        (object.free_page_count, object.unused_page_count) = (None, None);
        let Some((found, inner)) = follow(layout, reader, subject) else {
            object.notes.push("its metapage has no root".to_owned());
            object.unclear_page_count = 1;
            return object;
        };
        let figures = inner.figures;
        object.unclear_page_count = found.lost_count;
        let wanted = found.levels.first().map(|leaves| self.sample(leaves)).unwrap_or_default();
        let mut leaf_tally = LevelTally::default();
        let mut damaged = 0;
        look(layout, Kind::Tree, reader, &wanted, |_, block, _| match block {
            Block::Tree { level: 0, figures, .. } => leaf_tally.add_page(figures),
            Block::HalfDead { .. } => {}
            _ => damaged += 1,
        });
        object.unclear_page_count += damaged;
        for (number, pages) in found.levels.iter().enumerate() {
            let mut tally = if number == 0 { leaf_tally } else { LevelTally::default() };
            if number > 0 {
                pages.iter().filter_map(|page| figures.get(page)).for_each(|page| tally.add_page(page));
            }
            tally.add_order(pages);
            let is_sample = number == 0 && wanted.len() < pages.len();
            object.levels.push(tally.level(number as u32, pages.len() as u64, is_sample));
        }
        object.index_depth = object.levels.len() as u32;
        if let Some(leaves) = found.levels.first() {
            let pages = leaves.iter().map(|page| u64::from(*page));
            object.strip = Some(StripMap::thinned(leaves.len(), pages, self.options.strip_points_max));
        }
        object
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
