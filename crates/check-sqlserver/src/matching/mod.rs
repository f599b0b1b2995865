//! Sums compared; where they differ, the pages of the objects concerned are read again and the facts named.

pub(crate) mod facts;
pub(crate) mod second_reading;

use std::collections::HashSet;

use formats::sqlserver::{Header, PAGE_BYTES, RecordId, slot_offset};
use results::check::{Confidence, NotChecked};

use crate::finding::Draft;
use crate::maps::Use;
use crate::matching::facts::{Fact, FactKind, Facts, Group};
use crate::naming::entries::{Counterparts, show_values};
use crate::naming::folding::fold_rows;
use crate::rules;
use crate::run::context::Context;
use crate::run::worker::Worker;

/// What the comparison brought.
#[derive(Default)]
pub(super) struct Compared {
    pub(super) drafts: Vec<Draft>,
    pub(super) not_checked: Vec<NotChecked>,
    /// Objects read again.
    pub(super) second_pass_count: u64,
    /// Indexes that could not be compared with their tables.
    pub(super) unmatched: HashSet<u32>,
    /// Pages read again that were changed after the last checkpoint; nothing is accused then.
    pub(super) newer_count: u64,
}

/// Compares the sums of a batch, and looks exactly where they differ.
pub(super) fn compare(context: &Context<'_>, worker: &Worker<'_>) -> Compared {
    let mut compared = Compared::default();
    let mut poisoned: Vec<_> = worker.facts.poisoned.iter().collect();
    poisoned.sort_by_key(|(group, _)| **group);
    for (group, why) in poisoned {
        let what = if group.0 == FactKind::Entry { "rows against index entries" } else { "large values" };
        if group.0 == FactKind::Entry {
            compared.unmatched.insert(group.1);
        }
        compared.not_checked.push(NotChecked {
            object: name_of(context, *group),
            what: what.to_owned(),
            why: (*why).to_owned(),
            kind: results::check::GapKind::Coverage,
        });
    }
    let is_unequal = |group: &Group| {
        let difference = worker.facts.sums.get(group);
        difference.is_some_and(|difference| !difference.unequal().is_empty())
    };
    let groups: HashSet<Group> = worker
        .facts
        .sums
        .keys()
        .filter(|group| !worker.facts.poisoned.contains_key(group) && is_unequal(group))
        .copied()
        .collect();
    if groups.is_empty() {
        return compared;
    }
    compared.second_pass_count = groups.len() as u64;
    let (facts, newer_count) = facts_of(context, groups);
    if newer_count > 0 {
        compared.newer_count = newer_count;
        return compared;
    }
    let mut counterparts = Counterparts::default();
    for (group, mut names, mut there) in facts.unmatched() {
        if !drop_cut_off(context, group, &mut names, &mut there) {
            compared.unmatched.extend((group.0 == FactKind::Entry).then_some(group.1));
            let why = "some of its pages are past the end of a truncated file";
            compared.not_checked.push(NotChecked::coverage(
                name_of(context, group).as_deref(),
                "rows against index entries",
                why,
            ));
            continue;
        }
        let is_damaged = units_of(context, group).iter().any(|unit| worker.damaged_units.contains(unit));
        let before = compared.drafts.len();
        name_facts(context, group, &names, &there, &mut compared.drafts);
        if group.0 == FactKind::Entry {
            let drafts = compared.drafts.get_mut(before..).unwrap_or_default();
            let table = table_of(context, group.1).unwrap_or(u32::MAX);
            show_values(context, (group.1, table), (&names, &there), drafts, &mut counterparts);
        }
        if is_damaged {
            for draft in compared.drafts.iter_mut().skip(before) {
                draft.confidence = Confidence::Consequence;
            }
        }
    }
    fold_rows(&mut compared.drafts, &counterparts);
    compared
}

/// Drops facts that follow from pages past the end of a file that is too short: that finding names the object. False
/// where nothing can be compared for want of these pages.
fn drop_cut_off(context: &Context<'_>, group: Group, names: &mut Vec<Fact>, there: &mut Vec<Fact>) -> bool {
    let maps = context.maps;
    let has_lost = units_of(context, group).iter().any(|unit| maps.lost.contains_key(unit));
    names.retain(|fact| !maps.is_cut_off(fact.other.page));
    there.retain(|fact| !maps.is_cut_off(fact.other.page));
    // Whoever names these may stand in a lost page.
    if has_lost && matches!(group.0, FactKind::Child | FactKind::Forward | FactKind::Lob) {
        there.clear();
    }
    !(has_lost && group.0 == FactKind::Entry)
}

