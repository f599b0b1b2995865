//! What is to be proved about each tree: from the definitions in the schema.
//!
//! The definitions are executed in an empty database in memory, where SQLite itself tells the columns, affinities,
//! collations, automatic indexes and defaults. Nothing but definitions is allowed there, and each statement has a
//! bound on its steps.

use std::collections::{HashMap, HashSet};

use formats::sqlite::{Collation, Encoding, KeyColumn};
use results::check::NotChecked;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::{Connection, types::ValueRef};

use super::schema::{SchemaRow, SchemaRows, encode};

/// Steps after which a definition is given up; one of usual length takes some hundred.
const STEPS_MAX: i32 = 1_000_000;

/// The storage classes that a column may hold, as bits.
pub(super) const CLASS_INTEGER: u8 = 1;
pub(super) const CLASS_REAL: u8 = 2;
pub(super) const CLASS_TEXT: u8 = 4;
pub(super) const CLASS_BLOB: u8 = 8;
pub(super) const CLASS_NULL: u8 = 16;

/// All trees of a database and the pairs of trees that must match.
#[derive(Debug, Default)]
pub(super) struct Plans {
    pub(super) trees: Vec<TreePlan>,
    pub(super) pairs: Vec<Pair>,
    pub(super) not_checked: Vec<NotChecked>,
    /// Indexes that a table's definition needs and sqlite_schema does not have.
    pub(super) missing: Vec<String>,
    /// Schema rows that cannot be used, with the reason.
    pub(super) unusable: Vec<(SchemaRow, String)>,
}

/// An index and its table.
#[derive(Debug, Clone)]
pub(super) struct Pair {
    pub(super) table_tree: usize,
    pub(super) index_tree: usize,
    /// Whether the last field of an entry is the rowid of its row.
    pub(super) has_rowid: bool,
    /// The fields of an entry that are matched, when others come from expressions; all without.
    pub(super) fields: Option<Vec<usize>>,
}

/// One tree and what is known about its records.
#[derive(Debug, Clone, Default)]
pub(super) struct TreePlan {
    /// `table t` or `index i`.
    pub(super) name: String,
    pub(super) root: u32,
    /// Whether rowids are the keys; `None` when the definition does not tell.
    pub(super) is_table: Option<bool>,
    pub(super) order: Option<Order>,
    pub(super) rows: Option<Rows>,
    /// The pair whose index this is, and the fields of an entry.
    pub(super) entries: Option<usize>,
    pub(super) field_count: Option<usize>,
}

/// The order of the entries of an index or of a table without rowids.
#[derive(Debug, Clone)]
pub(super) struct Order {
    pub(super) columns: Vec<KeyColumn>,
    /// Columns at the front that no two entries share; 0 for none.
    pub(super) unique_columns: usize,
}

/// The rows of a table: tests on their values, and what goes to which index.
#[derive(Debug, Clone, Default)]
pub(super) struct Rows {
    /// Columns in the order in which a record stores them.
    pub(super) columns: Vec<StoredColumn>,
    pub(super) feeds: Vec<Feed>,
    /// Whether a column has a test at all.
    pub(super) has_tests: bool,
}

#[derive(Debug, Clone)]
pub(super) struct StoredColumn {
    pub(super) name: String,
    pub(super) is_not_null: bool,
    /// Classes that a value may have.
    pub(super) classes: u8,
    /// Whether a text that is a number is refused.
    pub(super) refuses_numeric_text: bool,
    /// What a row that ends before this column has.
    pub(super) default: OwnedValue,
}

/// What a row contributes to an index.
#[derive(Debug, Clone)]
pub(super) struct Feed {
    pub(super) pair: usize,
    pub(super) parts: Vec<Part>,
}

/// One field of an index entry, seen from the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Rowid,
    Field(usize),
}

/// A value apart from any page. Text is in the encoding of the file.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum OwnedValue {
    Null,
    Integer(i64),
    Real(f64),
    Text(Vec<u8>),
    Blob(Vec<u8>),
}

