//! The base tables that describe all others, read from the file.

pub(crate) mod inventory;
pub(crate) mod prepared;

use std::collections::{HashMap, HashSet};

use formats::sqlserver::{
    AllocationUnit, Boot, HEADER_BYTES, Header, HobtColumn, PAGE_BYTES, PageId, PageKind, Record, RecordKind,
    Rowset, RowsetColumn, VERSION_2005, audit_protection, object, restore, slot_offset,
};

use crate::finding::Draft;
use crate::maps::Maps;
use crate::rules;
use crate::source::Source;

/// Pages of the table of allocation units that are followed: far more than a database of the largest size has.
const CHAIN_MAX: usize = 1 << 22;

/// Base tables that say which columns and keys tables and indexes have.
const DESCRIBING: [u32; 6] = [
    object::ROWSETS,
    object::COLUMNS_OF_ROWSETS,
    object::COLUMNS_OF_ROWSETS_2005,
    object::COLUMNS_OF_HOBTS,
    object::INDEXES,
    object::INDEX_COLUMNS,
];

/// What the base tables say.
#[derive(Default)]
pub(super) struct Catalog {
    /// Allocation units, as they stand in their table.
    pub(super) units: Vec<AllocationUnit>,
    pub(super) rowsets: HashMap<u64, Rowset>,
    /// Columns by rowset, in the order of their numbers.
    pub(super) columns: HashMap<u64, Vec<RowsetColumn>>,
    /// Name, schema and kind of objects.
    pub(super) objects: HashMap<u32, Object>,
    pub(super) schemas: HashMap<u32, String>,
    /// Indexes by object and number.
    pub(super) indexes: HashMap<(u32, u32), Index>,
    /// Columns of indexes by object and number: position, column of the table.
    pub(super) index_columns: HashMap<(u32, u32), Vec<(u32, u32)>>,
    /// Names of columns by object and number.
    pub(super) column_names: HashMap<(u32, u32), String>,
    /// Numbers of the collations of columns, by object and number; 0 for a type without any.
    pub(super) collations: HashMap<(u32, u32), u32>,
    /// Status of columns, by object and number.
    pub(super) column_status: HashMap<(u32, u32), u32>,
    /// The path of each file of the database, as the server knew it, by number; the log among them.
    pub(super) files: HashMap<u16, String>,
    pub(super) findings: Vec<Draft>,
    /// The first page of the tables of rowsets, indexes and their columns that could not be used: keys and columns of any
    /// table may be unknown.
    pub(super) lost_page: Option<PageId>,
}

/// An object: a table, a view, an internal table.
pub(super) struct Object {
    pub(super) name: String,
    pub(super) schema: u32,
    pub(super) kind: [u8; 2],
}

/// An index.
pub(super) struct Index {
    pub(super) name: String,
    pub(super) status: u32,
    pub(super) kind: u8,
}

impl Index {
    /// Its kind, with an article.
    // EVIDENCE: Microsoft Learn, sys.indexes, type
    pub(super) fn kind_text(&self) -> String {
        match self.kind {
            1 => "a clustered index".to_owned(),
            2 => "a nonclustered index".to_owned(),
            3 => "an XML index".to_owned(),
            4 => "a spatial index".to_owned(),
            5 => "a clustered columnstore index".to_owned(),
            6 => "a nonclustered columnstore index".to_owned(),
            7 => "a nonclustered hash index".to_owned(),
            kind => format!("an index of kind {kind}"),
        }
    }
}

impl Catalog {
    /// Reads the table of allocation units, along its chain from the boot page.
    pub(super) fn read_units(&mut self, source: &Source, boot: &Boot) {
        let mut at = boot.first_allocation_units;
        let mut seen = HashSet::new();
        let boot_page = PageId { file: 1, page: 9 };
        let mut referrer = boot_page;
        for _ in 0..CHAIN_MAX {
            if at.is_none() {
                break;
            }
            let page = source.read(at);
            let header = page.as_ref().map(|page| Header::new(&page[..])).ok();
            let is_right = |header: &Header| {
                header.kind == PageKind::Data && header.object_id == object::ALLOCATION_UNITS
            };
            let (Ok(page), Some(header)) = (page, header.filter(is_right)) else {
                self.lose(referrer, "a page of the table of allocation units", format!("page {at}"));
                return;
            };
            if !seen.insert(at) {
                self.lose(at, "a chain that ends", format!("page {at} a second time"));
                return;
            }
            let mut lost = 0;
            for_each_row(&page, &header, |_, record| match AllocationUnit::new(record) {
                Some(unit) => self.units.push(unit),
                None => lost += 1,
            });
            if lost > 0 {
                self.lose(at, "rows of allocation units", format!("{lost} rows that are too short"));
            }
            referrer = at;
            at = header.next;
        }
        if self.units.is_empty() {
            self.lose(boot_page, "the table of allocation units", "no row in it".to_owned());
        }
    }

