//! Damage that breaks what a table's definition requires: the pages stay in order in themselves, as when rows were
//! written by a program that did not know the constraint, or a page is older than the others.

use formats::sqlite::{BtreePage, Cell, Field, Record, Value};

use crate::catalog::scratch::{Evaluation, Evaluator};
use crate::drill::scene::{Edit, Scene, difference, half, pointers_start, put_half};
use crate::page::keys::class_of;
use crate::plan::{CLASS_NULL, OwnedValue, Part, Rows};
use crate::rules;
use check::rule::Rule;

/// Levels that a tree can have: with 2^32 pages and two children on each.
const DEPTH_MAX: usize = 32;

/// A value as a record stores it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stored {
    serial_type: u64,
    bytes: Vec<u8>,
}

impl Stored {
    const NULL: Self = Self { serial_type: 0, bytes: Vec::new() };

    fn integer(number: i64) -> Self {
        Self { serial_type: 6, bytes: number.to_be_bytes().to_vec() }
    }

    fn text(bytes: &[u8]) -> Self {
        Self { serial_type: 2 * bytes.len() as u64 + 13, bytes: bytes.to_vec() }
    }
}

/// Puts a NULL into a column that is declared NOT NULL; one that no index holds where there is one.
pub(crate) fn null_in_not_null(scene: &Scene<'_>) -> Option<Vec<Edit>> {
    let rows = scene.plan()?.rows.as_ref()?;
    let required = rows.columns.iter().enumerate().filter(|(_, column)| column.is_not_null);
    let mut columns: Vec<usize> = required.map(|(index, _)| index).collect();
    columns.sort_by_key(|column| is_indexed(rows, *column));
    for (slot, cell) in scene.cells_from_seed() {
        let Some(mut fields) = stored_fields(&cell) else { continue };
        for column in &columns {
            if let Some(field) = fields.get_mut(*column).filter(|field| field.serial_type != 0) {
                *field = Stored::NULL;
                return with_row(scene, slot, cell.rowid, &fields);
            }
        }
    }
    None
}

/// Gives a column a value that a CHECK constraint of the table does not allow: SQLite says which one it refuses. A
/// column that no index holds comes first.
pub(crate) fn check_violated(scene: &Scene<'_>) -> Option<Vec<Edit>> {
    let evaluation = scene.plan()?.rows.as_ref()?.evaluation.as_ref()?;
    let columns = evaluation.bound.iter().flatten().copied().collect();
    broken_test(scene, &rules::CHECK, columns)
}

/// Gives a generated column that is stored another value than the one that SQLite computes.
pub(crate) fn generated_value(scene: &Scene<'_>) -> Option<Vec<Edit>> {
    let rows = scene.plan()?.rows.as_ref()?;
    let tests = &rows.evaluation.as_ref()?.tests;
    let generated = tests.iter().filter(|test| test.rule.id == rules::GENERATED.id);
    let columns = generated.filter_map(|test| {
        rows.columns.iter().position(|column| test.expected.ends_with(&format!(" in column {}", column.name)))
    });
    broken_test(scene, &rules::GENERATED, columns.collect())
}

/// Gives one of these columns a value with which a test of a rule does not hold any more.
fn broken_test(scene: &Scene<'_>, rule: &Rule, mut columns: Vec<usize>) -> Option<Vec<Edit>> {
    let rows = scene.plan()?.rows.as_ref()?;
    let evaluation = rows.evaluation.as_ref()?;
    let checks: Vec<usize> = (0..evaluation.tests.len())
        .filter(|test| evaluation.tests.get(*test).is_some_and(|test| test.rule.id == rule.id))
        .collect();
    let evaluator = Evaluator::new(evaluation).ok().filter(|_| !checks.is_empty())?;
    let is_refused = |fields: &[Stored], rowid| {
        let results = results(&evaluator, evaluation, rows, fields, rowid).unwrap_or_default();
        checks.iter().any(|check| results.get(*check) == Some(&OwnedValue::Integer(0)))
    };
    columns.sort_by_key(|column| is_indexed(rows, *column));
    // Enough rows to meet each kind of value that a column has; each costs a few dozen computations.
    const ROW_COUNT_MAX: usize = 4;
    for (slot, cell) in scene.cells_from_seed().into_iter().take(ROW_COUNT_MAX) {
        let Some(fields) = stored_fields(&cell) else { continue };
        for column in &columns {
            for value in other_values(fields.get(*column)) {
                let mut changed = fields.clone();
                let Some(field) = changed.get_mut(*column) else { continue };
                *field = value;
                if !is_refused(&fields, cell.rowid) && is_refused(&changed, cell.rowid) {
                    return with_row(scene, slot, cell.rowid, &changed);
                }
            }
        }
    }
    None
}

