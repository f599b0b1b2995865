//! Rows of the catalogs, read from their files.
//!
//! Only the layout of `pg_attribute` is written down here, per major; all other catalogs are read by the columns
//! that `pg_attribute` lists for them, by name, so that a column that moved between majors does not matter.

use crate::postgres::bytes::{u16_at, u32_at};
use crate::postgres::heap::TupleHeader;
use crate::postgres::primitive::Oid;
use crate::postgres::value::attribute::{Attribute, Columns, Datum};
use crate::postgres::value::varlena::Varlena;

/// Object id of `pg_attribute`.
// EVIDENCE: src/include/catalog/pg_attribute.h
pub const PG_ATTRIBUTE: Oid = 1249;
/// Object id of `pg_class`.
// EVIDENCE: src/include/catalog/pg_class.h
pub const PG_CLASS: Oid = 1259;
/// Object id of `pg_index`.
// EVIDENCE: src/include/catalog/pg_index.h
pub const PG_INDEX: Oid = 2610;
/// Object id of `pg_opclass`.
// EVIDENCE: src/include/catalog/pg_opclass.h
pub const PG_OPCLASS: Oid = 2616;
/// Object id of `pg_database`.
// EVIDENCE: src/include/catalog/pg_database.h
pub const PG_DATABASE: Oid = 1262;
/// Object id of `pg_tablespace`.
// EVIDENCE: src/include/catalog/pg_tablespace.h
pub const PG_TABLESPACE: Oid = 1213;
/// Object id of `pg_namespace`.
// EVIDENCE: src/include/catalog/pg_namespace.h
pub const PG_NAMESPACE: Oid = 2615;
/// Object id of `pg_collation`.
// EVIDENCE: src/include/catalog/pg_collation.h
pub const PG_COLLATION: Oid = 3456;
/// Object id of `pg_am`.
// EVIDENCE: src/include/catalog/pg_am.h
pub const PG_AM: Oid = 2601;

/// Object id of `pg_constraint`.
// EVIDENCE: src/include/catalog/pg_constraint.h
pub const PG_CONSTRAINT: Oid = 2606;

/// A column of a catalog or of a user's table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Relation that it belongs to.
    pub relation: Oid,
    /// Name.
    pub name: String,
    /// Type; 0 for a dropped column.
    pub type_id: Oid,
    /// Number, from 1; negative for system columns.
    pub number: i16,
    /// How to step over it; `None` if the catalog row has impossible values.
    pub attribute: Option<Attribute>,
    /// Collation; 0 for types without.
    pub collation: Oid,
    /// Whether null is refused.
    pub not_null: bool,
    /// Whether it was dropped.
    pub dropped: bool,
    /// Whether it is computed when it is read, and null in rows (18 and later).
    // EVIDENCE: PostgreSQL docs 51.7 pg_attribute.attgenerated: s stored, v virtual
    pub is_virtual: bool,
    /// Whether it is computed when the row is written.
    pub is_stored: bool,
    /// Value of rows that were written before the column was added; payload of an array of one element.
    pub missing: Option<Vec<u8>>,
}

/// Names, lengths and alignments of the columns of `pg_attribute`, for a major.
// OBSERVED: select attname, attlen, attalign from pg_attribute where attrelid = 1249 in 14.24, 15.18, 16.15, 17.11, 18.6
#[must_use]
pub fn pg_attribute_layout(major: u32) -> Vec<(&'static str, Attribute)> {
    const HEAD: [(&str, i16, u8); 3] = [("attrelid", 4, b'i'), ("attname", 64, b'c'), ("atttypid", 4, b'i')];
    const FLAGS: [&str; 11] = [
        "attbyval",
        "attalign",
        "attstorage",
        "attcompression",
        "attnotnull",
        "atthasdef",
        "atthasmissing",
        "attidentity",
        "attgenerated",
        "attisdropped",
        "attislocal",
    ];
    let mut layout: Vec<(&str, i16, u8)> = HEAD.to_vec();
    match major {
        ..=15 => layout.extend([
            ("attstattarget", 4, b'i'),
            ("attlen", 2, b's'),
            ("attnum", 2, b's'),
            ("attndims", 4, b'i'),
            ("attcacheoff", 4, b'i'),
            ("atttypmod", 4, b'i'),
        ]),
        16..=17 => layout.extend([
            ("attlen", 2, b's'),
            ("attnum", 2, b's'),
            ("attcacheoff", 4, b'i'),
            ("atttypmod", 4, b'i'),
            ("attndims", 2, b's'),
        ]),
        18.. => layout.extend([
            ("attlen", 2, b's'),
            ("attnum", 2, b's'),
            ("atttypmod", 4, b'i'),
            ("attndims", 2, b's'),
        ]),
    }
    layout.extend(FLAGS.map(|name| (name, 1, b'c')));
    match major {
        ..=15 => layout.extend([("attinhcount", 4, b'i'), ("attcollation", 4, b'i'), ("attacl", -1, b'i')]),
        16 => layout.extend([
            ("attinhcount", 2, b's'),
            ("attstattarget", 2, b's'),
            ("attcollation", 4, b'i'),
            ("attacl", -1, b'd'),
        ]),
        17.. => layout.extend([
            ("attinhcount", 2, b's'),
            ("attcollation", 4, b'i'),
            ("attstattarget", 2, b's'),
            ("attacl", -1, b'd'),
        ]),
    }
    layout.extend([("attoptions", -1, b'i'), ("attfdwoptions", -1, b'i'), ("attmissingval", -1, b'd')]);
    layout
        .into_iter()
        .filter_map(|(name, length, align)| Some((name, Attribute::new(length, align)?)))
        .collect()
}

