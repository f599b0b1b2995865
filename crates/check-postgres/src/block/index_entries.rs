//! Rules of one block of a hash, `GiST` or SP-GiST index: the rows that its entries name. Keys are, where it is known what
//! an operator class keeps of a value (`key_forms`).

use check::matching::hash::Key;
use formats::postgres::Damage;
use formats::postgres::attribute::Datum;
use formats::postgres::btree::TUPLE_HEADER_BYTES;
use formats::postgres::index_pages::{Entry, Method, Opaque, Role, entry};
use formats::postgres::page::{Item, Page};
use results::check::{CheckLevel, Share};

use crate::block::tree::Tree;
use crate::block::work::Work;
use crate::catalog::key_forms::{entry_fact, has_known_keys, read_values};
use crate::catalog::{Index, Storage};
use crate::matching::entry::{hash_fact, tid_fact};
use crate::matching::exception::Exception;
use crate::matching::sink::EntrySink;
use crate::matching::uniqueness::key_fact;
use crate::plan::objects::{HashPlan, Matching};
use crate::rules;

/// What a block of such an index is tested with.
pub(crate) struct EntryCheck<'a> {
    pub(crate) tree: &'a Tree<'a>,
    pub(crate) method: Method,
    /// Buckets and hash function of a hash index; `None` for others, or where it could not be read.
    pub(crate) hash: Option<&'a HashPlan>,
    pub(crate) key: &'a Key,
    pub(crate) level: CheckLevel,
}

impl Storage {
    /// The access method, if its entries are matched with rows by row pointer alone.
    pub(crate) fn entry_method(self) -> Option<Method> {
        match self {
            Storage::Hash => Some(Method::Hash),
            Storage::Gist => Some(Method::Gist),
            Storage::SpGist => Some(Method::SpGist),
            _ => None,
        }
    }

    /// Whether it is an index whose entries are matched with rows.
    pub(crate) fn is_matched(self) -> bool {
        self == Storage::Btree || self == Storage::Gin || self.entry_method().is_some()
    }
}

impl EntryCheck<'_> {
    /// Tests a block whose header was found in order; whether its mark, flags and line pointers are.
    pub(crate) fn block<S: EntrySink>(
        &self,
        page: &Page<'_>,
        damage: &mut Vec<Damage>,
        work: &mut Work<'_, S>,
    ) -> bool {
        damage.clear();
        let Some(opaque) = Opaque::read(self.method, page) else { return false };
        let fits = opaque.check(usize::from(page.header().special), damage);
        if fits && opaque.role() != Role::Other {
            page.check_items(TUPLE_HEADER_BYTES, true, damage);
        }
        let intact = damage.is_empty();
        work.drain(damage);
        if opaque.is_being_split() {
            work.sink.unfinished(self.tree.number);
        }
        if !intact || opaque.role() != Role::Entries {
            return intact;
        }
        let heap_blocks = self.tree.heap_blocks.unwrap_or(u32::MAX);
        let is_matched = self.level == CheckLevel::Full
            && self.tree.matching != Matching::None
            && self.tree.is_heap_still
            && self.tree.heap_blocks.is_some();
        let index = self.tree.relation.index.as_ref();
        let index = index.filter(|index| self.method != Method::Hash && has_known_keys(index));
        let (mut values, mut buffer) = (Vec::new(), Vec::new());
        for item in page.items() {
            let Some(entry) = entry(self.method, page, item) else { continue };
            // After a split the old bucket keeps copies of entries that went to the new one.
            if self.hash.is_some_and(|hash| hash.meta.bucket_of(entry.hash) != opaque.bucket) {
                continue;
            }
            let tid = entry.tid;
            let is_beyond = tid.block >= heap_blocks || tid.item == 0;
            if is_beyond && (tid.item == 0 || !(self.tree.may_be_cut)()) {
                self.tree.report_beyond(&rules::INDEX_TID, tid, Some(item.number), 1, work);
            } else if is_matched && !is_beyond {
                let keys = index.map(|index| (index, page, item));
                self.state_row(entry, item, keys, (&mut values, &mut buffer), work);
            } else if self.level == CheckLevel::Full {
                work.sink.entries(self.tree.number, Share { verified_count: 0, total_count: 1 });
            }
        }
        true
    }

    fn state_row<'p, S: EntrySink>(
        &self,
        entry: Entry,
        item: Item,
        keys: Option<(&Index, &Page<'p>, Item)>,
        (values, buffer): (&mut Vec<Datum<'p>>, &mut Vec<u8>),
        work: &mut Work<'_, S>,
    ) {
        let tid = entry.tid;
        let exception = self.tree.exception_of(tid);
        if exception == Some(Exception::NotLive) {
            return;
        }
        let keys =
            keys.filter(|_| !matches!(exception, Some(Exception::KeyElsewhere | Exception::Elsewhere)));
        let fact = keys.and_then(|(index, page, item)| {
            let is_read = read_values(self.method, page, item, index, values);
            // A key WITHOUT OVERLAPS: equal ranges that are not empty overlap, and empty ones are refused.
            // EVIDENCE: PostgreSQL 18 docs, CREATE TABLE, WITHOUT OVERLAPS
            if is_read && index.unique && !values.iter().any(|value| matches!(value, Datum::Null)) {
                let unique = key_fact(self.key, self.tree.number, index, values, buffer);
                let place = (work.place.block, item.number);
                let number = self.tree.number;
                unique.into_iter().for_each(|fact| work.sink.unique_key(number, fact, tid, place));
            }
            is_read.then(|| entry_fact(self.key, self.tree.number, index, tid, values, buffer))?
        });
        // Where the rows state hash values, entries must.
        let has_values = self.hash.is_some_and(|hash| hash.function.is_some());
        let has_value = has_values && !exception.is_some_and(Exception::has_hash_elsewhere);
        let hash = has_value.then(|| hash_fact(self.key, self.tree.number, tid, entry.hash));
        let fact = fact.or(hash);
        let has_key =
            fact.is_some() && self.tree.relation.index.as_ref().is_some_and(|index| !index.has_expressions);
        work.sink.entries(self.tree.number, Share { verified_count: u64::from(has_key), total_count: 1 });
        let fact = fact.unwrap_or_else(|| tid_fact(self.key, self.tree.number, tid));
        let bucket = self.tree.heap_buckets.of(tid.block);
        let place = (work.place.block, item.number);
        if self.tree.is_marked_dead(item) {
            work.sink.dead_entry(self.tree.number, bucket, fact, tid, place);
        } else {
            work.sink.entry(self.tree.number, bucket, fact, tid, place);
        }
    }
}
