//! How the blocks of a GIN index hang together: one record for each block and each link, looked at when all are known.
//!
//! Right siblings name no left one, and blocks do not say on which level they are, so that sums of facts would prove
//! little; 32 bytes a block are kept instead, while the batch lasts.

use std::collections::HashMap;

use check::rule::Rule;
use formats::postgres::BLOCK_NONE;
use formats::postgres::gin::{Kind, META_BLOCK, Meta, Opaque, ROOT_BLOCK, flag};

use crate::rules;

/// The bound of a block at the right edge of its level.
pub(crate) const BOUND_NONE: u32 = 0;
/// A bound that could not be read. Those that could are odd.
pub(crate) const BOUND_NOT_KNOWN: u32 = 2;
/// Steps from a block up to its root: each level has at least twice the blocks of the one above, and there are 2^32.
const LEVELS_MAX: usize = 32;

const TAG_BITS: u32 = 3;
const TAG_BLOCK: u32 = 0;
const TAG_CHILD: u32 = 1;
const TAG_ROOT: u32 = 2;
const TAG_LIST: u32 = 3;
const TAG_COUNTS: u32 = 4;
const INCOMPLETE: u32 = 1 << 7;

/// What a block says of itself or of another, in four words; the last says what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GinRecord(pub(crate) [u32; 4]);

impl GinRecord {
    /// A block; for one of the list the free bytes in place of the bound.
    pub(crate) fn block(block: u32, opaque: &Opaque, kind: Kind, bound: u32) -> GinRecord {
        let kind = Kind::ALL.iter().position(|other| *other == kind).unwrap_or(0) as u32;
        let incomplete = if opaque.has(flag::INCOMPLETE_SPLIT) { INCOMPLETE } else { 0 };
        let tag = TAG_BLOCK | kind << TAG_BITS | incomplete | u32::from(opaque.count) << 16;
        GinRecord([block, opaque.right, bound, tag])
    }

    /// A child of an inner block, with its bound and its place among the children.
    pub(crate) fn child(child: u32, parent: u32, bound: u32, number: usize) -> GinRecord {
        GinRecord([child, parent, bound, TAG_CHILD | (number as u32) << TAG_BITS])
    }

    /// The root of a posting tree, named by an entry of a leaf.
    pub(crate) fn root(root: u32, leaf: u32) -> GinRecord {
        GinRecord([root, leaf, BOUND_NONE, TAG_ROOT])
    }

    /// What the meta page says about the list of pending entries.
    pub(crate) fn of_meta(meta: &Meta) -> [GinRecord; 2] {
        let rows = meta.pending_rows as u64;
        [
            GinRecord([meta.head, meta.tail, meta.pending_pages, TAG_LIST]),
            GinRecord([rows as u32, (rows >> 32) as u32, meta.tail_free_bytes, TAG_COUNTS]),
        ]
    }
}

/// Records of the blocks of GIN indexes, by number in the plan. Merges by addition.
#[derive(Debug, Default)]
pub(crate) struct GinBlocks {
    pub(crate) records: HashMap<u32, Vec<GinRecord>>,
    bytes: u64,
}

impl GinBlocks {
    /// Keeps a record; `false` if that would take more than so many bytes.
    pub(crate) fn push(&mut self, index: u32, record: GinRecord, bytes_max: u64) -> bool {
        self.bytes += size_of::<GinRecord>() as u64;
        let fits = self.bytes <= bytes_max;
        if fits {
            self.records.entry(index).or_default().push(record);
        }
        fits
    }

    pub(crate) fn merge(&mut self, other: GinBlocks) {
        self.bytes += other.bytes;
        for (index, mut records) in other.records {
            self.records.entry(index).or_default().append(&mut records);
        }
    }

    /// Bytes that are kept.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.bytes
    }
}

/// A broken invariant about a block.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) rule: &'static Rule,
    pub(crate) block: u32,
    pub(crate) expected: String,
    pub(crate) found: String,
}

