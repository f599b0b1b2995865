//! Rules of the tree of a `GiST` index: flags, downlinks, levels.
//!
//! A block names its children and nothing else; a right link binds nobody but while a split is not finished, when the left
//! block stands for the downlink that is missing.

use formats::postgres::btree::IndexTuple;
use formats::postgres::gist::{self, Opaque, ROOT, flag};
use formats::postgres::page::Page;
use formats::postgres::{Damage, Promise};

use super::btree::{EntrySink, Tree};
use super::entry::kind;
use super::gist_tree::GistTree;
use super::heap::Work;
use super::keyed::Key;
use super::ledger::{BUCKETS, Side};
use super::links::{Link, LinkKind};

/// What a block of such an index is tested with.
pub(crate) struct GistCheck<'a> {
    pub(crate) tree: &'a Tree<'a>,
    /// What its inner blocks say; `None` if they could not be read.
    pub(crate) inner: Option<&'a GistTree>,
    pub(crate) key: &'a Key,
}

impl GistCheck<'_> {
    /// Tests a block whose header, mark and line pointers were found in order.
    pub(crate) fn block<S: EntrySink>(
        &self,
        page: &Page<'_>,
        damage: &mut Vec<Damage>,
        work: &mut Work<'_, S>,
    ) {
        damage.clear();
        let Some(opaque) = Opaque::read(page) else { return };
        let block = work.place.block;
        let special = usize::from(page.header().special);
        opaque.check(special, block, self.tree.blocks, damage);
        if opaque.has(flag::DELETED) {
            work.drain(damage);
            return;
        }
        self.check_level(&opaque, block, special, damage);
        if block != ROOT {
            self.state_child(Side::Witness, block, page.item_count() == 0, work);
        }
        if let Some(right) = opaque.follows() {
            self.state_child(Side::Claim, right, false, work);
        }
        for item in page.items() {
            let Some(tuple) = page.item_bytes(item).and_then(IndexTuple::read) else { continue };
            let place = (block, self.tree.blocks);
            if let Some(child) = gist::check_tuple(&tuple, item, opaque.is_leaf(), place, damage) {
                self.state_child(Side::Claim, child, false, work);
            }
        }
        work.drain(damage);
    }

    fn check_level(&self, opaque: &Opaque, block: u32, special: usize, damage: &mut Vec<Damage>) {
        let Some(inner) = self.inner else { return };
        let (expected, found) = match (inner.level_of(block), opaque.is_leaf()) {
            (Some(level), true) => {
                (format!("an inner block, since its parent is on level {}", level + 1), "a leaf")
            }
            (None, false) if inner.is_whole => {
                ("a leaf, since no inner block above the lowest level names it".to_owned(), "an inner block")
            }
            _ => return,
        };
        damage.push(Damage::at(Promise::GistLinks, special + 12, expected, found));
    }

    /// A block and its parent state the same: that it has a downlink.
    fn state_child<S: EntrySink>(&self, side: Side, child: u32, is_empty: bool, work: &mut Work<'_, S>) {
        let fact = self.key.fact(kind::GIST_CHILD, self.tree.number, u64::from(child)).finish();
        let detail = u32::from(is_empty);
        let link = Link { kind: LinkKind::GistChild, from: work.place.block, to: child, detail };
        work.sink.link(self.tree.number, side, child as usize % BUCKETS, fact, link);
    }
}