/// Gives the row of an entry the key of the entry before it, in the table and in the unique index.
pub(crate) fn duplicate_key(scene: &Scene<'_>) -> Option<Vec<Edit>> {
    let plan = scene.plan()?;
    let unique_columns = plan.order.as_ref().map(|order| order.unique_columns).filter(|count| *count > 0)?;
    let plans = &scene.prepared.plans;
    let pair = plan.entries?;
    let table = plans.trees.get(plans.pairs.get(pair).filter(|pair| pair.has_rowid)?.table_tree)?;
    let feed = table.rows.as_ref()?.feeds.iter().find(|feed| feed.pair == pair)?;
    let key_columns = feed.parts.get(..unique_columns)?.iter().map(|part| match part {
        Part::Field(column) => Some(*column),
        Part::Rowid | Part::Computed(_) => None,
    });
    let key_columns: Vec<usize> = key_columns.collect::<Option<_>>()?;
    let cells = scene.cells_from_seed();
    for ((slot, first), (next, second)) in cells.iter().zip(cells.iter().skip(1)) {
        let Some((first, second)) = stored_fields(first).zip(stored_fields(second)) else { continue };
        let key = first.get(..unique_columns)?;
        if *next != slot + 1 || key.iter().any(|value| value.serial_type == 0) {
            continue;
        }
        let rowids = [integer(first.last()?)?, integer(second.last()?)?];
        let Some(in_table) = with_key(scene, table.root, rowids[1], &key_columns, key) else { continue };
        // Of equal keys the smaller rowid comes first.
        let entry = |rowid: i64| [key, &[Stored::integer(rowid)]].concat();
        let entries = [(*slot, entry(*rowids.iter().min()?)), (*next, entry(*rowids.iter().max()?))]
            .map(|(slot, fields)| (slot, index_cell(scene, &fields)));
        let [(slot, Some(low)), (next, Some(high))] = entries else { continue };
        if let Some(in_index) = with_cells(scene, scene.page, scene.bytes, &[(slot, low), (next, high)]) {
            return Some(vec![in_table, in_index]);
        }
    }
    None
}

/// Brings back the page as it was before its newest rows: those that lie lowest, as cells are placed from the end on.
pub(crate) fn older(scene: &Scene<'_>) -> Option<Vec<Edit>> {
    let mut cells = scene.cells();
    let view = scene.view.as_ref()?;
    let lost_count = (1 + scene.seed as usize % 4).min(cells.len() / 2);
    if lost_count == 0 || cells.len() < view.cell_count || scene.page == 1 {
        return None;
    }
    let mut offsets: Vec<usize> = cells.iter().map(|(_, cell)| cell.offset).collect();
    offsets.sort_unstable();
    let content_start = *offsets.get(lost_count)?;
    cells.retain(|(_, cell)| cell.offset >= content_start);
    let mut page = scene.bytes.to_vec();
    let start = pointers_start(scene)?;
    for (slot, (_, cell)) in cells.iter().enumerate() {
        put_half(&mut page, start + 2 * slot, cell.offset);
    }
    // Free blocks before the content area were no free blocks yet; those behind are in order.
    let (mut block, mut free_bytes) = (view.first_free_block, 0);
    while block != 0 && block < content_start {
        block = half(scene.bytes, block);
    }
    put_half(&mut page, 1, block);
    while block != 0 {
        free_bytes += half(scene.bytes, block + 2);
        // The blocks of a sound page lie one behind the other; of another page nothing is made.
        block = Some(half(scene.bytes, block)).filter(|next| *next == 0 || *next > block)?;
    }
    let cell_bytes: usize = cells.iter().map(|(_, cell)| cell.size).sum();
    let usable = scene.geometry.usable_bytes as usize;
    let fragments = usable.checked_sub(content_start + cell_bytes + free_bytes)?;
    put_half(&mut page, 3, cells.len());
    put_half(&mut page, 5, content_start);
    *page.get_mut(7)? = u8::try_from(fragments).ok()?;
    Some(vec![difference(scene.page, scene.bytes, &page)?])
}

