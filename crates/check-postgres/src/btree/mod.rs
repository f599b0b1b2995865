//! Rules of one B-tree block, and the facts that it states about its neighbours and about rows.

pub(crate) mod bounds;
pub(crate) mod keys;
pub(crate) mod seams;

use check::rule::Rule;
use formats::postgres::btree::{
    IndexTuple, Meta, Opaque, SPECIAL_BYTES, TUPLE_HEADER_BYTES, VERSION_TID_KEYS, flag,
};
use formats::postgres::page::{Item, ItemState, Page};
use formats::postgres::{Damage, Tid};
use results::check::{CheckLevel, Share};
use results::object::Affected;

use crate::btree::keys::Walk;
use crate::btree::seams::Seam;
use crate::catalog::Relation;
use crate::catalog::order::Scratch;
use crate::gin::blocks::Record as GinRecord;
use crate::heap::Work;
use crate::matching::entry::kind;
use crate::matching::exceptions::Exceptions;
use crate::matching::keyed::Key;
use crate::matching::ledger::{BUCKETS, BlockBuckets, Side};
use crate::matching::links::{Link, LinkKind};

/// How the entries of an index are matched with rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Matching {
    /// Not at all: invalid, or its table is not known.
    None,
    /// All rows have an entry, and all entries a row.
    Both,
    /// Entries must have rows, not the other way round: a partial index.
    EntriesOnly,
}

/// What is known of an index while its blocks are looked at.
pub(crate) struct Tree<'a> {
    pub(crate) relation: &'a Relation,
    pub(crate) number: u32,
    /// Name of its table.
    pub(crate) table: &'a str,
    /// Blocks of the index.
    pub(crate) blocks: u32,
    /// Blocks of its table.
    pub(crate) heap_blocks: Option<u32>,
    /// Buckets of its rows.
    pub(crate) heap_buckets: BlockBuckets,
    /// Whether the table stands still, so that it is known which rows are visible.
    pub(crate) is_heap_still: bool,
    /// Whether the cluster was shut down cleanly: hint bits of index pages then fit the table.
    pub(crate) is_settled: bool,
    /// Whether the table may have been cut since: VACUUM does so after its entries are gone, which may not have reached
    /// the file. Asked for entries beyond its end.
    pub(crate) may_be_cut: &'a dyn Fn() -> bool,
    pub(crate) matching: Matching,
    /// Version from the meta page.
    pub(crate) version: u32,
    /// Row pointers of the table that are not matched in the ordinary way, ascending.
    pub(crate) exceptions: &'a Exceptions,
}

impl Tree<'_> {
    /// Counts an entry that names a row past the end of the table: whether the table or the index is damaged is decided
    /// when all of its indexes are known.
    pub(super) fn report_beyond<S>(
        &self,
        rule: &'static Rule,
        tid: Tid,
        item: Option<u16>,
        entry_count: u64,
        work: &mut Work<'_, S>,
    ) {
        let expected = format!("a TID in the {} blocks of the table", self.heap_blocks.unwrap_or(u32::MAX));
        let finding = work.place.finding(rule, item, expected, format!("row {tid}"));
        work.findings.push_consequence(self.table, finding, Affected { row_count: 0, entry_count });
    }

    /// Whether an entry is marked dead in a cluster where that fits the table: it leads to no visible row, or is a fault.
    ///
    /// LP_DEAD is set without a record in the WAL, after the row was deleted: after a crash, in a backup or while a server
    /// runs the file of the index may have it before the file of the table has the deletion.
    // EVIDENCE: src/backend/access/nbtree/nbtutils.c _bt_killitems: set when all rows of the entry are dead to everyone;
    // hashutil.c _hash_kill_items, gistget.c gistkillitems alike
    pub(super) fn is_marked_dead(&self, item: Item) -> bool {
        item.state == ItemState::Dead && self.is_settled
    }
}

