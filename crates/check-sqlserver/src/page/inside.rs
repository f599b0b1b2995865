//! The inside of a page that an allocation unit owns: records, links, keys, rows.

use check::matching::side::Side;
use check::rule::Rule;
use formats::sqlserver::{
    HEADER_BYTES, Header, PAGE_BYTES, PageId, PageKind, Record, RecordId, RecordKind, RowsetColumn, Value,
    audit_records, links_of,
};
use results::check::CheckLevel;

use crate::finding::Draft;
use crate::maps::Use;
use crate::matching::facts::{FactKind, forward_bytes, link_bytes};
use crate::page::keys::{Bound, Ends, Key};
use crate::plan::Unit;
use crate::rules;
use crate::run::worker::{Worker, has_records, judge_iam, of_damage};

/// A page with what is known about it.
pub(crate) struct Place<'p> {
    pub(crate) page: PageId,
    pub(crate) number: u32,
    pub(crate) unit: &'p Unit,
    pub(crate) header: Header,
}

impl Place<'_> {
    pub(crate) fn record(&self, slot: usize) -> RecordId {
        RecordId { page: self.page, slot: u16::try_from(slot).unwrap_or(u16::MAX) }
    }

    /// Whether its records are rows or entries for rows.
    // OBSERVED: index pages just above the data pages of a clustered index are of level 0 or 1
    pub(crate) fn is_leaf(&self) -> bool {
        self.header.kind == PageKind::Data || (self.header.level == 0 && self.unit.index_id > 1)
    }

    /// The level in facts about pages below; the same for all in a clustered index.
    fn stated_level(&self) -> u8 {
        if self.unit.index_id > 1 { self.header.level } else { 1 }
    }

    pub(crate) fn draft(
        &self,
        rule: &'static Rule,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Draft {
        Draft::new(rule, self.page, expected.into(), found.into()).unit(self.number)
    }
}

