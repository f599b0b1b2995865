//! The row that a finding is about, by the key with which a person finds it.

use formats::postgres::attribute::{Columns, Datum};
use formats::postgres::btree::{IndexTuple, Kind};
use formats::postgres::file_name::Fork;
use formats::postgres::heap::TupleHeader;
use formats::postgres::index_pages::{Method, Role};
use formats::postgres::page::{ItemState, Page};
use formats::postgres::{Tid, btree, index_pages};
use results::check::Finding;

use crate::catalog::{Index, Storage};
use crate::naming::values::text_of;
use crate::plan::Plan;
use crate::plan::objects::Table;
use crate::run::report::ReportBuilder;

/// Columns that are shown of a row without a key.
const COLUMNS_MAX: usize = 2;

impl ReportBuilder<'_> {
    /// Adds to each finding about a row or an index entry the key of the row. What cannot be read gets none.
    ///
    /// I/O: one or two blocks for each finding.
    pub(crate) fn name_rows(&self, findings: &mut [Finding], plan: &Plan) {
        for finding in findings.iter_mut().filter(|finding| finding.row.is_none()) {
            finding.row = row_of(finding, plan);
        }
    }
}

/// The row of a table, or of the table of an index, that a finding names.
fn row_of(finding: &Finding, plan: &Plan) -> Option<String> {
    let all = plan.first_files.iter().chain(&plan.second_files);
    let file = all.into_iter().find(|file| file.shown == finding.file && file.fork == Fork::Main)?;
    let number = file.relation?;
    let tid = Tid { block: u32::try_from(finding.page?).ok()?, item: u16::try_from(finding.slot?).ok()? };
    if plan.tables.contains_key(&number) {
        return row_text(plan, number, tid);
    }
    let heap = plan.trees.get(&number)?.heap?;
    row_text(plan, heap, entry_tid(plan, number, tid)?)
}

/// The key of the row at a place of a table: the primary key, or the ctid and some columns.
pub(crate) fn row_text(plan: &Plan, heap: u32, tid: Tid) -> Option<String> {
    let table = plan.tables.get(&heap)?;
    with_row(plan, heap, tid, |values| {
        let primary = table.indexes.iter().find(|index| index.index.primary);
        if let Some(key) = primary.and_then(|index| key_text(table, &index.index, values)) {
            return Some(key);
        }
        let columns = (0..values.len()).filter(|number| !is_dropped(table, *number));
        let shown = columns.take(COLUMNS_MAX).filter_map(|number| column_text(table, number, values));
        Some(std::iter::once(format!("ctid = {tid}")).chain(shown).collect::<Vec<_>>().join(", "))
    })
}

/// The keys of a row and of its entry in an index, where they can be shown.
pub(crate) fn entry_difference(
    plan: &Plan,
    index: u32,
    heap: u32,
    tid: Tid,
    (block, item): (u32, u16),
) -> Option<(String, String)> {
    let description = plan.relation(index).and_then(|relation| relation.index.as_ref());
    let of_row = description.and_then(|index| row_key_text(plan, heap, index, tid));
    of_row.zip(entry_key_text(plan, index, Tid { block, item }))
}

/// The key that an index should have of a row: `k = 5`; `None` where one of its columns is an expression.
fn row_key_text(plan: &Plan, heap: u32, index: &Index, tid: Tid) -> Option<String> {
    let table = plan.tables.get(&heap)?;
    with_row(plan, heap, tid, |values| key_text(table, index, values))
}

/// The key that an entry of a B-tree has.
fn entry_key_text(plan: &Plan, number: u32, place: Tid) -> Option<String> {
    let relation = plan.relation(number).filter(|relation| relation.storage == Storage::Btree)?;
    let index = relation.index.as_ref()?;
    let table = plan.tables.get(&plan.trees.get(&number)?.heap?)?;
    let block = block_of(plan, number, place.block)?;
    let page = Page::new(&block);
    let tuple = IndexTuple::read(page.item_bytes(page.item(place.item)?)?)?;
    let mut values = Vec::new();
    let attributes = index.columns.iter().map(|column| column.attribute);
    if !Columns::new(tuple.data(), tuple.null_bitmap()).push_columns(attributes, &mut values) {
        return None;
    }
    let keys = index.columns.iter().zip(&values).filter(|(column, _)| column.is_key);
    let parts = keys.map(|(column, value)| {
        let source = usize::try_from(column.table_column).ok()?.checked_sub(1)?;
        let column = table.relation.columns.get(source)?;
        Some(format!("{} = {}", column.name, text_of(column.type_id, value)))
    });
    parts.collect::<Option<Vec<_>>>().map(|parts| parts.join(", "))
}