/// What is known of a block.
#[derive(Clone, Copy)]
struct Node {
    kind: Option<Kind>,
    is_incomplete: bool,
    right: u32,
    bound: u32,
    /// Rows of a block of the list.
    rows: u16,
    /// Who names it from above; [`BLOCK_NONE`] for nobody.
    parent: u32,
    parent_bound: u32,
    number: u32,
    /// Named by an entry, as the root of a posting tree.
    is_root: bool,
    /// Whether it is a right sibling.
    is_linked: bool,
    /// Whether its left sibling was split and the level above does not know yet.
    is_after_split: bool,
}

const NOTHING: Node = Node {
    kind: None,
    is_incomplete: false,
    right: BLOCK_NONE,
    bound: BOUND_NOT_KNOWN,
    rows: 0,
    parent: BLOCK_NONE,
    parent_bound: BOUND_NOT_KNOWN,
    number: 0,
    is_root: false,
    is_linked: false,
    is_after_split: false,
};

/// The blocks of one index, put together.
pub(crate) struct GinTree {
    nodes: Vec<Node>,
    list: Option<[u32; 3]>,
    counts: Option<[u32; 3]>,
    pub(crate) faults: Vec<Fault>,
    /// Blocks that nothing leads to, as an error or a crash leaves them behind.
    pub(crate) left_behind: u64,
}

impl GinTree {
    /// Puts the records of an index of so many blocks together. Memory: 40 bytes a block.
    pub(crate) fn new(records: &[GinRecord], blocks: u32) -> GinTree {
        let mut tree = GinTree {
            nodes: vec![NOTHING; blocks as usize],
            list: None,
            counts: None,
            faults: Vec::new(),
            left_behind: 0,
        };
        for GinRecord([block, a, b, tag]) in records {
            let more = tag >> TAG_BITS;
            match tag & ((1 << TAG_BITS) - 1) {
                TAG_BLOCK => {
                    let Some(node) = tree.nodes.get_mut(*block as usize) else { continue };
                    node.kind = Kind::ALL.get((more & 0xF) as usize).copied();
                    node.is_incomplete = tag & INCOMPLETE != 0;
                    (node.right, node.bound, node.rows) = (*a, *b, (tag >> 16) as u16);
                }
                TAG_LIST => tree.list = Some([*block, *a, *b]),
                TAG_COUNTS => tree.counts = Some([*block, *a, *b]),
                TAG_CHILD => tree.claim(*block, *a, *b, Some(more)),
                _ => tree.claim(*block, *a, *b, None),
            }
        }
        tree
    }

    fn report(
        &mut self,
        rule: &'static Rule,
        block: u32,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) {
        self.faults.push(Fault { rule, block, expected: expected.into(), found: found.into() });
    }

    fn claim(&mut self, child: u32, parent: u32, bound: u32, number: Option<u32>) {
        let Some(node) = self.nodes.get_mut(child as usize) else { return };
        if node.parent != BLOCK_NONE {
            let found = format!("two downlinks, in blocks {} and {parent}", node.parent);
            self.report(&rules::GIN_TREE, child, "one downlink", found);
            return;
        }
        (node.parent, node.parent_bound) = (parent, bound);
        (node.number, node.is_root) = (number.unwrap_or(0), number.is_none());
    }

    fn node(&self, block: u32) -> Node {
        self.nodes.get(block as usize).copied().unwrap_or(NOTHING)
    }

    /// Tests everything; what is broken stands in `faults` then, ascending by block.
    pub(crate) fn check(&mut self) {
        for block in 0..self.nodes.len() as u32 {
            let right = self.node(block).right;
            let is_tree = self.node(block).kind.is_some_and(Kind::is_tree);
            if is_tree && right != BLOCK_NONE {
                self.follow(block, right);
            }
        }
        for (block, what) in [(META_BLOCK, "the metapage"), (ROOT_BLOCK, "the root of the key tree")] {
            if self.node(block).kind.is_none() && block == ROOT_BLOCK {
                self.report(&rules::GIN_TREE, block, what, "a block that is not a tree block");
            }
        }
        for block in ROOT_BLOCK..self.nodes.len() as u32 {
            self.check_place(block);
        }
        self.check_list();
        self.faults.sort_by_key(|fault| (fault.block, fault.rule));
    }

