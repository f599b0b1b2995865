//! What no level verifies, with the command of the server that does: only what the database has.

use formats::sqlserver::{AllocationUnit, object};
use results::check::NotChecked;
use results::wording::counted;

use crate::catalog::{Catalog, Index};

/// Status of a column in syscolpars: computed.
// EVIDENCE: the text of sys.columns (OBJECT_DEFINITION): is_computed is status & 16, is_filestream status & 32
const COLUMN_COMPUTED: u32 = 16;
/// Status of a column in syscolpars: its values are files.
const COLUMN_FILESTREAM: u32 = 32;

/// What no level verifies of this database.
pub(crate) fn gaps(catalog: &Catalog) -> Vec<NotChecked> {
    let mut gaps = constraints(catalog);
    let mut push = |what: String, why: &str| gaps.push(NotChecked::out_of_scope(None, what, why));
    let columns_with = |bit: u32| {
        let columns = catalog.column_status.iter().filter(move |(_, status)| *status & bit != 0);
        columns.map(|(column, _)| *column)
    };
    let is_stored = |(table, column): &(u32, u32)| {
        let of_table =
            catalog.rowsets.values().filter(|rowset| rowset.object_id == *table && rowset.index_id < 2);
        of_table
            .filter_map(|rowset| catalog.columns.get(&rowset.id))
            .flatten()
            .any(|stored| stored.column_id == *column)
    };
    let persisted = columns_with(COLUMN_COMPUTED).filter(is_stored).count() as u64;
    if persisted > 0 {
        push(
            format!(
                "values of {} against their expressions",
                counted(persisted, "persisted computed column")
            ),
            "expressions are not evaluated; DBCC CHECKTABLE verifies them",
        );
    }
    let streams = columns_with(COLUMN_FILESTREAM).count() as u64;
    if streams > 0 {
        push(
            format!("files of {}", counted(streams, "FILESTREAM column")),
            "they are in no data file; DBCC CHECKDB verifies their links",
        );
    }
    let is_view = |id: &u32| catalog.objects.get(id).is_some_and(|object| object.kind == *b"V ");
    let views =
        catalog.rowsets.values().filter(|rowset| rowset.index_id == 1 && is_view(&rowset.object_id)).count();
    if views > 0 {
        push(
            format!("rows of {} against their tables", counted(views as u64, "indexed view")),
            "queries are not evaluated; DBCC CHECKDB WITH EXTENDED_LOGICAL_CHECKS verifies them",
        );
    }
    if catalog.rowsets.values().any(|rowset| rowset.partition > 1) {
        push(
            "rows against the bounds of their partitions".to_owned(),
            "partition functions are not evaluated; DBCC CHECKTABLE verifies them (message 8984)",
        );
    }
    if has_full_text(catalog) {
        push(
            "contents of full-text indexes".to_owned(),
            "no command of the server compares them; ALTER FULLTEXT CATALOG ... REBUILD rebuilds them",
        );
    }
    gaps.extend(indexes_elsewhere(catalog));
    gaps
}

/// Indexes whose entries stand in internal tables: XML and spatial ones.
fn indexes_elsewhere(catalog: &Catalog) -> Vec<NotChecked> {
    let has_rows = |object: u32, index: u32| {
        catalog.rowsets.values().any(|rowset| rowset.object_id == object && rowset.index_id == index)
    };
    let elsewhere = catalog
        .indexes
        .iter()
        .filter(|((object, number), index)| (3..=6).contains(&index.kind) && !has_rows(*object, *number));
    let gap = |((object, _), index): (&(u32, u32), &Index)| {
        let table = catalog.objects.get(object).map_or("", |object| object.name.as_str());
        let why =
            format!("it is {}; DBCC CHECKDB WITH EXTENDED_LOGICAL_CHECKS verifies it", index.kind_text());
        NotChecked::coverage(
            Some(&format!("index {} of {table}", index.name)),
            "rows against index entries",
            why,
        )
    };
    elsewhere.map(gap).collect()
}

/// Constraints that the server itself only verifies on demand.
fn constraints(catalog: &Catalog) -> Vec<NotChecked> {
    let count = |kind: [u8; 2]| {
        let of_kind = catalog.objects.values().filter(|object| object.kind == kind && object.schema != SYS);
        of_kind.count() as u64
    };
    // EVIDENCE: Microsoft Learn, sys.objects: F foreign key constraint, C check constraint
    let kinds = [(count(*b"F "), "foreign key"), (count(*b"C "), "CHECK constraint")];
    let kinds: Vec<String> =
        kinds.into_iter().filter(|(count, _)| *count > 0).map(|(count, noun)| counted(count, noun)).collect();
    if kinds.is_empty() {
        return Vec::new();
    }
    let why = "constraints are not evaluated; DBCC CHECKCONSTRAINTS WITH ALL_CONSTRAINTS verifies them";
    vec![NotChecked::out_of_scope(None, kinds.join(" and "), why)]
}

/// The number of schema sys.
// OBSERVED: schema 4 is sys
const SYS: u32 = 4;

/// Whether the table of full-text indexes has pages with rows.
fn has_full_text(catalog: &Catalog) -> bool {
    let is_meant = |unit: &&AllocationUnit| {
        let rowset = catalog.rowsets.get(&unit.owner);
        rowset.is_some_and(|rowset| rowset.object_id == object::FULL_TEXT_INDEXES && rowset.row_count > 0)
    };
    catalog.units.iter().any(|unit| is_meant(&unit))
}
