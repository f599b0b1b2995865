//! What is to be proven about each allocation unit.

use std::collections::BTreeMap;

use formats::sqlserver::{Header, PageId, PageKind, RowsetColumn};
use results::check::NotChecked;

use crate::catalog::Catalog;
use crate::naming::columns::RowNames;
use check::advice::Sources;

/// Bits of an index's status that clean files show; an index with others may not hold all rows of its table.
// OBSERVED: 0x1, 0x2, 0x8, 0x20, 0x40, 0x400, 0x80000 on indexes with entries for all rows; 0x2000 on statistics
const STATUS_KNOWN: u32 = 0x1 | 0x2 | 0x8 | 0x20 | 0x40 | 0x400 | 0x8_0000;
/// Oldest version in which a column may be added without touching rows, with a value from the catalog.
// EVIDENCE: Microsoft Learn, ALTER TABLE, "Adding NOT NULL columns as an online operation", SQL Server 2012 and later
const VERSION_WITH_VIRTUAL_VALUES: u16 = 706;

/// An allocation unit.
pub(super) struct Unit {
    pub(super) id: u64,
    /// 1 rows, 2 large values, 3 rows that overflow.
    pub(super) kind: u8,
    pub(super) index_id: u32,
    /// `schema.table`, or `index NAME of schema.table`.
    pub(super) name: String,
    /// `schema.table`.
    pub(super) table: String,
    /// The name of the index, also of a clustered one.
    pub(super) index: Option<String>,
    /// Rows that the server counted, and its count of pages; both may be stale.
    pub(super) counted: (u64, u64),
    /// Whether its rows are those of a B-tree.
    pub(super) is_tree: bool,
    pub(super) is_compressed: bool,
    /// Whether the catalog has its table or index.
    pub(super) is_known: bool,
    /// Whether it belongs to a base table of the system.
    pub(super) is_system: bool,
    pub(super) root: PageId,
    /// The rowset, by its position; the group of its large values.
    pub(super) rowset: u32,
    /// The object, by its position among all; the unit of batches.
    pub(super) object: u32,
    pub(super) columns: Vec<RowsetColumn>,
    /// Columns of the key, in their order.
    pub(super) keys: Vec<RowsetColumn>,
    /// Indexes whose entries the rows state.
    pub(super) indexes: Vec<u32>,
    /// The index that its entries belong to.
    pub(super) entry_of: Option<u32>,
    /// What names its rows or entries.
    pub(super) names: RowNames,
}

impl Unit {
    /// Whether a page's header names the unit.
    // OBSERVED: leaves of clustered indexes in files upgraded from version 539 keep index number 0
    pub(super) fn is_stated_by(&self, header: &Header) -> bool {
        let stated = header.allocation_unit();
        let is_old_leaf = self.index_id == 1 && header.kind == PageKind::Data && header.index_id == 0;
        stated == self.id || is_old_leaf && stated | 1 << 48 == self.id
    }
}

/// A nonclustered index that is matched with its table.
pub(super) struct IndexPlan {
    pub(super) name: String,
    /// Columns in entries; the same length as `base`.
    pub(super) entry: Vec<RowsetColumn>,
    /// Where their values are in rows.
    pub(super) base: Vec<BaseColumn>,
}

/// The source of a column of an entry.
pub(super) enum BaseColumn {
    /// A column of the row.
    Column(RowsetColumn),
    /// Page and slot of the row.
    Locator,
}

/// Everything that is to be proven.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) units: Vec<Unit>,
    pub(super) indexes: Vec<IndexPlan>,
    pub(super) rowset_count: u32,
    /// Objects, by position: base tables first.
    pub(super) object_count: u32,
    pub(super) system_object_count: u32,
    pub(super) not_checked: Vec<NotChecked>,
    pub(super) version: u16,
}