/// A catalog row, split into its columns.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    names: &'a [String],
    values: Vec<Datum<'a>>,
}

/// How to read the rows of one catalog.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    names: Vec<String>,
    attributes: Vec<Attribute>,
}

impl Layout {
    /// Makes a layout of `pg_attribute` itself.
    #[must_use]
    pub fn of_pg_attribute(major: u32) -> Layout {
        let (names, attributes) = pg_attribute_layout(major)
            .into_iter()
            .map(|(name, attribute)| (name.to_owned(), attribute))
            .unzip();
        Layout { names, attributes }
    }

    /// Makes a layout of the first columns of `pg_database`, up to `dattablespace`: it can be read although every
    /// database is lost, and with them the rows of `pg_attribute`.
    // OBSERVED: pg_attribute rows of attrelid 1262 in 14.24, 15.18, 16.15, 17.11, 18.6
    #[must_use]
    pub fn of_pg_database(major: u32) -> Layout {
        let mut columns: Vec<(&str, i16, u8)> =
            vec![("oid", 4, b'i'), ("datname", 64, b'c'), ("datdba", 4, b'i'), ("encoding", 4, b'i')];
        match major {
            ..=14 => columns.extend([("datcollate", 64, b'c'), ("datctype", 64, b'c')]),
            15.. => columns.push(("datlocprovider", 1, b'c')),
        }
        columns.extend([("datistemplate", 1, b'c'), ("datallowconn", 1, b'c')]);
        columns.extend((major >= 17).then_some(("dathasloginevt", 1, b'c')));
        columns.push(("datconnlimit", 4, b'i'));
        columns.extend((major <= 14).then_some(("datlastsysoid", 4, b'i')));
        columns.extend([("datfrozenxid", 4, b'i'), ("datminmxid", 4, b'i'), ("dattablespace", 4, b'i')]);
        Layout::of_fixed(columns)
    }

    /// Makes a layout of the first columns of `pg_tablespace`, for the same reason.
    // OBSERVED: as for pg_database, attrelid 1213
    #[must_use]
    pub fn of_pg_tablespace() -> Layout {
        Layout::of_fixed(vec![("oid", 4, b'i'), ("spcname", 64, b'c')])
    }

    fn of_fixed(columns: Vec<(&str, i16, u8)>) -> Layout {
        let attributes = columns.into_iter();
        let (names, attributes) = attributes
            .filter_map(|(name, length, align)| Some((name.to_owned(), Attribute::new(length, align)?)))
            .unzip();
        Layout { names, attributes }
    }

    /// Makes a layout of a catalog's columns, given in order from number 1; stops at a column that cannot be read.
    #[must_use]
    pub fn of_columns(columns: &[Column]) -> Layout {
        let readable = columns.iter().map_while(|column| Some((column.name.clone(), column.attribute?)));
        let (names, attributes) = readable.unzip();
        Layout { names, attributes }
    }

    /// Whether there are no columns.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Splits a tuple, header included; `None` if the header is impossible.
    #[must_use]
    pub fn row<'a>(&'a self, tuple: &'a [u8]) -> Option<Row<'a>> {
        let header = TupleHeader::read(tuple)?;
        let mut columns = Columns::new(tuple.get(usize::from(header.hoff)..)?, header.null_bitmap(tuple));
        let mut values = Vec::with_capacity(self.attributes.len());
        for attribute in self.attributes.iter().take(usize::from(header.columns())) {
            let Some(value) = columns.next_column(*attribute) else { break };
            values.push(value);
        }
        Some(Row { names: &self.names, values })
    }
}