/// Where a B-tree block's facts go.
pub(crate) trait EntrySink {
    /// A fact about a row, in the bucket of its block.
    fn entry(&mut self, index: u32, bucket: usize, fact: u128, tid: Tid, place: (u32, u16));
    /// Counts entries: those that are compared with the key of their row, of all that may name a visible row.
    fn entries(&mut self, index: u32, count: Share) {
        let _ = (index, count);
    }
    /// An entry that is marked dead, as it would be stated otherwise.
    fn dead_entry(&mut self, index: u32, bucket: usize, fact: u128, tid: Tid, place: (u32, u16)) {
        let _ = (index, bucket, fact, tid, place);
    }
    /// The key of a visible row in a unique index whose order is not known.
    fn unique_key(&mut self, index: u32, fact: u128, tid: Tid, place: (u32, u16)) {
        let _ = (index, fact, tid, place);
    }
    /// A fact about another block of the index.
    fn link(&mut self, index: u32, side: Side, bucket: usize, fact: u128, link: Link);
    /// The key of a visible row where two leaves meet: a claim from the left leaf, a witness from the right one.
    fn boundary(&mut self, index: u32, side: Side, fact: u128, boundary: Boundary);
    /// One side of a seam between two blocks; gives the key of the other side if that was stated before.
    fn seam(&mut self, seam: Seam, side: Side, key: &[u8]) -> Option<Box<[u8]>> {
        let _ = (seam, side, key);
        None
    }
    /// A seam whose first key is not above the bound.
    fn broken_seam(&mut self, seam: Seam) {
        let _ = seam;
    }
    /// A block that ends or starts an update of the index that was cut off: links or entries are not exact.
    fn unfinished(&mut self, index: u32);
    /// Keys of this column or type could not be compared.
    fn order_not_known(&mut self, index: u32);
    /// What a block of a GIN index says of itself or of another.
    fn gin(&mut self, index: u32, record: GinRecord) {
        let _ = (index, record);
    }
}

/// Where two leaves meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Boundary {
    /// A visible row that has the key.
    pub(crate) tid: Tid,
    /// Block of the leaf that states it.
    pub(crate) block: u32,
}

/// What a B-tree block is tested with.
pub(crate) struct TreeCheck<'a> {
    pub(crate) tree: &'a Tree<'a>,
    pub(crate) key: &'a Key,
    pub(crate) level: CheckLevel,
}

/// Buffers that are kept from block to block.
#[derive(Default)]
pub(crate) struct TreeScratch {
    damage: Vec<Damage>,
    pub(super) values: Scratch,
    pub(super) buffer: Vec<u8>,
}

