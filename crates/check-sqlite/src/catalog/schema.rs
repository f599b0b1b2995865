//! The rows of sqlite_schema, read from the file itself.

use std::collections::HashSet;

use formats::sqlite::{BtreePage, Cell, Encoding, Geometry, Record, Value, u32_at};

pub(crate) use crate::catalog::schema_row::SchemaRow;
pub(crate) use crate::catalog::text::{decode, encode};
use crate::catalog::{ResolvedRow, StoredRow, resolve};
use crate::plan::OwnedValue;
use crate::source::reader::PageReader;
use check::advice::Sources;

/// Longest definition that is read, in bytes. SQLite's own limit for a statement is 1 GB; no definition comes near.
const DEFINITION_BYTES_MAX: u64 = 16 << 20;
/// Most objects that are read; a bound for damaged files, above what SQLite can open in practice.
const OBJECT_COUNT_MAX: usize = 1 << 20;

/// All rows that could be read.
#[derive(Debug, Clone, Default)]
pub(crate) struct SchemaRows {
    /// Tables and indexes with a root page.
    pub(crate) rows: Vec<SchemaRow>,
    /// Every row, in the order of the schema, with what disagrees in it.
    pub(crate) resolved: Vec<ResolvedRow>,
    /// Rows that could not be read: page and slot.
    pub(crate) unreadable: Vec<(u32, usize)>,
    /// Whether pages or rows of the schema could not be read, so that objects may be missing.
    pub(crate) is_cut: bool,
}

impl SchemaRows {
    /// Indexes by table, in the names that findings give them.
    pub(crate) fn sources(&self) -> Sources {
        let mut sources = Sources::default();
        for row in self.rows.iter().filter(|row| !row.is_table) {
            sources.add_index(format!("index {}", row.name), format!("table {}", row.table_name));
        }
        sources
    }

    /// Takes over rows after they were compared.
    pub(crate) fn set_resolved(&mut self, resolved: Vec<ResolvedRow>) {
        self.rows = resolved.iter().map(|row| &row.row).filter(|row| row.root > 0).cloned().collect();
        self.resolved = resolved;
    }
}

/// Reads the tree at page 1. Damage is not reported here: the pass sees the same pages.
pub(crate) fn read_schema(
    reader: &PageReader,
    geometry: Geometry,
    encoding: Encoding,
    page_count: u32,
) -> SchemaRows {
    let mut schema = SchemaRows::default();
    let stored = stored_rows(reader, geometry, page_count, &mut schema);
    schema.set_resolved(resolve(stored, encoding, page_count));
    schema
}

/// The rows as they stand in the file.
fn stored_rows(
    reader: &PageReader,
    geometry: Geometry,
    page_count: u32,
    schema: &mut SchemaRows,
) -> Vec<StoredRow> {
    let mut stored = Vec::new();
    let mut seen = HashSet::new();
    let mut to_read = vec![1u32];
    let mut bytes = Vec::new();
    // Each page is read once, so that the loop ends with the file.
    while let Some(page) = to_read.pop() {
        if reader.brake.is_over() {
            schema.is_cut = true;
            return stored;
        }
        if page == 0 || page > page_count || !seen.insert(page) || reader.read(page, &mut bytes).is_err() {
            schema.is_cut = true;
            continue;
        }
        let header_offset = if page == 1 { 100 } else { 0 };
        let (view, damage) = BtreePage::new(&bytes, header_offset, geometry);
        schema.is_cut |= damage.is_some();
        let Some(view) = view.filter(|view| view.kind.is_table()) else {
            schema.is_cut = true;
            continue;
        };
        if !view.kind.is_leaf() {
            to_read.extend((0..=view.cell_count).rev().map(|index| view.child(index)));
            continue;
        }
        for slot in 0..view.cell_count {
            if stored.len() >= OBJECT_COUNT_MAX {
                schema.is_cut = true;
                return stored;
            }
            let (cell, damage) = view.cell(slot);
            let payload = match damage {
                Some(_) => None,
                None => whole_payload(reader, geometry, &cell),
            };
            match payload.and_then(|payload| stored_values(&payload)) {
                Some(values) => stored.push(StoredRow { page, slot, values }),
                None => {
                    schema.unreadable.push((page, slot));
                    schema.is_cut = true;
                }
            }
        }
    }
    stored
}

/// The payload of a cell with its overflow pages; `None` when it is too long or cannot be read.
fn whole_payload(reader: &PageReader, geometry: Geometry, cell: &Cell<'_>) -> Option<Vec<u8>> {
    if cell.payload_bytes > DEFINITION_BYTES_MAX {
        return None;
    }
    let mut payload = cell.local.to_vec();
    let mut next = cell.overflow;
    let mut bytes = Vec::new();
    while (payload.len() as u64) < cell.payload_bytes {
        if next < 2 {
            return None;
        }
        reader.read(next, &mut bytes).ok()?;
        let rest = cell.payload_bytes as usize - payload.len();
        let here = bytes.get(4..geometry.usable_bytes as usize)?;
        payload.extend_from_slice(here.get(..rest.min(here.len()))?);
        next = u32_at(&bytes, 0)?;
    }
    Some(payload)
}

/// type, name, tbl_name, rootpage and sql of a record; `None` when it cannot be read.
fn stored_values(payload: &[u8]) -> Option<[OwnedValue; 5]> {
    let record = Record::new(payload, payload.len() as u64).0?;
    if record.damage().is_some() {
        return None;
    }
    let mut fields = record.fields();
    // A record may be shorter than its table; SQLite reads NULL then.
    let mut next = || fields.next().map_or(OwnedValue::Null, |field| owned(record.value(field)));
    Some([next(), next(), next(), next(), next()])
}

fn owned(value: Option<Value<'_>>) -> OwnedValue {
    match value {
        None | Some(Value::Null) => OwnedValue::Null,
        Some(Value::Integer(number)) => OwnedValue::Integer(number),
        Some(Value::Real(number)) => OwnedValue::Real(number),
        Some(Value::Text(bytes)) => OwnedValue::Text(bytes.to_vec()),
        Some(Value::Blob(bytes)) => OwnedValue::Blob(bytes.to_vec()),
    }
}
