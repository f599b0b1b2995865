//! The facts of one worker, as sums.

use std::collections::{HashMap, HashSet};

use check::matching::side::Side;
use check::matching::sums::Difference;
use formats::postgres::Tid;
use results::check::Share;

use crate::btree::seams::{Seam, Seams};
use crate::gin::blocks::{GinBlocks, GinRecord};
use crate::heap::exception_code;
use crate::heap::packed::PackedValue;
use crate::matching::differences::Differences;
use crate::matching::exception::Exception;
use crate::matching::exceptions::{ChangedBlocks, Codes, boundary_code};
use crate::matching::links::Link;
use crate::matching::sink::{Boundary, EntrySink, RowSink};
use crate::plan::Plan;
use crate::run::coverage::Covered;

/// Relations with fewer blocks have one bucket for their sums.
const SMALL_RELATION_BLOCKS: u32 = 64;

/// Facts of one worker, as sums.
#[derive(Default)]
pub(crate) struct Sums {
    /// What was verified.
    pub(crate) covered: Covered,
    /// Rows and entries, or TOAST pointers and pieces, by relation.
    pub(crate) entries: Differences,
    /// Links between blocks of indexes, by relation.
    pub(crate) links: Differences,
    /// Row pointers that are not matched in the ordinary way, by table.
    pub(crate) exceptions: HashMap<u32, Codes>,
    /// Keys where two leaves of a unique index meet, by index, as codes.
    pub(crate) boundaries: HashMap<u32, Codes>,
    /// Keys of unique indexes whose order is not known, by index, as codes of 63 bits.
    pub(crate) unique_keys: HashMap<u32, Codes>,
    /// Where blocks of B-trees meet.
    pub(crate) seams: Seams,
    /// Packed values in TOAST, by TOAST table.
    pub(crate) packed: HashMap<u32, Vec<PackedValue>>,
    /// Those that were too many to remember.
    pub(crate) packed_left_out: HashMap<u32, u64>,
    packed_bytes: u64,
    /// Indexes with an update that was cut off.
    pub(crate) unfinished: HashMap<u32, u64>,
    /// B-trees with keys that could not be compared.
    pub(crate) order_not_known: HashMap<u32, u64>,
    /// Blocks of GIN indexes and their links.
    pub(crate) gin: GinBlocks,
    /// GIN indexes with more blocks than may be kept in memory.
    pub(crate) gin_left_out: HashSet<u32>,
    /// Relations that changed since the redo point of the last checkpoint, and are not compared.
    pub(crate) moved: HashSet<u32>,
    /// Blocks of tables that did: neither their rows nor the entries of these rows are compared.
    pub(crate) changed: ChangedBlocks,
    /// In a cluster that does not stand still: the last block of zeros of a table, and the last that stood still.
    pub(crate) ends: HashMap<u32, [Option<u32>; 2]>,
    /// Bytes of row pointers that are kept in memory before they go to a file.
    pub(crate) exception_bytes_max: u64,
    /// Blocks that are not counted as clean, by relation, and whether they break rules by their own bytes; so many at most
    /// that are remembered.
    pub(crate) not_clean: HashMap<(u32, u32), bool>,
    exception_bytes: u64,
    small: Vec<bool>,
}

impl RowSink for Sums {
    #[inline]
    fn fact(&mut self, relation: u32, side: Side, bucket: usize, fact: u128, _tid: Tid) {
        let is_small = self.is_small(relation);
        self.entries.of(relation, is_small).add_to(side, bucket, fact);
    }

    fn moved(&mut self, relation: u32) {
        self.moved.insert(relation);
    }

    fn changed(&mut self, table: u32, block: u32) {
        if !self.changed.insert(table, block) {
            self.moved.insert(table);
        }
    }

    fn stood_still(&mut self, table: u32, block: u32, is_zero: bool) {
        let [zero, still] = self.ends.entry(table).or_default();
        let last = if is_zero { zero } else { still };
        *last = (*last).max(Some(block));
    }

    fn rows(&mut self, table: u32, count: Share) {
        self.covered.rows(table, count);
    }

    fn exception(&mut self, table: u32, tid: Tid, exception: Exception) {
        self.exceptions.entry(table).or_default().push(exception_code(tid, exception));
        self.code_was_added();
    }

    fn packed(&mut self, toast: u32, value: PackedValue) {
        self.packed_bytes += size_of::<PackedValue>() as u64;
        if self.packed_bytes > self.exception_bytes_max {
            *self.packed_left_out.entry(toast).or_default() += 1;
        } else {
            self.packed.entry(toast).or_default().push(value);
        }
    }
}