    fn lose(&mut self, page: PageId, expected: &str, found: String) {
        self.findings.push(Draft::new(&rules::CATALOG, page, expected.to_owned(), found));
    }

    /// Reads the other tables; the maps must know the owners of pages.
    pub(super) fn read_tables(&mut self, source: &Source, maps: &Maps, version: u16) {
        let mut rowsets = Vec::new();
        // The number of the rowset of a base table that all others depend on is its object number.
        self.each_row(source, maps, u64::from(object::ROWSETS) << 16, |record| {
            rowsets.extend(Rowset::new(record))
        });
        let columns = match version {
            VERSION_2005 => self.columns_of_2005(source, maps),
            _ => {
                let mut columns = Vec::new();
                self.each_row(source, maps, u64::from(object::COLUMNS_OF_ROWSETS) << 16, |record| {
                    columns.extend(RowsetColumn::new(record));
                });
                columns
            }
        };
        self.rowsets = rowsets.into_iter().map(|rowset| (rowset.id, rowset)).collect();
        for column in columns {
            self.columns.entry(column.rowset).or_default().push(column);
        }
        for columns in self.columns.values_mut() {
            columns.sort_by_key(|column| column.column_id);
        }
        if self.rowsets.is_empty() || self.columns.is_empty() {
            let found = "no rows".to_owned();
            self.lose(PageId { file: 1, page: 9 }, "tables of rowsets and of their columns", found);
            return;
        }
        self.read_names(source, maps);
    }

    /// Columns as version 611 has them, in two tables.
    fn columns_of_2005(&mut self, source: &Source, maps: &Maps) -> Vec<RowsetColumn> {
        let mut places = HashMap::new();
        self.each_row(source, maps, u64::from(object::COLUMNS_OF_HOBTS) << 16, |record| {
            if let Some(column) = HobtColumn::new(record) {
                places.insert((column.rowset, column.number), column);
            }
        });
        let mut columns = Vec::new();
        self.each_row(source, maps, u64::from(object::COLUMNS_OF_ROWSETS_2005) << 16, |record| {
            columns.extend(RowsetColumn::of_2005(record, |rowset, number| {
                places.get(&(rowset, number)).copied()
            }));
        });
        columns
    }

    fn read_names(&mut self, source: &Source, maps: &Maps) {
        for (_, [id, schema, kind], name) in self.table(source, maps, object::OBJECTS, [1, 3, 6], 2) {
            let kind = (kind as u16).to_le_bytes();
            self.objects.insert(id as u32, Object { name, schema: schema as u32, kind });
        }
        for (_, [class, id, _], name) in self.table(source, maps, object::CLASSES, [1, 2, 2], 3) {
            // OBSERVED: class 50 holds schemas
            if class == 50 {
                self.schemas.insert(id as u32, name);
            }
        }
        for (status, [id, number, kind], name) in self.table(source, maps, object::INDEXES, [1, 2, 7], 3) {
            let index = Index { name, status: status as u32, kind: kind as u8 };
            self.indexes.insert((id as u32, number as u32), index);
        }
        for (column, [id, number, position], _) in
            self.table(source, maps, object::INDEX_COLUMNS, [1, 2, 3], 0)
        {
            let columns = self.index_columns.entry((id as u32, number as u32)).or_default();
            columns.push((position as u32, column as u32));
        }
        for columns in self.index_columns.values_mut() {
            columns.sort_unstable();
        }
        // The names of files only help to say which one is missing: a database without this table is no finding.
        if self.rowsets.values().any(|rowset| rowset.object_id == object::FILES && rowset.index_id == 1) {
            for (_, [number, _, _], path) in self.table(source, maps, object::FILES, [2, 2, 2], 11) {
                self.files.insert(number as u16, path);
            }
        }
        // OBSERVED: column 10 of syscolpars is the collation; procedures, whose parameters are here too, have other numbers
        for (_, [id, collation, column], _) in self.table(source, maps, object::COLUMNS, [1, 10, 3], 4) {
            self.collations.insert((id as u32, column as u32), collation as u32);
        }
        for (status, [id, number, column], name) in self.table(source, maps, object::COLUMNS, [1, 2, 3], 4) {
            // Other numbers are parameters of procedures.
            if number == 0 {
                self.column_status.insert((id as u32, column as u32), status as u32);
                self.column_names.insert((id as u32, column as u32), name);
            }
        }
    }