impl Worker<'_> {
    /// Looks into a page and states its facts.
    pub(crate) fn judge_inside(
        &mut self,
        page: PageId,
        usage: Use,
        header: &Header,
        bytes: &[u8],
        drafts: &mut Vec<Draft>,
    ) {
        let context = self.context;
        let is_judged = match usage {
            Use::Fixed(_) | Use::Iam(_) => true,
            Use::Unit(number) => context
                .plan
                .units
                .get(number as usize)
                .is_some_and(|unit| unit.is_known && !unit.is_compressed && has_records(header.kind)),
            _ => false,
        };
        self.inside_count += u64::from(is_judged && context.is_first_batch());
        match usage {
            Use::Iam(_) => judge_iam(page, bytes, drafts),
            Use::Unit(number) => {
                let Some(unit) = context.plan.units.get(number as usize) else { return };
                let mut header = *header;
                if unit.is_compressed {
                    header.type_flags |= 0x80;
                }
                let place = Place { page, number, unit, header };
                let before = drafts.len();
                judge_owner(&place, drafts);
                if drafts.len() > before {
                    // The records are those of another table.
                    return;
                }
                self.judge_records(&place, bytes, drafts);
                if drafts.len() == before {
                    self.judge_fullness(&place);
                }
            }
            // Without the map a page may be free and hold whatever was there: its inside is no evidence.
            Use::Allocated if has_records(header.kind) => {
                audit_records(bytes, header, |_, _| {}, |damage| drafts.push(of_damage(page, damage)));
            }
            _ => {}
        }
    }

    fn judge_records(&mut self, place: &Place<'_>, bytes: &[u8], drafts: &mut Vec<Draft>) {
        let records = self.records_of_interest(place, bytes, drafts);
        if !has_records(place.header.kind) {
            return;
        }
        self.facts.is_muted = !self.context.is_active(place.unit.object);
        if matches!(place.header.kind, PageKind::TextMix | PageKind::TextTree) {
            self.state_pieces(place, &records, drafts);
            return;
        }
        if place.unit.is_tree {
            self.state_links(place, &records);
            if !place.header.is_compressed() {
                self.look_at_keys(place, &records, drafts);
            }
        }
        if place.header.is_compressed() || !place.is_leaf() {
            return;
        }
        for (slot, record) in &records {
            self.look_at_row(place, *slot, record, drafts);
        }
    }

    /// What the PFS says about the room in a page. Two pages are concerned: told only where facts between pages are.
    fn judge_fullness(&mut self, place: &Place<'_>) {
        let header = &place.header;
        let is_kept = match header.kind {
            PageKind::Data => place.unit.index_id == 0 && place.unit.is_known,
            // OBSERVED: pages of kind text tree are always called full
            PageKind::TextMix => true,
            _ => false,
        };
        // Transactions under way keep room that nobody else may use.
        if !is_kept || header.reserved_count > 0 || header.is_compressed() || !self.context.is_first_batch() {
            return;
        }
        let used = (PAGE_BYTES - HEADER_BYTES).saturating_sub(header.free_count.into());
        let Some(byte) = self.context.maps.pfs_byte(place.page).filter(|byte| !byte.suits(used)) else {
            return;
        };
        let expected = format!("a PFS fullness step for {used} bytes in use");
        let found = format!("step {} of 4, PFS byte {:#04x}", byte.fullness(), byte.0);
        self.between.push(place.draft(&rules::PFS_SPACE, expected, found));
    }

    /// Audits all records and returns those that are looked at further, with their slots. Of leaves below level full
    /// these are the first, the last, and what is more than a plain row: most pages have nothing else.
    fn records_of_interest<'p>(
        &self,
        place: &Place<'_>,
        bytes: &'p [u8],
        drafts: &mut Vec<Draft>,
    ) -> Vec<(usize, Record<'p>)> {
        let slot_count = usize::from(place.header.slot_count);
        let mut records: Vec<(usize, Record<'p>)> = Vec::new();
        let mut is_told = false;
        let has_rows = matches!(place.header.kind, PageKind::Data | PageKind::Index);
        if self.context.level < CheckLevel::Full && has_rows && place.is_leaf() {
            let last = slot_count.wrapping_sub(1);
            let keep = |slot, record: &Record<'p>| {
                if slot == last || records.is_empty() || record.is_special() {
                    records.push((slot, *record));
                }
            };
            audit_records(bytes, &place.header, keep, |damage| drafts.push(of_damage(place.page, damage)));
            if records.last().is_some_and(|(slot, _)| *slot == last) {
                return records;
            }
            // The last slot is empty or damaged: which record is the last one?
            records.clear();
            is_told = true;
        }
        records.reserve(slot_count.min(PAGE_BYTES));
        let report = |damage| {
            if !is_told {
                drafts.push(of_damage(place.page, damage));
            }
        };
        audit_records(bytes, &place.header, |slot, record| records.push((slot, *record)), report);
        records
    }

    /// Links to neighbours and to pages below.
    fn state_links(&mut self, place: &Place<'_>, records: &[(usize, Record<'_>)]) {
        let Header { level, previous, next, .. } = place.header;
        let own = place.record(0);
        let named = |page| RecordId { page, slot: 0 };
        let siblings = (FactKind::Sibling, place.number);
        if !next.is_none() {
            let bytes = link_bytes(level, place.page, next);
            self.facts.state(siblings, Side::Expected, &bytes, own, named(next));
        }
        if !previous.is_none() {
            let bytes = link_bytes(level, previous, place.page);
            self.facts.state(siblings, Side::Found, &bytes, own, named(previous));
        }
        let children = (FactKind::Child, place.number);
        if !self.context.is_root(place.number, place.page) {
            let bytes = link_bytes(place.stated_level(), place.page, PageId::default());
            self.facts.state(children, Side::Found, &bytes, own, own);
        }
        if place.is_leaf() {
            return;
        }
        let below = if place.unit.index_id > 1 { place.stated_level() - 1 } else { 1 };
        for (slot, record) in records {
            if let Some(child) = record.child(&place.header) {
                let bytes = link_bytes(below, child, PageId::default());
                self.facts.state(children, Side::Expected, &bytes, place.record(*slot), named(child));
            }
        }
    }

    /// The order of keys, and what the pages above say about them.
    fn look_at_keys(&mut self, place: &Place<'_>, records: &[(usize, Record<'_>)], drafts: &mut Vec<Draft>) {
        let keys = &place.unit.keys;
        let is_leaf = place.is_leaf();
        // The first entry of the first page of an inner level stands for all keys before the second.
        let is_endless = |index: usize| !is_leaf && index == 0 && place.header.previous.is_none();
        if self.context.level >= CheckLevel::Full {
            self.look_at_order(place, records, is_endless, drafts);
        }
        let key = |index: usize| {
            let (_, record) = records.get(index).filter(|_| !is_endless(index))?;
            Key::of(keys, record, is_leaf)
        };
        let has_order = keys.first().is_some_and(|key| key.type_info.has_order());
        if self.facts.is_muted || !has_order || records.is_empty() {
            return;
        }
        let ends = Ends { page: place.page, unit: place.number, first: key(0), last: key(records.len() - 1) };
        let of = |key: &Option<Key>| key.as_ref().map_or(0, Key::bytes);
        if self.context.take_key_bytes(size_of::<Ends>() as u64 + of(&ends.first) + of(&ends.last)) {
            self.ends.push(ends);
        }
        if is_leaf {
            return;
        }
        for (index, (slot, record)) in records.iter().enumerate() {
            let Some(child) = record.child(&place.header) else { continue };
            let parent_slot = place.record(*slot).slot;
            let bound = Bound {
                child,
                unit: place.number,
                parent: place.page,
                slot: parent_slot,
                low: key(index),
                high: key(index + 1),
            };
            if self.context.take_key_bytes(size_of::<Bound>() as u64 + of(&bound.low) + of(&bound.high)) {
                self.bounds.push(bound);
            }
        }
    }

    /// A row or an entry of a leaf.
    fn look_at_row(&mut self, place: &Place<'_>, slot: usize, record: &Record<'_>, drafts: &mut Vec<Draft>) {
        let unit = place.unit;
        let own = place.record(slot);
        match record.kind {
            RecordKind::Stub => {
                let Some(target) = record.forward() else { return };
                let bytes = forward_bytes(own, target);
                self.facts.state((FactKind::Forward, place.number), Side::Expected, &bytes, own, target);
                return;
            }
            RecordKind::Forwarded => {
                // A row without a pointer back is named by nobody.
                let stub = record.back_pointer().unwrap_or_default();
                let bytes = forward_bytes(stub, own);
                self.facts.state((FactKind::Forward, place.number), Side::Found, &bytes, own, stub);
            }
            RecordKind::Primary | RecordKind::Index => {}
            _ => {
                if record.has_complex() {
                    let why = "ghost rows may still have LOB values";
                    self.facts.poison((FactKind::Lob, unit.rowset), why);
                }
                return;
            }
        }
        // Below level full only pointers are of interest, and few rows have one.
        if self.context.level < CheckLevel::Full && !record.has_complex() {
            return;
        }
        for column in &unit.columns {
            self.look_at_value(place, slot, record, column, drafts);
        }
        if self.context.level < CheckLevel::Full {
            return;
        }
        if !self.facts.is_muted {
            *self.records.entry(place.number).or_default() += 1;
        }
        match unit.entry_of {
            Some(index) => self.state_entry(index, record, own),
            // Entries of an index that is not compared.
            None if unit.index_id > 1 => {}
            None => {
                self.row_count += u64::from(!self.facts.is_muted);
                // Entries name the place that the row had first.
                let locator = record.back_pointer().unwrap_or(own);
                for index in &unit.indexes {
                    self.state_row(*index, record, own, locator);
                }
            }
        }
    }

    fn look_at_value(
        &mut self,
        place: &Place<'_>,
        slot: usize,
        record: &Record<'_>,
        column: &RowsetColumn,
        drafts: &mut Vec<Draft>,
    ) {
        if column.leaf.offset < 0 && !record.is_null(column.leaf.null_bit) {
            let index = usize::from((-(column.leaf.offset + 1)) as u16);
            if let Some(variable) = record.variable(index).filter(|variable| variable.is_complex) {
                for link in links_of(variable, column.type_info.is_text()) {
                    self.state_lob_link(place.unit.rowset, &link, place.record(slot));
                }
            }
        }
        // A number at the place of a variable column makes equal keys differ; it may be empty.
        let is_uniqueifier = column.leaf.offset < 0 && column.type_info.fixed_bytes().is_some();
        if self.context.level < CheckLevel::Full || column.is_dropped() || is_uniqueifier {
            return;
        }
        match column.value(record, column.leaf) {
            // OBSERVED: base tables have nulls in columns that are not null
            Value::Null if column.is_not_null() && !place.unit.is_system => {
                let name = place.unit.column_name(column);
                let expected = format!("a value in {name}, which is NOT NULL");
                drafts.push(place.draft(&rules::NOT_NULL, expected, format!("{name} = NULL")).slot(slot));
            }
            Value::Bytes(bytes) => {
                if let Some(why) = column.type_info.out_of_range(bytes) {
                    let name = place.unit.column_name(column);
                    let expected = format!("{name} in the range of {}", column.type_info.name());
                    let found = format!("{} ({why})", place.unit.column_text(column, record));
                    drafts.push(place.draft(&rules::VALUE_RANGE, expected, found).slot(slot));
                }
            }
            _ => {}
        }
    }
}