impl TreeCheck<'_> {
    /// Tests a block whose header was found in order.
    pub(crate) fn block<S: EntrySink>(
        &self,
        page: &Page<'_>,
        scratch: &mut TreeScratch,
        work: &mut Work<'_, S>,
    ) {
        scratch.damage.clear();
        let Some(opaque) = Opaque::read(page) else { return };
        let block = work.place.block;
        let special = usize::from(page.header().special);
        let linked = opaque.check(special, block, self.tree.blocks, &mut scratch.damage);
        if block == 0 {
            if let Some(meta) = Meta::read(page) {
                meta.check(self.tree.blocks, &mut scratch.damage);
                if meta.root != 0 {
                    // The root is claimed by the meta page, as a child by its parent.
                    self.state_downlink(work, Side::Claim, meta.root, meta.level, None);
                }
            }
            work.drain(&mut scratch.damage);
            return;
        }
        if opaque.has(flag::DELETED) || !linked {
            work.drain(&mut scratch.damage);
            return;
        }
        page.check_items(TUPLE_HEADER_BYTES, true, &mut scratch.damage);
        let intact = scratch.damage.is_empty();
        work.drain(&mut scratch.damage);
        self.state_siblings(&opaque, work);
        if opaque.has(flag::INCOMPLETE_SPLIT | flag::HALF_DEAD) {
            work.sink.unfinished(self.tree.number);
        }
        // The high key of a half-dead block is no key but a link for the deletion that was cut off.
        if intact && !opaque.has(flag::HALF_DEAD) {
            self.items(page, &opaque, scratch, work);
        }
    }

    /// Each block but the last names its right sibling, and each but the first its left.
    fn state_siblings<S: EntrySink>(&self, opaque: &Opaque, work: &mut Work<'_, S>) {
        let block = work.place.block;
        let mut state = |side, left: u32, right: u32, to| {
            let blocks = (u64::from(left) << 32) | u64::from(right);
            let mut hasher = self.key.fact(kind::SIBLING, self.tree.number, blocks);
            hasher.word(u64::from(opaque.level));
            let link = Link { kind: LinkKind::Sibling, from: block, to, detail: opaque.level };
            work.sink.link(self.tree.number, side, right as usize % BUCKETS, hasher.finish(), link);
        };
        if opaque.next != 0 {
            state(Side::Claim, block, opaque.next, opaque.next);
        }
        if opaque.previous != 0 {
            state(Side::Witness, opaque.previous, block, opaque.previous);
        }
    }

    /// A child's place in the tree: number, level, and the separator above it (`None` at the right edge).
    // EVIDENCE: contrib/amcheck/verify_nbtree.c bt_child_highkey_check: the high key of a child equals the next
    // separator in its parent
    fn state_downlink<S: EntrySink>(
        &self,
        work: &mut Work<'_, S>,
        side: Side,
        child: u32,
        level: u32,
        bound: Option<IndexTuple<'_>>,
    ) {
        let place = (u64::from(child) << 32) | u64::from(level);
        let mut hasher = self.key.fact(kind::DOWNLINK, self.tree.number, place);
        if let Some(bound) = bound {
            let (columns, info, bytes) = bound.separator();
            // Before version 4 a separator keeps the item number of some row, which means nothing.
            if self.tree.version >= VERSION_TID_KEYS {
                hasher.word((u64::from(columns) << 16) | u64::from(info));
            }
            hasher.bytes(bytes);
        }
        let link = Link { kind: LinkKind::Downlink, from: work.place.block, to: child, detail: level };
        work.sink.link(self.tree.number, side, child as usize % BUCKETS, hasher.finish(), link);
    }

    fn items<S: EntrySink>(
        &self,
        page: &Page<'_>,
        opaque: &Opaque,
        scratch: &mut TreeScratch,
        work: &mut Work<'_, S>,
    ) {
        let first = opaque.first_data_item();
        let high_key = if first == 2 { page.item(1).and_then(|item| read(page, item)) } else { None };
        self.state_downlink(work, Side::Witness, work.place.block, opaque.level, high_key);
        let child_level = opaque.level.saturating_sub(1);
        let mut walk = Walk::default();
        let mut child: Option<u32> = None;
        let mut first_key: Option<IndexTuple<'_>> = None;
        for item in page.items() {
            let Some(tuple) = read(page, item) else { continue };
            let is_high_key = item.number < first;
            let fits =
                tuple.check(item, is_high_key || !opaque.is_leaf(), self.tree.version, &mut scratch.damage);
            if !scratch.damage.is_empty() {
                work.drain(&mut scratch.damage);
            }
            if !fits || is_high_key {
                continue;
            }
            if opaque.is_leaf() {
                if first_key.is_none() {
                    first_key = Some(tuple);
                }
                self.leaf_entry(tuple, item, &mut walk, scratch, work);
                continue;
            }
            if let Some(child) = child.replace(tuple.downlink()) {
                self.state_downlink(work, Side::Claim, child, child_level, Some(tuple));
            }
            // The first separator of an inner block stands for minus infinity and has no columns.
            if item.number > first
                && self.level == CheckLevel::Full
                && self.read_values(&tuple, item, &mut walk, work)
            {
                first_key = first_key.or(Some(tuple));
                self.check_order(&tuple, item, &mut walk, scratch, work);
                walk.advance(tuple);
            }
        }
        if let Some(child) = child {
            self.state_downlink(work, Side::Claim, child, child_level, high_key);
        }
        if opaque.is_leaf() && self.level == CheckLevel::Full {
            self.state_boundaries(opaque, &walk, scratch, work);
        }
        if let (Some(high_key), CheckLevel::Full) = (high_key, self.level) {
            self.check_high_key(&high_key, &mut walk, scratch, work);
        }
        if self.level == CheckLevel::Full {
            self.state_seams(opaque, high_key, first_key, &mut scratch.values, work);
        }
    }
}

fn read<'p>(page: &Page<'p>, item: Item) -> Option<IndexTuple<'p>> {
    page.item_bytes(item).and_then(IndexTuple::read)
}

/// Length of the special space that blocks of a B-tree have.
pub(crate) const TREE_SPECIAL_BYTES: usize = SPECIAL_BYTES;
