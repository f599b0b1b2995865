//! What the operator classes of `GiST` and SP-GiST keep of a value, for those that keep it whole or as a box.

use check::matching::hash::{FactHasher, Key};
use formats::postgres::attribute::{Columns, Datum};
use formats::postgres::btree::IndexTuple;
use formats::postgres::index_pages::Method;
use formats::postgres::page::{Item, Page};
use formats::postgres::spgist::LeafTuple;
use formats::postgres::{Oid, Tid, spgist};

use crate::catalog::kinds::KeyForm;
use crate::catalog::order::plain;
use crate::catalog::{Index, IndexColumn, Relation, Storage};
use crate::matching::entry::{kind, tid_code};

/// Bytes of a box: high x and y, low x and y.
// EVIDENCE: src/include/utils/geo_decls.h BOX
pub(crate) const BOX_BYTES: usize = 32;

impl KeyForm {
    /// What an operator family keeps of a value, in leaves; `None` if that is not computed here.
    // EVIDENCE: select opcfamily, opcname, opckeytype from pg_opclass in 14.24 and 18.6: GiST point 1029, box 2593, polygon
    // 2594, circle 2595, range 3919; SP-GiST range 3474, inet 3794, quad and kd point 4015 and 4016, box 5000, polygon 5008;
    // src/backend/access/gist/gistproc.c gist_*_compress; spgquadtreeproc.c, spgkdtreeproc.c: the leaf has the value itself
    pub(crate) fn of(family: Oid) -> Option<KeyForm> {
        Some(match family {
            2593 | 3919 | 3474 | 3794 | 4015 | 4016 | 5000 => KeyForm::Plain,
            1029 => KeyForm::PointBox,
            2595 => KeyForm::CircleBox,
            2594 | 5008 => KeyForm::PolygonBox,
            _ => return None,
        })
    }

    /// Whether inner blocks of a `GiST` index have a box that has all boxes below in it.
    pub(crate) fn is_box(family: Oid) -> bool {
        matches!(family, 1029 | 2593 | 2594 | 2595)
    }

    /// Adds what an index must have of a row's value, plain.
    fn add_row_value(self, hasher: &mut FactHasher<'_>, bytes: &[u8]) {
        match self {
            KeyForm::Plain | KeyForm::PointBox => hasher.bytes(bytes),
            // EVIDENCE: geo_decls.h POLYGON: length, number of points, box
            KeyForm::PolygonBox => hasher.bytes(bytes.get(4..4 + BOX_BYTES).unwrap_or(bytes)),
            KeyForm::CircleBox => match floats::<3>(bytes) {
                Some([x, y, radius]) => {
                    let edges = [x + radius, y + radius, x - radius, y - radius];
                    edges.into_iter().for_each(|edge| hasher.word(bits(edge)));
                }
                None => hasher.bytes(bytes),
            },
        }
    }

    /// Adds what an index has.
    fn add_key(self, hasher: &mut FactHasher<'_>, bytes: &[u8]) {
        match (self, bytes.split_at_checked(BOX_BYTES / 2)) {
            (KeyForm::PointBox, Some((high, low))) if high == low => hasher.bytes(high),
            (KeyForm::CircleBox, _) if bytes.len() == BOX_BYTES => match floats::<4>(bytes) {
                Some(edges) => edges.into_iter().for_each(|edge| hasher.word(bits(edge))),
                None => hasher.bytes(bytes),
            },
            _ => hasher.bytes(bytes),
        }
    }
}

/// The numbers that bytes begin with; `None` if they are too few.
pub(crate) fn floats<const N: usize>(bytes: &[u8]) -> Option<[f64; N]> {
    let (numbers, _) = bytes.as_chunks::<8>();
    let numbers: &[[u8; 8]; N] = numbers.first_chunk()?;
    Some(numbers.map(f64::from_le_bytes))
}

/// The bits of a number that was computed: no two kinds of NaN.
fn bits(number: f64) -> u64 {
    if number.is_nan() { f64::NAN.to_bits() } else { number.to_bits() }
}

/// Whether an index has a column of which it is known what is kept.
pub(crate) fn has_known_keys(index: &Index) -> bool {
    index.columns.iter().any(|column| column.table_column > 0 && column.form.is_some())
}

