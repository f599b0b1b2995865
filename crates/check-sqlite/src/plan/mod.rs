//! What is to be proved about each tree: from the definitions in the schema.
//!
//! The definitions are executed in an empty database in memory, where SQLite itself tells the columns, affinities,
//! collations, automatic indexes and defaults. Nothing but definitions is allowed there, and each statement has a
//! bound on its steps.

pub(crate) mod computed;
mod trees;
mod value;
pub(crate) mod wishes;

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use formats::sqlite::{Collation, Encoding, KeyColumn};
use results::check::NotChecked;
use rusqlite::{Connection, types::ValueRef};

use crate::catalog::definitions::{
    Affinity, IndexFacts, Known, TableColumn, VIRTUAL_COLUMN, connection, execute, quoted, strict_classes,
    table_columns, table_indexes,
};
use crate::catalog::expressions::table_text;
use crate::catalog::schema::{SchemaRow, SchemaRows, encode};
use crate::catalog::scratch::{ScratchTable, Wish};
pub(super) use crate::plan::trees::{Feed, Order, Pair, Part, Plans, Rows, StoredColumn, TreePlan};
pub(super) use crate::plan::value::{
    CLASS_BLOB, CLASS_INTEGER, CLASS_NULL, CLASS_REAL, CLASS_TEXT, OwnedValue,
};
use crate::plan::wishes::{Computed, IndexResults, index_wishes, test_wishes};
use crate::source::reader::Brake;

/// Makes the plans of all trees. Tree 0 is sqlite_schema.
pub(super) fn plan(schema: &SchemaRows, encoding: Encoding, schema_format: u32, brake: &Brake) -> Plans {
    let mut planner = Planner {
        brake,
        plans: Plans::default(),
        encoding,
        // EVIDENCE: sqlite fileformat2 1.3.11: formats below 4 ignore DESC
        has_descending: schema_format >= 4,
        tree_by_name: HashMap::new(),
        defaults: RefCell::default(),
    };
    planner.plans.trees.push(TreePlan {
        name: "table sqlite_schema".to_owned(),
        root: 1,
        is_table: Some(true),
        ..TreePlan::default()
    });
    planner.add_trees(schema);
    for part in parts(schema) {
        let outcome = connection().and_then(|mut connection| planner.add_definitions(&part, &mut connection));
        if let Err(error) = outcome {
            planner.gap(
                None,
                "rows and index entries",
                &format!("SQLite could not read the schema: {error}"),
            );
        }
    }
    planner.plans
}

/// The tables in parts of some hundred, each with its indexes: SQLite reads its whole schema for each definition that it
/// executes.
fn parts(schema: &SchemaRows) -> Vec<Vec<&SchemaRow>> {
    let mut parts: Vec<Vec<&SchemaRow>> = vec![Vec::new()];
    let mut part_of: HashMap<String, usize> = HashMap::new();
    for (index, row) in schema.rows.iter().filter(|row| row.is_table).enumerate() {
        let number = index / PART_TABLE_COUNT;
        if number == parts.len() {
            parts.push(Vec::new());
        }
        part_of.insert(row.name.to_ascii_lowercase(), number);
        if let Some(part) = parts.get_mut(number) {
            part.push(row);
        }
    }
    for row in schema.rows.iter().filter(|row| !row.is_table) {
        let number = part_of.get(&row.table_name.to_ascii_lowercase()).copied().unwrap_or(0);
        if let Some(part) = parts.get_mut(number) {
            part.push(row);
        }
    }
    parts
}

/// Tables whose definitions are executed in one database in memory.
const PART_TABLE_COUNT: usize = 200;

struct Planner<'b> {
    brake: &'b Brake,
    plans: Plans,
    encoding: Encoding,
    has_descending: bool,
    tree_by_name: HashMap<String, usize>,
    /// Values of defaults, by their text and the declared type: many columns have the same.
    defaults: RefCell<HashMap<(String, String), OwnedValue>>,
}

