//! Rules of one block of a GIN index, and what it states about other blocks.

pub(crate) mod blocks;
pub(crate) mod outcome;
pub(crate) mod row_set;
pub(crate) mod rows;

use std::cmp::Ordering;

use check::matching::hash::Key;
use formats::postgres::attribute::Datum;
use formats::postgres::btree::TUPLE_HEADER_BYTES;
use formats::postgres::gin::{
    Category, EntryTuple, Kind, META_BLOCK, Meta, Opaque, Payload, PostingList, PostingPage,
    VERSION_COMPRESSED, flag,
};
use formats::postgres::page::{Item, Page};
use formats::postgres::varlena::Varlena;
use formats::postgres::{Damage, Oid, Tid};
use results::check::{CheckLevel, Share};

use crate::block::tree::Tree;
use crate::block::work::Work;
use crate::catalog::Relation;
use crate::catalog::kinds::KeyOrder;
use crate::catalog::order::plain;
use crate::gin::blocks::{BOUND_NONE, BOUND_NOT_KNOWN, GinRecord};
use crate::gin::row_set::RowSet;
use crate::matching::entry::{kind as fact_kind, tid_fact};
use crate::matching::exception::Exception;
use crate::matching::sink::EntrySink;
use crate::naming::column_key_text;
use crate::plan::objects::Matching;
use crate::rules;

/// What a block of a GIN index is tested with.
pub(crate) struct GinCheck<'a> {
    pub(crate) tree: &'a Tree<'a>,
    /// Where its rows go: a set, nowhere yet if that is absent; without sets each entry states its row.
    pub(crate) rows: Option<Option<&'a RowSet>>,
    pub(crate) key: &'a Key,
    pub(crate) level: CheckLevel,
}

/// The key of an entry, as it stands.
#[derive(Clone, Copy)]
pub(super) struct EntryKey<'p> {
    pub(super) column: u16,
    pub(super) category: Category,
    pub(super) value: Datum<'p>,
}

/// A key as text: `tags = 'red'`, or the category of a null.
fn key_text(index: &Relation, key: &EntryKey<'_>) -> String {
    match key.category {
        Category::Normal => column_key_text(index, key.column, &key.value),
        Category::NullKey => format!("a null key of column {}", key.column),
        Category::EmptyItem => format!("the key of empty values of column {}", key.column),
        Category::NullItem => format!("the key of null values of column {}", key.column),
    }
}