/// What is not known of the keys of an index that is matched by row pointer: access method, what, and why.
pub(crate) fn what_is_left_out(relation: &Relation) -> Option<(&'static str, &'static str, &'static str)> {
    let has_all = |is_known: fn(&IndexColumn) -> bool| {
        let columns = relation.index.iter().flat_map(|index| &index.columns);
        columns.filter(|column| column.is_key && column.table_column > 0).all(is_known)
    };
    let is_kept = |column: &IndexColumn| column.form.is_some();
    let (by_tid, unknown) = (
        "its entries are matched with rows by TID",
        "keys of some columns are computed by an unknown operator class",
    );
    Some(match relation.storage {
        Storage::Hash => {
            ("hash", "hash values", "unknown hash function: entries are matched with rows by TID")
        }
        Storage::Gin => ("GIN", "which keys a row has", by_tid),
        Storage::Gist if !has_all(is_kept) => ("GiST", "keys of some columns", unknown),
        Storage::Gist if !has_all(|column| column.is_box) => (
            "GiST",
            "keys of inner blocks",
            "its keys are not boxes; they are not compared with those of the children",
        ),
        Storage::SpGist if !has_all(is_kept) => ("SP-GiST", "keys of some columns", unknown),
        Storage::SpGist => {
            ("SP-GiST", "prefixes and labels of inner tuples", "they are not compared with their children")
        }
        _ => return None,
    })
}

/// Hash of the entry that a row should have; `None` if a value is not in place.
pub(crate) fn row_fact<'a>(
    key: &Key,
    number: u32,
    index: &Index,
    tid: Tid,
    value_of: &impl Fn(usize) -> Datum<'a>,
    buffer: &mut Vec<u8>,
) -> Option<u128> {
    let mut hasher = key.fact(kind::ENTRY, number, tid_code(tid));
    for column in &index.columns {
        let source = usize::try_from(column.table_column).ok().and_then(|number| number.checked_sub(1));
        let (Some(source), Some(form)) = (source, column.form) else { continue };
        match value_of(source) {
            Datum::Null => hasher.null(),
            value => form.add_row_value(&mut hasher, plain(&value, buffer)?),
        }
    }
    Some(hasher.finish())
}

/// Hash of an entry; `None` if it cannot be taken apart, or a value is not in place.
pub(crate) fn entry_fact(
    key: &Key,
    number: u32,
    index: &Index,
    tid: Tid,
    values: &[Datum<'_>],
    buffer: &mut Vec<u8>,
) -> Option<u128> {
    let mut hasher = key.fact(kind::ENTRY, number, tid_code(tid));
    for (column, value) in index.columns.iter().zip(values) {
        let Some(form) = column.form.filter(|_| column.table_column > 0) else { continue };
        match value {
            Datum::Null => hasher.null(),
            value => form.add_key(&mut hasher, plain(value, buffer)?),
        }
    }
    Some(hasher.finish())
}

/// The columns of an entry; `false` if they do not lie inside it.
pub(crate) fn read_values<'p>(
    method: Method,
    page: &Page<'p>,
    item: Item,
    index: &Index,
    values: &mut Vec<Datum<'p>>,
) -> bool {
    values.clear();
    let Some(bytes) = page.item_bytes(item) else { return false };
    let mut reader = match method {
        Method::Gist => {
            let Some(tuple) = IndexTuple::read(bytes) else { return false };
            Columns::new(tuple.data(), tuple.null_bitmap())
        }
        Method::SpGist => {
            let Some(tuple) = LeafTuple::read(bytes) else { return false };
            let is_null = spgist::Opaque::read(page).is_some_and(|opaque| opaque.has(spgist::flag::NULLS));
            // EVIDENCE: src/backend/access/spgist/README: a bitmap of nulls only where columns are included
            if is_null && index.columns.len() == 1 {
                values.push(Datum::Null);
                return true;
            }
            Columns::new(tuple.data(), tuple.null_bitmap())
        }
        Method::Hash => return false,
    };
    reader.push_columns(index.columns.iter().map(|column| column.attribute), values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fact(form: KeyForm, is_row: bool, numbers: &[f64]) -> u128 {
        let key = Key::new(5);
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let mut hasher = key.fact(1, 2, 3);
        if is_row {
            form.add_row_value(&mut hasher, &bytes)
        } else {
            form.add_key(&mut hasher, &bytes)
        }
        hasher.finish()
    }

    #[test]
    fn a_point_and_a_circle_are_found_in_their_boxes() {
        let point = fact(KeyForm::PointBox, true, &[1.5, -2.0]);
        assert_eq!(point, fact(KeyForm::PointBox, false, &[1.5, -2.0, 1.5, -2.0]));
        assert_ne!(point, fact(KeyForm::PointBox, false, &[1.5, -2.0, 1.5, -2.5]));
        let circle = fact(KeyForm::CircleBox, true, &[1.0, 2.0, 3.0]);
        assert_eq!(circle, fact(KeyForm::CircleBox, false, &[4.0, 5.0, -2.0, -1.0]));
        assert_ne!(circle, fact(KeyForm::CircleBox, false, &[4.0, 5.0, -2.0, -1.5]));
    }
}