    /// Tests the link of a block to its right sibling.
    fn follow(&mut self, left: u32, right: u32) {
        let (from, to) = (self.node(left), self.node(right));
        if let Some(node) = self.nodes.get_mut(right as usize).filter(|_| from.is_incomplete) {
            node.is_after_split = true;
        }
        if to.kind != from.kind {
            let expected = format!(
                "a right sibling of block {left}, which is {}",
                from.kind.map_or("nothing", Kind::name)
            );
            let found = to.kind.map_or("a damaged or new block", Kind::name);
            self.report(&rules::GIN_SIBLINGS, right, expected, found);
            return;
        }
        if to.is_linked {
            self.report(&rules::GIN_SIBLINGS, right, "one left sibling", format!("block {left} and another"));
            return;
        }
        if let Some(node) = self.nodes.get_mut(right as usize) {
            node.is_linked = true;
        }
        if from.parent == BLOCK_NONE || to.parent == BLOCK_NONE {
            return;
        }
        let follows = if from.parent == to.parent {
            to.number == from.number + 1
        } else {
            to.number == 0 && self.node(from.parent).right == to.parent
        };
        if !follows && !from.is_incomplete {
            let expected = format!("the next block after block {left} in the order of the parent level");
            let found = format!("child {} of block {}", to.number + 1, to.parent);
            self.report(&rules::GIN_SIBLINGS, right, expected, found);
        }
    }

    /// Tests that a block stands where the level above says.
    fn check_place(&mut self, block: u32) {
        let node = self.node(block);
        let is_claimed = node.parent != BLOCK_NONE;
        let parent = self.node(node.parent);
        let Some(kind) = node.kind else {
            if is_claimed {
                let expected = format!("a block of the tree, as referenced by block {}", node.parent);
                self.report(&rules::GIN_TREE, block, expected, "a damaged or new block");
            }
            return;
        };
        if is_claimed {
            self.check_claimed(block, node, parent, kind);
            return;
        }
        if !kind.is_tree() || block == ROOT_BLOCK {
            return;
        }
        if node.is_after_split {
            return;
        }
        // An error between making a posting tree and naming it leaves a root that nothing leads to.
        if kind.is_posting() && !node.is_linked && node.right == BLOCK_NONE {
            self.left_behind += 1;
            return;
        }
        self.report(&rules::GIN_TREE, block, "a downlink", "none");
    }

    fn check_claimed(&mut self, block: u32, node: Node, parent: Node, kind: Kind) {
        let is_wanted_posting = node.is_root || parent.kind.is_some_and(Kind::is_posting);
        if !kind.is_tree() || kind.is_posting() != is_wanted_posting || block == ROOT_BLOCK {
            let tree =
                if is_wanted_posting { "a block of a posting tree" } else { "a block of the key tree" };
            let expected = format!("{tree}, as referenced by block {}", node.parent);
            self.report(&rules::GIN_TREE, block, expected, kind.name());
            return;
        }
        if !self.leads_to_root(block) {
            self.report(&rules::GIN_TREE, block, "a path to a root", "a cycle");
            return;
        }
        // The bound of a block that was split is that of the last part.
        let Some(last) = self.last_of_split(block) else { return };
        let (wanted, found) = (node.parent_bound, self.node(last).bound);
        if wanted != found && wanted != BOUND_NOT_KNOWN && found != BOUND_NOT_KNOWN {
            let expected = format!("the bound in block {}", node.parent);
            self.report(&rules::GIN_TREE, block, expected, "a different bound");
        }
        let is_edge = self.node(last).right == BLOCK_NONE;
        if node.is_root && (node.is_linked || !is_edge) {
            self.report(
                &rules::GIN_SIBLINGS,
                block,
                "the root of a posting tree, without siblings",
                "a sibling",
            );
        } else if !node.is_root && is_edge && parent.right != BLOCK_NONE {
            let expected = format!("a right sibling, since its parent {} has one", node.parent);
            self.report(&rules::GIN_SIBLINGS, block, expected, "none");
        } else if !node.is_root && node.number > 0 && !node.is_linked {
            let expected = format!(
                "a left sibling that points to it, since it is child {} of block {}",
                node.number + 1,
                node.parent
            );
            self.report(&rules::GIN_SIBLINGS, block, expected, "none");
        }
    }