impl GinCheck<'_> {
    /// Tests a block whose header was found in order.
    pub(crate) fn block<S: EntrySink>(
        &self,
        page: &Page<'_>,
        damage: &mut Vec<Damage>,
        work: &mut Work<'_, S>,
    ) {
        damage.clear();
        let Some(opaque) = Opaque::read(page) else { return };
        let block = work.place.block;
        let kind = opaque.check(usize::from(page.header().special), block, self.tree.blocks, damage);
        let Some(kind) = kind else {
            work.drain(damage);
            return;
        };
        match kind {
            Kind::Meta => self.meta(page, damage, work),
            Kind::Deleted => {}
            Kind::PostingLeaf | Kind::PostingInner => self.posting_page(page, opaque, kind, damage, work),
            Kind::EntryLeaf | Kind::EntryInner | Kind::List => self.entries(page, opaque, kind, damage, work),
        }
        work.drain(damage);
        if opaque.has(flag::INCOMPLETE_SPLIT) {
            work.sink.unfinished(self.tree.number);
        }
    }

    fn meta<S: EntrySink>(&self, page: &Page<'_>, damage: &mut Vec<Damage>, work: &mut Work<'_, S>) {
        let Some(meta) = Meta::read(page) else { return };
        if meta.check(page, self.tree.blocks, damage) {
            GinRecord::of_meta(&meta).into_iter().for_each(|record| work.sink.gin(self.tree.number, record));
        }
    }

    fn posting_page<S: EntrySink>(
        &self,
        page: &Page<'_>,
        opaque: Opaque,
        kind: Kind,
        damage: &mut Vec<Damage>,
        work: &mut Work<'_, S>,
    ) {
        let block = work.place.block;
        let posting = PostingPage::new(page, opaque);
        if !posting.check_length(self.tree.version >= VERSION_COMPRESSED, damage) {
            return;
        }
        let bound = posting.right_bound();
        work.sink.gin(self.tree.number, GinRecord::block(block, &opaque, kind, self.tid_bound(bound)));
        if kind == Kind::PostingLeaf {
            self.rows(posting.list(), None, None, damage, work, |last| {
                let beyond = last.zip(bound).filter(|(last, bound)| last > bound);
                beyond.map(|(last, bound)| {
                    (format!("TIDs up to the right bound {bound} of the block"), last.to_string())
                })
            });
            return;
        }
        if !posting.check_items(block, self.tree.blocks, damage) {
            return;
        }
        let count = usize::from(opaque.count);
        for (number, item) in posting.items().enumerate() {
            let is_edge = opaque.next().is_none() && number + 1 == count;
            let bound = self.tid_bound((!is_edge).then_some(item.bound));
            work.sink.gin(self.tree.number, GinRecord::child(item.child, block, bound, number));
        }
    }

    fn entries<S: EntrySink>(
        &self,
        page: &Page<'_>,
        opaque: Opaque,
        kind: Kind,
        damage: &mut Vec<Damage>,
        work: &mut Work<'_, S>,
    ) {
        let block = work.place.block;
        page.check_items(TUPLE_HEADER_BYTES, true, damage);
        let is_intact = damage.is_empty();
        if kind == Kind::List {
            let header = page.header();
            let free_bytes = u32::from(header.upper.saturating_sub(header.lower));
            work.sink.gin(self.tree.number, GinRecord::block(block, &opaque, kind, free_bytes));
        }
        let count = usize::from(page.item_count());
        let mut previous: Option<EntryKey<'_>> = None;
        let mut last_bound = if is_intact && count > 0 { BOUND_NONE } else { BOUND_NOT_KNOWN };
        for (number, item) in page.items().enumerate() {
            let Some(bytes) = page.item_bytes(item).filter(|_| is_intact) else { continue };
            last_bound = BOUND_NOT_KNOWN;
            let Some(entry) = EntryTuple::read(bytes, kind, item, damage) else { continue };
            let Some(key) = self.read_key(&entry, item, work) else { continue };
            let is_edge = opaque.next().is_none() && number + 1 == count;
            last_bound = if is_edge { BOUND_NONE } else { self.key_bound(key.as_ref()) };
            // The last key of the last inner block of a level is that of long ago.
            if kind == Kind::EntryLeaf || kind == Kind::EntryInner && !is_edge {
                if self.level == CheckLevel::Full {
                    self.check_order(previous.as_ref(), key.as_ref(), item, work);
                }
                previous = key;
            }
            match entry.payload {
                Payload::Child(child) if self.is_possible(child, item, work) => {
                    work.sink.gin(self.tree.number, GinRecord::child(child, block, last_bound, number));
                }
                Payload::Tree(root) if self.is_possible(root, item, work) => {
                    work.sink.gin(self.tree.number, GinRecord::root(root, block));
                }
                Payload::Rows(list, wanted) => {
                    let found = self.rows(list, key.as_ref(), Some(item.number), damage, work, |_| None);
                    if found.is_some_and(|found| found != usize::from(wanted)) {
                        let expected = format!("{wanted} TIDs, as in the entry");
                        let found = format!("{} of them", found.unwrap_or(0));
                        work.report(&rules::GIN_POSTING, Some(item.number), expected, found);
                    }
                }
                Payload::Row(tid) => self.row(tid, key.as_ref(), Some(item.number), work),
                Payload::Child(_) | Payload::Tree(_) => {}
            }
        }
        if kind != Kind::List {
            work.sink.gin(self.tree.number, GinRecord::block(block, &opaque, kind, last_bound));
        }
    }

    /// Tests that a key stands behind the one before it.
    // EVIDENCE: src/backend/access/gin/ginutil.c ginCompareAttEntries: by column, then by category, then by value
    fn check_order<S: EntrySink>(
        &self,
        before: Option<&EntryKey<'_>>,
        key: Option<&EntryKey<'_>>,
        item: Item,
        work: &mut Work<'_, S>,
    ) {
        let (Some(before), Some(key)) = (before, key) else { return };
        let places = |key: &EntryKey<'_>| (key.column, key.category);
        let mut ordering = places(before).cmp(&places(key));
        if ordering == Ordering::Equal && key.category == Category::Normal {
            let columns = self.tree.relation.index.as_ref().map(|index| &index.columns);
            let column = columns.and_then(|columns| columns.get(usize::from(key.column) - 1));
            let (mut one, mut other) = (Vec::new(), Vec::new());
            let values = plain(&before.value, &mut one).zip(plain(&key.value, &mut other));
            let known = column.and_then(|column| column.order).zip(values);
            let Some(known) = known.and_then(|(order, (before, key))| order.compare(before, key)) else {
                work.sink.order_not_known(self.tree.number);
                return;
            };
            ordering = known;
        }
        if ordering != Ordering::Less {
            let text = |key: &EntryKey<'_>| key_text(self.tree.relation, key);
            let expected = format!("a key above {}, that of line pointer {}", text(before), item.number - 1);
            work.report(&rules::GIN_ORDER, Some(item.number), expected, text(key));
        }
    }

    /// Whether a block that an entry names can be a child or the root of a posting tree.
    fn is_possible<S>(&self, block: u32, item: Item, work: &mut Work<'_, S>) -> bool {
        let fits = block > META_BLOCK + 1 && block < self.tree.blocks && block != work.place.block;
        if !fits {
            let expected = format!("a link to another block from 2 to below {}", self.tree.blocks);
            work.report(&rules::GIN_ENTRY, Some(item.number), expected, format!("block {block}"));
        }
        fits
    }

    /// The key of an entry: the outer `None` if it was reported, the inner one if the index is not known.
    fn read_key<'p, S>(
        &self,
        entry: &EntryTuple<'p>,
        item: Item,
        work: &mut Work<'_, S>,
    ) -> Option<Option<EntryKey<'p>>> {
        let Some(index) = &self.tree.relation.index else { return Some(None) };
        let count = index.columns.len();
        let mut report = |expected: String, found: String| {
            work.report(&rules::GIN_ENTRY, Some(item.number), expected, found);
            None
        };
        let column = match entry.column(count) {
            Some(column) if (1..=count).contains(&usize::from(column)) => column,
            column => {
                let found =
                    column.map_or("a tuple that ends before it".to_owned(), |column| column.to_string());
                return report(format!("a column number from 1 to {count}"), found);
            }
        };
        let Some(category) = entry.category(count) else {
            let found = entry.category_byte(count);
            let found = found.map_or("a tuple that ends before it".to_owned(), |byte| byte.to_string());
            return report("a null category from 1 to 3".to_owned(), found);
        };
        let attribute = index.columns.get(usize::from(column) - 1).map(|column| column.attribute);
        let value = attribute.and_then(|attribute| entry.key(count, attribute));
        let found = match value {
            Some(Datum::Varlena(Varlena::External(_))) => "a TOAST pointer".to_owned(),
            Some(value) => return Some(Some(EntryKey { column, category, value })),
            None => format!("a key that ends past the {} bytes of the tuple", item.length),
        };
        report("a key inside the tuple".to_owned(), found)
    }

    /// Tests row pointers, and states each; gives their number if they were in order.
    fn rows<S: EntrySink>(
        &self,
        list: PostingList<'_>,
        key: Option<&EntryKey<'_>>,
        item: Option<u16>,
        damage: &mut Vec<Damage>,
        work: &mut Work<'_, S>,
        beyond: impl Fn(Option<Tid>) -> Option<(String, String)>,
    ) -> Option<usize> {
        let before = damage.len();
        let (count, last) = list.check(0, item, damage);
        if damage.len() > before {
            return None;
        }
        if let Some((expected, found)) = beyond(last) {
            work.report(&rules::GIN_POSTING, item, expected, found);
        }
        // They ascend: if the last is in the table, all are.
        let heap_blocks = self.tree.heap_blocks.unwrap_or(u32::MAX);
        if last.is_some_and(|last| last.block >= heap_blocks)
            && let Some(tid) = list.tids().find(|tid| tid.block >= heap_blocks)
        {
            self.report_beyond(tid, item, work);
        }
        for tid in list.tids() {
            self.state_row(tid, key, item, work);
        }
        Some(count)
    }

    fn row<S: EntrySink>(
        &self,
        tid: Tid,
        key: Option<&EntryKey<'_>>,
        item: Option<u16>,
        work: &mut Work<'_, S>,
    ) {
        if tid.item == 0 || tid.block >= self.tree.heap_blocks.unwrap_or(u32::MAX) {
            self.report_beyond(tid, item, work);
        }
        self.state_row(tid, key, item, work);
    }

    /// States that an entry names a row.
    fn state_row<S: EntrySink>(
        &self,
        tid: Tid,
        key: Option<&EntryKey<'_>>,
        item: Option<u16>,
        work: &mut Work<'_, S>,
    ) {
        let tree = self.tree;
        if self.level == CheckLevel::Full && tree.exception_of(tid) != Some(Exception::NotLive) {
            // Compared by TID alone.
            work.sink.entries(tree.number, Share { verified_count: 0, total_count: 1 });
        }
        let is_matched =
            self.level == CheckLevel::Full && tree.matching != Matching::None && tree.is_heap_still;
        let heap_blocks = tree.heap_blocks.unwrap_or(0);
        if !is_matched || tid.item == 0 || tid.block >= heap_blocks {
            return;
        }
        let _ = key;
        match self.rows {
            Some(Some(set)) if set.insert(tid) => return,
            Some(None) => return,
            _ => {}
        }
        if tree.exception_of(tid) != Some(Exception::NotLive) {
            let bucket = tree.heap_buckets.of(tid.block);
            let fact = tid_fact(self.key, tree.number, tid);
            work.sink.entry(tree.number, bucket, fact, tid, (work.place.block, item.unwrap_or(0)));
        }
    }

    fn report_beyond<S>(&self, tid: Tid, item: Option<u16>, work: &mut Work<'_, S>) {
        if tid.item == 0 || !(self.tree.may_be_cut)() {
            self.tree.report_beyond(&rules::INDEX_TID, tid, item, 1, work);
        }
    }

    /// A bound as an odd number, or [`BOUND_NONE`].
    fn tid_bound(&self, bound: Option<Tid>) -> u32 {
        let Some(bound) = bound else { return BOUND_NONE };
        let code = (u64::from(bound.block) << 16) | u64::from(bound.item);
        self.key.fact(fact_kind::GIN_DOWNLINK, self.tree.number, code).finish() as u32 | 1
    }

    /// The same for a key.
    // EVIDENCE: ginentrypage.c GinFormInteriorTuple copies the key of the last tuple as it stands
    fn key_bound(&self, key: Option<&EntryKey<'_>>) -> u32 {
        let Some(key) = key else { return BOUND_NOT_KNOWN };
        let place = (u64::from(key.column) << 8) | key.category as u64;
        let mut hasher = self.key.fact(fact_kind::GIN_DOWNLINK, self.tree.number, place);
        match key.value {
            Datum::Null => hasher.null(),
            Datum::Bytes(bytes) | Datum::Varlena(Varlena::Plain(bytes)) => hasher.bytes(bytes),
            Datum::Varlena(Varlena::Compressed { raw_bytes, packed, .. }) => {
                hasher.word(u64::from(raw_bytes));
                hasher.bytes(packed);
            }
            Datum::Varlena(Varlena::External(_)) => {}
        }
        hasher.finish() as u32 | 1
    }
}

