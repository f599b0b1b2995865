//! Relations of a database, read from its catalogs' files.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use formats::postgres::attribute::{Attribute, Length};
use formats::postgres::catalog::{
    Column, Layout, PG_AM, PG_ATTRIBUTE, PG_CLASS, PG_COLLATION, PG_DATABASE, PG_INDEX, PG_NAMESPACE,
    PG_OPCLASS, Row,
};
use formats::postgres::file_name::Fork;
use formats::postgres::heap::TupleHeader;
use formats::postgres::page::{ItemState, Page};
use formats::postgres::{Damage, Oid, Xid, relmap};

use super::cluster::{Cluster, ForkFiles, read_small};
use super::order::KeyOrder;
use super::transactions::{Fate, Transactions};

/// What kind of storage a relation's main fork has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Storage {
    /// Rows.
    Heap,
    /// One row of a sequence.
    Sequence,
    /// A B-tree.
    Btree,
    /// A hash index.
    Hash,
    /// A `GiST` index.
    Gist,
    /// A GIN index.
    Gin,
    /// An SP-GiST index.
    SpGist,
    /// A BRIN index.
    Brin,
    /// A table or index of an access method that is not known here.
    Other,
}

/// A column of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IndexColumn {
    /// Column of the table, from 1; 0 for an expression.
    pub(crate) table_column: i16,
    /// How to step over it in an index tuple.
    pub(crate) attribute: Attribute,
    /// How its values are ordered, if that is known here; always `None` for columns that are only included.
    pub(crate) order: Option<KeyOrder>,
    /// Whether it is part of the key.
    pub(crate) is_key: bool,
    /// Whether the table's value is a `name` that the index keeps as a string.
    pub(crate) name_as_string: bool,
    /// Descending.
    pub(crate) descending: bool,
    /// Nulls stand first.
    pub(crate) nulls_first: bool,
}

/// What `pg_index` says of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Index {
    /// The table.
    pub(crate) table: Oid,
    /// Columns in order, key columns first.
    pub(crate) columns: Vec<IndexColumn>,
    /// No two rows may have the same key.
    pub(crate) unique: bool,
    /// Null equals null, for uniqueness.
    pub(crate) nulls_not_distinct: bool,
    /// Complete, and kept up to date.
    pub(crate) usable: bool,
    /// Only rows that match a condition have entries.
    pub(crate) partial: bool,
    /// Whether some column is an expression.
    pub(crate) has_expressions: bool,
}

/// A relation that has files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Relation {
    /// Object id.
    pub(crate) id: Oid,
    /// `database.schema.relation`.
    pub(crate) name: String,
    /// Database; 0 for shared relations.
    pub(crate) database: Oid,
    /// Tablespace as in the directory: 0 for `base`, 1664 for `global`.
    pub(crate) tablespace: Oid,
    /// File number.
    pub(crate) file_number: Oid,
    /// Storage.
    pub(crate) storage: Storage,
    /// `p` permanent, `u` unlogged, `t` temporary.
    pub(crate) persistence: u8,
    /// No older transaction id stands unfrozen in it; 0 where that is not kept.
    pub(crate) frozen_xid: Xid,
    /// No older multixact stands in it.
    pub(crate) min_multi: u32,
    /// Its TOAST table; 0 for none.
    pub(crate) toast: Oid,
    /// Whether it is a TOAST table itself.
    pub(crate) is_toast: bool,
    /// Whether it is a catalog.
    pub(crate) is_catalog: bool,
    /// Columns from number 1 on; empty if they could not be read.
    pub(crate) columns: Vec<Column>,
    /// For indexes.
    pub(crate) index: Option<Index>,
}

/// What the catalogs say, and what was wrong while reading them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalogs {
    /// Relations with files.
    pub(crate) relations: Vec<Relation>,
    /// Damage of map files, with the path.
    pub(crate) map_damage: Vec<(std::path::PathBuf, Damage)>,
    /// Databases whose catalogs could not be read, with the reason.
    pub(crate) unreadable: Vec<(Oid, String)>,
}

/// Reads the catalogs of all databases.
///
/// I/O: the catalogs' files once. Rows are taken that are there for everyone.
pub(crate) fn read(cluster: &Cluster, transactions: &Transactions) -> Catalogs {
    let mut catalogs = Catalogs::default();
    let mut reader =
        Reader { cluster, transactions, map_damage: &mut catalogs.map_damage, maps: BTreeMap::new() };
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
    catalogs
}