impl<'a> Row<'a> {
    /// The value of a column; `None` if there is no such column or it cannot be read.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<Datum<'a>> {
        let index = self.names.iter().position(|known| known == name)?;
        self.values.get(index).copied()
    }

    /// The bytes of a column of fixed length.
    #[must_use]
    pub fn bytes(&self, name: &str) -> Option<&'a [u8]> {
        match self.value(name)? {
            Datum::Bytes(bytes) | Datum::Varlena(Varlena::Plain(bytes)) => Some(bytes),
            Datum::Null | Datum::Varlena(_) => None,
        }
    }

    /// A column of four bytes.
    #[must_use]
    pub fn u32(&self, name: &str) -> Option<u32> {
        u32_at(self.bytes(name)?, 0)
    }

    /// A column of two bytes.
    #[must_use]
    pub fn i16(&self, name: &str) -> Option<i16> {
        u16_at(self.bytes(name)?, 0).map(|value| value as i16)
    }

    /// A column of one byte.
    #[must_use]
    pub fn u8(&self, name: &str) -> Option<u8> {
        self.bytes(name)?.first().copied()
    }

    /// A truth value.
    #[must_use]
    pub fn bool(&self, name: &str) -> Option<bool> {
        self.u8(name).map(|byte| byte != 0)
    }

    /// A name or text: up to the first zero byte, odd bytes replaced.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<String> {
        let bytes = self.bytes(name)?;
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }

    /// Whether a column is present and null.
    #[must_use]
    pub fn is_null(&self, name: &str) -> bool {
        matches!(self.value(name), Some(Datum::Null))
    }

    /// The elements of an `int2vector`.
    #[must_use]
    pub fn int2_vector(&self, name: &str) -> Option<Vec<i16>> {
        Some(
            self.elements(name)?
                .chunks_exact(2)
                .filter_map(|raw| u16_at(raw, 0))
                .map(|value| value as i16)
                .collect(),
        )
    }

    /// The elements of an `oidvector`.
    #[must_use]
    pub fn oid_vector(&self, name: &str) -> Option<Vec<Oid>> {
        Some(self.elements(name)?.chunks_exact(4).filter_map(|raw| u32_at(raw, 0)).collect())
    }

    /// The bytes after the header of a vector.
    // EVIDENCE: src/include/c.h int2vector: ndim, dataoffset, elemtype, dim1, lbound1, each four bytes
    fn elements(&self, name: &str) -> Option<&'a [u8]> {
        self.bytes(name)?.get(ARRAY_HEADER_BYTES..)
    }

    /// The column that a row of `pg_attribute` describes.
    #[must_use]
    pub fn column(&self) -> Option<Column> {
        Some(Column {
            relation: self.u32("attrelid")?,
            name: self.text("attname")?,
            type_id: self.u32("atttypid")?,
            number: self.i16("attnum")?,
            attribute: Attribute::new(self.i16("attlen")?, self.u8("attalign")?),
            collation: self.u32("attcollation")?,
            not_null: self.bool("attnotnull")?,
            dropped: self.bool("attisdropped")?,
            is_virtual: self.u8("attgenerated") == Some(b'v'),
            is_stored: self.u8("attgenerated") == Some(b's'),
            missing: if self.bool("atthasmissing")? { self.missing() } else { None },
        })
    }

    fn missing(&self) -> Option<Vec<u8>> {
        match self.value("attmissingval")? {
            Datum::Varlena(value) => {
                let mut buffer = Vec::new();
                value.plain(MISSING_BYTES_MAX, &mut buffer).map(<[u8]>::to_vec)
            }
            Datum::Null | Datum::Bytes(_) => None,
        }
    }
}

/// Header of an array of one dimension without nulls, after the length word, bytes.
// EVIDENCE: src/include/utils/array.h ARR_OVERHEAD_NONULLS(1) = 24 with the length word
const ARRAY_HEADER_BYTES: usize = 20;
/// The largest default that is unpacked, bytes: one that is inline in a catalog page.
const MISSING_BYTES_MAX: usize = 1 << 20;

impl Column {
    /// The value that rows without this column have: the element of the array, as it stands in a tuple.
    #[must_use]
    pub fn missing_value(&self) -> Option<Datum<'_>> {
        let element = self.missing.as_deref()?.get(ARRAY_HEADER_BYTES..)?;
        Columns::new(element, None).next_column(self.attribute?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_exist_for_all_majors() {
        assert_eq!([14, 15, 16, 17, 18].map(|major| pg_attribute_layout(major).len()), [26, 26, 26, 26, 25]);
    }

    #[test]
    fn a_row_of_garbage_is_cut_short_not_misread() {
        let layout = Layout::of_pg_attribute(15);
        let mut tuple = vec![0xFFu8; 40];
        tuple[18] = 26;
        tuple[19] = 0;
        tuple[20] = 0;
        tuple[22] = 24;
        let row = layout.row(&tuple);
        assert_eq!(row.as_ref().and_then(|row| row.u32("attrelid")), Some(u32::MAX));
        assert_eq!(row.as_ref().and_then(Row::column), None);
    }
}
