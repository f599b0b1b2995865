//! Rules of one block of a BRIN index: meta page, range map, tuples; and what they say about each other.
//!
//! The meta page names the blocks of the range map; each entry of the map names the tuple of its range. Blocks and tuples
//! state what they are. Ranges behind the table's end are no damage: VACUUM cuts tables and leaves their summaries, and
//! an index of an empty table starts with one.

pub(crate) mod plan;
pub(crate) mod summaries;
pub(crate) mod values;

use std::collections::BTreeMap;

use check::findings::Findings;
use check::matching::hash::Key;
use check::matching::side::Side;
use check::matching::sums::{BUCKET_COUNT, BucketSet};
use formats::postgres::brin::{
    Kind, Meta, Opaque, TUPLE_BYTES_MIN, Tuple, check_item_states, map_entries_per_page, map_entry,
};
use formats::postgres::page::{ItemState, Page};
use formats::postgres::{Damage, Invariant, Tid};
use results::check::CheckLevel;

use crate::block::work::Work;
use crate::brin::plan::BrinPlan;
use crate::brin::summaries::Summary;
use crate::finding::ZEROS;
use crate::matching::entry::tid_code;
use crate::matching::exact::Exact;
use crate::matching::links::{Link, LinkKind};
use crate::matching::sink::EntrySink;
use crate::rules;

impl BrinPlan {
    /// Reads a block; `None` if it is not there or cannot be read.
    pub(crate) fn read(&self, block: u32) -> Option<Vec<u8>> {
        let (first, part) = self.files.iter().rfind(|(first, _)| *first <= block)?;
        let offset = u64::from(block - first) * self.block_bytes as u64;
        if offset + self.block_bytes as u64 > part.bytes {
            return None;
        }
        let mut bytes = vec![0; self.block_bytes];
        part.read_exact_at(&mut bytes, offset).ok()?;
        Some(bytes)
    }

    /// Reads the sizes from the first block.
    pub(crate) fn read_meta(&mut self) {
        let first = self.read(0);
        let meta = first.as_deref().and_then(|bytes| Meta::read(&Page::new(bytes)));
        self.meta = meta.filter(|meta| meta.check(u32::MAX, &mut Vec::new()));
    }
}

/// What a block of a BRIN index is tested with.
pub(crate) struct BrinCheck<'a> {
    pub(crate) plan: &'a BrinPlan,
    pub(crate) key: &'a Key,
    pub(crate) level: CheckLevel,
    /// Whether the block stands as it stood at the moment that is looked at.
    pub(crate) is_still: bool,
}

impl BrinCheck<'_> {
    /// Tests a block whose header was found in order.
    pub(crate) fn block<S: EntrySink>(
        &self,
        page: &Page<'_>,
        damage: &mut Vec<Damage>,
        work: &mut Work<'_, S>,
    ) {
        damage.clear();
        let block = work.place.block;
        let special = usize::from(page.header().special);
        let kind = Opaque::read(page).and_then(|opaque| opaque.check(block, special, damage));
        work.drain(damage);
        match kind {
            Some(Kind::Meta) => self.meta(page, damage, work),
            Some(Kind::RangeMap) => self.map(page, work),
            Some(Kind::Tuples) => self.tuples(page, damage, work),
            None => {}
        }
    }

    fn meta<S: EntrySink>(&self, page: &Page<'_>, damage: &mut Vec<Damage>, work: &mut Work<'_, S>) {
        let Some(meta) = Meta::read(page) else { return };
        // Blocks that are added while the check runs may be in the map already.
        let is_sound = meta.check(if self.is_still { self.plan.blocks } else { u32::MAX }, damage);
        work.drain(damage);
        if is_sound {
            let last = meta.last_map_block.min(self.plan.blocks.saturating_sub(1));
            (1..=last).for_each(|block| self.state_map_block(block, Side::Expected, work));
        }
    }

    fn map<S: EntrySink>(&self, page: &Page<'_>, work: &mut Work<'_, S>) {
        let block = work.place.block;
        self.state_map_block(block, Side::Found, work);
        let Some(meta) = self.plan.meta else { return };
        for entry in 0..map_entries_per_page(page.bytes().len()) {
            let Some(tid) = map_entry(page, entry) else { continue };
            match meta.range_start(block, entry, page.bytes().len()) {
                Some(start) => self.state_range(start, tid, Side::Expected, work),
                None => {
                    let expected =
                        format!("no tuple for entry {entry}: its range is past the largest possible block");
                    work.report(&rules::BRIN_RANGE, None, expected, format!("tuple {tid}"));
                }
            }
        }
    }

    fn tuples<S: EntrySink>(&self, page: &Page<'_>, damage: &mut Vec<Damage>, work: &mut Work<'_, S>) {
        page.check_items(TUPLE_BYTES_MIN, true, damage);
        check_item_states(page, damage);
        work.drain(damage);
        let Some(meta) = self.plan.meta else { return };
        let mut limit = page.tuple_limit();
        for item in page.items().filter(|item| item.state == ItemState::Normal) {
            let bytes = page.item_bytes(item).filter(|bytes| limit.allows(bytes));
            let Some(tuple) = bytes.and_then(Tuple::read) else { continue };
            let columns = &self.plan.columns;
            // The catalog of an index that is new may not tell its columns yet; its summaries are there all the same.
            if !columns.is_empty()
                && tuple.check(item, columns.len(), meta.pages_per_range, damage)
                && self.level == CheckLevel::Full
            {
                let found = match Summary::read(&tuple, columns) {
                    None => Some("values past the end of the tuple, or a range with an upper bound below its lower bound".to_owned()),
                    Some(summary) => summary.contradiction(columns),
                };
                let expected =
                    "values that fit the tuple, and ranges whose upper bound is not below the lower bound";
                damage.extend(found.map(|found| {
                    let offset = usize::from(item.offset);
                    Damage::at(Invariant::BrinTuple, offset, expected, found).of_item(item.number)
                }));
            }
            work.drain(damage);
            let tid = Tid { block: work.place.block, item: item.number };
            self.state_range(tuple.block, tid, Side::Found, work);
        }
    }

    fn state_map_block<S: EntrySink>(&self, block: u32, side: Side, work: &mut Work<'_, S>) {
        let fact = LinkKind::BrinMapBlock.fact(self.key, self.plan.number, u64::from(block)).finish();
        let link = Link { kind: LinkKind::BrinMapBlock, from: work.place.block, to: block, detail: 0 };
        work.sink.link(self.plan.number, side, block as usize % BUCKET_COUNT, fact, link);
    }

    fn state_range<S: EntrySink>(&self, start: u32, tid: Tid, side: Side, work: &mut Work<'_, S>) {
        let mut hasher = LinkKind::BrinRange.fact(self.key, self.plan.number, u64::from(start));
        hasher.word(tid_code(tid));
        let detail = tid.item.into();
        let link = Link { kind: LinkKind::BrinRange, from: work.place.block, to: start, detail };
        // The sides meet by range; what is near in the table falls into one bucket, so that few differ.
        let bucket = (start >> 12) as usize % BUCKET_COUNT;
        work.sink.link(self.plan.number, side, bucket, hasher.finish(), link);
    }
}

