//! The rows that a GIN index names, as sets of bits.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use formats::postgres::Tid;
use formats::postgres::heap::TUPLE_HEADER_BYTES;
use formats::postgres::page::{HEADER_BYTES, ITEM_BYTES};

/// Rows of some blocks of a table, one bit each. All workers add to it; none asks it while they do.
#[derive(Debug)]
pub(crate) struct RowSet {
    words: Vec<AtomicU64>,
    blocks: Range<u32>,
    words_per_block: usize,
}

/// Sets of rows by index.
pub(crate) type RowSets = HashMap<u32, RowSet>;

/// Words for the rows of a block: each row takes a line pointer and a header.
// EVIDENCE: src/include/access/htup_details.h MaxHeapTuplesPerPage
pub(crate) fn words_per_block(block_bytes: usize) -> usize {
    let row_bytes = TUPLE_HEADER_BYTES.next_multiple_of(8) + ITEM_BYTES;
    (block_bytes.saturating_sub(HEADER_BYTES) / row_bytes + 1).div_ceil(64)
}

impl RowSet {
    /// An empty set for the rows of some blocks.
    pub(crate) fn new(blocks: Range<u32>, block_bytes: usize) -> RowSet {
        let words_per_block = words_per_block(block_bytes);
        let count = blocks.len() * words_per_block;
        RowSet { words: (0..count).map(|_| AtomicU64::new(0)).collect(), blocks, words_per_block }
    }

    /// Adds a row. One of another block is not of this set; one that no block has room for makes `false`.
    #[inline]
    pub(crate) fn insert(&self, tid: Tid) -> bool {
        let bit = usize::from(tid.item);
        if bit >= self.words_per_block * 64 {
            return false;
        }
        if self.blocks.contains(&tid.block) {
            let at = (tid.block - self.blocks.start) as usize * self.words_per_block + bit / 64;
            let mask = 1 << (bit % 64);
            // Most are there already, under another key: reading leaves the line of the cache with its owner.
            if let Some(word) = self.words.get(at).filter(|word| word.load(Ordering::Relaxed) & mask == 0) {
                word.fetch_or(mask, Ordering::Relaxed);
            }
        }
        true
    }

    /// The rows of the set, ascending.
    pub(crate) fn tids(&self) -> impl Iterator<Item = Tid> + '_ {
        let blocks = self.blocks.clone().zip(self.words.chunks(self.words_per_block.max(1)));
        blocks.flat_map(|(block, words)| {
            words.iter().enumerate().flat_map(move |(number, word)| {
                let bits = word.load(Ordering::Relaxed);
                let set = (0..64).filter(move |bit| bits >> bit & 1 == 1);
                set.map(move |bit| Tid { block, item: (number * 64 + bit) as u16 })
            })
        })
    }
}