impl KeyOrder {
    /// The order of keys in an operator family of GIN for a type of keys; `None` if it is not known here.
    // EVIDENCE: select oid, opfname from pg_opfamily where opfmethod = 2742: 2745 array_ops (the default order of the
    // elements), 3659 tsvector_ops, 4036 jsonb_ops, 4037 jsonb_path_ops; src/backend/utils/adt/tsginidx.c gin_cmp_tslexeme and
    // jsonb_gin.c gin_compare_jsonb compare bytes; pg_amproc: 4037 has btint4cmp
    pub(crate) fn of_gin(family: Oid, key_type: Oid, by_bytes: bool) -> Option<KeyOrder> {
        Some(match (family, key_type) {
            (3659 | 4036, 25) => KeyOrder::Bytes,
            (2745, 25 | 1043) if by_bytes => KeyOrder::Bytes,
            (2745, 17 | 829 | 2950) => KeyOrder::Bytes,
            (2745, 16 | 18) => KeyOrder::Byte,
            (2745, 21) => KeyOrder::Int16,
            (2745, 23 | 1082) | (4037, 23) => KeyOrder::Int32,
            (2745, 20 | 1083 | 1114 | 1184) => KeyOrder::Int64,
            (2745, 26) => KeyOrder::Unsigned32,
            (2745, 700) => KeyOrder::Float32,
            (2745, 701) => KeyOrder::Float64,
            (2745, 1700) => KeyOrder::Numeric,
            _ => return None,
        })
    }
}