/// Makes the plans of all trees. Tree 0 is sqlite_schema.
pub(super) fn plan(schema: &SchemaRows, encoding: Encoding, schema_format: u32) -> Plans {
    let mut planner = Planner {
        plans: Plans::default(),
        encoding,
        // EVIDENCE: sqlite fileformat2 1.3.11: formats below 4 ignore DESC
        has_descending: schema_format >= 4,
        tree_by_name: HashMap::new(),
    };
    planner.plans.trees.push(TreePlan {
        name: "table sqlite_schema".to_owned(),
        root: 1,
        is_table: Some(true),
        ..TreePlan::default()
    });
    planner.add_trees(schema);
    match connection() {
        Ok(mut connection) => planner.add_definitions(schema, &mut connection),
        Err(error) => {
            planner.gap(None, "rows and index entries", &format!("could not start the engine: {error}"))
        }
    }
    planner.plans
}

fn connection() -> rusqlite::Result<Connection> {
    let mut connection = Connection::open_in_memory()?;
    connection
        .execute_batch("PRAGMA writable_schema=ON; PRAGMA trusted_schema=OFF; PRAGMA foreign_keys=OFF;")?;
    // Any collation will do: the database stays empty, only its name is asked for.
    connection.collation_needed(|connection, name| {
        connection.create_collation(name, |left, right| left.cmp(right))
    })?;
    connection.progress_handler(STEPS_MAX, Some(|| true))?;
    Ok(connection)
}

