//! Rules of the tree of an SP-GiST index: what a page has in it, and which node names which tuple.

use check::matching::hash::Key;
use check::matching::side::Side;
use check::matching::sums::BUCKET_COUNT;
use formats::postgres::page::Page;
use formats::postgres::spgist::{Fact, Opaque, flag};
use formats::postgres::{Damage, Tid, spgist};

use crate::block::tree::Tree;
use crate::block::work::Work;
use crate::matching::entry::tid_code;
use crate::matching::links::{Link, LinkKind};
use crate::matching::sink::EntrySink;

/// What a block of such an index is tested with.
pub(crate) struct SpGistCheck<'a> {
    pub(crate) tree: &'a Tree<'a>,
    pub(crate) key: &'a Key,
}

impl SpGistCheck<'_> {
    /// Tests a block whose header, mark and line pointers were found in order.
    pub(crate) fn block<S: EntrySink>(
        &self,
        page: &Page<'_>,
        facts: &mut Vec<Fact>,
        damage: &mut Vec<Damage>,
        work: &mut Work<'_, S>,
    ) {
        damage.clear();
        facts.clear();
        let Some(opaque) = Opaque::read(page) else { return };
        let block = work.place.block;
        spgist::check_page(page, (block, self.tree.blocks), damage, facts);
        work.drain(damage);
        let is_nulls = opaque.has(flag::NULLS);
        for fact in facts.drain(..) {
            match fact {
                Fact::Named(item) => self.state(Side::Found, Tid { block, item }, is_nulls, work),
                Fact::Names(target) => self.state(Side::Expected, target, is_nulls, work),
            }
        }
    }

    /// A node and the tuple that it names state the same: where the tuple is, and of which tree.
    fn state<S: EntrySink>(&self, side: Side, target: Tid, is_nulls: bool, work: &mut Work<'_, S>) {
        let mut hasher = LinkKind::SpGistChild.fact(self.key, self.tree.number, tid_code(target));
        hasher.word(u64::from(is_nulls));
        let bucket = target.block as usize % BUCKET_COUNT;
        let link = Link {
            kind: LinkKind::SpGistChild,
            from: work.place.block,
            to: target.block,
            detail: u32::from(target.item),
        };
        work.sink.link(self.tree.number, side, bucket, hasher.finish(), link);
    }
}