/// The database's name, encoding-independent facts of its collation.
#[derive(Clone, Debug, Default)]
struct DatabaseFacts {
    byte_order_text: bool,
}

struct Reader<'c> {
    cluster: &'c Cluster,
    transactions: &'c Transactions,
    map_damage: &'c mut Vec<(std::path::PathBuf, Damage)>,
    maps: BTreeMap<std::path::PathBuf, HashMap<Oid, Oid>>,
}

type ColumnsOf = HashMap<Oid, Vec<Column>>;

impl Reader<'_> {
    fn database(
        &mut self,
        database: Oid,
        names: &mut HashMap<Oid, String>,
        with_shared: bool,
    ) -> Result<Vec<Relation>, String> {
        let directory =
            self.cluster.databases.iter().find(|(oid, _)| *oid == database).map(|(_, path)| path.clone());
        let directory = directory.ok_or("its directory is gone")?;
        let map = self.map(&directory.join("pg_filenode.map"));
        let shared_map = self.map(&self.cluster.directory.join("global/pg_filenode.map"));
        let columns = self.columns(database, &map)?;
        let layout = |catalog: Oid| {
            columns.get(&catalog).map(|columns| Layout::of_columns(columns)).unwrap_or_default()
        };

        let class_layout = layout(PG_CLASS);
        let class_file = *map.get(&PG_CLASS).ok_or("pg_filenode.map does not name pg_class")?;
        let mut classes = Vec::new();
        self.rows(database, class_file, &class_layout, |row| classes.extend(ClassRow::read(row)))?;
        if classes.is_empty() {
            return Err("pg_class has no rows that can be read".to_owned());
        }
        let file_of = |id: Oid| -> Option<Oid> {
            let class = classes.iter().find(|class| class.id == id)?;
            Some(if class.file_number == 0 { *map.get(&id)? } else { class.file_number })
        };
        let mut facts = DatabaseFacts::default();
        if let Some(file) = shared_map.get(&PG_DATABASE) {
            let layout = layout(PG_DATABASE);
            self.rows(0, *file, &layout, |row| {
                let (Some(id), Some(name)) = (row.u32("oid"), row.text("datname")) else { return };
                names.insert(id, name);
                if id == database {
                    facts.byte_order_text = is_byte_order(
                        row.u8("datlocprovider"),
                        row.text("datcollate"),
                        row.text("datlocale"),
                    );
                }
            })?;
        }
        let database_name = names.get(&database).cloned().unwrap_or_else(|| database.to_string());
        let namespaces = self.pairs(database, file_of(PG_NAMESPACE), &layout(PG_NAMESPACE), "nspname");
        let methods = self.pairs(database, file_of(PG_AM), &layout(PG_AM), "amname");
        let mut opclasses: HashMap<Oid, (Oid, Oid)> = HashMap::new();
        if let Some(file) = file_of(PG_OPCLASS) {
            self.rows(database, file, &layout(PG_OPCLASS), |row| {
                if let (Some(id), Some(family), Some(input)) =
                    (row.u32("oid"), row.u32("opcfamily"), row.u32("opcintype"))
                {
                    opclasses.insert(id, (family, input));
                }
            })?;
        }
        let mut byte_collations: Vec<Oid> = vec![950, 951];
        if facts.byte_order_text {
            byte_collations.push(100);
        }
        if let Some(file) = file_of(PG_COLLATION) {
            self.rows(database, file, &layout(PG_COLLATION), |row| {
                let locale = row.text("colllocale").or_else(|| row.text("colliculocale"));
                if is_byte_order(row.u8("collprovider"), row.text("collcollate"), locale) {
                    byte_collations.extend(row.u32("oid"));
                }
            })?;
        }
        let mut indexes: HashMap<Oid, Index> = HashMap::new();
        if let Some(file) = file_of(PG_INDEX) {
            let layout = layout(PG_INDEX);
            self.rows(database, file, &layout, |row| {
                if let Some((id, index)) = index_of(row, &columns, &opclasses, &byte_collations) {
                    indexes.insert(id, index);
                }
            })?;
        }
        let mut relations = Vec::new();
        for class in classes {
            if !matches!(class.kind, b'r' | b'i' | b'S' | b't' | b'm') || (class.shared && !with_shared) {
                continue;
            }
            let map = if class.shared { &shared_map } else { &map };
            let Some(file_number) =
                (if class.file_number == 0 { map.get(&class.id).copied() } else { Some(class.file_number) })
            else {
                continue;
            };
            let schema = namespaces.get(&class.namespace).map_or("?", String::as_str);
            let method = methods.get(&class.method).map(String::as_str);
            relations.push(Relation {
                id: class.id,
                name: format!("{database_name}.{schema}.{}", class.name),
                database: if class.shared { 0 } else { database },
                tablespace: if class.shared { 1664 } else { class.tablespace },
                file_number,
                storage: storage_of(class.kind, method),
                persistence: class.persistence,
                frozen_xid: class.frozen_xid,
                min_multi: class.min_multi,
                toast: class.toast,
                is_toast: class.kind == b't',
                // EVIDENCE: src/include/access/transam.h FirstNormalObjectId 16384
                is_catalog: class.id < 16_384,
                columns: columns.get(&class.id).cloned().unwrap_or_default(),
                index: indexes.remove(&class.id),
            });
        }
        Ok(relations)
    }

    fn map(&mut self, path: &Path) -> HashMap<Oid, Oid> {
        if let Some(known) = self.maps.get(path) {
            return known.clone();
        }
        let mut damage = Vec::new();
        let pairs = match read_small(path) {
            Ok(bytes) => relmap::read(&bytes, &mut damage),
            Err(error) => {
                let promise = formats::postgres::Promise::RelationMap;
                damage.push(Damage::at(promise, 0, "a file that can be read", error.to_string()));
                Vec::new()
            }
        };
        let shown = self.cluster.shown(path);
        self.map_damage.extend(damage.into_iter().map(|damage| (shown.clone(), damage)));
        let map: HashMap<Oid, Oid> = pairs.into_iter().collect();
        self.maps.insert(path.to_path_buf(), map.clone());
        map
    }

    /// Columns of all relations, from number 1 on.
    fn columns(&self, database: Oid, map: &HashMap<Oid, Oid>) -> Result<ColumnsOf, String> {
        let file = *map.get(&PG_ATTRIBUTE).ok_or("pg_filenode.map does not name pg_attribute")?;
        let mut columns: ColumnsOf = HashMap::new();
        self.rows(database, file, &Layout::of_pg_attribute(self.cluster.major), |row| {
            if let Some(column) = row.column().filter(|column| column.number > 0) {
                columns.entry(column.relation).or_default().push(column);
            }
        })?;
        for list in columns.values_mut() {
            list.sort_by_key(|column| column.number);
            // A gap means that a row was lost: what follows cannot be placed.
            let complete =
                list.iter().zip(1i16..).take_while(|(column, number)| column.number == *number).count();
            list.truncate(complete);
        }
        Ok(columns)
    }

    fn pairs(&self, database: Oid, file: Option<Oid>, layout: &Layout, name: &str) -> HashMap<Oid, String> {
        let mut pairs = HashMap::new();
        if let Some(file) = file {
            let _ = self.rows(database, file, layout, |row| {
                if let (Some(id), Some(name)) = (row.u32("oid"), row.text(name)) {
                    pairs.insert(id, name);
                }
            });
        }
        pairs
    }

    /// Hands each visible row of a catalog to `take`.
    fn rows(
        &self,
        database: Oid,
        number: Oid,
        layout: &Layout,
        mut take: impl FnMut(&Row<'_>),
    ) -> Result<(), String> {
        let fork = self.cluster.forks.iter().find(|fork| {
            fork.number == number && fork.database == database && fork.fork == Fork::Main && !fork.temporary
        });
        let fork = fork.ok_or_else(|| format!("file {number} of a catalog is missing"))?;
        visible_tuples(self.cluster, self.transactions, fork, |tuple| {
            if let Some(row) = layout.row(tuple) {
                take(&row);
            }
        })
        .map_err(|error| format!("could not read file {number} of a catalog: {error}"))
    }
}

