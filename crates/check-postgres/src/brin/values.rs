//! Holds the rows of a table against what its BRIN indexes know of their ranges, while the table is read.
//!
//! Nothing is kept beyond the range that is looked at: tables are read in the order of their blocks, so that a range is
//! asked for once by each worker that comes to it, and the block of the map and the one of summaries are those of the
//! range before nearly always. Memory: two blocks of each BRIN index of one table, per worker. I/O: about the size of
//! the index, for all workers together.

use std::collections::HashMap;

use formats::postgres::brin::{Kind, Opaque, Tuple, map_entry};
use formats::postgres::checksum::page_checksum;
use formats::postgres::page::{ItemState, Page};

use crate::brin::plan::BrinPlan;
use crate::brin::summaries::Summary;
use crate::catalog::IndexColumn;
use crate::cluster::state::Snapshot;

/// The BRIN indexes of a table whose rows are held against them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ranges<'a> {
    pub(crate) plans: &'a HashMap<u32, BrinPlan>,
    /// In a cluster that does not stand still, only what stood still counts.
    pub(crate) snapshot: Option<Snapshot>,
    pub(crate) checksums: bool,
}

/// What was read of the indexes of one table.
#[derive(Debug, Default)]
pub(crate) struct RangeReader {
    table: Option<u32>,
    by_index: HashMap<u32, Cached>,
    /// Blocks that were read since the start.
    pub(crate) read_count: u64,
}

#[derive(Debug, Default)]
struct Cached {
    /// The first block of the range that was read last.
    start: Option<u32>,
    /// What is known of it; `None` if nothing is rule.
    summary: Option<Summary>,
    map: Option<(u32, Vec<u8>)>,
    tuples: Option<(u32, Vec<u8>)>,
    /// The block of the table that was accused last: one finding is enough for it.
    accused_block: Option<u32>,
}

impl RangeReader {
    /// Starts a block of a table: what was accused in an earlier reading of it is forgotten.
    pub(crate) fn start_block(&mut self, table: u32) {
        if self.table != Some(table) {
            self.table = Some(table);
            self.by_index.clear();
        }
        self.by_index.values_mut().for_each(|cached| cached.accused_block = None);
    }

    /// What an index knows of the range of a block. `is_anew`: as it stands in the file now.
    pub(crate) fn summary(
        &mut self,
        brin: &BrinPlan,
        columns: &[IndexColumn],
        block: u32,
        ranges: &Ranges<'_>,
        is_anew: bool,
    ) -> Option<&Summary> {
        let meta = brin.meta?;
        let start = block - block.checked_rem(meta.pages_per_range)?;
        let cached = self.by_index.entry(brin.number).or_default();
        if is_anew {
            *cached = Cached { accused_block: cached.accused_block, ..Cached::default() };
        }
        if cached.start != Some(start) {
            cached.start = Some(start);
            cached.summary = cached.read(brin, columns, start, ranges, &mut self.read_count);
        }
        cached.summary.as_ref()
    }
}

impl Cached {
    fn read(
        &mut self,
        brin: &BrinPlan,
        columns: &[IndexColumn],
        start: u32,
        ranges: &Ranges<'_>,
        read_count: &mut u64,
    ) -> Option<Summary> {
        let (block, entry) = brin.meta?.map_place(start, brin.block_bytes)?;
        let map = still_block(&mut self.map, brin, (block, Kind::RangeMap), ranges, read_count)?;
        let tid = map_entry(&Page::new(map), entry)?;
        let tuples = still_block(&mut self.tuples, brin, (tid.block, Kind::Tuples), ranges, read_count)?;
        let page = Page::new(tuples);
        let item = page.item(tid.item).filter(|item| item.state == ItemState::Normal)?;
        let tuple = Tuple::read(page.item_bytes(item)?)?;
        let is_sound = tuple.check(item, columns.len(), brin.meta?.pages_per_range, &mut Vec::new());
        // What is wrong with it is found where its block is tested. A placeholder says nothing.
        if !is_sound || tuple.block != start || tuple.is_placeholder() {
            return None;
        }
        Summary::read(&tuple, columns)
    }
}

/// A block of the index, from what was read last or from the file; `None` if it is not of the kind, or cannot be trusted.
fn still_block<'c>(
    cached: &'c mut Option<(u32, Vec<u8>)>,
    brin: &BrinPlan,
    (block, kind): (u32, Kind),
    ranges: &Ranges<'_>,
    read_count: &mut u64,
) -> Option<&'c [u8]> {
    if cached.as_ref().is_none_or(|(number, _)| *number != block) {
        *cached = None;
        *read_count += 1;
        *cached = Some((block, brin.read(block)?));
    }
    let (_, bytes) = cached.as_ref()?;
    let page = Page::new(bytes);
    let is_whole = !ranges.checksums || page_checksum(bytes, block) == page.header().checksum;
    let is_still = ranges.snapshot.is_none_or(|snapshot| page.header().lsn < snapshot.redo_lsn);
    let is_kind = !page.is_new() && Opaque::read(&page)?.kind() == Some(kind);
    (is_whole && is_still && is_kind && page.check_header(8, &mut Vec::new())).then_some(bytes.as_slice())
}

impl RangeReader {
    pub(crate) fn is_accused(&self, index: u32, block: u32) -> bool {
        self.by_index.get(&index).is_some_and(|cached| cached.accused_block == Some(block))
    }

    pub(crate) fn accuse(&mut self, index: u32, block: u32) {
        self.by_index.entry(index).or_default().accused_block = Some(block);
    }
}
