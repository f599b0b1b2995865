//! Reads the catalogs of each database from their files.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use formats::postgres::catalog::{
    Layout, PG_AM, PG_ATTRIBUTE, PG_CLASS, PG_COLLATION, PG_CONSTRAINT, PG_DATABASE, PG_INDEX, PG_NAMESPACE,
    PG_OPCLASS, Row,
};
use formats::postgres::heap::TupleHeader;
use formats::postgres::page::{ItemState, Page};
use formats::postgres::transaction::precedes;
use formats::postgres::{Damage, Oid, Xid, relmap};
use results::check::NotChecked;

use crate::catalog::rows::{
    ClassRow, ColumnsOf, IndexSource, is_byte_order, not_validated_columns, storage_of,
};
use crate::catalog::{Catalogs, Index, Relation};
use crate::cluster::state::Snapshot;
use crate::cluster::transactions::{Fate, LastLookup, Transactions};
use crate::cluster::{Cluster, ForkFiles};
use crate::run::unverified::Constraints;

/// `datconnlimit` (-2) of a database that is half dropped.
const DROPPING: u32 = 0xFFFF_FFFE;
/// How often a block is read that changes each time.
const READ_AGAIN_MAX: usize = 5;

/// Reads the catalogs of all databases.
///
/// I/O: the catalogs' files once. Rows are taken that are there for everyone.
pub(crate) fn read(cluster: &Cluster, transactions: &Transactions) -> Catalogs {
    let mut catalogs = Catalogs::default();
    let mut reader = Reader {
        cluster,
        transactions,
        snapshot: cluster.snapshot(),
        map_damage: &mut catalogs.map_damage,
        maps: BTreeMap::new(),
        oldest: None,
        out_of_scope: Vec::new(),
    };
    let mut names: HashMap<Oid, String> = HashMap::new();
    let mut with_shared = true;
    for (database, _) in &cluster.databases {
        match reader.database(*database, &mut names, with_shared) {
            Ok(mut relations) => {
                catalogs.relations.append(&mut relations);
                with_shared = false;
            }
            Err(reason) => catalogs.unreadable.push((*database, reason)),
        }
    }
    catalogs.oldest = reader.oldest;
    catalogs.out_of_scope = reader.out_of_scope;
    catalogs.databases = names.into_keys().collect();
    leave_unnamed_out(&mut catalogs, cluster);
    catalogs
}

/// Leaves relations of databases out that pg_database does not name: an interrupted CREATE or DROP DATABASE leaves some of
/// their files behind.
// EVIDENCE: PostgreSQL docs, DROP DATABASE: an interrupted one leaves an invalid database; src/backend/commands/dbcommands.c
// createdb_failure_callback removes files after an error, and a crash leaves them
fn leave_unnamed_out(catalogs: &mut Catalogs, cluster: &Cluster) {
    let Catalogs { databases, relations, unnamed, .. } = catalogs;
    if databases.is_empty() {
        return;
    }
    relations.retain(|relation| relation.database == 0 || databases.contains(&relation.database));
    let is_unnamed = |(oid, _): &&(Oid, std::path::PathBuf)| !databases.contains(oid);
    *unnamed = cluster.databases.iter().filter(is_unnamed).map(|(_, path)| path.clone()).collect();
}

/// What is known of a database once `pg_class` is read.
struct OpenDatabase {
    database: Oid,
    map: HashMap<Oid, Oid>,
    shared_map: HashMap<Oid, Oid>,
    columns: ColumnsOf,
    classes: Vec<ClassRow>,
}

impl OpenDatabase {
    fn layout(&self, catalog: Oid) -> Layout {
        self.columns.get(&catalog).map(|columns| Layout::of_columns(columns)).unwrap_or_default()
    }

    /// File number of a relation; mapped ones have none in `pg_class`.
    fn file_of_class(&self, class: &ClassRow) -> Option<Oid> {
        let map = if class.shared { &self.shared_map } else { &self.map };
        if class.file_number == 0 { map.get(&class.id).copied() } else { Some(class.file_number) }
    }
}