/// Hands each visible row of a heap to `take`, blocks whose header is damaged left out.
pub(crate) fn visible_tuples(
    cluster: &Cluster,
    transactions: &Transactions,
    fork: &ForkFiles,
    mut take: impl FnMut(&[u8]),
) -> std::io::Result<()> {
    let mut block = vec![0u8; cluster.block_bytes];
    let mut damage = Vec::new();
    for segment in &fork.segments {
        let file = File::open(&segment.path)?;
        // Bounded by the length of the file when it was listed.
        for index in 0..segment.bytes / cluster.block_bytes as u64 {
            if file.read_exact_at(&mut block, index * cluster.block_bytes as u64).is_err() {
                continue;
            }
            let page = Page::new(&block);
            damage.clear();
            if page.is_new() || !page.check_header(0, &mut damage) {
                continue;
            }
            for item in page.items().filter(|item| item.state == ItemState::Normal) {
                let Some(tuple) = page.item_bytes(item) else { continue };
                if TupleHeader::read(tuple).is_some_and(|header| transactions.fate(&header) == Fate::Live) {
                    take(tuple);
                }
            }
        }
    }
    Ok(())
}

struct ClassRow {
    id: Oid,
    name: String,
    namespace: Oid,
    method: Oid,
    file_number: Oid,
    tablespace: Oid,
    toast: Oid,
    shared: bool,
    persistence: u8,
    kind: u8,
    frozen_xid: Xid,
    min_multi: u32,
}