fn allow_definitions(context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::Select
        | AuthAction::Recursive
        | AuthAction::Attach { .. }
        | AuthAction::Detach { .. }
        | AuthAction::CreateVtable { .. }
        | AuthAction::Pragma { .. } => Authorization::Deny,
        _ => Authorization::Allow,
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

struct Planner {
    plans: Plans,
    encoding: Encoding,
    has_descending: bool,
    tree_by_name: HashMap<String, usize>,
}

struct TableColumn {
    name: String,
    declared_type: String,
    is_not_null: bool,
    default: Option<String>,
    key_position: i64,
    hidden: i64,
}

struct IndexColumn {
    column: i64,
    is_descending: bool,
    collation: String,
    is_key: bool,
}

struct IndexFacts {
    name: String,
    is_unique: bool,
    origin: String,
    is_partial: bool,
    columns: Vec<IndexColumn>,
}

impl Planner {
    fn gap(&mut self, object: Option<&str>, what: &str, why: &str) {
        self.plans.not_checked.push(NotChecked {
            object: object.map(str::to_owned),
            what: what.to_owned(),
            why: why.to_owned(),
        });
    }

    fn add_trees(&mut self, schema: &SchemaRows) {
        for row in &schema.rows {
            let kind = if row.is_table { "table" } else { "index" };
            let key = row.name.to_ascii_lowercase();
            if self.tree_by_name.contains_key(&key) {
                self.plans.unusable.push((row.clone(), "another object has the same name".to_owned()));
            }
            self.tree_by_name.insert(key, self.plans.trees.len());
            let is_table = if row.is_table { None } else { Some(false) };
            let name = format!("{kind} {}", row.name);
            self.plans.trees.push(TreePlan { name, root: row.root, is_table, ..TreePlan::default() });
        }
    }

    fn add_definitions(&mut self, schema: &SchemaRows, connection: &mut Connection) {
        let mut tables = Vec::new();
        let mut foreign_tables = HashSet::new();
        for row in schema.rows.iter().filter(|row| row.is_table) {
            let outcome = execute(connection, row.definition.as_deref().unwrap_or_default(), row);
            match outcome {
                Ok(()) if is_known(connection, row) => tables.push(row),
                Ok(()) => self.unusable(row, "its definition makes no table of that name"),
                Err(reason) => {
                    foreign_tables.insert(row.name.to_ascii_lowercase());
                    self.not_understood(row, &reason, is_foreign(&reason));
                }
            }
        }
        for row in schema.rows.iter().filter(|row| !row.is_table) {
            let is_foreign_table = foreign_tables.contains(&row.table_name.to_ascii_lowercase());
            match &row.definition {
                Some(definition) => match execute(connection, definition, row) {
                    Ok(()) if is_known(connection, row) => {}
                    Ok(()) => self.unusable(row, "its definition makes no index of that name"),
                    Err(reason) => self.not_understood(row, &reason, is_foreign_table || is_foreign(&reason)),
                },
                None if is_foreign_table || is_known(connection, row) => {}
                None => self.unusable(row, "it has no definition and no table needs it"),
            }
        }
        for row in tables {
            if let Err(error) = self.add_table(row, connection) {
                self.gap(Some(&format!("table {}", row.name)), "its rows", &error.to_string());
            }
        }
    }

    fn unusable(&mut self, row: &SchemaRow, reason: &str) {
        self.plans.unusable.push((row.clone(), reason.to_owned()));
    }

    /// A definition that needs functions or modules of the application is a gap; any other that SQLite does not take
    /// is damage.
    fn not_understood(&mut self, row: &SchemaRow, reason: &str, is_foreign: bool) {
        let kind = if row.is_table { "table" } else { "index" };
        let why = format!("its definition is not understood: {reason}");
        self.gap(Some(&format!("{kind} {}", row.name)), "its rows or entries", &why);
        if !is_foreign {
            self.unusable(row, &why);
        }
    }

    fn add_table(&mut self, row: &SchemaRow, connection: &Connection) -> rusqlite::Result<()> {
        let Some(&tree) = self.tree_by_name.get(&row.name.to_ascii_lowercase()) else { return Ok(()) };
        let (has_rowid, is_strict) =
            connection.query_row(&format!("PRAGMA table_list({})", quoted(&row.name)), [], |facts| {
                Ok((facts.get::<_, i64>(4)? == 0, facts.get::<_, i64>(5)? != 0))
            })?;
        let columns = table_columns(connection, &row.name)?;
        let indexes = table_indexes(connection, &row.name)?;
        let primary = indexes.iter().find(|index| index.origin == "pk");
        let stored = if has_rowid {
            (0..columns.len())
                .filter(|index| columns.get(*index).is_some_and(|column| column.hidden != 2))
                .collect()
        } else {
            let listed = primary.map(|index| index.columns.as_slice()).unwrap_or_default();
            listed.iter().filter_map(|column| usize::try_from(column.column).ok()).collect::<Vec<_>>()
        };
        let alias = if has_rowid && primary.is_none() {
            columns.iter().position(|column| column.key_position > 0)
        } else {
            None
        };
        let mut rows = Rows::default();
        for &index in &stored {
            let Some(column) = columns.get(index) else { continue };
            rows.columns.push(self.stored_column(connection, column, is_strict, alias == Some(index))?);
        }
        rows.has_tests = rows
            .columns
            .iter()
            .any(|column| column.is_not_null || column.refuses_numeric_text || column.classes != 0x1f);
        let storage = Storage { stored: &stored, alias, tree, has_rowid };
        for index in &indexes {
            if !has_rowid && index.origin == "pk" {
                let order = self.order(index, true);
                if let Some(plan) = self.plans.trees.get_mut(tree) {
                    plan.order = order;
                }
            } else {
                self.add_index(index, &storage, &mut rows);
            }
        }
        if let Some(plan) = self.plans.trees.get_mut(tree) {
            plan.is_table = Some(has_rowid);
            plan.rows = Some(rows);
        }
        let has_check = row.definition.as_deref().is_some_and(|text| text.to_uppercase().contains("CHECK"));
        if has_check {
            self.gap(
                Some(&format!("table {}", row.name)),
                "CHECK constraints",
                "expressions are not evaluated",
            );
        }
        Ok(())
    }

    fn stored_column(
        &self,
        connection: &Connection,
        column: &TableColumn,
        is_strict: bool,
        is_alias: bool,
    ) -> rusqlite::Result<StoredColumn> {
        let affinity = Affinity::of(&column.declared_type);
        // EVIDENCE: sqlite pragma integrity_check; stricttables 2; datatype3 3
        let (classes, refuses_numeric_text) = match (is_strict, affinity) {
            (true, _) => (strict_classes(&column.declared_type), false),
            (false, Affinity::Text) => (CLASS_NULL | CLASS_TEXT | CLASS_BLOB, false),
            (false, Affinity::Numeric) => (0x1f, true),
            (false, Affinity::Blob) => (0x1f, false),
        };
        let default = match &column.default {
            Some(text) => self.default_value(connection, text, &column.declared_type)?,
            None => OwnedValue::Null,
        };
        // The record holds NULL in place of the rowid.
        let (classes, is_not_null) = if is_alias { (0x1f, false) } else { (classes, column.is_not_null) };
        Ok(StoredColumn {
            name: column.name.clone(),
            is_not_null,
            classes,
            refuses_numeric_text: refuses_numeric_text && !is_alias,
            default,
        })
    }

    /// The value that rows have which are older than their column: SQLite's own answer, for a column added to a
    /// table with one row. Defaults that it refuses there are not constant, so that no row can lack them.
    fn default_value(
        &self,
        connection: &Connection,
        text: &str,
        declared_type: &str,
    ) -> rusqlite::Result<OwnedValue> {
        connection.execute_batch(
            "DROP TABLE IF EXISTS temp.fathom_default; CREATE TEMP TABLE fathom_default(x);
             INSERT INTO temp.fathom_default VALUES (1);",
        )?;
        let add = |default: String| {
            let declared = quoted(declared_type);
            let sql = format!("ALTER TABLE temp.fathom_default ADD COLUMN c {declared} DEFAULT {default}");
            connection.prepare(&sql)?.execute([])
        };
        if add(text.to_owned()).or_else(|_| add(format!("({text})"))).is_err() {
            return Ok(OwnedValue::Null);
        }
        connection.query_row("SELECT c FROM temp.fathom_default", [], |row| {
            Ok(match row.get_ref(0)? {
                ValueRef::Null => OwnedValue::Null,
                ValueRef::Integer(value) => OwnedValue::Integer(value),
                ValueRef::Real(value) => OwnedValue::Real(value),
                ValueRef::Text(text) => {
                    OwnedValue::Text(encode(&String::from_utf8_lossy(text), self.encoding))
                }
                ValueRef::Blob(bytes) => OwnedValue::Blob(bytes.to_vec()),
            })
        })
    }

    /// The order of an index; `None`, with the reason written down, when one of its collations is not built in.
    fn order(&mut self, index: &IndexFacts, is_table: bool) -> Option<Order> {
        let mut columns = Vec::new();
        for column in index.columns.iter().filter(|column| !is_table || column.is_key) {
            let Some(collation) = Collation::named(&column.collation) else {
                let why = format!("collation {} is defined by the application", column.collation);
                self.gap(Some(&format!("index {}", index.name)), "order and uniqueness of keys", &why);
                return None;
            };
            columns.push(KeyColumn { collation, is_descending: column.is_descending && self.has_descending });
        }
        let key_count = index.columns.iter().filter(|column| column.is_key).count();
        Some(Order { columns, unique_columns: if index.is_unique { key_count } else { 0 } })
    }

    fn add_index(&mut self, index: &IndexFacts, storage: &Storage<'_>, rows: &mut Rows) {
        let object = format!("index {}", index.name);
        let Some(&index_tree) = self.tree_by_name.get(&index.name.to_ascii_lowercase()) else {
            self.plans.missing.push(index.name.clone());
            return;
        };
        let order = self.order(index, false);
        let known = index.columns.iter().enumerate();
        let known = known.filter_map(|(field, column)| Some((field, storage.part(column.column)?)));
        let (fields, parts): (Vec<usize>, Vec<Part>) = known.unzip();
        let is_whole = fields.len() == index.columns.len();
        let mut pair = None;
        if index.is_partial {
            self.gap(Some(&object), "rows against entries", "it is a partial index");
        } else {
            if !is_whole {
                let why = "it is an index on an expression or on a column that is not stored; the row's key is matched";
                self.gap(Some(&object), "values of expressions in its entries", why);
            }
            pair = Some(self.plans.pairs.len());
            rows.feeds.push(Feed { pair: self.plans.pairs.len(), parts });
            self.plans.pairs.push(Pair {
                table_tree: storage.tree,
                index_tree,
                has_rowid: storage.has_rowid,
                fields: (!is_whole).then_some(fields),
            });
        }
        if let Some(plan) = self.plans.trees.get_mut(index_tree) {
            plan.order = order;
            plan.entries = pair;
            plan.field_count = Some(index.columns.len());
        }
    }
}

/// Where the columns of a table are in its records.
struct Storage<'a> {
    stored: &'a [usize],
    alias: Option<usize>,
    tree: usize,
    has_rowid: bool,
}