fn key_text(table: &Table, index: &Index, values: &[Datum<'_>]) -> Option<String> {
    let keys = index.columns.iter().take_while(|column| column.is_key);
    let parts = keys.map(|column| {
        let number = usize::try_from(column.table_column).ok()?.checked_sub(1)?;
        column_text(table, number, values)
    });
    parts.collect::<Option<Vec<_>>>().map(|parts| parts.join(", "))
}

fn column_text(table: &Table, number: usize, values: &[Datum<'_>]) -> Option<String> {
    let column = table.relation.columns.get(number)?;
    let missing = || column.missing_value().unwrap_or(Datum::Null);
    let value = values.get(number).copied().unwrap_or_else(missing);
    Some(format!("{} = {}", column.name, text_of(column.type_id, &value)))
}

fn is_dropped(table: &Table, number: usize) -> bool {
    table.relation.columns.get(number).is_none_or(|column| column.dropped)
}

/// Hands the columns of the row at a line pointer, or behind its redirect, to `show`.
fn with_row<R>(plan: &Plan, heap: u32, tid: Tid, show: impl FnOnce(&[Datum<'_>]) -> Option<R>) -> Option<R> {
    let table = plan.tables.get(&heap).filter(|table| !table.attributes.is_empty())?;
    let block = block_of(plan, heap, tid.block)?;
    let page = Page::new(&block);
    if page.is_new() || !page.check_header(0, &mut Vec::new()) {
        return None;
    }
    let mut item = page.item(tid.item)?;
    if item.state == ItemState::Redirect {
        item = page.item(item.offset)?;
    }
    let tuple = page.item_bytes(item).filter(|_| item.state == ItemState::Normal)?;
    let header = TupleHeader::read(tuple)?;
    let columns = usize::from(header.columns());
    let data = tuple.get(usize::from(header.hoff)..)?;
    let mut values = Vec::new();
    let attributes = table.attributes.iter().take(columns).copied();
    let is_whole = columns <= table.attributes.len()
        && Columns::new(data, header.null_bitmap(tuple)).push_columns(attributes, &mut values);
    if is_whole { show(&values) } else { None }
}

/// The row that an entry of a B-tree, hash, `GiST` or SP-GiST index names; `None` for what is no entry of a leaf.
fn entry_tid(plan: &Plan, number: u32, place: Tid) -> Option<Tid> {
    let relation = plan.relation(number)?;
    let block = block_of(plan, number, place.block)?;
    let page = Page::new(&block);
    let item = page.item(place.item)?;
    let is_entry = |method: Method| {
        index_pages::Opaque::read(method, &page).is_some_and(|opaque| opaque.role() == Role::Entries)
    };
    match (relation.storage, relation.storage.entry_method()) {
        (Storage::Btree, _) => {
            let opaque = btree::Opaque::read(&page)?;
            let tuple = IndexTuple::read(page.item_bytes(item)?)?;
            let is_leaf = opaque.is_leaf() && place.block > 0 && place.item >= opaque.first_data_item();
            let has_rows = is_leaf && !matches!(tuple.kind(), Kind::Pivot { .. });
            tuple.heap_tids().next().filter(|_| has_rows)
        }
        (_, Some(method)) if is_entry(method) => Some(index_pages::entry(method, &page, item)?.tid),
        _ => None,
    }
}

/// A block of a relation, read again.
fn block_of(plan: &Plan, relation: u32, block: u32) -> Option<Vec<u8>> {
    let all = plan.first_files.iter().chain(&plan.second_files);
    let files = all.filter(|file| {
        file.relation == Some(relation) && file.fork == Fork::Main && file.first_block <= block
    });
    let file = files.max_by_key(|file| file.first_block)?;
    let mut bytes = vec![0; plan.block_bytes];
    let offset = u64::from(block - file.first_block) * plan.block_bytes as u64;
    file.part.read_exact_at(&mut bytes, offset).ok()?;
    Some(bytes)
}