fn is_indexed(rows: &Rows, column: usize) -> bool {
    rows.feeds.iter().flat_map(|feed| &feed.parts).any(|part| *part == Part::Field(column))
}

/// Values to be tried instead of one: of its own class first.
fn other_values(value: Option<&Stored>) -> Vec<Stored> {
    let class = value.map_or(CLASS_NULL, |value| class_of(value.serial_type));
    let bytes = value.map(|value| value.bytes.as_slice()).unwrap_or_default();
    let mut values: Vec<Stored> =
        [-1, 0, 1, i64::MAX, i64::MIN, 1 << 20].into_iter().map(Stored::integer).collect();
    values.extend(
        [-1.0, 0.0, 1e300].map(|number: f64| Stored { serial_type: 7, bytes: number.to_be_bytes().to_vec() }),
    );
    // Even lengths, so that they are text in UTF-16 too; the longest is longer than most limits and fits in most pages.
    let texts = [&bytes.repeat(2), &b"?".repeat(bytes.len()), &[][..], b"??", &b"?".repeat(200)];
    values.extend(texts.map(Stored::text));
    values.push(Stored { serial_type: 12, bytes: Vec::new() });
    values.push(Stored::NULL);
    values.sort_by_key(|other| class_of(other.serial_type) != class);
    values
}

/// What SQLite computes for a row with these fields.
fn results(
    evaluator: &Evaluator,
    evaluation: &Evaluation,
    rows: &Rows,
    fields: &[Stored],
    rowid: i64,
) -> Option<Vec<OwnedValue>> {
    let bytes = record(fields);
    let record = Record::new(&bytes, bytes.len() as u64).0?;
    let fields: Vec<Field> = record.fields().collect();
    let values = evaluation.bound.iter().map(|bound| match bound {
        None => Value::Integer(rowid),
        Some(index) => match fields.get(*index) {
            Some(field) => record.value(*field).unwrap_or(Value::Null),
            None => rows.columns.get(*index).map_or(Value::Null, |column| column.default.as_value()),
        },
    });
    let mut results = Vec::new();
    evaluator.evaluate(evaluation, values, &mut results).ok()?;
    Some(results)
}

/// The fields of a record that lies wholly in its cell.
fn stored_fields(cell: &Cell<'_>) -> Option<Vec<Stored>> {
    let record = Record::new(cell.local, cell.payload_bytes).0.filter(|_| cell.overflow == 0)?;
    let stored = record.fields().map(|field| {
        let start = usize::try_from(field.start).ok()?;
        let bytes = cell.local.get(start..start + usize::try_from(field.size).ok()?)?;
        Some(Stored { serial_type: field.serial_type, bytes: bytes.to_vec() })
    });
    stored.collect()
}

fn integer(value: &Stored) -> Option<i64> {
    let bytes = record(std::slice::from_ref(value));
    let record = Record::new(&bytes, bytes.len() as u64).0?;
    match record.value(record.fields().next()?)? {
        Value::Integer(number) => Some(number),
        _ => None,
    }
}

/// The page of the scene with another row in a slot.
fn with_row(scene: &Scene<'_>, slot: usize, rowid: i64, fields: &[Stored]) -> Option<Vec<Edit>> {
    let cell = table_cell(scene, rowid, fields)?;
    Some(vec![with_cells(scene, scene.page, scene.bytes, &[(slot, cell)])?])
}