/// The allocation units whose pages state facts of a group.
fn units_of(context: &Context<'_>, (kind, number): Group) -> Vec<u32> {
    let units = (0u32..).zip(&context.plan.units);
    match kind {
        FactKind::Sibling | FactKind::Child | FactKind::Forward => vec![number],
        FactKind::Lob | FactKind::LobLength => {
            units.filter(|(_, unit)| unit.rowset == number).map(|(unit, _)| unit).collect()
        }
        FactKind::Entry => units
            .filter(|(_, unit)| unit.entry_of == Some(number) || unit.indexes.contains(&number))
            .map(|(unit, _)| unit)
            .collect(),
    }
}

/// The first allocation unit of the table of an index.
fn table_of(context: &Context<'_>, index: u32) -> Option<u32> {
    let mut units = (0u32..).zip(&context.plan.units);
    units.find(|(_, unit)| unit.indexes.contains(&index)).map(|(number, _)| number)
}

fn name_of(context: &Context<'_>, group: Group) -> Option<String> {
    match group.0 {
        FactKind::Entry => context.plan.indexes.get(group.1 as usize).map(|index| index.name.clone()),
        _ => units_of(context, group).first().and_then(|unit| context.plan.name(*unit)),
    }
}

/// Reads the pages of all groups again and keeps their facts; and how many of these pages were changed after the last
/// checkpoint.
fn facts_of(context: &Context<'_>, groups: HashSet<Group>) -> (Facts, u64) {
    let units: HashSet<u32> = groups.iter().flat_map(|group| units_of(context, *group)).collect();
    let mut worker = Worker::new(context, Facts::keeping(context.key, groups));
    let mut raw = [0; PAGE_BYTES];
    for page in context.maps.pages_of(&units) {
        let usage = context.maps.use_of(page);
        if matches!(usage, Use::Unit(_)) && context.source.read_raw(page, &mut raw).is_ok() {
            worker.state_facts(page, usage, &raw);
        }
    }
    (worker.facts, worker.newer_count)
}

fn name_facts(context: &Context<'_>, group: Group, names: &[Fact], there: &[Fact], drafts: &mut Vec<Draft>) {
    let unit = match group.0 {
        FactKind::Sibling | FactKind::Child | FactKind::Forward => Some(group.1),
        FactKind::Lob | FactKind::LobLength => units_of(context, group).first().copied(),
        FactKind::Entry => None,
    };
    let mut push = |rule, fact: &Fact, expected: String, found: String| {
        let mut draft = Draft::new(rule, fact.place.page, expected, found);
        draft.unit = unit;
        let is_about_page = [&rules::INDEX_SIBLING, &rules::INDEX_ORPHAN].contains(&rule);
        draft.slot = (!is_about_page).then_some(fact.place.slot.into());
        drafts.push(draft);
    };
    let is_there = |record: RecordId| there.iter().any(|fact| fact.other == record);
    let mut named: HashSet<RecordId> = HashSet::new();
    for fact in names {
        let other = fact.other;
        let state = state_of(context, other);
        match group.0 {
            FactKind::Sibling => {
                let expected = format!("next page {} with previous page {}", other.page, fact.place.page);
                push(&rules::INDEX_SIBLING, fact, expected, state);
            }
            // Named a second time: the first entry took the page's own statement.
            FactKind::Child if !named.insert(other) || is_there_and_named(context, group.1, fact) => {
                let expected = format!("page {} referenced once", other.page);
                push(&rules::INDEX_TWO_PARENTS, fact, expected, "referenced again".to_owned());
            }
            FactKind::Child => {
                let expected = format!("page {} of the same index, one level below", other.page);
                push(&rules::INDEX_CHILD, fact, expected, state);
            }
            FactKind::Forward => {
                let expected = format!("the row at {other}, which points back");
                push(&rules::FORWARD_TARGET, fact, expected, state);
            }
            FactKind::Lob if !is_there(other) && is_piece(context, other, group.1) => {
                let expected = format!("the record at {other} referenced once");
                push(&rules::LOB_TWICE, fact, expected, "referenced again".to_owned());
            }
            FactKind::Lob => {
                let expected = format!("a record of this value at {other}");
                let found = if is_there(other) { "a record of another value".to_owned() } else { state };
                push(&rules::LOB_TARGET, fact, expected, found);
            }
            // One that is not there, or not a piece, is told by the facts about the records themselves.
            FactKind::LobLength if !is_there(other) => {}
            FactKind::LobLength => {
                let expected = format!("the LOB record at {other} with the length stated here");
                push(&rules::LOB_LENGTH, fact, expected, "a different length".to_owned());
            }
            FactKind::Entry => {
                let index = name_of(context, group).unwrap_or_default();
                let expected = format!("an entry for the row in {index}");
                push(
                    &rules::ROW_WITHOUT_ENTRY,
                    fact,
                    expected,
                    "no entry with the values of the row".to_owned(),
                );
            }
        }
    }
    for fact in there {
        match group.0 {
            FactKind::Sibling => {
                let expected =
                    format!("previous page {} with next page {}", fact.other.page, fact.place.page);
                push(&rules::INDEX_SIBLING, fact, expected, state_of(context, fact.other));
            }
            FactKind::Child => {
                let expected = "a parent entry for the page".to_owned();
                push(&rules::INDEX_ORPHAN, fact, expected, "none".to_owned());
            }
            FactKind::Forward if fact.other.page.is_none() => {
                let expected = "a back pointer to the forwarding stub of the row".to_owned();
                push(
                    &rules::FORWARD_ORPHAN,
                    fact,
                    expected,
                    "a forwarded record without back pointer".to_owned(),
                );
            }
            FactKind::Forward => {
                let expected = format!("a forwarding stub at {} that points to the row", fact.other);
                push(&rules::FORWARD_ORPHAN, fact, expected, state_of(context, fact.other));
            }
            FactKind::Lob => {
                let expected = "a row or node that references the record".to_owned();
                push(&rules::LOB_ORPHAN, fact, expected, "none".to_owned());
            }
            FactKind::LobLength => {}
            FactKind::Entry => {
                let expected = "a row with the values of the entry".to_owned();
                let unit = name_of(context, group);
                let found = format!("none for the entry of {}", unit.unwrap_or_default());
                push(&rules::ENTRY_WITHOUT_ROW, fact, expected, found);
            }
        }
    }
    // Rows and entries belong to different objects: each finding is told with its own.
    if group.0 == FactKind::Entry {
        for draft in drafts.iter_mut().filter(|draft| draft.unit.is_none()) {
            if let Some(Use::Unit(unit)) = draft.page.map(|page| context.maps.use_of(page)) {
                draft.unit = Some(unit);
            }
        }
    }
}

