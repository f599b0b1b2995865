//! Rules of the entries of one B-tree block: order, uniqueness, the high key; and the rows that they name.

use std::cmp::Ordering;

use check::matching::side::Side;
use formats::postgres::Tid;
use formats::postgres::attribute::{Columns, Datum};
use formats::postgres::btree::{IndexTuple, Kind, Opaque, VERSION_TID_KEYS};
use formats::postgres::page::{Item, ItemState};
use results::check::{CheckLevel, Share};

use crate::block::work::Work;
use crate::btree::context::{TreeCheck, TreeScratch};
use crate::catalog::Index;
use crate::catalog::order::{KeyRelation, compare_keys, leading_part};
use crate::matching::entry::{boundary_fact, entry_fact, tid_fact};
use crate::matching::exception::Exception;
use crate::matching::sink::{Boundary, EntrySink};
use crate::matching::uniqueness::{is_hashed, key_fact};
use crate::naming::tuple_key_text;
use crate::plan::objects::Matching;
use crate::rules;

/// What is remembered from one tuple of a block to the next.
#[derive(Default)]
pub(crate) struct Walk<'p> {
    pub(crate) previous: Option<IndexTuple<'p>>,
    pub(crate) previous_values: Vec<Datum<'p>>,
    pub(crate) values: Vec<Datum<'p>>,
    /// What [`leading_part`] gives for the tuple that was compared last.
    leading_part: Option<u64>,
    /// A visible row with the key of the previous tuple.
    pub(crate) live: Option<Tid>,
    /// How often the key changed.
    change_count: usize,
    /// The first key of the block, and a visible row with it.
    first_values: Vec<Datum<'p>>,
    first_live: Option<Tid>,
}

impl<'p> Walk<'p> {
    /// The tuple that was looked at becomes the previous one.
    pub(crate) fn advance(&mut self, tuple: IndexTuple<'p>) {
        self.previous = Some(tuple);
        std::mem::swap(&mut self.previous_values, &mut self.values);
    }

    fn key_was_new(&mut self) {
        self.live = None;
        self.change_count += 1;
    }
}