/// The row with a rowid, with other values in some columns.
fn with_key(scene: &Scene<'_>, root: u32, rowid: i64, columns: &[usize], key: &[Stored]) -> Option<Edit> {
    let mut bytes = Vec::new();
    let mut page = root;
    for _depth in 0..DEPTH_MAX {
        scene.reader.read(page, &mut bytes).ok()?;
        let view = view_of(scene, page, &bytes)?;
        let slot = (0..view.cell_count).find(|slot| view.rowid(*slot) >= Some(rowid));
        if !view.kind.is_leaf() {
            page = view.child(slot.unwrap_or(view.cell_count));
            continue;
        }
        let (cell, _) = view.cell(slot.filter(|slot| view.rowid(*slot) == Some(rowid))?);
        let mut fields = stored_fields(&cell)?;
        for (column, value) in columns.iter().zip(key) {
            *fields.get_mut(*column)? = value.clone();
        }
        let cell = table_cell(scene, rowid, &fields)?;
        return with_cells(scene, page, &bytes, &[(slot?, cell)]);
    }
    None
}

fn view_of<'b>(scene: &Scene<'_>, page: u32, bytes: &'b [u8]) -> Option<BtreePage<'b>> {
    BtreePage::new(bytes, if page == 1 { 100 } else { 0 }, scene.geometry).0
}

/// A leaf page put together anew, with other cells in some slots; `None` when they do not fit.
fn with_cells(scene: &Scene<'_>, page: u32, old: &[u8], cells: &[(usize, Vec<u8>)]) -> Option<Edit> {
    let view = view_of(scene, page, old).filter(|view| view.kind.is_leaf() && page != 1)?;
    let pointers_start = 8;
    let mut new = old.to_vec();
    let mut place = scene.geometry.usable_bytes as usize;
    for slot in 0..view.cell_count {
        let bytes = match cells.iter().find(|(other, _)| *other == slot) {
            Some((_, bytes)) => bytes.as_slice(),
            None => {
                let (cell, damage) = view.cell(slot);
                old.get(cell.offset..cell.offset + cell.size).filter(|_| damage.is_none())?
            }
        };
        place = place.checked_sub(bytes.len())?;
        new.get_mut(place..place + bytes.len())?.copy_from_slice(bytes);
        put_half(&mut new, pointers_start + 2 * slot, place);
    }
    let pointers_end = pointers_start + 2 * view.cell_count;
    new.get_mut(pointers_end..place)?.fill(0);
    put_half(&mut new, 1, 0);
    put_half(&mut new, 5, place);
    *new.get_mut(7)? = 0;
    difference(page, old, &new)
}

fn table_cell(scene: &Scene<'_>, rowid: i64, fields: &[Stored]) -> Option<Vec<u8>> {
    let record = record(fields);
    let size = record.len() as u64;
    let fits = scene.geometry.local_payload_bytes(size, true) == size;
    fits.then(|| [varint(size), varint(rowid.cast_unsigned()), record].concat())
}

fn index_cell(scene: &Scene<'_>, fields: &[Stored]) -> Option<Vec<u8>> {
    let record = record(fields);
    let size = record.len() as u64;
    let fits = scene.geometry.local_payload_bytes(size, false) == size;
    fits.then(|| [varint(size), record].concat())
}

fn record(fields: &[Stored]) -> Vec<u8> {
    let types: Vec<u8> = fields.iter().flat_map(|field| varint(field.serial_type)).collect();
    // The length counts itself; one byte of it lasts for headers up to 127 bytes, two for all that a page can hold.
    let own = if types.len() < 127 { 1 } else { 2 };
    let values = fields.iter().flat_map(|field| field.bytes.iter().copied());
    varint((types.len() + own) as u64).into_iter().chain(types).chain(values).collect()
}

/// A number as SQLite stores it in 1 to 9 bytes.
// EVIDENCE: sqlite fileformat2 1.6, "variable-length integer"
fn varint(number: u64) -> Vec<u8> {
    if number >> 56 != 0 {
        // Eight bytes of seven bits, and a ninth that gives all its bits.
        let high = (0..8).rev().map(|group| (number >> (8 + 7 * group)) as u8 | 0x80);
        return high.chain([number as u8]).collect();
    }
    let mut bytes = vec![(number & 0x7f) as u8];
    let mut rest = number >> 7;
    while rest != 0 {
        bytes.insert(0, (rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_varint_that_is_written_reads_the_same() {
        for number in [0, 1, 127, 128, 16383, 16384, (1 << 56) - 1, 1 << 56, u64::MAX - 1, u64::MAX] {
            let bytes = varint(number);
            assert_eq!(formats::sqlite::varint(&bytes), Some((number, bytes.len())), "{number}");
        }
    }
}