impl Plan {
    /// Makes the plan from what the catalog says.
    pub(super) fn new(catalog: &Catalog, version: u16) -> Self {
        let mut plan = Self { version, ..Self::default() };
        let objects = objects(catalog);
        plan.object_count = objects.len() as u32;
        plan.system_object_count = objects.keys().filter(|(is_user, _)| !*is_user).count() as u32;
        let mut rowsets: Vec<u64> = catalog.units.iter().map(|unit| unit.owner).collect();
        rowsets.sort_unstable();
        rowsets.dedup();
        plan.rowset_count = rowsets.len() as u32;
        for unit in &catalog.units {
            let rowset = catalog.rowsets.get(&unit.owner);
            let (object_id, index_id) = rowset.map_or((0, 0), |rowset| (rowset.object_id, rowset.index_id));
            let columns = match unit.kind {
                1 => catalog.columns.get(&unit.owner).cloned().unwrap_or_default(),
                _ => Vec::new(),
            };
            let mut keys: Vec<_> = columns.iter().filter(|column| column.key_ordinal > 0).copied().collect();
            keys.sort_by_key(|column| column.key_ordinal);
            if catalog.lost_page.is_some() || columns.iter().any(RowsetColumn::has_unknown_status) {
                // A column of the key may be missing: what differs in it would look equal.
                keys.clear();
            }
            plan.units.push(Unit {
                id: unit.id,
                kind: unit.kind,
                index_id,
                name: unit_name(catalog, unit.kind, object_id, index_id),
                table: table_name(catalog, object_id),
                index: catalog.indexes.get(&(object_id, index_id)).map(|index| index.name.clone()),
                counted: (rowset.map_or(0, |rowset| rowset.row_count), unit.used_page_count),
                is_tree: unit.kind == 1 && index_id > 0,
                is_known: rowset.is_some(),
                is_compressed: rowset.is_some_and(|rowset| rowset.compression != 0),
                is_system: !object_key(catalog, object_id).0,
                root: unit.root,
                rowset: rowsets.binary_search(&unit.owner).unwrap_or(0) as u32,
                object: objects.get(&object_key(catalog, object_id)).copied().unwrap_or(0),
                names: RowNames::new(catalog, object_id, index_id, &columns),
                columns,
                keys,
                indexes: Vec::new(),
                entry_of: None,
            });
        }
        match catalog.lost_page {
            None => plan.match_indexes(catalog),
            Some(page) => plan.not_checked.push(NotChecked::coverage(
                None,
                "keys, and rows against index entries",
                match page.page {
                    0 => "pages of the system base tables are past the end of the file".to_owned(),
                    _ => format!("page {page} of the system base tables is damaged"),
                },
            )),
        }
        plan
    }

    fn match_indexes(&mut self, catalog: &Catalog) {
        let mut rowsets_of: BTreeMap<(u32, u32), Vec<u64>> = BTreeMap::new();
        for rowset in catalog.rowsets.values() {
            rowsets_of.entry((rowset.object_id, rowset.index_id)).or_default().push(rowset.id);
        }
        for ((object_id, index_id), rowsets) in rowsets_of.iter().filter(|((_, index), _)| *index > 1) {
            let base = [1, 0].iter().find_map(|index| Some((*index, rowsets_of.get(&(*object_id, *index))?)));
            let name = unit_name(catalog, 1, *object_id, *index_id);
            match base.ok_or("its table has no rows of its own".to_owned()).and_then(|(base_index, base)| {
                let (entry, sources) =
                    self.index_columns(catalog, (*object_id, *index_id), (base_index, base), rowsets)?;
                Ok((base, entry, sources))
            }) {
                Ok((base, entry, sources)) => {
                    let number = self.indexes.len() as u32;
                    self.indexes.push(IndexPlan { name, entry, base: sources });
                    for (unit, described) in catalog.units.iter().zip(&mut self.units) {
                        if unit.kind == 1 && base.contains(&unit.owner) {
                            described.indexes.push(number);
                        } else if unit.kind == 1 && rowsets.contains(&unit.owner) {
                            described.entry_of = Some(number);
                        }
                    }
                }
                Err(why) => self.not_checked.push(NotChecked {
                    object: Some(name),
                    what: "rows against index entries".to_owned(),
                    why: format!("{why}; DBCC CHECKTABLE verifies it"),
                    kind: results::check::GapKind::Coverage,
                }),
            }
        }
    }