impl EntrySink for Sums {
    #[inline]
    fn entry(&mut self, index: u32, bucket: usize, fact: u128, _tid: Tid, _place: (u32, u16)) {
        let is_small = self.is_small(index);
        self.entries.of(index, is_small).add_to(Side::Found, bucket, fact);
    }

    #[inline]
    fn entries(&mut self, index: u32, count: Share) {
        self.covered.entries(index, count);
    }

    fn link(&mut self, index: u32, side: Side, bucket: usize, fact: u128, _link: Link) {
        let is_small = self.is_small(index);
        self.links.of(index, is_small).add_to(side, bucket, fact);
    }

    fn boundary(&mut self, index: u32, side: Side, fact: u128, _boundary: Boundary) {
        self.boundaries.entry(index).or_default().push(boundary_code(side, fact));
        self.code_was_added();
    }

    fn unique_key(&mut self, index: u32, fact: u128, _tid: Tid, _place: (u32, u16)) {
        self.unique_keys.entry(index).or_default().push(boundary_code(Side::Expected, fact) >> 1);
        self.code_was_added();
    }

    fn seam(&mut self, seam: Seam, side: Side, key: &[u8]) -> Option<Box<[u8]>> {
        self.seams.state(seam, side, key)
    }

    fn broken_seam(&mut self, seam: Seam) {
        self.seams.keep_broken(seam);
    }

    fn unfinished(&mut self, index: u32) {
        *self.unfinished.entry(index).or_default() += 1;
    }

    fn order_not_known(&mut self, index: u32) {
        *self.order_not_known.entry(index).or_default() += 1;
    }

    fn gin(&mut self, index: u32, record: GinRecord) {
        if !self.gin.push(index, record, self.exception_bytes_max) {
            self.gin_left_out.insert(index);
        }
    }
}

impl Sums {
    /// Starts empty sums for the relations of a plan.
    pub(crate) fn new(plan: &Plan) -> Sums {
        // Rows and entries must use the same number of buckets: that of the table, so small means both are.
        let is_small = |number: usize| {
            let own = plan.blocks.get(number).copied().unwrap_or(0);
            let heap = plan.trees.get(&(number as u32)).and_then(|tree| tree.heap_blocks).unwrap_or(0);
            own.max(heap) < SMALL_RELATION_BLOCKS
        };
        Sums {
            small: (0..plan.relations.len()).map(is_small).collect(),
            exception_bytes_max: u64::MAX,
            seams: Seams::new(u64::MAX),
            ..Sums::default()
        }
    }

    #[inline]
    fn is_small(&self, relation: u32) -> bool {
        self.small.get(relation as usize).copied().unwrap_or(false)
    }

    /// Moves codes to files when they take too much memory.
    fn code_was_added(&mut self) {
        self.exception_bytes += size_of::<u64>() as u64;
        if self.exception_bytes > self.exception_bytes_max {
            let all = self.exceptions.values_mut().chain(self.boundaries.values_mut());
            all.chain(self.unique_keys.values_mut()).for_each(Codes::spill);
            self.exception_bytes = 0;
        }
    }

    /// Bytes that the sums take.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let differences = self.entries.iter().chain(self.links.iter());
        differences.map(|(_, difference)| Difference::memory_bytes(difference)).sum::<u64>()
            + self.gin.memory_bytes()
    }

    pub(crate) fn merge(&mut self, other: Sums) {
        self.covered.merge(other.covered);
        self.entries.merge(other.entries);
        self.links.merge(other.links);
        self.moved.extend(other.moved);
        self.moved.extend(self.changed.merge(other.changed));
        self.gin.merge(other.gin);
        self.seams.merge(other.seams);
        self.gin_left_out.extend(other.gin_left_out);
        self.not_clean.extend(other.not_clean);
        for (table, [zero, still]) in other.ends {
            let ends = self.ends.entry(table).or_default();
            *ends = [ends[0].max(zero), ends[1].max(still)];
        }
        for (mine, theirs) in [
            (&mut self.exceptions, other.exceptions),
            (&mut self.boundaries, other.boundaries),
            (&mut self.unique_keys, other.unique_keys),
        ] {
            for (number, codes) in theirs {
                mine.entry(number).or_default().merge(codes);
            }
        }
        for (toast, mut values) in other.packed {
            self.packed.entry(toast).or_default().append(&mut values);
        }
        for (mine, theirs) in [
            (&mut self.unfinished, other.unfinished),
            (&mut self.order_not_known, other.order_not_known),
            (&mut self.packed_left_out, other.packed_left_out),
        ] {
            for (number, count) in theirs {
                *mine.entry(number).or_default() += count;
            }
        }
    }
}
