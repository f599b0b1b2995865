//! Catalogs of a database agree: rows of pg_attribute, pg_type, pg_index, pg_sequence and pg_class refer to rows of
//! pg_class that are there, columns are complete, and large objects have their metadata.

mod scan;
mod types;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use formats::postgres::catalog::{Column, Layout, PG_ATTRIBUTE, PG_CLASS, PG_INDEX, PG_NAMESPACE};
use formats::postgres::{Oid, relmap};
use results::check::{CheckLevel, Finding, NotChecked};

use crate::catalog::agreement::scan::Scan;
use crate::catalog::agreement::types::{PG_TYPE, TypedColumn, Types};
use crate::cluster::state::Standing;
use crate::cluster::transactions::{Fate, Transactions};
use crate::finding::file_finding;
use crate::rules;
use crate::run::report::ReportBuilder;

const PG_SEQUENCE: Oid = 2224;
const PG_LARGEOBJECT: Oid = 2613;
const PG_LARGEOBJECT_METADATA: Oid = 2995;
/// Large objects are read for this rule up to so many bytes.
const LARGE_OBJECT_BYTES_MAX: u64 = 1 << 30;
/// Names that one finding lists.
const NAMES_MAX: usize = 5;

/// A row of pg_class, as far as others refer to it.
struct Class {
    /// With the schema, once that is known.
    name: String,
    namespace: Oid,
    kind: u8,
    column_count: i16,
    toast: Oid,
    file_number: Oid,
    is_live: bool,
}

/// What refers to a relation.
#[derive(Default)]
struct References {
    columns: Vec<String>,
    type_name: Option<String>,
    others: BTreeSet<String>,
}

impl ReportBuilder<'_> {
    /// Compares the catalogs of each database. I/O: pg_attribute, pg_class, pg_type, pg_index, pg_sequence, and at level full
    /// the large objects.
    pub(crate) fn check_catalog_agreement(
        &mut self,
        transactions: &Transactions,
        names: &HashMap<Oid, String>,
    ) {
        let cluster = self.cluster;
        let snapshot = cluster.snapshot();
        let is_known = cluster.standing == Standing::Stopped || snapshot.is_some();
        if !is_known
            || self.only.is_some()
            || self.options.is_raw
            || self.options.level < CheckLevel::Structure
        {
            return;
        }
        let scan = Scan { cluster, transactions, snapshot };
        // What pg_database does not name was left behind by an interrupted CREATE or DROP DATABASE.
        let moved = &self.moved_databases;
        let is_named = |oid: &Oid| (names.is_empty() || names.contains_key(oid)) && !moved.contains(oid);
        for (database, directory) in cluster.databases.iter().filter(|(oid, _)| is_named(oid)) {
            let name = names.get(database).cloned().unwrap_or_else(|| database.to_string());
            let mut agreement =
                Agreement { scan, database: *database, name, findings: Vec::new(), gaps: Vec::new() };
            agreement.check(directory, self.options.level);
            agreement.findings.into_iter().for_each(|finding| self.findings.push(finding));
            self.not_checked.append(&mut agreement.gaps);
        }
    }
}

/// Indexes and sequences that have a row, by kind, with whether their catalog was read wholly.
type Described = HashMap<u8, (bool, HashSet<Oid>)>;

/// What pg_attribute says.
#[derive(Default)]
struct Known {
    columns: HashMap<Oid, Vec<Column>>,
    typed: Vec<TypedColumn>,
    /// Relations with columns that may be visible or not.
    open: HashSet<Oid>,
    is_whole: bool,
}

impl Known {
    fn layout(&self, catalog: Oid) -> Layout {
        let mut list = self.columns.get(&catalog).cloned().unwrap_or_default();
        list.sort_by_key(|column| column.number);
        Layout::of_columns(&list)
    }
}

