//! Which columns of a record name its row, and what columns are called.

use std::collections::HashMap;

use formats::sqlserver::RowsetColumn;

use crate::catalog::Catalog;
use crate::naming::code_page::CodePage;

/// Bit of an index's status: it enforces the primary key.
// EVIDENCE: the text of sys.indexes (OBJECT_DEFINITION): is_primary_key is status & 32
const STATUS_PRIMARY_KEY: u32 = 0x20;
/// The type of the last column in entries of indexes of heaps: binary(8).
const LOCATOR_TYPE: u32 = 0x8ad;

/// What names the rows of a table or the entries of an index.
#[derive(Default)]
pub(crate) struct RowNames {
    /// Columns by the number that they have in the records.
    pub(crate) columns: HashMap<u32, String>,
    /// Code pages of columns, by the same number, where they are known.
    pub(crate) code_pages: HashMap<u32, CodePage>,
    /// Columns of the clustered key; of an index of a heap the column with the RID. None in rows of a heap.
    pub(crate) locator: Vec<RowsetColumn>,
    /// Columns of the primary key, in rows.
    pub(crate) primary: Vec<RowsetColumn>,
    /// Columns that are shown where nothing else names the row.
    pub(crate) others: Vec<RowsetColumn>,
    /// Whether the locator is a RID.
    pub(crate) has_rid: bool,
}

impl RowNames {
    /// What the catalog says about the records of a table or index.
    pub(crate) fn new(catalog: &Catalog, object_id: u32, index_id: u32, columns: &[RowsetColumn]) -> Self {
        if index_id < 2 {
            of_rows(catalog, object_id, columns)
        } else {
            of_entries(catalog, object_id, index_id, columns)
        }
    }
}

fn of_rows(catalog: &Catalog, object_id: u32, columns: &[RowsetColumn]) -> RowNames {
    let names = columns.iter().filter_map(|column| {
        let name = name_of(catalog, object_id, column)?;
        Some((column.column_id, name))
    });
    let indexes = catalog.indexes.iter().filter(|((object, _), _)| *object == object_id);
    let mut primary = Vec::new();
    for (key, _) in indexes.filter(|(_, index)| index.status & STATUS_PRIMARY_KEY != 0) {
        let stated = catalog.index_columns.get(key).into_iter().flatten();
        let found = stated.map(|(_, id)| columns.iter().find(|column| column.column_id == *id));
        primary = found.map(|column| column.copied()).collect::<Option<Vec<_>>>().unwrap_or_default();
    }
    let code_pages = columns
        .iter()
        .filter_map(|column| Some((column.column_id, code_page_of(catalog, object_id, column.column_id)?)));
    RowNames {
        columns: names.collect(),
        code_pages: code_pages.collect(),
        locator: keys(columns),
        primary,
        others: columns.iter().filter(|column| !column.is_dropped()).take(2).copied().collect(),
        has_rid: false,
    }
}

fn of_entries(catalog: &Catalog, object_id: u32, index_id: u32, columns: &[RowsetColumn]) -> RowNames {
    let base = catalog
        .rowsets
        .values()
        .find(|rowset| rowset.object_id == object_id && rowset.index_id < 2)
        .and_then(|rowset| catalog.columns.get(&rowset.id));
    let base_keys = base.map(|base| keys(base)).unwrap_or_default();
    let stated: Vec<u32> = catalog
        .index_columns
        .get(&(object_id, index_id))
        .into_iter()
        .flatten()
        .map(|(_, column)| *column)
        .collect();
    let mut rest = base_keys.iter().filter(|key| !stated.contains(&key.column_id));
    let mut names = RowNames::default();
    let mut sources = HashMap::new();
    for (position, column) in columns.iter().enumerate() {
        let source = stated.get(position).copied().or_else(|| rest.next().map(|key| key.column_id));
        if let Some(id) = source {
            sources.insert(id, *column);
            let found = base.and_then(|base| base.iter().find(|column| column.column_id == id));
            let name = found.and_then(|column| name_of(catalog, object_id, column));
            names.columns.extend(name.map(|name| (column.column_id, name)));
            let code_page = code_page_of(catalog, object_id, id);
            names.code_pages.extend(code_page.map(|code_page| (column.column_id, code_page)));
        } else if column.type_info.0 == LOCATOR_TYPE && base_keys.is_empty() {
            names.locator = vec![*column];
            names.has_rid = true;
        }
    }
    names.others = columns.iter().take(stated.len().min(2)).copied().collect();
    if !names.has_rid {
        let found = base_keys.iter().map(|key| sources.get(&key.column_id).copied());
        names.locator = found.collect::<Option<Vec<_>>>().unwrap_or_default();
    }
    names
}

/// Columns of the clustered key in their order.
fn keys(columns: &[RowsetColumn]) -> Vec<RowsetColumn> {
    let mut keys: Vec<_> = columns.iter().filter(|column| column.key_ordinal > 0).copied().collect();
    keys.sort_by_key(|column| column.key_ordinal);
    keys
}

fn name_of(catalog: &Catalog, object_id: u32, column: &RowsetColumn) -> Option<String> {
    if column.column_id == 0 || column.is_uniqueifier() {
        return Some("uniqueifier".to_owned());
    }
    catalog.column_names.get(&(object_id, column.column_id)).cloned()
}

fn code_page_of(catalog: &Catalog, object_id: u32, column: u32) -> Option<CodePage> {
    catalog.collations.get(&(object_id, column)).copied().and_then(CodePage::of_collation)
}