    /// The last of the parts of a block that the level above does not know of; `None` if the way is no way.
    fn last_of_split(&self, block: u32) -> Option<u32> {
        let mut at = block;
        // Two parts mostly: a split is ended before the next one of the same block.
        for _ in 0..LEVELS_MAX {
            let node = self.node(at);
            if !node.is_incomplete || node.right == BLOCK_NONE {
                return Some(at);
            }
            at = node.right;
        }
        None
    }

    fn leads_to_root(&self, block: u32) -> bool {
        let mut at = block;
        for _ in 0..LEVELS_MAX {
            let node = self.node(at);
            if node.is_root || node.parent == BLOCK_NONE {
                return true;
            }
            at = node.parent;
        }
        false
    }

    // EVIDENCE: src/backend/access/gin/ginfast.c ginHeapTupleFastInsert, shiftList: each block counts its rows, the
    // meta page blocks and rows of all
    fn check_list(&mut self) {
        let list_blocks = self.nodes.iter().filter(|node| node.kind == Some(Kind::List)).count() as u64;
        let (Some([head, tail, pages]), Some([low, high, free_bytes])) = (self.list, self.counts) else {
            return;
        };
        let (mut at, mut last, mut rows, mut count) = (head, BLOCK_NONE, 0u64, 0u64);
        // Each turn passes a block; a cycle is longer than the list may be.
        while at != BLOCK_NONE && count <= u64::from(pages) {
            let node = self.node(at);
            if node.kind != Some(Kind::List) {
                let before =
                    if last == BLOCK_NONE { "the metapage".to_owned() } else { format!("block {last}") };
                let found = node.kind.map_or("a damaged or new block", Kind::name);
                self.report(
                    &rules::GIN_PENDING,
                    at,
                    format!("a pending-list block, as referenced by {before}"),
                    found,
                );
                return;
            }
            count += 1;
            rows += u64::from(node.rows);
            last = at;
            at = node.right;
        }
        let wanted_rows = u64::from(low) | u64::from(high) << 32;
        let free_found = if last == BLOCK_NONE { 0 } else { self.node(last).bound };
        if (last, count, rows) != (tail, u64::from(pages), wanted_rows)
            || (free_found != free_bytes && last != BLOCK_NONE)
        {
            let shown = |block: u32| if block == BLOCK_NONE { "none".to_owned() } else { block.to_string() };
            let expected = format!(
                "a pending list of {pages} blocks to block {}, {wanted_rows} rows, {free_bytes} bytes free",
                shown(tail)
            );
            let found =
                format!("{count} blocks to block {}, {rows} rows, {free_found} bytes free", shown(last));
            self.report(&rules::GIN_PENDING, META_BLOCK, expected, found);
        }
        self.left_behind += list_blocks.saturating_sub(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(number: u32, kind: Kind, right: u32, bound: u32, flags: u16) -> GinRecord {
        GinRecord::block(number, &Opaque { right, count: 1, flags }, kind, bound)
    }

    /// A key tree of two leaves, one of which names a posting tree of three leaves; a list of two blocks.
    fn sound() -> Vec<GinRecord> {
        let list =
            Meta { head: 8, tail: 9, tail_free_bytes: 70, pending_pages: 2, pending_rows: 2, version: 2 };
        let mut records = vec![
            block(0, Kind::Meta, BLOCK_NONE, 0, 0),
            block(1, Kind::EntryInner, BLOCK_NONE, 0, 0),
            GinRecord::child(2, 1, 21, 0),
            GinRecord::child(3, 1, BOUND_NONE, 1),
            block(2, Kind::EntryLeaf, 3, 21, 0),
            block(3, Kind::EntryLeaf, BLOCK_NONE, BOUND_NONE, 0),
            GinRecord::root(4, 3),
            block(4, Kind::PostingInner, BLOCK_NONE, BOUND_NONE, 0),
            GinRecord::child(5, 4, 51, 0),
            GinRecord::child(6, 4, 61, 1),
            GinRecord::child(7, 4, BOUND_NONE, 2),
            block(5, Kind::PostingLeaf, 6, 51, 0),
            block(6, Kind::PostingLeaf, 7, 61, 0),
            block(7, Kind::PostingLeaf, BLOCK_NONE, BOUND_NONE, 0),
            block(8, Kind::List, 9, 30, 0),
            block(9, Kind::List, BLOCK_NONE, 70, 0),
            block(10, Kind::Deleted, 3, 0, 0),
        ];
        records.extend(GinRecord::of_meta(&list));
        records
    }

    fn faults(records: &[GinRecord]) -> Vec<(&'static Rule, u32)> {
        let mut tree = GinTree::new(records, 12);
        tree.check();
        tree.faults.iter().map(|fault| (fault.rule, fault.block)).collect()
    }

    fn changed(from: GinRecord, to: GinRecord) -> Vec<(&'static Rule, u32)> {
        let mut records = sound();
        let place = records.iter().position(|record| *record == from).unwrap_or(usize::MAX);
        records[place] = to;
        faults(&records)
    }

    #[test]
    fn blocks_in_order_are_silent_in_any_order() {
        let mut records = sound();
        assert_eq!(faults(&records), vec![]);
        records.reverse();
        assert_eq!(faults(&records), vec![]);
    }

    #[test]
    fn wrong_links_are_told() {
        let [pending, siblings, tree] = [&rules::GIN_PENDING, &rules::GIN_SIBLINGS, &rules::GIN_TREE];
        let leaf = |right, bound| block(6, Kind::PostingLeaf, right, bound, 0);
        assert_eq!(changed(leaf(7, 61), leaf(7, 63)), vec![(tree, 6)]);
        assert_eq!(changed(leaf(7, 61), leaf(5, 61)), vec![(siblings, 5), (siblings, 7)]);
        assert_eq!(
            changed(GinRecord::child(6, 4, 61, 1), GinRecord::child(5, 4, 61, 1)),
            vec![(tree, 5), (tree, 6)]
        );
        assert_eq!(changed(GinRecord::root(4, 3), GinRecord::root(2, 3))[..], [(tree, 2)]);
        let leaf = |right| block(2, Kind::EntryLeaf, right, 21, 0);
        assert_eq!(changed(leaf(3), leaf(7)), vec![(siblings, 3), (siblings, 7)]);
        let list = |right| block(8, Kind::List, right, 30, 0);
        assert_eq!(changed(list(9), list(7)), vec![(pending, 7)]);
        assert_eq!(changed(list(9), list(8)), vec![(pending, 0)]);
        assert_eq!(changed(list(9), list(BLOCK_NONE)), vec![(pending, 0)]);
    }

    #[test]
    fn a_split_that_was_cut_off_and_what_errors_leave_behind_is_no_fault() {
        let mut records = sound();
        // Block 6 was split: its right part 11 is not known above, and has the bound that the parent gives 6.
        records.retain(|record| *record != block(6, Kind::PostingLeaf, 7, 61, 0));
        records.push(block(6, Kind::PostingLeaf, 11, 55, flag::INCOMPLETE_SPLIT));
        records.push(block(11, Kind::PostingLeaf, 7, 61, 0));
        assert_eq!(faults(&records), vec![]);
        // A root that was never named, and a block of pending entries that was never put into the list.
        let mut records = sound();
        records.retain(|record| *record != block(10, Kind::Deleted, 3, 0, 0));
        records.push(block(10, Kind::PostingLeaf, BLOCK_NONE, BOUND_NONE, 0));
        records.push(block(11, Kind::List, BLOCK_NONE, 8000, 0));
        let mut tree = GinTree::new(&records, 12);
        tree.check();
        assert_eq!((tree.faults, tree.left_behind), (vec![], 2));
    }
}
