//! The pass over all blocks, and the levels that come of it.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use check::structure::tally::LevelTally;
use disk::scan::{Content, Extent};
use formats::postgres::btree::LEVEL_MAX;

use crate::structure::block::{Block, Kind, Layout};
use crate::structure::subject::{Piece, RelationFiles};

/// States of blocks of a tree; a live block has its level, which is at most [`LEVEL_MAX`].
const UNSEEN: u8 = 0xff;
const HALF_DEAD: u8 = 0xfe;
const OTHER: u8 = 0xfd;
/// Most emptied blocks between two live ones that are followed. A vacuum leaves one at a time.
const HALF_DEAD_MAX: usize = 64;

/// Siblings and levels of the blocks of a tree. Memory: 5 bytes per block. Each block is written by one worker.
pub(super) struct TreeMap {
    next: Vec<AtomicU32>,
    state: Vec<AtomicU8>,
}

impl TreeMap {
    pub(super) fn new(block_count: u32) -> TreeMap {
        TreeMap {
            next: (0..block_count).map(|_| AtomicU32::new(0)).collect(),
            state: (0..block_count).map(|_| AtomicU8::new(UNSEEN)).collect(),
        }
    }

    fn set(&self, block: u32, state: u8, next: u32) {
        if let (Some(place), Some(link)) = (self.state.get(block as usize), self.next.get(block as usize)) {
            place.store(state, Ordering::Relaxed);
            link.store(next, Ordering::Relaxed);
        }
    }

    fn state(&self, block: u32) -> u8 {
        self.state.get(block as usize).map_or(UNSEEN, |state| state.load(Ordering::Relaxed))
    }

    /// The successor of a block in its level, emptied blocks left out; `None` for the last.
    fn successor(&self, block: u32) -> Option<u32> {
        let mut at = block;
        for _ in 0..HALF_DEAD_MAX {
            at = self.next.get(at as usize)?.load(Ordering::Relaxed);
            if at == 0 {
                return None;
            }
            if self.state(at) != HALF_DEAD {
                return Some(at);
            }
        }
        Some(at)
    }

    fn live(&self, level: u8) -> impl Iterator<Item = u32> + '_ {
        let states = self.state.iter().enumerate();
        states.filter(move |(_, state)| state.load(Ordering::Relaxed) == level).map(|(block, _)| block as u32)
    }

    /// Pages and links of each level, leaves first; nothing about what the pages hold.
    pub(super) fn add_links(&self, tallies: &mut [LevelTally]) -> Vec<u64> {
        let mut page_counts = vec![0; tallies.len()];
        for (level, (tally, page_count)) in (0u8..).zip(tallies.iter_mut().zip(&mut page_counts)) {
            for block in self.live(level) {
                *page_count += 1;
                if let Some(successor) = self.successor(block) {
                    tally.add_link(block.into(), successor.into());
                }
            }
        }
        page_counts
    }

    /// The leaves in the order of the chain, and the number of pieces that the chain is in: 1 in a sound tree.
    pub(super) fn leaves_in_order(&self) -> (Vec<u32>, usize) {
        let leaves: Vec<u32> = self.live(0).collect();
        let followers: HashSet<u32> = leaves.iter().filter_map(|leaf| self.successor(*leaf)).collect();
        let starts: Vec<u32> = leaves.iter().copied().filter(|leaf| !followers.contains(leaf)).collect();
        let mut order = Vec::with_capacity(leaves.len());
        let mut seen = vec![false; self.state.len()];
        for &start in &starts {
            let mut at = Some(start);
            // Each block is taken once, so that the walk ends with the file.
            while let Some(leaf) = at.filter(|leaf| self.state(*leaf) == 0) {
                match seen.get_mut(leaf as usize) {
                    Some(is_seen) if !*is_seen => *is_seen = true,
                    _ => break,
                }
                order.push(leaf);
                at = self.successor(leaf);
            }
        }
        (order, starts.len())
    }
}

/// A file of the pass: which subject it belongs to.
pub(super) struct GatherFile {
    pub(super) subject: usize,
    pub(super) piece: Piece,
}

/// What all workers of the pass share.
pub(super) struct Gather<'a> {
    pub(super) layout: Layout,
    pub(super) subjects: &'a [RelationFiles],
    /// By subject; empty for heaps.
    pub(super) trees: &'a [TreeMap],
    pub(super) files: &'a [GatherFile],
}

/// What a worker knows about one subject. Merges by addition.
#[derive(Clone, Debug, Default)]
pub(super) struct Gathered {
    /// By level.
    pub(super) tallies: Vec<LevelTally>,
    /// Blocks of a heap that were never used, in no order.
    pub(super) unused_blocks: Vec<u32>,
    pub(super) unused_count: u64,
    /// Deleted or emptied blocks of a tree, blocks without a row of a heap.
    pub(super) free_count: u64,
    pub(super) damaged_count: u64,
    pub(super) unreadable_count: u64,
}