    /// Three numbers and a name out of each row of a base table, by numbers of columns; first one more number: status of an
    /// index or of a column, column of a column of an index.
    fn table(
        &mut self,
        source: &Source,
        maps: &Maps,
        table: u32,
        numbers: [u32; 3],
        name: u32,
    ) -> Vec<(u64, [u64; 3], String)> {
        let find = |rowset: &&Rowset| rowset.object_id == table && rowset.index_id == 1;
        let Some(rowset) = self.rowsets.values().find(find).map(|rowset| rowset.id) else {
            let found = "none".to_owned();
            self.lose(PageId { file: 1, page: 9 }, &format!("a rowset of base table {table}"), found);
            return Vec::new();
        };
        let columns = self.columns.get(&rowset).cloned().unwrap_or_default();
        let column = |id: u32| columns.iter().find(|column| column.column_id == id);
        let extra = match table {
            object::INDEXES => 4,
            object::INDEX_COLUMNS => 5,
            object::COLUMNS => 11,
            _ => numbers[0],
        };
        let mut rows = Vec::new();
        self.each_row(source, maps, rowset, |record| {
            let number =
                |id| column(id).and_then(|column| column.value(record, column.leaf).number()).unwrap_or(0);
            let name =
                column(name).and_then(|column| column.value(record, column.leaf).text()).unwrap_or_default();
            rows.push((number(extra), numbers.map(number), name));
        });
        rows
    }

    /// Shows each row of a rowset.
    fn each_row(&mut self, source: &Source, maps: &Maps, rowset: u64, mut show: impl FnMut(&Record<'_>)) {
        let units = (0u32..).zip(&self.units).filter(|(_, unit)| unit.owner == rowset && unit.kind == 1);
        let units: HashSet<u32> = units.map(|(number, _)| number).collect();
        let object = (rowset >> 16) as u32;
        let is_needed = DESCRIBING.contains(&object);
        if is_needed && units.iter().any(|unit| maps.lost.contains_key(unit)) {
            self.lost_page.get_or_insert(PageId { file: 1, page: 0 });
        }
        for id in maps.pages_of(&units) {
            let mut raw = Box::new([0; PAGE_BYTES]);
            let is_read = source.read_raw(id, &mut raw).is_ok();
            let header = Header::new(&raw[..]);
            let mut is_sound = is_read && header.page == id;
            audit_protection(&raw[..], &header, |_| is_sound = false);
            if !is_sound && is_needed {
                self.lost_page.get_or_insert(id);
            }
            restore(&mut raw[..]);
            if header.kind == PageKind::Data && header.page == id {
                for_each_row(&raw, &header, |_, record| show(record));
            }
        }
    }
}

/// Shows each row of a page that can be taken apart and is not deleted.
pub(super) fn for_each_row(
    page: &[u8; PAGE_BYTES],
    header: &Header,
    mut show: impl FnMut(usize, &Record<'_>),
) {
    for slot in 0..usize::from(header.slot_count).min((PAGE_BYTES - HEADER_BYTES) / 2) {
        let Some(offset) = slot_offset(page, slot).map(usize::from).filter(|offset| *offset >= HEADER_BYTES)
        else {
            continue;
        };
        if let Ok(record) = Record::new(page, header, slot, offset)
            && matches!(record.kind, RecordKind::Primary | RecordKind::Forwarded)
        {
            show(slot, &record);
        }
    }
}