/// Whether a page that an entry names is there, as the entry says: then another entry took its statement.
fn is_there_and_named(context: &Context<'_>, unit: u32, fact: &Fact) -> bool {
    let header = |page| context.source.read(page).map(|bytes| Header::new(&bytes[..])).ok();
    let (Some(parent), Some(child)) = (header(fact.place.page), header(fact.other.page)) else {
        return false;
    };
    let Some(described) = context.plan.units.get(unit as usize) else { return false };
    // The levels of a clustered index are not comparable: see `Place::is_leaf`.
    let is_below = described.index_id == 1 || parent.level.checked_sub(1) == Some(child.level);
    is_below
        && child.page == fact.other.page
        && described.is_stated_by(&child)
        && context.maps.use_of(fact.other.page) == Use::Unit(unit)
        && !context.is_root(unit, fact.other.page)
}

/// Whether a record of a large value of the rowset stands there.
fn is_piece(context: &Context<'_>, record: RecordId, rowset: u32) -> bool {
    let Use::Unit(unit) = context.maps.use_of(record.page) else { return false };
    let is_own =
        context.plan.units.get(unit as usize).is_some_and(|unit| unit.rowset == rowset && unit.kind > 1);
    let Ok(page) = context.source.read(record.page) else { return false };
    let has_slot = record.slot < Header::new(&page[..]).slot_count;
    is_own && has_slot && slot_offset(&page[..], record.slot.into()).is_some_and(|offset| offset > 0)
}

/// What is found at a page that another names.
fn state_of(context: &Context<'_>, record: RecordId) -> String {
    let page = record.page;
    if !context.source.has(page) {
        return format!("page {page} is past the end of the file");
    }
    let usage = context.maps.use_of(page);
    if usage == Use::Free {
        return format!("page {page} is not in use");
    }
    let Ok(bytes) = context.source.read(page) else { return format!("page {page} cannot be read") };
    let header = Header::new(&bytes[..]);
    let owner = match usage {
        Use::Unit(unit) => context.plan.name(unit).unwrap_or_default(),
        _ => "no object".to_owned(),
    };
    format!(
        "page {page} of {owner}: kind {}, level {}, {} slots, previous {}, next {}",
        header.kind.name(),
        header.level,
        header.slot_count,
        header.previous,
        header.next
    )
}
