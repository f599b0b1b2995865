//! Columns and their types: pg_attribute keeps a copy of what pg_type says about length, alignment and passing by value,
//! and rows are read by the copy.

use std::collections::{BTreeMap, HashMap};

use formats::postgres::Oid;
use formats::postgres::catalog::{PG_ATTRIBUTE, Row};

/// Columns that one finding about a type needs: fewer are findings of their own.
const COLUMNS_OF_TYPE_MIN: usize = 2;

/// How a value is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    length: i16,
    alignment: u8,
    by_value: bool,
}

impl Shape {
    fn shown(self) -> String {
        let (length, alignment) = (self.length, char::from(self.alignment).escape_default());
        let passed = if self.by_value { "by value" } else { "by reference" };
        format!("length {length}, alignment {alignment}, passed {passed}")
    }
}

/// Types of the columns by which pg_attribute and pg_type themselves are read.
// EVIDENCE: src/include/catalog/pg_type.dat: bool 16, char 18, name 19, int2 21, int4 23, regproc 24, text 25, oid 26
const FIXED: &[(Oid, &str, i16, u8, bool)] = &[
    (16, "bool", 1, b'c', true),
    (18, "char", 1, b'c', true),
    (19, "name", 64, b'c', false),
    (21, "int2", 2, b's', true),
    (23, "int4", 4, b'i', true),
    (24, "regproc", 4, b'i', true),
    (25, "text", -1, b'i', false),
    (26, "oid", 4, b'i', true),
];

/// A column as pg_attribute describes it.
#[derive(Clone, Debug)]
pub(super) struct TypedColumn {
    pub(super) relation: Oid,
    number: i16,
    name: String,
    type_id: Oid,
    dropped: bool,
    shape: Shape,
}

impl TypedColumn {
    pub(super) fn read(row: &Row<'_>) -> Option<TypedColumn> {
        Some(TypedColumn {
            relation: row.u32("attrelid")?,
            number: row.i16("attnum").filter(|number| *number > 0)?,
            name: row.text("attname")?,
            type_id: row.u32("atttypid")?,
            dropped: row.bool("attisdropped")?,
            shape: Shape {
                length: row.i16("attlen")?,
                alignment: row.u8("attalign")?,
                by_value: row.bool("attbyval")?,
            },
        })
    }

    fn shown(&self) -> String {
        format!("column {} ({})", self.number, self.name)
    }
}

/// Types that are visible or may be.
#[derive(Default)]
pub(super) struct Types {
    shapes: HashMap<Oid, (String, Vec<Shape>)>,
    /// Whether every row could be read.
    pub(super) is_whole: bool,
}

impl Types {
    pub(super) fn add(&mut self, row: &Row<'_>) {
        let read = || {
            let shape = Shape {
                length: row.i16("typlen")?,
                alignment: row.u8("typalign")?,
                by_value: row.bool("typbyval")?,
            };
            Some((row.u32("oid")?, row.text("typname")?, shape))
        };
        if let Some((oid, name, shape)) = read() {
            self.shapes.entry(oid).or_insert_with(|| (name, Vec::new())).1.push(shape);
        }
    }

    /// Says which columns contradict their types: relation, or `None` for a type, then expected and found.
    // EVIDENCE: src/backend/catalog/heap.c AddNewAttributeTuples, tablecmds.c ATExecAlterColumnType copy typlen, typalign and
    // typbyval; RemoveAttributeById sets atttypid of a dropped column to 0
    pub(super) fn faults<'c>(
        &self,
        columns: impl Iterator<Item = &'c TypedColumn> + Clone,
    ) -> Vec<(Option<Oid>, String, String)> {
        let of_catalogs = columns.clone().filter(|column| [PG_TYPE, PG_ATTRIBUTE].contains(&column.relation));
        let fixed: Vec<_> = of_catalogs.filter_map(fault_of_fixed).collect();
        // What is read by wrong columns says nothing about the others.
        if !fixed.is_empty() {
            return fixed;
        }
        let mut faults = Vec::new();
        let mut counts: HashMap<Oid, usize> = HashMap::new();
        let mut differing: BTreeMap<Oid, Vec<&TypedColumn>> = BTreeMap::new();
        for column in columns {
            if column.dropped || column.type_id == 0 {
                faults.extend(fault_of_dropped(column));
                continue;
            }
            match self.shapes.get(&column.type_id) {
                None if self.is_whole => {
                    let expected = format!("a row with oid {} in pg_type", column.type_id);
                    let found = format!("no such row; it is the type of {}", column.shown());
                    faults.push((Some(column.relation), expected, found));
                }
                None => {}
                Some((_, shapes)) => {
                    *counts.entry(column.type_id).or_default() += 1;
                    if !shapes.contains(&column.shape) {
                        differing.entry(column.type_id).or_default().push(column);
                    }
                }
            }
        }
        for (type_id, columns) in differing {
            let all = counts.get(&type_id).copied().unwrap_or(0);
            faults.extend(self.faults_of_type(type_id, &columns, all));
        }
        faults
    }

    /// One finding for a type with which no column agrees; else one for each column.
    fn faults_of_type(
        &self,
        type_id: Oid,
        columns: &[&TypedColumn],
        all: usize,
    ) -> Vec<(Option<Oid>, String, String)> {
        let Some((name, shapes)) = self.shapes.get(&type_id) else { return Vec::new() };
        let of_type = shapes.first().map_or_else(String::new, |shape| shape.shown());
        let [first, ..] = columns else { return Vec::new() };
        if columns.len() == all && all >= COLUMNS_OF_TYPE_MIN {
            let expected = format!("type {name} with {}, as all {all} columns of it", first.shape.shown());
            return vec![(None, expected, format!("{of_type} in pg_type"))];
        }
        let of_column = |column: &&TypedColumn| {
            let expected = format!("{} with {of_type}, as its type {name}", column.shown());
            (Some(column.relation), expected, column.shape.shown())
        };
        columns.iter().map(of_column).collect()
    }
}

fn fault_of_fixed(column: &TypedColumn) -> Option<(Option<Oid>, String, String)> {
    let (_, name, length, alignment, by_value) =
        FIXED.iter().copied().find(|known| known.0 == column.type_id)?;
    let shape = Shape { length, alignment, by_value };
    let expected = format!("{} with {}, as its type {name}", column.shown(), shape.shown());
    (shape != column.shape).then(|| (Some(column.relation), expected, column.shape.shown()))
}

/// A column has no type exactly if it was dropped.
fn fault_of_dropped(column: &TypedColumn) -> Option<(Option<Oid>, String, String)> {
    let (expected, found) = match (column.dropped, column.type_id) {
        (true, 0) => return None,
        (true, type_id) => (
            format!("{} without a type, since it was dropped", column.shown()),
            format!("attisdropped with atttypid {type_id}"),
        ),
        (false, _) => (format!("{} with a type", column.shown()), "atttypid 0".to_owned()),
    };
    Some((Some(column.relation), expected, found))
}

// EVIDENCE: src/include/catalog/pg_type.h 1247, pg_sequence.h 2224, pg_largeobject.h 2613, pg_largeobject_metadata.h 2995
pub(crate) const PG_TYPE: Oid = 1247;
