//! The rows that a GIN index names: as a set, since a row stands under each of its keys.

use std::collections::{HashMap, HashSet};

use crate::catalog::Storage;
use crate::gin::row_set::{RowSet, RowSets, words_per_block};
use crate::matching::differences::BlockBuckets;
use crate::matching::entry::tid_fact;
use crate::matching::exact::Exact;
use crate::matching::exception::Exception;
use crate::matching::sink::EntrySink as _;
use crate::matching::sums::Sums;
use crate::plan::objects::Matching;
use crate::run::context::PassContext;
use crate::run::report::ReportBuilder;
use crate::run::state::PassState;

/// Part of the memory of a check that sets of rows may take, as a divisor.
const MEMORY_PART: u64 = 4;

/// GIN indexes whose rows are looked at, among the files of a pass, with the blocks of their tables.
fn indexes(context: &PassContext<'_>) -> Vec<(u32, u32)> {
    let numbers: HashSet<u32> = context.files.iter().filter_map(|file| file.relation).collect();
    let mut found: Vec<(u32, u32)> = numbers
        .into_iter()
        .filter(|number| {
            context.plan.relation(*number).is_some_and(|relation| relation.storage == Storage::Gin)
        })
        .filter_map(|number| {
            let tree = context.plan.trees.get(&number).filter(|tree| tree.matching != Matching::None)?;
            Some((number, tree.heap_blocks?))
        })
        .collect();
    found.sort_unstable();
    found
}

/// Empty sets for the GIN indexes of a pass, as many as may be kept; the others are read once more afterwards.
pub(crate) fn row_sets(context: &PassContext<'_>, memory_bytes_max: u64) -> RowSets {
    let block_bytes = context.cluster.block_bytes;
    let bytes_of = |blocks: u32| u64::from(blocks) * words_per_block(block_bytes) as u64 * 8;
    let mut left = memory_bytes_max / MEMORY_PART;
    let mut sets = RowSets::new();
    for (number, blocks) in indexes(context) {
        if let Some(rest) = left.checked_sub(bytes_of(blocks)) {
            left = rest;
            sets.insert(number, RowSet::new(0..blocks, block_bytes));
        }
    }
    sets
}

impl ReportBuilder<'_> {
    /// States the rows that GIN indexes name, each once: from the sets of the pass, or from the index once more, for as
    /// many blocks of the table at a time as memory allows.
    pub(crate) fn state_gin_rows(
        &mut self,
        sets: &RowSets,
        first: &PassContext<'_>,
        second: &PassContext<'_>,
        state: &mut PassState,
    ) {
        let block_bytes = second.cluster.block_bytes;
        let bytes_per_block = words_per_block(block_bytes) as u64 * 8;
        let memory_bytes_max = self.options.memory_bytes_max;
        let blocks_at_once =
            (memory_bytes_max / MEMORY_PART / bytes_per_block).clamp(1, u64::from(u32::MAX)) as u32;
        for (number, blocks) in indexes(second) {
            if let Some(set) = sets.get(&number) {
                state_rows(set, number, blocks, second, &mut state.sums);
                continue;
            }
            let mut start = 0;
            // At most as many turns as the table has blocks.
            while start < blocks {
                let end = blocks.min(start.saturating_add(blocks_at_once));
                let range = HashMap::from([(number, RowSet::new(start..end, block_bytes))]);
                let mut exact = Exact::new(first, second, memory_bytes_max, Some(&range));
                // What else the blocks say was stated in the pass.
                let mut stated_before = Sums::new(second.plan);
                stated_before.exception_bytes_max = 0;
                if !exact.read_again(true, number, None, &mut stated_before) {
                    stated_before.moved.insert(number);
                }
                state.sums.moved.extend(stated_before.moved);
                self.counters.extra_read_bytes += exact.bytes_read;
                if let Some(set) = range.get(&number) {
                    state_rows(set, number, blocks, second, &mut state.sums);
                }
                start = end;
            }
        }
    }
}

fn state_rows(set: &RowSet, index: u32, heap_blocks: u32, context: &PassContext<'_>, sums: &mut Sums) {
    let heap = context.plan.trees.get(&index).and_then(|tree| tree.heap);
    let exceptions = context.exceptions_of(heap);
    let buckets = BlockBuckets::new(heap_blocks);
    for tid in set.tids() {
        if exceptions.and_then(|exceptions| exceptions.of(tid)) != Some(Exception::NotLive) {
            sums.entry(index, buckets.of(tid.block), tid_fact(context.key, index, tid), tid, (0, 0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use formats::postgres::Tid;

    #[test]
    fn a_set_gives_each_of_its_rows_once_and_ascending() {
        let set = RowSet::new(3..6, 8192);
        let tid = |block, item| Tid { block, item };
        for row in [tid(5, 291), tid(3, 1), tid(5, 291), tid(4, 64), tid(3, 63), tid(2, 1), tid(6, 1)] {
            assert!(set.insert(row));
        }
        assert!(!set.insert(tid(4, 2047)), "no block has so many rows");
        let found: Vec<Tid> = set.tids().collect();
        assert_eq!(found, [tid(3, 1), tid(3, 63), tid(4, 64), tid(5, 291)]);
    }
}
