//! Rules of one B-tree block, and the facts that it states about its neighbours and about rows.

pub(crate) mod bounds;
pub(crate) mod context;
pub(crate) mod keys;
pub(crate) mod seams;

use check::matching::side::Side;
use check::matching::sums::BUCKET_COUNT;
use formats::postgres::btree::{
    IndexTuple, Meta, Opaque, SPECIAL_BYTES, TUPLE_HEADER_BYTES, VERSION_TID_KEYS, flag,
};
use formats::postgres::page::{Item, Page};
use results::check::CheckLevel;

use crate::block::work::Work;
use crate::btree::context::{TreeCheck, TreeScratch};
use crate::btree::keys::Walk;
use crate::matching::links::{Link, LinkKind};
use crate::matching::sink::EntrySink;

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
                    // The meta page states the root, as a parent its child.
                    self.state_downlink(work, Side::Expected, meta.root, meta.level, None);
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
            let mut hasher = LinkKind::Sibling.fact(self.key, self.tree.number, blocks);
            hasher.word(u64::from(opaque.level));
            let link = Link { kind: LinkKind::Sibling, from: block, to, detail: opaque.level };
            work.sink.link(self.tree.number, side, right as usize % BUCKET_COUNT, hasher.finish(), link);
        };
        if opaque.next != 0 {
            state(Side::Expected, block, opaque.next, opaque.next);
        }
        if opaque.previous != 0 {
            state(Side::Found, opaque.previous, block, opaque.previous);
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
        let mut hasher = LinkKind::Downlink.fact(self.key, self.tree.number, place);
        if let Some(bound) = bound {
            let (columns, info, bytes) = bound.separator();
            // Before version 4 a separator keeps the item number of some row, which means nothing.
            if self.tree.version >= VERSION_TID_KEYS {
                hasher.word((u64::from(columns) << 16) | u64::from(info));
            }
            hasher.bytes(bytes);
        }
        let link = Link { kind: LinkKind::Downlink, from: work.place.block, to: child, detail: level };
        work.sink.link(self.tree.number, side, child as usize % BUCKET_COUNT, hasher.finish(), link);
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
        self.state_downlink(work, Side::Found, work.place.block, opaque.level, high_key);
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
                self.state_downlink(work, Side::Expected, child, child_level, Some(tuple));
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
            self.state_downlink(work, Side::Expected, child, child_level, high_key);
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