impl Storage<'_> {
    /// The part of a row for a column of an index: -1 is the rowid, -2 an expression.
    fn part(&self, column: i64) -> Option<Part> {
        if column == -1 {
            return Some(Part::Rowid);
        }
        let column = usize::try_from(column).ok()?;
        if self.alias == Some(column) {
            return Some(Part::Rowid);
        }
        self.stored.iter().position(|stored| *stored == column).map(Part::Field)
    }
}

fn execute(connection: &mut Connection, definition: &str, row: &SchemaRow) -> Result<(), String> {
    let start: String = definition.chars().take(24).collect::<String>().to_uppercase();
    let is_expected = if row.is_table {
        start.starts_with("CREATE TABLE")
    } else {
        start.starts_with("CREATE INDEX") || start.starts_with("CREATE UNIQUE INDEX")
    };
    if !is_expected {
        return Err("it does not begin with CREATE".to_owned());
    }
    let failed = |error: rusqlite::Error| error.to_string();
    connection.authorizer(Some(allow_definitions)).map_err(failed)?;
    let result = connection.prepare(definition).and_then(|mut statement| statement.execute([]));
    connection.authorizer(None::<fn(AuthContext<'_>) -> Authorization>).map_err(failed)?;
    match result {
        Ok(_) => Ok(()),
        // AUTOINCREMENT in an earlier definition has made it.
        Err(_) if row.name.eq_ignore_ascii_case("sqlite_sequence") => Ok(()),
        Err(error) => Err(failed(error)),
    }
}

/// Whether a definition failed for what only the application has, or for what is forbidden here.
fn is_foreign(reason: &str) -> bool {
    ["no such function", "no such module", "no such collation", "not authorized", "interrupted"]
        .iter()
        .any(|start| reason.contains(start))
}

/// Whether the definitions have made the object of a row.
fn is_known(connection: &Connection, row: &SchemaRow) -> bool {
    let kind = if row.is_table { "table" } else { "index" };
    let sql = "SELECT 1 FROM sqlite_schema WHERE type = ?1 AND lower(name) = lower(?2) AND lower(tbl_name) = lower(?3)";
    connection.query_row(sql, [kind, &row.name, &row.table_name], |_| Ok(())).is_ok()
}

fn table_columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<TableColumn>> {
    let mut statement = connection.prepare(&format!("PRAGMA table_xinfo({})", quoted(table)))?;
    let rows = statement.query_map([], |row| {
        Ok(TableColumn {
            name: row.get(1)?,
            declared_type: row.get(2)?,
            is_not_null: row.get::<_, i64>(3)? != 0,
            default: row.get(4)?,
            key_position: row.get(5)?,
            hidden: row.get(6)?,
        })
    })?;
    rows.collect()
}

fn table_indexes(connection: &Connection, table: &str) -> rusqlite::Result<Vec<IndexFacts>> {
    let mut statement = connection.prepare(&format!("PRAGMA index_list({})", quoted(table)))?;
    let rows = statement.query_map([], |row| {
        Ok(IndexFacts {
            name: row.get(1)?,
            is_unique: row.get::<_, i64>(2)? != 0,
            origin: row.get(3)?,
            is_partial: row.get::<_, i64>(4)? != 0,
            columns: Vec::new(),
        })
    })?;
    let mut indexes = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    for index in &mut indexes {
        let mut statement = connection.prepare(&format!("PRAGMA index_xinfo({})", quoted(&index.name)))?;
        let columns = statement.query_map([], |row| {
            Ok(IndexColumn {
                column: row.get(1)?,
                is_descending: row.get::<_, i64>(3)? != 0,
                collation: row.get::<_, Option<String>>(4)?.unwrap_or_else(|| "BINARY".to_owned()),
                is_key: row.get::<_, i64>(5)? != 0,
            })
        })?;
        index.columns = columns.collect::<rusqlite::Result<_>>()?;
    }
    Ok(indexes)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Affinity {
    Text,
    Blob,
    Numeric,
}

impl Affinity {
    // EVIDENCE: sqlite datatype3 3.1, the five rules in their order; INTEGER, REAL and NUMERIC are one here
    fn of(declared_type: &str) -> Self {
        let name = declared_type.to_ascii_uppercase();
        if name.contains("INT") {
            Self::Numeric
        } else if ["CHAR", "CLOB", "TEXT"].iter().any(|part| name.contains(part)) {
            Self::Text
        } else if name.is_empty() || name.contains("BLOB") {
            Self::Blob
        } else {
            Self::Numeric
        }
    }
}

// EVIDENCE: sqlite stricttables 2
fn strict_classes(declared_type: &str) -> u8 {
    CLASS_NULL
        | match declared_type.to_ascii_uppercase().as_str() {
            "INT" | "INTEGER" => CLASS_INTEGER,
            "REAL" => CLASS_INTEGER | CLASS_REAL,
            "TEXT" => CLASS_TEXT,
            "BLOB" => CLASS_BLOB,
            _ => 0x0f,
        }
}