impl Gathered {
    pub(super) fn merge(&mut self, other: Gathered) {
        if self.tallies.len() < other.tallies.len() {
            self.tallies.resize(other.tallies.len(), LevelTally::default());
        }
        self.tallies.iter_mut().zip(&other.tallies).for_each(|(mine, theirs)| mine.merge(theirs));
        self.unused_blocks.extend(other.unused_blocks);
        self.unused_count += other.unused_count;
        self.free_count += other.free_count;
        self.damaged_count += other.damaged_count;
        self.unreadable_count += other.unreadable_count;
    }

    /// Adds a block; `map` has the place for its links.
    pub(super) fn add(&mut self, number: u32, block: &Block, map: Option<&TreeMap>) {
        let set = |state, next| {
            if let Some(map) = map {
                map.set(number, state, next);
            }
        };
        match block {
            Block::New => {
                self.unused_count += 1;
                if map.is_none() {
                    self.unused_blocks.push(number);
                }
                set(OTHER, 0);
            }
            Block::Heap(figures) => {
                self.free_count += u64::from(figures.record_count == 0);
                self.tally(0).add_page(figures);
            }
            Block::Tree { level, next, figures } => {
                // Bounded: a block with a higher level is damaged.
                self.tally(*level).add_page(figures);
                set((*level).min(LEVEL_MAX) as u8, *next);
            }
            Block::HalfDead { next } => {
                self.free_count += 1;
                set(HALF_DEAD, *next);
            }
            Block::Deleted => {
                self.free_count += 1;
                set(OTHER, 0);
            }
            Block::Meta => set(OTHER, 0),
            Block::Damaged => {
                self.damaged_count += 1;
                set(OTHER, 0);
            }
        }
    }

    fn tally(&mut self, level: u32) -> &mut LevelTally {
        let index = level as usize;
        if self.tallies.len() <= index {
            self.tallies.resize(index + 1, LevelTally::default());
        }
        &mut self.tallies[index]
    }
}

impl Gather<'_> {
    /// A worker's state: one part per subject.
    pub(super) fn state(&self) -> Vec<Gathered> {
        vec![Gathered::default(); self.subjects.len()]
    }

    /// Looks at the blocks of an extent.
    pub(super) fn visit(&self, state: &mut [Gathered], extent: &Extent<'_>) {
        let Some(file) = self.files.get(extent.file_index) else { return };
        let (Some(subject), Some(gathered)) = (self.subjects.get(file.subject), state.get_mut(file.subject))
        else {
            return;
        };
        let map = self.trees.get(file.subject).filter(|_| subject.kind == Kind::Tree);
        let block_bytes = self.layout.block_bytes;
        let Piece { first_block, part } = &file.piece;
        let within = extent.offset_bytes.saturating_sub(part.offset_bytes);
        let first = first_block.saturating_add((within / block_bytes as u64) as u32);
        match &extent.content {
            Content::Bytes(bytes) => {
                for (number, bytes) in (first..).zip(bytes.chunks(block_bytes)) {
                    let mut block = self.layout.block(subject.kind, number, bytes, None);
                    if block == Block::Damaged && bytes.len() == block_bytes {
                        let offset = part.offset_bytes + u64::from(number - first_block) * block_bytes as u64;
                        block = self.layout.block_again(subject.kind, number, &part.path, offset, bytes);
                    }
                    gathered.add(number, &block, map);
                }
            }
            Content::Unreadable { length_bytes, .. } => {
                gathered.unreadable_count += length_bytes.div_ceil(block_bytes as u64);
            }
            // Cut since the files were listed: a server at work does that.
            Content::Missing { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(blocks: &[(u8, u32)]) -> TreeMap {
        let map = TreeMap::new(blocks.len() as u32);
        (0u32..).zip(blocks).for_each(|(block, (state, next))| map.set(block, *state, *next));
        map
    }

    #[test]
    fn the_chain_gives_the_order_and_emptied_blocks_are_stepped_over() {
        let map = map(&[(OTHER, 0), (0, 4), (0, 0), (1, 0), (HALF_DEAD, 2)]);
        assert_eq!(map.leaves_in_order(), (vec![1, 2], 1));
        let mut tallies = vec![LevelTally::default(); 2];
        assert_eq!(map.add_links(&mut tallies), [2, 1]);
        assert_eq!(tallies[0].level(0, 2, false).fragment_count, 1);
    }

    #[test]
    fn a_circle_and_a_chain_in_pieces_end() {
        let circle = map(&[(OTHER, 0), (0, 2), (0, 1)]);
        assert_eq!(circle.leaves_in_order(), (vec![], 0));
        let pieces = map(&[(OTHER, 0), (0, 2), (OTHER, 0), (0, 4), (0, 0)]);
        assert_eq!(pieces.leaves_in_order(), (vec![1, 3, 4], 2));
        let into_itself = map(&[(OTHER, 0), (0, 2), (0, 3), (0, 2)]);
        assert_eq!(into_itself.leaves_in_order(), (vec![1, 2, 3], 1));
        let emptied = map(&[(OTHER, 0), (0, 2), (HALF_DEAD, 2)]);
        assert_eq!(emptied.leaves_in_order().0, [1]);
    }
}