/// What one block says of ranges that others contradict: how many, and the first.
#[derive(Clone, Copy, Debug)]
struct Contradicted {
    count: u64,
    first: Link,
}

impl Exact<'_> {
    /// Names blocks and summaries of a BRIN index that the meta page and the range map contradict: one finding for each
    /// block that says what others contradict.
    pub(crate) fn ranges(&mut self, index: u32, differing: BucketSet, findings: &mut Findings) {
        let Some(brin) = self.first.plan.brins.get(&index) else { return };
        let Some(collector) = self.collected(index, differing, &[(false, index)]) else { return };
        let mut balance: BTreeMap<u128, (i64, Link)> = BTreeMap::new();
        for (hash, side, link) in collector.links {
            balance.entry(hash).or_insert((0, link)).0 += if side == Side::Expected { 1 } else { -1 };
        }
        let mut by_block: BTreeMap<(LinkKind, bool, u32), Contradicted> = BTreeMap::new();
        for (sum, link) in balance.into_values().filter(|(sum, _)| *sum != 0) {
            let block = if link.kind == LinkKind::BrinRange { link.from } else { link.to };
            let key = (link.kind, sum > 0, block);
            let told = by_block.entry(key).or_insert(Contradicted { count: 0, first: link });
            told.first = told.first.min(link);
            told.count += 1;
        }
        // What the meta page says is lost with it.
        let has_meta = !self.broken.contains(&(index, 0));
        by_block.retain(|(kind, ..), _| has_meta || *kind != LinkKind::BrinMapBlock);
        for ((kind, is_expected, block), Contradicted { count, first }) in by_block {
            let (rule, expected, mut found) = first.contradiction(is_expected);
            let mut item = 0;
            if kind == LinkKind::BrinRange {
                found = match is_expected {
                    true => {
                        format!("{count} that do not; {found}, it names {}", brin.describe_entry(first.to))
                    }
                    false => format!("{count} that are not; {found}"),
                };
                item = if is_expected { 0 } else { u16::try_from(first.detail).unwrap_or(0) };
            }
            if is_expected && kind == LinkKind::BrinMapBlock && self.is_zero(index, block) {
                self.note(index, block, true);
                found = ZEROS.to_owned();
            }
            self.report(rule, index, Tid { block, item }, expected, found, findings);
        }
    }
}

impl BrinPlan {
    /// What the range map says of the range from a block on.
    fn describe_entry(&self, start: u32) -> String {
        let place = self.meta.and_then(|meta| meta.map_place(start, self.block_bytes));
        let tid = place.and_then(|(block, entry)| map_entry(&Page::new(&self.read(block)?), entry));
        tid.map_or_else(|| "nothing".to_owned(), |tid| format!("{tid}, {}", self.describe(tid)))
    }

    /// What stands where an entry of the range map leads.
    fn describe(&self, tid: Tid) -> String {
        let Some(bytes) = self.read(tid.block) else { return "past the end of the index".to_owned() };
        let page = Page::new(&bytes);
        if Opaque::read(&page).and_then(|opaque| opaque.kind()) != Some(Kind::Tuples) {
            return "a block without tuples".to_owned();
        }
        let item = page.item(tid.item).filter(|item| item.state == ItemState::Normal);
        match item.and_then(|item| page.item_bytes(item)).and_then(Tuple::read) {
            Some(tuple) => format!("the summary of the range from block {}", tuple.block),
            None => "no tuple there".to_owned(),
        }
    }
}