impl ClassRow {
    fn read(row: &Row<'_>) -> Option<ClassRow> {
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
            frozen_xid: row.u32("relfrozenxid")?,
            min_multi: row.u32("relminmxid")?,
        })
    }
}

fn storage_of(kind: u8, method: Option<&str>) -> Storage {
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
fn is_byte_order(provider: Option<u8>, collate: Option<String>, locale: Option<String>) -> bool {
    match provider {
        Some(b'b') => matches!(locale.as_deref(), Some("C" | "C.UTF-8" | "C.UTF8" | "PG_UNICODE_FAST")),
        Some(b'c') | None => matches!(collate.as_deref(), Some("C" | "POSIX")),
        Some(_) => false,
    }
}

// EVIDENCE: PostgreSQL docs 51.26 pg_index; indoption bit 0 descending, bit 1 nulls first (src/include/catalog/pg_index.h)
fn index_of(
    row: &Row<'_>,
    columns: &ColumnsOf,
    opclasses: &HashMap<Oid, (Oid, Oid)>,
    byte_collations: &[Oid],
) -> Option<(Oid, Index)> {
    let id = row.u32("indexrelid")?;
    let table_columns = row.int2_vector("indkey")?;
    let classes = row.oid_vector("indclass")?;
    let collations = row.oid_vector("indcollation")?;
    let options = row.int2_vector("indoption")?;
    let keys = usize::try_from(row.i16("indnkeyatts")?).ok()?;
    let own = columns.get(&id)?;
    let table = row.u32("indrelid")?;
    let mut list = Vec::new();
    for (position, table_column) in table_columns.iter().enumerate() {
        let attribute = own.get(position)?.attribute?;
        let is_key = position < keys;
        let (family, input) =
            classes.get(position).and_then(|class| opclasses.get(class)).copied().unwrap_or((0, 0));
        let by_bytes = collations.get(position).is_some_and(|collation| byte_collations.contains(collation));
        let option = options.get(position).copied().unwrap_or(0);
        let source = usize::try_from(*table_column).ok().and_then(|number| number.checked_sub(1));
        let source = source.and_then(|index| columns.get(&table)?.get(index));
        let source_is_name = source
            .and_then(|column| column.attribute)
            .is_some_and(|attribute| attribute.length == Length::Fixed(64));
        list.push(IndexColumn {
            table_column: *table_column,
            attribute,
            order: if is_key {
                KeyOrder::of(family, input, own.get(position)?.type_id, by_bytes)
            } else {
                None
            },
            is_key,
            name_as_string: source_is_name && attribute.length == Length::ZeroTerminated,
            descending: option & 1 != 0,
            nulls_first: option & 2 != 0,
        });
    }
    let index = Index {
        table,
        has_expressions: table_columns.contains(&0),
        columns: list,
        unique: row.bool("indisunique")?,
        nulls_not_distinct: row.bool("indnullsnotdistinct").unwrap_or(false),
        usable: row.bool("indisvalid")? && row.bool("indisready")? && row.bool("indislive")?,
        partial: !row.is_null("indpred"),
    };
    Some((id, index))
}