/// File number of a catalog that is visible.
fn file_of(classes: &BTreeMap<Oid, Class>, catalog: Oid) -> Option<Oid> {
    classes.get(&catalog).filter(|class| class.is_live).map(|class| class.file_number)
}

struct Agreement<'a> {
    scan: Scan<'a>,
    database: Oid,
    name: String,
    findings: Vec<Finding>,
    gaps: Vec<NotChecked>,
}

impl Agreement<'_> {
    fn check(&mut self, directory: &Path, level: CheckLevel) -> Option<()> {
        let bytes = self.scan.cluster.tree.read_small(directory.join("pg_filenode.map")).ok()?;
        let mut damage = Vec::new();
        let map: HashMap<Oid, Oid> = relmap::read(&bytes, &mut damage).into_iter().collect();
        let number = |catalog| map.get(&catalog).copied().filter(|_| damage.is_empty());
        let attributes = self.scan.fork(self.database, number(PG_ATTRIBUTE)?)?;
        let known = self.columns(attributes);
        let mut references: BTreeMap<Oid, References> = BTreeMap::new();
        for (relation, list) in &known.columns {
            let names = list.iter().map(|column| column.name.clone()).collect();
            references.entry(*relation).or_default().columns = names;
        }
        let fork = self.scan.fork(self.database, number(PG_CLASS)?)?;
        let class_file = shown(fork);
        let (has_classes, mut classes) = self.classes(fork, &known.layout(PG_CLASS));
        if classes.is_empty() {
            return None;
        }
        let schemas = self.schemas(&known, &classes);
        for class in classes.values_mut() {
            let schema = schemas.get(&class.namespace).map_or("?", String::as_str);
            class.name = format!("{schema}.{}", class.name);
        }
        for class in classes.values().filter(|class| class.is_live && class.toast != 0) {
            let others = &mut references.entry(class.toast).or_default().others;
            others.insert(format!("pg_class.reltoastrelid of {}", class.name));
        }
        let mut types = Types::default();
        if let Some(fork) = self.scan.fork(self.database, number(PG_TYPE)?) {
            types.is_whole = self.scan.rows(fork, &known.layout(PG_TYPE), |row, fate| {
                types.add(row);
                let relation = row.u32("typrelid").filter(|oid| *oid != 0 && fate == Fate::Live);
                if let Some((relation, name)) = relation.zip(row.text("typname")) {
                    let schema = row.u32("typnamespace").and_then(|schema| schemas.get(&schema));
                    let name = format!("{}.{name}", schema.map_or("?", String::as_str));
                    references.entry(relation).or_default().type_name = Some(name);
                }
            });
        }
        let described = self.described(&known, &classes, &mut references);
        if has_classes {
            self.report_missing_classes(&class_file, &classes, &references);
        }
        if known.is_whole {
            self.report_incomplete(&shown(attributes), &classes, &known, &described);
        }
        self.report_types(&shown(attributes), &classes, &known, &types);
        if level == CheckLevel::Full {
            let [data, metadata] = [PG_LARGEOBJECT, PG_LARGEOBJECT_METADATA]
                .map(|catalog| Some((file_of(&classes, catalog)?, known.layout(catalog))));
            self.check_large_objects(data?, metadata?);
        }
        Some(())
    }

    fn columns(&self, fork: &crate::cluster::ForkFiles) -> Known {
        let mut known = Known::default();
        let layout = Layout::of_pg_attribute(self.scan.cluster.major);
        known.is_whole = self.scan.rows(fork, &layout, |row, fate| {
            let Some(column) = row.column().filter(|column| column.number > 0) else { return };
            if fate == Fate::Live {
                known.typed.extend(TypedColumn::read(row));
                known.columns.entry(column.relation).or_default().push(column);
            } else {
                known.open.insert(column.relation);
            }
        });
        known
    }

    fn classes(&self, fork: &crate::cluster::ForkFiles, layout: &Layout) -> (bool, BTreeMap<Oid, Class>) {
        let mut classes: BTreeMap<Oid, Class> = BTreeMap::new();
        let is_whole = self.scan.rows(fork, layout, |row, fate| {
            let read = || {
                let class = Class {
                    name: row.text("relname")?,
                    namespace: row.u32("relnamespace")?,
                    kind: row.u8("relkind")?,
                    column_count: row.i16("relnatts")?,
                    toast: row.u32("reltoastrelid")?,
                    file_number: row.u32("relfilenode")?,
                    is_live: fate == Fate::Live,
                };
                Some((row.u32("oid")?, class))
            };
            if let Some((oid, class)) = read()
                && (class.is_live || !classes.contains_key(&oid))
            {
                classes.insert(oid, class);
            }
        });
        (is_whole, classes)
    }

    fn schemas(&self, known: &Known, classes: &BTreeMap<Oid, Class>) -> HashMap<Oid, String> {
        let mut schemas = HashMap::new();
        let fork = file_of(classes, PG_NAMESPACE).and_then(|number| self.scan.fork(self.database, number));
        if let Some(fork) = fork {
            self.scan.rows(fork, &known.layout(PG_NAMESPACE), |row, _| {
                schemas.extend(row.u32("oid").zip(row.text("nspname")));
            });
        }
        schemas
    }

    /// Indexes and sequences that pg_index and pg_sequence describe, and whether those could be read wholly.
    fn described(
        &self,
        known: &Known,
        classes: &BTreeMap<Oid, Class>,
        references: &mut BTreeMap<Oid, References>,
    ) -> Described {
        let mut described = Described::new();
        let of_kind = [(PG_INDEX, "indexrelid", b'i'), (PG_SEQUENCE, "seqrelid", b'S')];
        for (catalog, column, kind) in of_kind {
            let fork = file_of(classes, catalog).and_then(|number| self.scan.fork(self.database, number));
            let Some(fork) = fork else { continue };
            let mut found = HashSet::new();
            let is_whole = self.scan.rows(fork, &known.layout(catalog), |row, fate| {
                let Some(relation) = row.u32(column) else { return };
                found.insert(relation);
                if fate == Fate::Live {
                    references.entry(relation).or_default().others.insert(column_name(kind).to_owned());
                }
            });
            // A catalog without any rows is a finding of its own.
            if !found.is_empty() {
                described.insert(kind, (is_whole, found));
            }
        }
        described
    }

    fn report(&mut self, file: &str, object: &str, expected: String, found: String) {
        let object = format!("{}.{object}", self.name);
        self.findings.push(file_finding(&rules::CATALOG_AGREEMENT, file, Some(&object), expected, found));
    }

    /// Relations that others name and pg_class does not have.
    fn report_missing_classes(
        &mut self,
        file: &str,
        classes: &BTreeMap<Oid, Class>,
        references: &BTreeMap<Oid, References>,
    ) {
        for (oid, named) in references.iter().filter(|(oid, _)| !classes.contains_key(oid)) {
            let mut by: Vec<String> = Vec::new();
            if !named.columns.is_empty() {
                let shown: Vec<&str> = named.columns.iter().take(NAMES_MAX).map(String::as_str).collect();
                by.push(format!("pg_attribute ({} columns: {})", named.columns.len(), shown.join(", ")));
            }
            by.extend(named.type_name.iter().map(|name| format!("pg_type ({name})")));
            by.extend(named.others.iter().take(NAMES_MAX).cloned());
            let label = named.type_name.clone().unwrap_or_else(|| format!("relation {oid}"));
            let expected = format!("a row with oid {oid} in pg_class");
            self.report(
                file,
                &label,
                expected,
                format!("no such row; it is referenced by {}", by.join(", ")),
            );
        }
    }

    /// Relations whose columns are not all in pg_attribute, indexes without pg_index, sequences without pg_sequence.
    fn report_incomplete(
        &mut self,
        file: &str,
        classes: &BTreeMap<Oid, Class>,
        known: &Known,
        described: &Described,
    ) {
        for (oid, class) in classes.iter().filter(|(oid, class)| class.is_live && !known.open.contains(oid)) {
            let found: BTreeSet<i16> =
                known.columns.get(oid).into_iter().flatten().map(|column| column.number).collect();
            let missing: Vec<String> = (1..=class.column_count)
                .filter(|number| !found.contains(number))
                .take(NAMES_MAX)
                .map(|number| number.to_string())
                .collect();
            if !missing.is_empty() {
                let expected = format!("{} columns in pg_attribute, as in pg_class", class.column_count);
                let found = format!("{}; without column {}", found.len(), missing.join(", "));
                self.report(file, &class.name, expected, found);
            }
            let Some((true, rows)) = described.get(&class.kind) else { continue };
            if !rows.contains(oid) {
                let expected = format!("a row with {} {oid}", column_name(class.kind));
                self.report(file, &class.name, expected, "none".to_owned());
            }
        }
    }

    /// Columns that contradict their types, of relations that are visible.
    fn report_types(&mut self, file: &str, classes: &BTreeMap<Oid, Class>, known: &Known, types: &Types) {
        let is_live =
            |column: &&TypedColumn| classes.get(&column.relation).is_some_and(|class| class.is_live);
        for (relation, expected, found) in types.faults(known.typed.iter().filter(is_live)) {
            let class = relation.and_then(|relation| classes.get(&relation));
            let name = class.map_or_else(|| "pg_catalog.pg_type".to_owned(), |class| class.name.clone());
            self.report(file, &name, expected, found);
        }
    }

    /// Large objects with data and without a row in pg_largeobject_metadata.
    // EVIDENCE: PostgreSQL docs 51.31: pg_largeobject_metadata has a row for each large object; one without data is empty
    fn check_large_objects(&mut self, data: (Oid, Layout), metadata: (Oid, Layout)) -> Option<()> {
        let data_fork = self.scan.fork(self.database, data.0)?;
        if data_fork.segments.iter().map(|segment| segment.part.bytes).sum::<u64>() > LARGE_OBJECT_BYTES_MAX {
            let what = "metadata of large objects";
            let why = "pg_largeobject is larger than 1 GiB: SELECT DISTINCT loid FROM pg_largeobject EXCEPT SELECT oid FROM pg_largeobject_metadata";
            self.gaps.push(NotChecked::coverage(Some(&self.name), what, why));
            return None;
        }
        let mut known = HashSet::new();
        let fork = self.scan.fork(self.database, metadata.0)?;
        let is_whole = self.scan.rows(fork, &metadata.1, |row, _| known.extend(row.u32("oid")));
        let mut without: BTreeMap<Oid, u64> = BTreeMap::new();
        self.scan.rows(data_fork, &data.1, |row, fate| {
            if let Some(id) = row.u32("loid").filter(|id| fate == Fate::Live && !known.contains(id)) {
                *without.entry(id).or_default() += 1;
            }
        });
        for (id, pages) in without.into_iter().filter(|_| is_whole) {
            let object = format!("{}.large object {id}", self.name);
            let expected = format!("a row with oid {id} in pg_largeobject_metadata");
            let found = format!("no such row, but {pages} rows of its data in pg_largeobject");
            let file = shown(fork);
            self.findings.push(file_finding(&rules::LARGE_OBJECT, &file, Some(&object), expected, found));
        }
        Some(())
    }
}

fn column_name(kind: u8) -> &'static str {
    if kind == b'S' { "pg_sequence.seqrelid" } else { "pg_index.indexrelid" }
}

fn shown(fork: &crate::cluster::ForkFiles) -> String {
    fork.segments
        .first()
        .map_or_else(PathBuf::new, |segment| segment.shown.clone())
        .to_string_lossy()
        .into_owned()
}
