//! Rules of one block of a hash index: its place, its chain, the bitmap of overflow pages in use, and its entries.
//!
//! A split copies entries to a new bucket, and they stay in the old one until it is cleaned; flags of the first page of a
//! bucket tell, but not those of its overflow pages. So entries of the bucket that this one was last split into are
//! accused in the first page only, where no flag allows them; elsewhere the rows tell, which must have one entry each.
pub(crate) mod values;

// EVIDENCE: src/backend/access/hash/README "Pseudocode Algorithms"; hash.c hashbucketcleanup

use check::matching::hash::Key;
use check::matching::side::Side;
use check::matching::sums::BUCKET_COUNT;
use formats::postgres::hash::{Meta, Opaque, PageRole, flag};
use formats::postgres::index_pages::{Method, entry};
use formats::postgres::page::Page;
use formats::postgres::{BLOCK_NONE, Damage, Invariant};

use crate::block::tree::Tree;
use crate::block::work::Work;
use crate::matching::links::{Link, LinkKind};
use crate::matching::sink::EntrySink;
use crate::plan::objects::HashPlan;
use crate::rules;

/// What a block of a hash index is tested with.
pub(crate) struct HashCheck<'a> {
    pub(crate) tree: &'a Tree<'a>,
    /// What the meta page says, if it says what holds for this block.
    pub(crate) plan: Option<&'a HashPlan>,
    /// Whether the block stands as the meta page describes it.
    pub(crate) is_still: bool,
    pub(crate) key: &'a Key,
}