impl TreeCheck<'_> {
    pub(crate) fn leaf_entry<'p, S: EntrySink>(
        &self,
        tuple: IndexTuple<'p>,
        item: Item,
        walk: &mut Walk<'p>,
        scratch: &mut TreeScratch,
        work: &mut Work<'_, S>,
    ) {
        let heap_blocks = self.tree.heap_blocks.unwrap_or(u32::MAX);
        let is_beyond = |tid: &Tid| tid.block >= heap_blocks || tid.item == 0;
        if let Some(tid) =
            tuple.heap_tids().find(|tid| is_beyond(tid) && (tid.item == 0 || !(self.tree.may_be_cut)()))
        {
            let entry_count = tuple.heap_tids().filter(is_beyond).count() as u64;
            self.tree.report_beyond(&rules::BTREE_TID, tid, Some(item.number), entry_count, work);
        }
        if self.level < CheckLevel::Full || !self.read_values(&tuple, item, walk, work) {
            return;
        }
        self.check_order(&tuple, item, walk, scratch, work);
        if let Some(index) = &self.tree.relation.index
            && self.tree.matching != Matching::None
            && self.tree.is_heap_still
            && self.tree.heap_blocks.is_some()
        {
            let is_unique = index.unique && self.is_distinct(index, walk);
            let unique_fact = (is_unique && is_hashed(index))
                .then(|| key_fact(self.key, self.tree.number, index, &walk.values, &mut scratch.buffer))
                .flatten();
            let mut count = Share::default();
            // No row is visible past the end of the table.
            for tid in tuple.heap_tids().filter(|tid| !is_beyond(tid)) {
                let exception = self.tree.exception_of(tid);
                if is_unique && exception != Some(Exception::NotLive) {
                    if let Some(fact) = unique_fact {
                        work.sink.unique_key(self.tree.number, fact, tid, (work.place.block, item.number));
                    } else {
                        self.check_unique(tid, item, walk, work);
                    }
                }
                if exception != Some(Exception::NotLive) {
                    let has_key = self.state_row(index, tid, exception, item, walk, scratch, work);
                    count.add(1, has_key && !index.has_expressions);
                }
            }
            work.sink.entries(self.tree.number, count);
            if walk.change_count == 0 && walk.live.is_some() && walk.first_live.is_none() {
                walk.first_live = walk.live;
                walk.first_values.clone_from(&walk.values);
            }
        } else {
            let total_count = tuple.heap_tids().count() as u64;
            work.sink.entries(self.tree.number, Share { verified_count: 0, total_count });
        }
        walk.advance(tuple);
    }

    /// Takes a tuple apart; `false` if that was not possible.
    pub(crate) fn read_values<'p, S>(
        &self,
        tuple: &IndexTuple<'p>,
        item: Item,
        walk: &mut Walk<'p>,
        work: &mut Work<'_, S>,
    ) -> bool {
        walk.values.clear();
        let Some(index) = &self.tree.relation.index else { return false };
        let present = match tuple.kind() {
            Kind::Pivot { columns, .. } => usize::from(columns),
            Kind::Plain | Kind::Posting { .. } => index.columns.len(),
        };
        let mut reader = Columns::new(tuple.data(), tuple.null_bitmap());
        let attributes = index.columns.iter().take(present).map(|column| column.attribute);
        let is_whole = reader.push_columns(attributes, &mut walk.values);
        if !is_whole {
            let expected = format!("columns inside the tuple's {} bytes", tuple.length_bytes());
            let found = format!("an impossible length at byte {} of the columns", reader.offset_bytes());
            work.report(&rules::BTREE_TUPLE, Some(item.number), expected, found);
        }
        is_whole
    }

    /// Compares a tuple with the one before it.
    pub(crate) fn check_order<S: EntrySink>(
        &self,
        tuple: &IndexTuple<'_>,
        item: Item,
        walk: &mut Walk<'_>,
        scratch: &mut TreeScratch,
        work: &mut Work<'_, S>,
    ) {
        let (Some(before), Some(index)) = (walk.previous, &self.tree.relation.index) else { return };
        let before_part =
            std::mem::replace(&mut walk.leading_part, leading_part(&index.columns, &walk.values));
        if before_part.zip(walk.leading_part).is_some_and(|(before, this)| before < this) {
            walk.key_was_new();
            return;
        }
        let relation = compare_keys(&index.columns, &walk.previous_values, &walk.values, &mut scratch.values);
        if relation != KeyRelation::Known(Ordering::Equal) {
            walk.key_was_new();
        }
        match relation {
            KeyRelation::NotKnown => work.sink.order_not_known(self.tree.number),
            KeyRelation::Known(Ordering::Less) => {}
            KeyRelation::Known(Ordering::Greater) => {
                let relation = self.tree.relation;
                let before = tuple_key_text(relation, &walk.previous_values);
                let expected = format!("a key not below {before}, that of line pointer {}", item.number - 1);
                let found = tuple_key_text(relation, &walk.values);
                work.report(&rules::BTREE_ORDER, Some(item.number), expected, found);
            }
            KeyRelation::Known(Ordering::Equal) => {
                if let (Some(last), Some(next)) = (before.heap_tids().last(), tuple.heap_tids().next())
                    && self.tree.version >= VERSION_TID_KEYS
                    && last >= next
                {
                    let expected = format!("equal keys in TID order, after TID {last}");
                    work.report(&rules::BTREE_ORDER, Some(item.number), expected, format!("TID {next}"));
                }
            }
        }
    }

    /// Whether no other row may have the key of the tuple: one with a null may stand many times.
    fn is_distinct(&self, index: &Index, walk: &mut Walk<'_>) -> bool {
        let mut keys = index.columns.iter().zip(&walk.values).take_while(|(column, _)| column.is_key);
        let is_free = !index.nulls_not_distinct && keys.any(|(_, value)| matches!(value, Datum::Null));
        if is_free {
            walk.live = None;
        }
        !is_free
    }

    /// Tells when a visible row has the key of one before it.
    fn check_unique<S>(&self, tid: Tid, item: Item, walk: &mut Walk<'_>, work: &mut Work<'_, S>) {
        if let Some(other) = walk.live.replace(tid) {
            let found = format!("rows {other} and {tid} with the same key");
            let expected = "one visible row per key".to_owned();
            work.report(&rules::BTREE_UNIQUE, Some(item.number), expected, found);
        }
    }

    /// States the first and the last key of a leaf that visible rows have: a neighbour with the same is a duplicate.
    pub(crate) fn state_boundaries<S: EntrySink>(
        &self,
        opaque: &Opaque,
        walk: &Walk<'_>,
        scratch: &mut TreeScratch,
        work: &mut Work<'_, S>,
    ) {
        let Some(index) = self.tree.relation.index.as_ref() else { return };
        let block = work.place.block;
        let mut state = |side, between, tid: Option<Tid>, values: &[Datum<'_>]| {
            let Some(tid) = tid else { return };
            let buffer = &mut scratch.buffer;
            if let Some(fact) = boundary_fact(self.key, self.tree.number, index, between, values, buffer) {
                work.sink.boundary(self.tree.number, side, fact, Boundary { tid, block });
            }
        };
        if opaque.previous != 0 {
            state(Side::Found, (opaque.previous, block), walk.first_live, &walk.first_values);
        }
        if opaque.next != 0 {
            state(Side::Expected, (block, opaque.next), walk.live, &walk.previous_values);
        }
    }

    /// States which row the entry is of; whether with its key.
    #[expect(
        clippy::too_many_arguments,
        reason = "the state of one loop, which would have to be put together per row"
    )]
    fn state_row<S: EntrySink>(
        &self,
        index: &Index,
        tid: Tid,
        exception: Option<Exception>,
        item: Item,
        walk: &Walk<'_>,
        scratch: &mut TreeScratch,
        work: &mut Work<'_, S>,
    ) -> bool {
        let fact = match exception {
            Some(Exception::NotLive | Exception::KeyElsewhere | Exception::Elsewhere) => None,
            None | Some(Exception::HashElsewhere) => {
                entry_fact(self.key, self.tree.number, index, tid, &walk.values, &mut scratch.buffer)
            }
        };
        let has_key = fact.is_some();
        let fact = fact.unwrap_or_else(|| tid_fact(self.key, self.tree.number, tid));
        let bucket = self.tree.heap_buckets.of(tid.block);
        let place = (work.place.block, item.number);
        if self.tree.is_marked_dead(item) {
            work.sink.dead_entry(self.tree.number, bucket, fact, tid, place);
        } else {
            work.sink.entry(self.tree.number, bucket, fact, tid, place);
        }
        has_key
    }

    /// Compares the last tuple of a block with the bound of all.
    pub(crate) fn check_high_key<'p, S: EntrySink>(
        &self,
        high_key: &IndexTuple<'p>,
        walk: &mut Walk<'p>,
        scratch: &mut TreeScratch,
        work: &mut Work<'_, S>,
    ) {
        let (Some(last), Some(index)) = (walk.previous, &self.tree.relation.index) else { return };
        let item = Item { number: 1, offset: 0, length: 0, state: ItemState::Normal };
        if !self.read_values(high_key, item, walk, work) {
            return;
        }
        let is_above =
            match compare_keys(&index.columns, &walk.previous_values, &walk.values, &mut scratch.values) {
                KeyRelation::NotKnown => {
                    work.sink.order_not_known(self.tree.number);
                    false
                }
                KeyRelation::Known(ordering) if ordering != Ordering::Equal => ordering == Ordering::Greater,
                KeyRelation::Known(_) => {
                    // What was cut off a bound is below everything, so a tuple with the same beginning is above it.
                    let keys = index.columns.iter().filter(|column| column.is_key).count();
                    let is_cut = walk.values.len() < walk.previous_values.len().min(keys);
                    let is_past_tid = match (last.heap_tids().last(), high_key.pivot_tid()) {
                        (Some(tid), Some(bound)) => tid > bound,
                        (Some(_), None) => true,
                        (None, _) => false,
                    };
                    self.tree.version >= VERSION_TID_KEYS && (is_cut || is_past_tid)
                }
            };
        if is_above {
            let relation = self.tree.relation;
            let expected = format!("keys below the high key {}", tuple_key_text(relation, &walk.values));
            let tid = last.heap_tids().last().map(|tid| format!(", TID {tid}")).unwrap_or_default();
            let found = format!("last key {}{tid}", tuple_key_text(relation, &walk.previous_values));
            work.report(&rules::BTREE_ORDER, None, expected, found);
        }
    }
}
