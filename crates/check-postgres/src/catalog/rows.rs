//! Rows of single catalogs, as far as a check needs them.

use std::collections::HashMap;

use formats::postgres::attribute::Length;
use formats::postgres::catalog::{Column, Row};
use formats::postgres::{Oid, Xid};

use crate::brin::summaries::summary_order;
use crate::catalog::kinds::{Equality, KeyForm, KeyOrder, SummaryKind};
use crate::catalog::{Index, IndexColumn, Storage};

pub(crate) struct ClassRow {
    pub(crate) id: Oid,
    pub(crate) name: String,
    pub(crate) namespace: Oid,
    pub(crate) method: Oid,
    pub(crate) file_number: Oid,
    pub(crate) tablespace: Oid,
    pub(crate) toast: Oid,
    pub(crate) shared: bool,
    pub(crate) persistence: u8,
    pub(crate) kind: u8,
    pub(crate) column_count: i16,
    pub(crate) frozen_xid: Xid,
    pub(crate) min_multi: u32,
    pub(crate) is_partition: bool,
}

impl ClassRow {
    pub(crate) fn read(row: &Row<'_>) -> Option<ClassRow> {
        Some(ClassRow {
            id: row.u32("oid")?,
            name: row.text("relname")?,
            namespace: row.u32("relnamespace")?,
            method: row.u32("relam")?,
            file_number: row.u32("relfilenode")?,
            tablespace: row.u32("reltablespace")?,
            toast: row.u32("reltoastrelid")?,
            shared: row.bool("relisshared")?,
            persistence: row.u8("relpersistence")?,
            kind: row.u8("relkind")?,
            column_count: row.i16("relnatts")?,
            frozen_xid: row.u32("relfrozenxid")?,
            min_multi: row.u32("relminmxid")?,
            is_partition: row.bool("relispartition").unwrap_or(false),
        })
    }
}

pub(crate) fn storage_of(kind: u8, method: Option<&str>) -> Storage {
    match (kind, method) {
        (b'S', _) => Storage::Sequence,
        (b'i', Some("btree")) => Storage::Btree,
        (b'i', Some("hash")) => Storage::Hash,
        (b'i', Some("gist")) => Storage::Gist,
        (b'i', Some("gin")) => Storage::Gin,
        (b'i', Some("spgist")) => Storage::SpGist,
        (b'i', Some("brin")) => Storage::Brin,
        (b'r' | b't' | b'm', Some("heap")) => Storage::Heap,
        _ => Storage::Other,
    }
}

/// Whether text in a collation is ordered by its bytes.
// EVIDENCE: PostgreSQL docs 24.2: provider c (libc) with locale C or POSIX; provider b (builtin, 17 and later) with
// C, C.UTF-8 and PG_UNICODE_FAST order by code point, which in UTF-8 is the order of the bytes. In 14 there is
// no column datlocprovider.
pub(crate) fn is_byte_order(provider: Option<u8>, collate: Option<String>, locale: Option<String>) -> bool {
    match provider {
        Some(b'b') => matches!(locale.as_deref(), Some("C" | "C.UTF-8" | "C.UTF8" | "PG_UNICODE_FAST")),
        Some(b'c') | None => matches!(collate.as_deref(), Some("C" | "POSIX")),
        Some(_) => false,
    }
}

/// A NOT NULL constraint that was never validated says nothing about old rows (18 and later).
// EVIDENCE: PostgreSQL docs 51.13 pg_constraint: contype n, convalidated, conrelid, conkey
pub(crate) fn not_validated_columns(row: &Row<'_>) -> Vec<(Oid, i16)> {
    if row.u8("contype") != Some(b'n') || row.bool("convalidated") != Some(false) {
        return Vec::new();
    }
    let numbers = row.int2_vector("conkey").unwrap_or_default();
    row.u32("conrelid")
        .map(|table| numbers.iter().map(|number| (table, *number)).collect())
        .unwrap_or_default()
}

/// Columns by relation, from number 1 on.
pub(crate) type ColumnsOf = HashMap<Oid, Vec<Column>>;

/// What rows of `pg_index` refer to.
pub(crate) struct IndexSource<'a> {
    columns: &'a ColumnsOf,
    /// Family and input type, by operator class.
    operator_classes: HashMap<Oid, (Oid, Oid)>,
    /// Collations that order by bytes.
    byte_collations: Vec<Oid>,
    /// Collations whose equal texts have equal bytes.
    deterministic_collations: Vec<Oid>,
}

