//! Records of rows and index entries: their form, their order, and what must match.

use formats::sqlite::{Cell, Record, Value, number_in_text, u32_at};
use results::check::CheckLevel;

use check::matching::side::Side;

use crate::causes::naming::value_text;
use crate::causes::{ALL_ROWIDS, Rowids};
use crate::finding::Draft;
use crate::matching::collector::Member;
use crate::page::faults::fault_text;
use crate::page::keys::{class_of, classes_text, default_class, push_default, push_value};
use crate::plan::{CLASS_NULL, CLASS_TEXT, Feed, OwnedValue, Part, Rows, StoredColumn, TreePlan};
use crate::rules;
use crate::run::worker::{Place, Worker};
use crate::versions::ComputedRow;

impl<'a> Worker<'a> {
    /// Proves the form of a record, and at level full its place, its values and its partners.
    #[inline]
    pub(crate) fn record<'p>(
        &mut self,
        place: &Place<'p>,
        slot: usize,
        cell: &Cell<'p>,
        previous: Option<&Cell<'p>>,
    ) {
        if self.collector.is_none()
            && let Some(count) = self.record_counts.get_mut(place.tree)
        {
            *count += 1;
        }
        let (record, damage) = Record::new(cell.local, cell.payload_bytes);
        if let Some(damage) = damage {
            let draft =
                record_draft(place, fault_text(damage.fault), &damage.expected_text(), &damage.found_text());
            self.report(draft.slot(slot).loses(lost_rowids(cell)));
            return;
        }
        let Some(record) = record else {
            // The header of the record goes on in overflow pages.
            let Some(payload) = self.payload(place, cell) else { return };
            match Record::new(&payload, cell.payload_bytes) {
                (Some(record), _) => self.whole_record(place, slot, cell, &record, previous),
                (None, damage) => {
                    let found = damage.map(|damage| damage.found_text()).unwrap_or_default();
                    let draft =
                        record_draft(place, "header of the record", "a header inside the record", &found);
                    self.report(draft.slot(slot).loses(lost_rowids(cell)));
                }
            }
            return;
        };
        self.whole_record(place, slot, cell, &record, previous);
    }

    #[inline]
    fn whole_record<'p>(
        &mut self,
        place: &Place<'p>,
        slot: usize,
        cell: &Cell<'p>,
        record: &Record<'_>,
        previous: Option<&Cell<'p>>,
    ) {
        if self.context.level < CheckLevel::Full {
            if let Some(damage) = record.damage() {
                let draft = record_draft(
                    place,
                    fault_text(damage.fault),
                    &damage.expected_text(),
                    &damage.found_text(),
                );
                self.report(draft.slot(slot).loses(lost_rowids(cell)));
            }
            return;
        }
        let mut fields = std::mem::take(&mut self.fields);
        fields.clear();
        let mut rest = record.fields();
        // Not `extend`, which asks for room again and again when the count is not known.
        for field in &mut rest {
            fields.push(field);
        }
        self.context.count_booleans(&fields, self.collector.is_none());
        if !rest.is_at_end() || rest.end() != cell.payload_bytes {
            if let Some(damage) = record.damage() {
                let draft = record_draft(
                    place,
                    fault_text(damage.fault),
                    &damage.expected_text(),
                    &damage.found_text(),
                );
                self.report(draft.slot(slot).loses(lost_rowids(cell)));
            }
        } else if let Some(plan) = self.context.plans.trees.get(place.tree) {
            self.fields = fields;
            self.matched_record(place, slot, cell, record, previous, plan);
            return;
        }
        self.fields = fields;
    }

    #[inline]
    fn matched_record<'p>(
        &mut self,
        place: &Place<'p>,
        slot: usize,
        cell: &Cell<'p>,
        record: &Record<'_>,
        previous: Option<&Cell<'p>>,
        plan: &TreePlan,
    ) {
        if let (Some(order), Some(previous)) = (&plan.order, previous)
            && self.collector.is_none()
        {
            self.order(place, slot, (previous, cell), order);
        }
        if let Some(rows) = &plan.rows {
            self.row(place, slot, cell, record, rows);
        }
        if let Some(expected) = plan.field_count
            && self.fields.len() != expected
        {
            let draft = Draft::new(
                &rules::COLUMN_COUNT,
                place.page,
                format!("{expected} fields"),
                format!("{} fields", self.fields.len()),
            );
            self.report(draft.slot(slot).tree(place.tree));
        }
        if let Some(pair) = plan.entries {
            self.entry(place, slot, cell, record, pair);
        }
    }

    /// The whole payload of a cell; `None` when its chain is broken, which is reported elsewhere.
    pub(crate) fn payload(&self, place: &Place<'_>, cell: &Cell<'_>) -> Option<Vec<u8>> {
        let geometry = self.context.geometry;
        let mut payload = cell.local.to_vec();
        let mut next = cell.overflow;
        let mut read = Vec::new();
        let mut pages_left = self.context.page_count;
        while (payload.len() as u64) < cell.payload_bytes {
            pages_left = pages_left.checked_sub(1)?;
            if !self.context.map.is_allowed(next) {
                return None;
            }
            let bytes = match place.window.page(next) {
                Some(bytes) => bytes,
                None => {
                    self.context.reader.read(next, &mut read).ok()?;
                    read.as_slice()
                }
            };
            let here = bytes.get(4..geometry.usable_bytes as usize)?;
            let rest = usize::try_from(cell.payload_bytes).ok()?.saturating_sub(payload.len());
            payload.extend_from_slice(here.get(..rest.min(here.len()))?);
            next = u32_at(bytes, 0)?;
        }
        Some(payload)
    }

    /// The values of a row, and its share in the sums of each index.
    #[inline]
    fn row(&mut self, place: &Place<'_>, slot: usize, cell: &Cell<'_>, record: &Record<'_>, rows: &Rows) {
        self.row_count += 1;
        if self.fields.len() > rows.columns.len() {
            let draft = Draft::new(
                &rules::COLUMN_COUNT,
                place.page,
                format!("at most {} fields", rows.columns.len()),
                format!("{} fields", self.fields.len()),
            );
            self.report(draft.slot(slot).tree(place.tree));
        }
        let local_end = cell.local.len() as u64;
        let needs_more = cell.overflow != 0 && self.needs_overflow(rows, local_end);
        if !needs_more {
            self.row_values(place, slot, cell, record, rows);
            return;
        }
        let Some(payload) = self.payload(place, cell) else { return };
        if let Some(record) = Record::new(&payload, cell.payload_bytes).0 {
            self.row_values(place, slot, cell, &record, rows);
        }
    }

    /// Whether a value that is looked at lies in the overflow pages.
    fn needs_overflow(&self, rows: &Rows, local_end: u64) -> bool {
        let is_outside =
            |index: usize| self.fields.get(index).is_some_and(|field| field.start + field.size > local_end);
        let in_feeds = rows.feeds.iter().flat_map(|feed| &feed.parts).any(|part| match part {
            Part::Field(index) => is_outside(*index),
            Part::Rowid | Part::Computed(_) => false,
        });
        let bound = rows.evaluation.iter().flat_map(|evaluation| &evaluation.bound);
        in_feeds
            || bound.flatten().any(|index| is_outside(*index))
            || rows.has_tests
                && rows.columns.iter().enumerate().any(|(index, column)| {
                    column.refuses_numeric_text
                        && self
                            .fields
                            .get(index)
                            .is_some_and(|field| class_of(field.serial_type) == CLASS_TEXT)
                        && is_outside(index)
                })
    }

    #[inline]
    fn row_values(
        &mut self,
        place: &Place<'_>,
        slot: usize,
        cell: &Cell<'_>,
        record: &Record<'_>,
        rows: &Rows,
    ) {
        if rows.has_tests && self.collector.is_none() {
            for (index, column) in rows.columns.iter().enumerate() {
                self.column(place, slot, cell, record, index, column);
            }
        }
        let is_computed = match &rows.evaluation {
            Some(evaluation) => self.compute(place, slot, cell, record, rows, evaluation),
            None => false,
        };
        for feed in &rows.feeds {
            let has_entry = match feed.condition {
                Some(result) => self.results.get(result) == Some(&OwnedValue::Integer(1)),
                None => true,
            };
            let is_known =
                is_computed || !self.context.plans.pairs.get(feed.pair).is_some_and(|pair| pair.is_computed);
            let row = ComputedRow { tree: place.tree, cell, record, rows };
            if self.collector.is_some() {
                self.collect_row(place, slot, &row, feed, (is_known, is_known && has_entry));
            } else if is_known && has_entry {
                let hash = self.feed_hash(&row, feed, false);
                if let Some(difference) = self.differences.get_mut(feed.pair) {
                    difference.add(Side::Expected, hash);
                }
            }
        }
    }

    /// Gives the entry that a row should have in an index to the collector.
    fn collect_row(
        &mut self,
        place: &Place<'_>,
        slot: usize,
        row: &ComputedRow<'_>,
        feed: &Feed,
        (is_known, has_entry): (bool, bool),
    ) {
        let pair = self.context.plans.pairs.get(feed.pair);
        let may_be_in_doubt = pair.is_some_and(|pair| pair.may_be_in_doubt)
            && self.collector.as_ref().is_some_and(|collector| collector.wants(feed.pair));
        let (doubt, reason) =
            if may_be_in_doubt { self.doubt_of_entry(row, feed, is_known) } else { Default::default() };
        if !has_entry && !doubt.is_any() {
            return;
        }
        let hash = if has_entry { Some(self.feed_hash(row, feed, false)) } else { None };
        let identity = if doubt.is_any() { self.feed_hash(row, feed, true) as u64 } else { 0 };
        let rowid = row.cell.rowid;
        if let Some(collector) = &mut self.collector {
            let member = Member { page: place.page, slot: slot as u32, rowid, identity };
            collector.row(feed.pair, hash, member, doubt, reason);
        }
    }

    /// The hash of the entry that a row should have; of its values that are not computed only, when these are wanted.
    #[inline]
    fn feed_hash(&mut self, row: &ComputedRow<'_>, feed: &Feed, is_identity: bool) -> u128 {
        let mut key = std::mem::take(&mut self.key);
        key.clear();
        for part in &feed.parts {
            match part {
                Part::Computed(_) if is_identity => {}
                Part::Computed(result) => match self.results.get(*result) {
                    Some(value) => push_value(&mut key, value.as_value()),
                    None => push_value(&mut key, Value::Null),
                },
                Part::Rowid => push_value(&mut key, Value::Integer(row.cell.rowid)),
                Part::Field(index) => match self.fields.get(*index) {
                    Some(field) => push_value(&mut key, row.record.value(*field).unwrap_or(Value::Null)),
                    None => push_default(&mut key, row.rows, *index),
                },
            }
        }
        let hash = self.context.key.hash(&key);
        self.key = key;
        hash
    }

    #[inline]
    fn column(
        &mut self,
        place: &Place<'_>,
        slot: usize,
        cell: &Cell<'_>,
        record: &Record<'_>,
        index: usize,
        column: &StoredColumn,
    ) {
        let class = match self.fields.get(index) {
            Some(field) if field.serial_type == 7 && record.value(*field) == Some(Value::Null) => CLASS_NULL,
            Some(field) => class_of(field.serial_type),
            None => default_class(&column.default),
        };
        let is_null = class == CLASS_NULL;
        let is_numeric_text = column.refuses_numeric_text
            && class == CLASS_TEXT
            && self.fields.get(index).is_some_and(|field| match record.value(*field) {
                Some(Value::Text(text)) => number_in_text(text, self.context.encoding),
                _ => false,
            });
        let (rule, expected) = if column.is_not_null && is_null {
            (&rules::NOT_NULL, "a value".to_owned())
        } else if class & column.classes == 0 {
            (&rules::VALUE_TYPE, classes_text(column.classes))
        } else if is_numeric_text {
            (&rules::VALUE_TYPE, "a text that is not a number".to_owned())
        } else {
            return;
        };
        let value = match self.fields.get(index) {
            Some(field) => record.value(*field).unwrap_or(Value::Null),
            None => column.default.as_value(),
        };
        let found =
            format!("{} = {} ({})", column.name, value_text(self.context, value), classes_text(class));
        let mut draft = Draft::new(rule, place.page, format!("{expected} in column {}", column.name), found);
        draft.row = self.row_key(place, cell, record);
        self.report(draft.slot(slot).tree(place.tree));
    }

    /// The share of an index entry in the sums of its index.
    #[inline]
    fn entry(&mut self, place: &Place<'_>, slot: usize, cell: &Cell<'_>, record: &Record<'_>, pair: usize) {
        self.entry_count += 1;
        let assembled;
        let whole;
        let record = if cell.overflow == 0 {
            record
        } else {
            let Some(payload) = self.payload(place, cell) else { return };
            assembled = payload;
            let Some(record) = Record::new(&assembled, cell.payload_bytes).0 else { return };
            whole = record;
            &whole
        };
        let mut rowid = 0;
        self.key.clear();
        let pair_plan = self.context.plans.pairs.get(pair);
        let matched = pair_plan.and_then(|pair| pair.fields.as_ref());
        for (index, field) in self.fields.iter().enumerate() {
            if matched.is_some_and(|matched| !matched.contains(&index)) {
                continue;
            }
            let value = record.value(*field).unwrap_or(Value::Null);
            if let Value::Integer(number) = value {
                rowid = number;
            }
            push_value(&mut self.key, value);
        }
        let hash = self.context.key.hash(&self.key);
        let Some(collector) = &mut self.collector else {
            if let Some(difference) = self.differences.get_mut(pair) {
                difference.add(Side::Found, hash);
            }
            return;
        };
        let mut identity = 0;
        if let Some(plan) = pair_plan.filter(|plan| plan.may_be_in_doubt) {
            self.key.clear();
            for (index, field) in self.fields.iter().enumerate() {
                let is_plain = !plan.computed_fields.contains(&index);
                if is_plain && matched.is_none_or(|matched| matched.contains(&index)) {
                    push_value(&mut self.key, record.value(*field).unwrap_or(Value::Null));
                }
            }
            identity = self.context.key.hash(&self.key) as u64;
        }
        collector.entry(pair, hash, Member { page: place.page, slot: slot as u32, rowid, identity });
    }
}

fn record_draft(place: &Place<'_>, what: &str, expected: &str, found: &str) -> Draft {
    Draft::new(&rules::RECORD, place.page, format!("{what}: {expected}"), found.to_owned()).tree(place.tree)
}

/// The row that a record is; any row where the key is no rowid.
fn lost_rowids(cell: &Cell<'_>) -> Rowids {
    if cell.rowid == 0 { ALL_ROWIDS } else { (cell.rowid, cell.rowid) }
}