struct Reader<'c> {
    cluster: &'c Cluster,
    transactions: &'c Transactions,
    snapshot: Option<Snapshot>,
    map_damage: &'c mut Vec<(std::path::PathBuf, Damage)>,
    maps: BTreeMap<std::path::PathBuf, HashMap<Oid, Oid>>,
    oldest: Option<(Xid, u32)>,
    out_of_scope: Vec<NotChecked>,
}

impl Reader<'_> {
    fn database(
        &mut self,
        database: Oid,
        names: &mut HashMap<Oid, String>,
        with_shared: bool,
    ) -> Result<Vec<Relation>, String> {
        let mut open = self.open(database)?;
        let is_byte_ordered = self.read_names(&open, names)?;
        let namespaces = self.pairs(&open, PG_NAMESPACE, "nspname")?;
        let methods = self.pairs(&open, PG_AM, "amname")?;
        let mut indexes = self.indexes(&open, is_byte_ordered)?;
        let mut not_validated: Vec<(Oid, i16)> = Vec::new();
        self.each(&open, PG_CONSTRAINT, |row| not_validated.extend(not_validated_columns(row)))?;
        for (table, number) in not_validated {
            let of_table = open.columns.get_mut(&table).into_iter().flatten();
            of_table.filter(|column| column.number == number).for_each(|column| column.not_null = false);
        }
        let mut constraints = Constraints::default();
        let schema_of = |id: Option<Oid>| id.and_then(|id| namespaces.get(&id)).map_or("?", String::as_str);
        self.each(&open, PG_CONSTRAINT, |row| {
            constraints.add_constraint(row, schema_of(row.u32("connamespace")));
        })?;
        let database_name = names.get(&database).cloned().unwrap_or_else(|| database.to_string());
        let mut relations = Vec::new();
        for class in &open.classes {
            let columns = open.columns.get(&class.id).map_or(&[][..], Vec::as_slice);
            let schema = schema_of(Some(class.namespace));
            constraints.add_relation(schema, &class.name, class.kind, class.is_partition, columns);
            if !matches!(class.kind, b'r' | b'i' | b'S' | b't' | b'm') || (class.shared && !with_shared) {
                continue;
            }
            let Some(file_number) = open.file_of_class(class) else { continue };
            let schema = namespaces.get(&class.namespace).map_or("?", String::as_str);
            let method = methods.get(&class.method).map(String::as_str);
            // Of a table that is being dropped or changed only some columns may be told.
            let columns = open.columns.get(&class.id).cloned().unwrap_or_default();
            let is_whole = columns.len() == usize::try_from(class.column_count).unwrap_or(0);
            relations.push(Relation {
                id: class.id,
                name: format!("{database_name}.{schema}.{}", class.name),
                database: if class.shared { 0 } else { database },
                tablespace: if class.shared { 1664 } else { class.tablespace },
                file_number,
                storage: storage_of(class.kind, method),
                method: method.unwrap_or("?").to_owned(),
                is_index: class.kind == b'i',
                persistence: class.persistence,
                frozen_xid: class.frozen_xid,
                min_multi: class.min_multi,
                toast: class.toast,
                is_toast: class.kind == b't',
                columns: if is_whole { columns } else { Vec::new() },
                index: indexes.remove(&class.id),
            });
        }
        self.out_of_scope.append(&mut constraints.gaps(&database_name));
        Ok(relations)
    }

    /// Reads what is needed to read all other catalogs: the maps, `pg_attribute` and `pg_class`.
    fn open(&mut self, database: Oid) -> Result<OpenDatabase, String> {
        let directory = self.cluster.databases.iter().find(|(oid, _)| *oid == database).map(|(_, path)| path);
        let directory = directory.ok_or("its directory is missing")?;
        let map = self.map(&directory.join("pg_filenode.map"));
        let shared_map = self.map(Path::new("global/pg_filenode.map"));
        let columns = self.columns(database, &map)?;
        let mut open = OpenDatabase { database, map, shared_map, columns, classes: Vec::new() };
        let file = *open.map.get(&PG_CLASS).ok_or("pg_filenode.map has no entry for pg_class")?;
        let layout = open.layout(PG_CLASS);
        let mut classes = Vec::new();
        self.rows_with_position(database, file, &layout, |row, position| {
            let Some(mut class) = ClassRow::read(row) else { return };
            // VACUUM moves these on in place, before the blocks of the table reach their file.
            if self.snapshot.is_some_and(|snapshot| position >= snapshot.redo_lsn) {
                (class.frozen_xid, class.min_multi) = (0, 0);
            }
            classes.push(class);
        })?;
        if classes.is_empty() {
            return Err("pg_class has no readable rows".to_owned());
        }
        open.classes = classes;
        Ok(open)
    }

    /// Reads the names of all databases; whether text is ordered by bytes in this one.
    fn read_names(&mut self, open: &OpenDatabase, names: &mut HashMap<Oid, String>) -> Result<bool, String> {
        let mut is_byte_ordered = false;
        let mut oldest = self.oldest;
        self.each(open, PG_DATABASE, |row| {
            let (Some(id), Some(name)) = (row.u32("oid"), row.text("datname")) else { return };
            // EVIDENCE: src/include/catalog/pg_database.h DATCONNLIMIT_INVALID_DB: DROP DATABASE was interrupted
            if row.u32("datconnlimit") != Some(DROPPING) {
                names.insert(id, name);
            }
            // EVIDENCE: src/backend/commands/vacuum.c vac_truncate_clog: pg_xact and pg_multixact are cut to these
            if let Some((xid, multi)) = row.u32("datfrozenxid").zip(row.u32("datminmxid")) {
                let older = |a: u32, b: u32| if precedes(b, a) { b } else { a };
                let known = oldest.map_or((xid, multi), |(a, b)| (older(a, xid), older(b, multi)));
                oldest = Some(known);
            }
            if id == open.database {
                let locale = row.text("datlocale");
                is_byte_ordered = is_byte_order(row.u8("datlocprovider"), row.text("datcollate"), locale);
            }
        })?;
        self.oldest = oldest;
        Ok(is_byte_ordered)
    }

    fn indexes(&self, open: &OpenDatabase, is_byte_ordered: bool) -> Result<HashMap<Oid, Index>, String> {
        let mut source = IndexSource::new(&open.columns, is_byte_ordered);
        self.each(open, PG_OPCLASS, |row| source.add_operator_class(row))?;
        self.each(open, PG_COLLATION, |row| source.add_collation(row))?;
        let mut indexes = HashMap::new();
        self.each(open, PG_INDEX, |row| indexes.extend(source.index(row)))?;
        if indexes.is_empty() {
            return Err("pg_index has no readable rows".to_owned());
        }
        Ok(indexes)
    }

    fn map(&mut self, path: &Path) -> HashMap<Oid, Oid> {
        if let Some(known) = self.maps.get(path) {
            return known.clone();
        }
        let mut damage = Vec::new();
        let pairs = match self.cluster.tree.read_small(path) {
            Ok(bytes) => relmap::read(&bytes, &mut damage),
            Err(error) => {
                let invariant = formats::postgres::Invariant::RelationMap;
                damage.push(Damage::at(invariant, 0, "a readable file", error.to_string()));
                Vec::new()
            }
        };
        self.map_damage.extend(damage.into_iter().map(|damage| (path.to_path_buf(), damage)));
        let map: HashMap<Oid, Oid> = pairs.into_iter().collect();
        self.maps.insert(path.to_path_buf(), map.clone());
        map
    }

    /// Columns of all relations, from number 1 on.
    fn columns(&self, database: Oid, map: &HashMap<Oid, Oid>) -> Result<ColumnsOf, String> {
        let file = *map.get(&PG_ATTRIBUTE).ok_or("pg_filenode.map has no entry for pg_attribute")?;
        let mut columns: ColumnsOf = HashMap::new();
        self.rows(database, file, &Layout::of_pg_attribute(self.cluster.major), |row| {
            if let Some(column) = row.column().filter(|column| column.number > 0) {
                columns.entry(column.relation).or_default().push(column);
            }
        })?;
        if columns.is_empty() {
            return Err("pg_attribute has no readable rows".to_owned());
        }
        for list in columns.values_mut() {
            list.sort_by_key(|column| column.number);
            // A gap means that a row was lost: what follows cannot be placed.
            let complete =
                list.iter().zip(1i16..).take_while(|(column, number)| column.number == *number).count();
            list.truncate(complete);
        }
        Ok(columns)
    }

    fn pairs(&self, open: &OpenDatabase, catalog: Oid, name: &str) -> Result<HashMap<Oid, String>, String> {
        let mut pairs = HashMap::new();
        self.each(open, catalog, |row| pairs.extend(row.u32("oid").zip(row.text(name))))?;
        Ok(pairs)
    }

    /// Hands each visible row of a catalog to `take`; nothing if the catalog is not in `pg_class`.
    fn each(&self, open: &OpenDatabase, catalog: Oid, take: impl FnMut(&Row<'_>)) -> Result<(), String> {
        let Some(class) = open.classes.iter().find(|class| class.id == catalog) else { return Ok(()) };
        let Some(file) = open.file_of_class(class) else { return Ok(()) };
        let database = if class.shared { 0 } else { open.database };
        self.rows(database, file, &open.layout(catalog), take)
    }

    /// Hands each visible row of a catalog to `take`.
    fn rows(
        &self,
        database: Oid,
        number: Oid,
        layout: &Layout,
        mut take: impl FnMut(&Row<'_>),
    ) -> Result<(), String> {
        self.rows_with_position(database, number, layout, |row, _| take(row))
    }

    /// As [`Reader::rows`], with the position in the log of each row's block.
    fn rows_with_position(
        &self,
        database: Oid,
        number: Oid,
        layout: &Layout,
        mut take: impl FnMut(&Row<'_>, u64),
    ) -> Result<(), String> {
        let fork = self.cluster.catalog_fork(database, number);
        let directory = if database == 0 { "global/" } else { "" };
        let fork = fork.ok_or_else(|| format!("file {directory}{number} of a catalog is missing"))?;
        visible_tuples(self.cluster, self.transactions, fork, |tuple, position| {
            if let Some(row) = layout.row(tuple) {
                take(&row, position);
            }
        })
        .map_err(|error| format!("could not read file {number} of a catalog: {error}"))
    }
}

/// Hands each visible row of a heap to `take`, with the position in the log of its block; blocks whose header is damaged
/// are left out.
pub(crate) fn visible_tuples(
    cluster: &Cluster,
    transactions: &Transactions,
    fork: &ForkFiles,
    mut take: impl FnMut(&[u8], u64),
) -> std::io::Result<()> {
    let mut block = vec![0u8; cluster.block_bytes];
    let mut again = vec![0u8; if transactions.has_horizon() { cluster.block_bytes } else { 0 }];
    let mut damage = Vec::new();
    for segment in &fork.segments {
        let file = disk::input::File::open(&segment.part.path)?;
        // Bounded by the length of the file when it was listed.
        for index in 0..segment.part.bytes / cluster.block_bytes as u64 {
            let offset = segment.part.offset_bytes + index * cluster.block_bytes as u64;
            if file.read_exact_at(&mut block, offset).is_err() {
                continue;
            }
            // A block that is being written is read until it is the same twice.
            for _ in 0..if again.is_empty() { 0 } else { READ_AGAIN_MAX } {
                if file.read_exact_at(&mut again, offset).is_err() || again == block {
                    break;
                }
                std::mem::swap(&mut block, &mut again);
            }
            let page = Page::new(&block);
            damage.clear();
            if page.is_new() || !page.check_header(0, &mut damage) {
                continue;
            }
            for item in page.items().filter(|item| item.state == ItemState::Normal) {
                let Some(tuple) = page.item_bytes(item) else { continue };
                if TupleHeader::read(tuple).is_some_and(|header| {
                    transactions.fate(&header, &mut LastLookup::default()) == Fate::Live
                }) {
                    take(tuple, page.header().lsn);
                }
            }
        }
    }
    Ok(())
}