impl<'a> IndexSource<'a> {
    pub(crate) fn new(columns: &'a ColumnsOf, is_byte_ordered: bool) -> IndexSource<'a> {
        // EVIDENCE: src/include/catalog/pg_collation.dat: 100 the database's own, 950 C, 951 POSIX
        let mut byte_collations = vec![950, 951];
        byte_collations.extend(is_byte_ordered.then_some(100));
        IndexSource {
            columns,
            operator_classes: HashMap::new(),
            byte_collations,
            deterministic_collations: Vec::new(),
        }
    }

    pub(crate) fn add_operator_class(&mut self, row: &Row<'_>) {
        if let (Some(id), Some(family), Some(input)) =
            (row.u32("oid"), row.u32("opcfamily"), row.u32("opcintype"))
        {
            self.operator_classes.insert(id, (family, input));
        }
    }

    pub(crate) fn add_collation(&mut self, row: &Row<'_>) {
        // EVIDENCE: PostgreSQL docs 51.12 pg_collation collisdeterministic (12 and later)
        if row.bool("collisdeterministic") == Some(true) {
            self.deterministic_collations.extend(row.u32("oid"));
        }
        let locale = row.text("colllocale").or_else(|| row.text("colliculocale"));
        if is_byte_order(row.u8("collprovider"), row.text("collcollate"), locale) {
            self.byte_collations.extend(row.u32("oid"));
        }
    }

    /// The index that a row of `pg_index` describes, by its object id.
    // EVIDENCE: PostgreSQL docs 51.26 pg_index
    pub(crate) fn index(&self, row: &Row<'_>) -> Option<(Oid, Index)> {
        let id = row.u32("indexrelid")?;
        let table = row.u32("indrelid")?;
        let table_columns = row.int2_vector("indkey")?;
        let keys = usize::try_from(row.i16("indnkeyatts")?).ok()?;
        let numbers = table_columns.iter().enumerate();
        let columns =
            numbers.map(|(position, number)| self.column(row, id, table, position, *number, position < keys));
        let index = Index {
            table,
            has_expressions: table_columns.contains(&0),
            columns: columns.collect::<Option<Vec<_>>>()?,
            primary: row.bool("indisprimary").unwrap_or(false),
            unique: row.bool("indisunique")?,
            nulls_not_distinct: row.bool("indnullsnotdistinct").unwrap_or(false),
            usable: row.bool("indisvalid")? && row.bool("indisready")? && row.bool("indislive")?,
            partial: !row.is_null("indpred"),
        };
        Some((id, index))
    }

    // EVIDENCE: src/include/catalog/pg_index.h: indoption bit 0 descending, bit 1 nulls first
    fn column(
        &self,
        row: &Row<'_>,
        index: Oid,
        table: Oid,
        position: usize,
        table_column: i16,
        is_key: bool,
    ) -> Option<IndexColumn> {
        let own = self.columns.get(&index)?.get(position)?;
        let attribute = own.attribute?;
        let class = row.oid_vector("indclass")?.get(position).copied();
        let (family, input) =
            class.and_then(|class| self.operator_classes.get(&class)).copied().unwrap_or((0, 0));
        let collation = row.oid_vector("indcollation")?.get(position).copied();
        let by_bytes = collation.is_some_and(|collation| self.byte_collations.contains(&collation));
        let is_deterministic =
            collation.is_some_and(|collation| self.deterministic_collations.contains(&collation));
        let option = row.int2_vector("indoption")?.get(position).copied().unwrap_or(0);
        let source = usize::try_from(table_column).ok().and_then(|number| number.checked_sub(1));
        let source = source.and_then(|source| self.columns.get(&table)?.get(source)?.attribute);
        let is_name = source.is_some_and(|attribute| attribute.length == Length::Fixed(64));
        let summary = SummaryKind::of_family(family);
        let order = match summary {
            Some(_) => summary_order(family, input, by_bytes),
            None if is_key => KeyOrder::of(family, input, own.type_id, by_bytes)
                .or_else(|| KeyOrder::of_gin(family, own.type_id, by_bytes)),
            None => None,
        };
        Some(IndexColumn {
            table_column,
            attribute,
            order,
            equality: Equality::of(family, is_deterministic),
            summary,
            form: if is_key { KeyForm::of(family) } else { Some(KeyForm::Plain) },
            is_box: is_key && KeyForm::is_box(family),
            is_key,
            is_deterministic,
            name_as_string: is_name && attribute.length == Length::ZeroTerminated,
            descending: option & 1 != 0,
            nulls_first: option & 2 != 0,
        })
    }
}