    /// The columns of an index's entries, and where they come from. Or why this is not known.
    fn index_columns(
        &self,
        catalog: &Catalog,
        key: (u32, u32),
        (base_index, base): (u32, &[u64]),
        rowsets: &[u64],
    ) -> Result<(Vec<RowsetColumn>, Vec<BaseColumn>), String> {
        let index = catalog.indexes.get(&key).ok_or("the catalog has no such index")?;
        if index.kind > 2 {
            return Err(format!("it is {}", index.kind_text()));
        }
        if index.status & !STATUS_KNOWN != 0 {
            return Err(format!(
                "it has unknown properties (status {:#x}): it may be filtered",
                index.status
            ));
        }
        let is_compressed = |id: &u64| catalog.rowsets.get(id).is_some_and(|rowset| rowset.compression != 0);
        if base.iter().chain(rowsets).any(is_compressed) {
            return Err("compressed records are not read".to_owned());
        }
        let columns_of =
            |ids: &[u64]| ids.first().and_then(|id| catalog.columns.get(id)).ok_or("it has no columns");
        let (entry, base_columns) = (columns_of(rowsets)?, columns_of(base)?);
        if entry.iter().chain(base_columns).any(RowsetColumn::has_unknown_status) {
            return Err("unknown status bits of its columns".to_owned());
        }
        let mut locators: Vec<&RowsetColumn> =
            base_columns.iter().filter(|column| column.key_ordinal > 0).collect();
        locators.sort_by_key(|column| column.key_ordinal);
        let no_columns = Vec::new();
        let stated: Vec<u32> = catalog
            .index_columns
            .get(&key)
            .unwrap_or(&no_columns)
            .iter()
            .map(|(_, column)| *column)
            .collect();
        let mut rest = locators.into_iter().filter(|column| !stated.contains(&column.column_id));
        let (mut columns, mut sources) = (Vec::new(), Vec::new());
        for (position, column) in entry.iter().enumerate() {
            let source = match stated.get(position) {
                Some(id) => base_columns.iter().find(|column| column.column_id == *id),
                None if base_index == 1 => rest.next(),
                // OBSERVED: the locator of a heap's row is a binary(8)
                None if column.type_info.0 == 0x8ad => {
                    columns.push(*column);
                    sources.push(BaseColumn::Locator);
                    continue;
                }
                None => None,
            };
            let source =
                source.ok_or_else(|| format!("its column {} is computed and not stored", position + 1))?;
            if source.type_info != column.type_info {
                return Err(format!("its column {} has a different type than in the row", position + 1));
            }
            // Large values stand elsewhere, at two places.
            let is_large = column.type_info.fixed_bytes().is_none()
                && (column.type_info.is_max() || matches!(column.type_info.code(), 0xf0 | 0xf1 | 0x62))
                || column.type_info.is_text();
            if !is_large {
                columns.push(*column);
                sources.push(BaseColumn::Column(*source));
            }
        }
        Ok((columns, sources))
    }

    /// Whether a null that no bit tells may have a value in the catalog.
    pub(super) fn may_be_virtual(&self) -> bool {
        self.version >= VERSION_WITH_VIRTUAL_VALUES
    }

    /// Indexes by table; clustered indexes and large values are parts of their tables.
    pub(super) fn sources(&self) -> Sources {
        let mut sources = Sources::default();
        for unit in self.units.iter().filter(|unit| unit.name != unit.table) {
            match unit.kind == 1 && unit.index_id > 1 {
                true => sources.add_index(unit.name.clone(), unit.table.clone()),
                false => sources.add_part(unit.name.clone(), unit.table.clone()),
            }
        }
        sources
    }

    /// The name of an allocation unit.
    pub(super) fn name(&self, unit: u32) -> Option<String> {
        self.units.get(unit as usize).map(|unit| unit.name.clone())
    }
}

fn object_key(catalog: &Catalog, object_id: u32) -> (bool, u32) {
    // OBSERVED: schema 4 is sys; base tables are of kind S, internal tables (IT) are in sys
    let is_user =
        catalog.objects.get(&object_id).is_some_and(|object| object.kind != *b"S " && object.schema != 4);
    (is_user, object_id)
}

/// All objects with their positions: those of the system first.
fn objects(catalog: &Catalog) -> BTreeMap<(bool, u32), u32> {
    let keys: BTreeMap<(bool, u32), ()> =
        catalog.rowsets.values().map(|rowset| (object_key(catalog, rowset.object_id), ())).collect();
    keys.into_keys().zip(0u32..).collect()
}

fn table_name(catalog: &Catalog, object_id: u32) -> String {
    match catalog.objects.get(&object_id) {
        Some(object) => match catalog.schemas.get(&object.schema) {
            Some(schema) => format!("{schema}.{}", object.name),
            None => object.name.clone(),
        },
        None => format!("object {object_id}"),
    }
}

fn unit_name(catalog: &Catalog, kind: u8, object_id: u32, index_id: u32) -> String {
    let table = table_name(catalog, object_id);
    let index = catalog.indexes.get(&(object_id, index_id)).map(|index| index.name.as_str());
    let table = match (index_id, index) {
        (0, _) => table,
        (1, Some(name)) if !name.is_empty() => format!("{table} (clustered index {name})"),
        (1, _) => table,
        (_, Some(name)) if !name.is_empty() => format!("index {name} of {table}"),
        (number, _) => format!("index {number} of {table}"),
    };
    if kind == 1 { table } else { format!("LOB data of {table}") }
}