/// Whether a page belongs to its owner, by number and by kind.
fn judge_owner(place: &Place<'_>, drafts: &mut Vec<Draft>) {
    let (unit, header) = (place.unit, &place.header);
    if !unit.is_stated_by(header) {
        let mut draft = place.draft(
            &rules::PAGE_OWNER,
            format!("allocation unit {:#x}, to which the page is allocated", unit.id),
            format!("unit {:#x}", header.allocation_unit()),
        );
        draft.offset = Some(6);
        drafts.push(draft);
        return;
    }
    let suits = match (unit.kind, unit.index_id) {
        _ if !unit.is_known => true,
        (1, 0) => header.kind == PageKind::Data,
        (1, 1) if header.level > 0 => header.kind == PageKind::Index,
        (1, 1) => matches!(header.kind, PageKind::Data | PageKind::Index),
        (1, _) => header.kind == PageKind::Index,
        _ => matches!(header.kind, PageKind::TextMix | PageKind::TextTree),
    };
    // Intermediate pages of sorts and loads are of kinds that are not looked into.
    if !suits && !matches!(header.kind, PageKind::Sort | PageKind::Other) {
        let found = format!("kind {}, level {}", header.kind.name(), header.level);
        drafts.push(place.draft(&rules::PAGE_KIND, "a page of a type that its owner uses", found));
    }
}