impl HashCheck<'_> {
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
        let placed = self.plan.filter(|plan| plan.is_placed).map(|plan| &plan.meta);
        if block == 0 {
            self.meta_page(page, damage);
        }
        let place = placed.map(|meta| meta.place_of(block));
        if let (Some(meta), Some(place), true) = (placed, place, self.is_still) {
            opaque.check(usize::from(page.header().special), place, meta, damage);
        }
        let is_at_its_place = damage.is_empty();
        work.drain(damage);
        self.state_chain(&opaque, work);
        if let (Some(meta), Some(place)) = (placed, place) {
            self.state_bits(page, &opaque, place, meta, work);
        }
        if matches!(opaque.kind(), flag::BUCKET | flag::OVERFLOW) {
            self.check_order(page, work);
            let meta = self.plan.filter(|_| self.is_still && is_at_its_place).map(|plan| &plan.meta);
            if let Some(meta) = meta {
                self.check_bucket(page, &opaque, meta, work);
            }
        }
    }

    fn meta_page(&self, page: &Page<'_>, damage: &mut Vec<Damage>) {
        match Meta::read(page) {
            Some(meta) => {
                meta.check(page, self.tree.blocks, damage);
            }
            None => {
                let found = page.bytes().get(24..28).map(|bytes| bytes.iter().rev().copied());
                let found: String = found.into_iter().flatten().map(|byte| format!("{byte:02x}")).collect();
                let expected = "magic number 0x06440640 of a hash index";
                damage.push(Damage::at(Invariant::HashMeta, 24, expected, format!("0x{found}")));
            }
        }
    }

    /// Each page but the last of a bucket names the next, and each but the first the one before.
    fn state_chain<S: EntrySink>(&self, opaque: &Opaque, work: &mut Work<'_, S>) {
        let block = work.place.block;
        let mut state = |side, before: u32, after: u32, to| {
            let blocks = (u64::from(before) << 32) | u64::from(after);
            let mut hasher = LinkKind::HashChain.fact(self.key, self.tree.number, blocks);
            hasher.word(u64::from(opaque.bucket));
            let link = Link { kind: LinkKind::HashChain, from: block, to, detail: opaque.bucket };
            work.sink.link(self.tree.number, side, after as usize % BUCKET_COUNT, hasher.finish(), link);
        };
        let is_overflow = opaque.kind() == flag::OVERFLOW;
        if opaque.next != BLOCK_NONE && (is_overflow || opaque.kind() == flag::BUCKET) {
            state(Side::Expected, block, opaque.next, opaque.next);
        }
        if is_overflow {
            state(Side::Found, opaque.previous, block, opaque.previous);
        }
    }

    /// A bitmap page states which overflow pages are in use, and so do they.
    fn state_bits<S: EntrySink>(
        &self,
        page: &Page<'_>,
        opaque: &Opaque,
        place: PageRole,
        meta: &Meta,
        work: &mut Work<'_, S>,
    ) {
        let block = work.place.block;
        let mut state = |side, bit: u32, is_used: bool, from, to| {
            let mut hasher = LinkKind::HashBit.fact(self.key, self.tree.number, u64::from(bit));
            hasher.word(u64::from(is_used));
            let link = Link { kind: LinkKind::HashBit, from, to, detail: u32::from(is_used) };
            work.sink.link(self.tree.number, side, bit as usize % BUCKET_COUNT, hasher.finish(), link);
        };
        match place {
            PageRole::Bitmap(number) => {
                let first = meta.first_bit_of(number);
                if opaque.kind() == flag::BITMAP {
                    state(Side::Found, first, true, block, block);
                }
                let Some((bits, beyond)) = meta.bits(page, number).filter(|_| opaque.kind() == flag::BITMAP)
                else {
                    return;
                };
                for (bit, is_used) in bits {
                    state(Side::Expected, bit, is_used, meta.block_of_bit(bit), block);
                }
                if let Some(bit) = beyond.filter(|_| self.is_still) {
                    let expected =
                        format!("set bits after the last of {} overflow pages", meta.overflow_count());
                    work.report(&rules::HASH_BITMAP, None, expected, format!("bit {bit} is clear"));
                }
            }
            PageRole::Overflow(bit) if matches!(opaque.kind(), 0 | flag::OVERFLOW) => {
                let map = meta.map_block_of(bit);
                state(Side::Found, bit, opaque.kind() == flag::OVERFLOW, block, map);
            }
            _ => {}
        }
    }

    // EVIDENCE: src/backend/access/hash/README: entries of a page are sorted by hash value
    fn check_order<S>(&self, page: &Page<'_>, work: &mut Work<'_, S>) {
        let mut highest = 0;
        for item in page.items() {
            let Some(entry) = entry(Method::Hash, page, item) else { continue };
            if entry.hash < highest {
                let expected = format!("a hash value not below {highest:#010x}, that of an earlier entry");
                let found = format!("{:#010x}", entry.hash);
                work.report(&rules::HASH_ORDER, Some(item.number), expected, found);
                // What follows was sorted against values that are not there any more.
                return;
            }
            highest = entry.hash;
        }
    }

    fn check_bucket<S>(&self, page: &Page<'_>, opaque: &Opaque, meta: &Meta, work: &mut Work<'_, S>) {
        let has_copies =
            opaque.kind() == flag::OVERFLOW || opaque.has(flag::BEING_SPLIT | flag::NEEDS_CLEANUP);
        let copied_to = meta.split_target(opaque.bucket).filter(|_| has_copies);
        for item in page.items() {
            let Some(entry) = entry(Method::Hash, page, item) else { continue };
            let bucket = meta.bucket_of(entry.hash);
            if bucket != opaque.bucket && copied_to != Some(bucket) {
                let expected = format!("a hash value of bucket {}", opaque.bucket);
                let found = format!("{:#010x}, of bucket {bucket}", entry.hash);
                work.report(&rules::HASH_BUCKET, Some(item.number), expected, found);
                // In a page of another bucket all are wrong.
                return;
            }
        }
    }
}

/// Tells when a block of zeros stands where a page of the index is in use.
pub(super) fn check_zeros<S>(meta: &Meta, work: &mut Work<'_, S>) {
    let place = meta.place_of(work.place.block);
    if place.kind() != 0 {
        work.report(&rules::HASH_PAGE, None, place.to_string(), "a block of zeros".to_owned());
    }
}
