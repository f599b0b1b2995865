//! The rows of sqlite_schema, read from the file itself.

use std::collections::HashSet;

use formats::sqlite::{BtreePage, Cell, Encoding, Geometry, Record, Value, u32_at};

use super::reader::PageReader;
use crate::advice::Sources;

/// Longest definition that is read, in bytes. SQLite's own limit for a statement is 1 GB; no definition comes near.
const DEFINITION_BYTES_MAX: u64 = 16 << 20;
/// Most objects that are read; a bound for damaged files, above what SQLite can open in practice.
const OBJECT_COUNT_MAX: usize = 1 << 20;

/// What sqlite_schema says about one table or index with pages of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SchemaRow {
    pub(super) is_table: bool,
    pub(super) name: String,
    pub(super) table_name: String,
    pub(super) root: u32,
    pub(super) definition: Option<String>,
    /// Where the row stands.
    pub(super) page: u32,
    pub(super) slot: usize,
}

/// All rows that could be read.
#[derive(Debug, Clone, Default)]
pub(super) struct SchemaRows {
    pub(super) rows: Vec<SchemaRow>,
    /// Views, triggers and virtual tables: no pages of their own.
    pub(super) pageless: Vec<SchemaRow>,
    /// Whether pages or rows of the schema could not be read, so that objects may be missing.
    pub(super) is_cut: bool,
}

impl SchemaRows {
    /// Indexes by table, in the names that findings give them.
    pub(super) fn sources(&self) -> Sources {
        let mut sources = Sources::default();
        for row in self.rows.iter().filter(|row| !row.is_table) {
            sources.add_index(format!("index {}", row.name), format!("table {}", row.table_name));
        }
        sources
    }
}

/// Reads the tree at page 1. Damage is not reported here: the pass sees the same pages.
pub(super) fn read_schema(
    reader: &PageReader,
    geometry: Geometry,
    encoding: Encoding,
    page_count: u32,
) -> SchemaRows {
    let mut schema = SchemaRows::default();
    let mut seen = HashSet::new();
    let mut to_read = vec![1u32];
    let mut bytes = Vec::new();
    // Each page is read once, so that the loop ends with the file.
    while let Some(page) = to_read.pop() {
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
            if schema.rows.len() + schema.pageless.len() >= OBJECT_COUNT_MAX {
                schema.is_cut = true;
                return schema;
            }
            let (cell, damage) = view.cell(slot);
            let row = match damage {
                Some(_) => None,
                None => {
                    whole_payload(reader, geometry, &cell).and_then(|payload| schema_row(&payload, encoding))
                }
            };
            match row {
                Some(row) if row.root > 0 => schema.rows.push(SchemaRow { page, slot, ..row }),
                Some(row) => schema.pageless.push(SchemaRow { page, slot, ..row }),
                None => schema.is_cut = true,
            }
        }
    }
    schema
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

fn schema_row(payload: &[u8], encoding: Encoding) -> Option<SchemaRow> {
    let (record, _) = Record::new(payload, payload.len() as u64);
    let record = record?;
    let mut fields = record.fields();
    let mut next = || record.value(fields.next()?);
    let text = |value| match value {
        Value::Text(bytes) => Some(decode(bytes, encoding)),
        _ => None,
    };
    let kind = text(next()?)?;
    let name = text(next()?)?;
    let table_name = text(next()?)?;
    let root = match next()? {
        Value::Integer(root) => u32::try_from(root).ok()?,
        Value::Null => 0,
        _ => return None,
    };
    let definition = next().and_then(text);
    let is_table = kind == "table";
    let root = if is_table || kind == "index" { root } else { 0 };
    Some(SchemaRow { is_table, name, table_name, root, definition, page: 0, slot: 0 })
}

/// Text of the file as a string; what is not valid becomes U+FFFD.
pub(super) fn decode(bytes: &[u8], encoding: Encoding) -> String {
    let unit = |pair: &[u8]| {
        let pair = [pair.first().copied().unwrap_or(0), pair.get(1).copied().unwrap_or(0)];
        if encoding == Encoding::Utf16Be { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) }
    };
    match encoding {
        Encoding::Utf8 => String::from_utf8_lossy(bytes).into_owned(),
        Encoding::Utf16Le | Encoding::Utf16Be => char::decode_utf16(bytes.chunks_exact(2).map(unit))
            .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect(),
    }
}

/// A string as text of the file.
pub(super) fn encode(text: &str, encoding: Encoding) -> Vec<u8> {
    match encoding {
        Encoding::Utf8 => text.as_bytes().to_vec(),
        Encoding::Utf16Le => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        Encoding::Utf16Be => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
    }
}