impl Planner<'_> {
    fn gap(&mut self, object: Option<&str>, what: &str, why: &str) {
        self.plans.not_checked.push(NotChecked {
            object: object.map(str::to_owned),
            what: what.to_owned(),
            why: why.to_owned(),
            kind: results::check::GapKind::Coverage,
        });
    }

    fn add_trees(&mut self, schema: &SchemaRows) {
        for row in &schema.rows {
            let kind = if row.is_table { "table" } else { "index" };
            self.tree_by_name.insert(row.name.to_ascii_lowercase(), self.plans.trees.len());
            let is_table = if row.is_table { None } else { Some(false) };
            let name = format!("{kind} {}", row.name);
            self.plans.trees.push(TreePlan { name, root: row.root, is_table, ..TreePlan::default() });
        }
    }

    fn add_definitions(&mut self, part: &[&SchemaRow], connection: &mut Connection) -> rusqlite::Result<()> {
        let (tables, indexes): (Vec<&SchemaRow>, Vec<&SchemaRow>) = part.iter().partition(|row| row.is_table);
        if tables.iter().any(|row| row.name.eq_ignore_ascii_case("sqlite_sequence")) {
            // It is there for a table with AUTOINCREMENT, in another part perhaps, or dropped since.
            connection.execute_batch(
                "CREATE TABLE fathom_row(a INTEGER PRIMARY KEY AUTOINCREMENT); DROP TABLE fathom_row",
            )?;
        }
        // By the place of the row: a damaged schema may have two of one name.
        let place = |row: &SchemaRow| (row.page, row.slot);
        let mut refused: HashMap<(u32, usize), String> = HashMap::new();
        for row in tables.iter().chain(&indexes) {
            if self.brake.is_over() {
                return Ok(());
            }
            let definition = match (row.is_table, row.definition.as_deref()) {
                (_, Some(definition)) => definition,
                (true, None) => "",
                // The definition of its table makes it.
                (false, None) => continue,
            };
            if let Err(reason) = execute(connection, definition, row) {
                refused.insert(place(row), reason);
            }
        }
        let known = Known::read(connection)?;
        let foreign_tables: HashSet<String> = tables
            .iter()
            .filter(|row| refused.contains_key(&place(row)))
            .map(|row| row.name.to_ascii_lowercase())
            .collect();
        for row in tables.iter().chain(&indexes) {
            let is_of_foreign = || foreign_tables.contains(&row.table_name.to_ascii_lowercase());
            match refused.get(&place(row)) {
                Some(reason) => self.not_understood(row, reason),
                None if row.definition.is_none() && !row.is_table && is_of_foreign() => {
                    self.not_understood(row, "that of its table is not");
                }
                None if known.has(row) => {}
                None if row.is_table => self.not_understood(row, "it creates no table of that name"),
                None if row.definition.is_some() => {
                    self.not_understood(row, "it creates no index of that name");
                }
                None => self.not_understood(row, "it has none, and no table needs it"),
            }
        }
        let named = indexes.iter();
        let definitions: HashMap<String, &str> = named
            .filter_map(|row| Some((row.name.to_ascii_lowercase(), row.definition.as_deref()?)))
            .collect();
        for row in tables.iter().filter(|row| !refused.contains_key(&place(row)) && known.has(row)) {
            if self.brake.is_over() {
                return Ok(());
            }
            if let Err(error) = self.add_table(row, connection, &known, &definitions) {
                self.gap(Some(&format!("table {}", row.name)), "its rows", &error.to_string());
            }
        }
        Ok(())
    }

    /// Whether SQLite refuses the row is known before; what is not understood here is only not checked.
    fn not_understood(&mut self, row: &SchemaRow, reason: &str) {
        let (kind, what) = if row.is_table { ("table", "its rows") } else { ("index", "its entries") };
        let why = format!("its definition cannot be parsed: {reason}");
        self.gap(Some(&format!("{kind} {}", row.name)), what, &why);
    }

    fn add_table(
        &mut self,
        row: &SchemaRow,
        connection: &Connection,
        known: &Known,
        definitions: &HashMap<String, &str>,
    ) -> rusqlite::Result<()> {
        let Some(&tree) = self.tree_by_name.get(&row.name.to_ascii_lowercase()) else { return Ok(()) };
        let Some((has_rowid, is_strict)) = known.table(&row.name) else { return Ok(()) };
        let columns = table_columns(connection, &row.name)?;
        let indexes = table_indexes(connection, &row.name)?;
        let primary = indexes.iter().find(|index| index.origin == "pk");
        let stored = if has_rowid {
            (0..columns.len())
                .filter(|index| columns.get(*index).is_some_and(|column| column.hidden != VIRTUAL_COLUMN))
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
        rows.rowid_name = alias.and_then(|alias| Some(columns.get(alias)?.name.clone()));
        rows.has_tests = rows
            .columns
            .iter()
            .any(|column| column.is_not_null || column.refuses_numeric_text || column.classes != 0x1f);
        let text = table_text(row.definition.as_deref().unwrap_or_default()).unwrap_or_default();
        let scratch = ScratchTable {
            columns: &columns,
            text: &text,
            stored: &stored,
            alias,
            is_strict,
            encoding: self.encoding,
        };
        let computed = self.computed(&row.name, &scratch, &indexes, definitions);
        rows.evaluation = computed.evaluation;
        let storage = Storage { stored: &stored, alias, tree, has_rowid };
        for (position, index) in indexes.iter().enumerate() {
            if !has_rowid && index.origin == "pk" {
                let order = self.order(index, true);
                if let Some(plan) = self.plans.trees.get_mut(tree) {
                    plan.order = order;
                }
            } else {
                let results = computed.indexes.get(position).cloned().unwrap_or_default();
                self.add_index(index, &storage, &results, &mut rows);
            }
        }
        if let Some(plan) = self.plans.trees.get_mut(tree) {
            plan.is_table = Some(has_rowid);
            plan.rows = Some(rows);
        }
        Ok(())
    }

    /// Plans what is computed for the rows of a table; what cannot be is written down as not checked.
    fn computed(
        &mut self,
        table: &str,
        scratch: &ScratchTable<'_>,
        indexes: &[IndexFacts],
        definitions: &HashMap<String, &str>,
    ) -> Computed {
        let mut wishes = test_wishes(scratch.columns, scratch.text);
        let test_count = wishes.len();
        let mut of_index = Vec::new();
        for index in indexes {
            let (condition, parts) = index_wishes(index, scratch.columns, definitions);
            of_index.push((condition.is_some(), parts.iter().map(|(field, _)| *field).collect::<Vec<_>>()));
            let expressions =
                condition.into_iter().chain(parts.into_iter().map(|(_, expression)| expression));
            wishes.extend(expressions.map(|expression| Wish { expression, test: None, stored_in: None }));
        }
        if wishes.is_empty() {
            return Computed::default();
        }
        let texts: Vec<_> =
            wishes.iter().map(|wish| wish.test.as_ref().map(|test| test.expected.clone())).collect();
        let (evaluation, outcomes) = scratch.plan(wishes);
        for (outcome, text) in outcomes.iter().zip(texts).take(test_count) {
            if let Err(reason) = outcome {
                self.gap(Some(&format!("table {table}")), &text.unwrap_or_default(), reason);
            }
        }
        let mut outcomes = outcomes.into_iter().skip(test_count);
        let of_index = of_index.into_iter().map(|(is_partial, fields)| IndexResults {
            condition: if is_partial { outcomes.next() } else { None },
            parts: fields.into_iter().zip(outcomes.by_ref()).collect(),
        });
        Computed { indexes: of_index.collect(), evaluation }
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
        let key = (text.to_owned(), declared_type.to_owned());
        if let Some(value) = self.defaults.borrow().get(&key) {
            return Ok(value.clone());
        }
        let value = self.computed_default(connection, text, declared_type)?;
        self.defaults.borrow_mut().insert(key, value.clone());
        Ok(value)
    }

    fn computed_default(
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

    fn add_index(
        &mut self,
        index: &IndexFacts,
        storage: &Storage<'_>,
        results: &IndexResults,
        rows: &mut Rows,
    ) {
        let object = format!("index {}", index.name);
        let Some(&index_tree) = self.tree_by_name.get(&index.name.to_ascii_lowercase()) else {
            self.plans.missing.push(index.name.clone());
            return;
        };
        let order = self.order(index, false);
        let mut unknown = None;
        match &results.condition {
            Some(Err(reason)) => {
                let why = format!("it is a partial index whose condition cannot be computed: {reason}");
                self.gap(Some(&object), "rows without entry", &why);
                unknown = Some(format!("the condition cannot be computed: {reason}"));
            }
            None if index.is_partial => {
                let why = "it is a partial index whose condition was not found in its definition";
                self.gap(Some(&object), "rows without entry", why);
                unknown = Some("the condition was not found".to_owned());
            }
            _ => {}
        }
        let condition = results.condition.as_ref().and_then(|result| result.as_ref().ok()).copied();
        let known = index.columns.iter().enumerate();
        let known =
            known.filter_map(|(field, column)| Some((field, storage.part(field, column.column, results)?)));
        let (fields, parts): (Vec<usize>, Vec<Part>) = known.unzip();
        let is_whole = fields.len() == index.columns.len();
        for (_, outcome) in &results.parts {
            if let Err(reason) = outcome {
                let why = format!("they cannot be computed: {reason}; the row's key is compared");
                self.gap(Some(&object), "values of expressions in its entries", &why);
                unknown.get_or_insert_with(|| format!("the expression cannot be computed: {reason}"));
            }
        }
        let is_part = |part: &Part| matches!(part, Part::Computed(_));
        let computed = fields.iter().zip(&parts).filter(|(_, part)| is_part(part));
        let computed_fields: Vec<usize> = computed.map(|(field, _)| *field).collect();
        let pair = self.plans.pairs.len();
        self.plans.pairs.push(Pair {
            table_tree: storage.tree,
            index_tree,
            has_rowid: storage.has_rowid,
            is_computed: condition.is_some() || !computed_fields.is_empty(),
            may_be_in_doubt: condition.is_some() || unknown.is_some() || !computed_fields.is_empty(),
            fields: (!is_whole).then_some(fields),
            computed_fields,
        });
        rows.feeds.push(Feed { pair, parts, condition, unknown });
        if let Some(plan) = self.plans.trees.get_mut(index_tree) {
            plan.order = order;
            plan.entries = Some(pair);
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
    /// The part of a row for a field of an index: column -1 is the rowid.
    fn part(&self, field: usize, column: i64, results: &IndexResults) -> Option<Part> {
        if let Some((_, result)) = results.parts.iter().find(|(computed, _)| *computed == field) {
            return result.as_ref().ok().map(|result| Part::Computed(*result));
        }
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
