//! The expressions of a table's definition, computed by SQLite for one row at a time.
//!
//! A database in memory has a table with the same columns, no constraints, and one virtual column for each expression.
//! The values of a row, read from the checked file by this crate, are put in; the results are read. So affinities,
//! collations and functions are SQLite's own, and SQLite never opens the checked file. As virtual columns allow
//! deterministic functions only, an expression that depends on anything but the row is refused, with SQLite's reason.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use formats::sqlite::{Collation, Encoding, Value};
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql};

use crate::rule::Rule;

use super::definitions::{Affinity, TableColumn, VIRTUAL_COLUMN, quoted};
use super::expressions::{TableText, Vocabulary, names, vocabulary};
use super::plan::OwnedValue;
use super::schema::encode;
use super::versions::{Columns, Dependence, make_case_sensitive};

/// Steps of the engine between two looks at whether a row takes too long.
const STEPS_PER_LOOK: i32 = 100_000;
/// Looks after which a row is given up: a million steps; one row of usual length takes some tens.
const LOOKS_MAX: u32 = 10;
/// Longest value that an expression may take or make: a definition may ask for any length.
const VALUE_BYTES_MAX: i32 = 64 << 20;

/// What is computed for each row of a table, and how.
#[derive(Debug, Clone)]
pub(super) struct Evaluation {
    encoding: Encoding,
    /// Statements that make the scratch table.
    making: Vec<String>,
    insert: String,
    select: String,
    /// The columns that the expressions need, by their place in a record; `None` for the rowid.
    pub(super) bound: Vec<Option<usize>>,
    /// The first results: each must be true.
    pub(super) tests: Vec<ValueTest>,
    /// By result: which versions or builds of SQLite may compute another one.
    pub(super) dependences: Vec<Dependence>,
}

/// A result that must be true in each row.
#[derive(Debug, Clone)]
pub(super) struct ValueTest {
    pub(super) rule: &'static Rule,
    /// What is expected, in words.
    pub(super) expected: String,
}

/// An expression to be computed.
#[derive(Debug)]
pub(super) struct Wish {
    pub(super) expression: String,
    pub(super) test: Option<ValueTest>,
    /// The column that must hold the value of the expression, after its affinity; the result tells whether it does.
    pub(super) stored_in: Option<String>,
}

/// A table as far as its expressions need it.
pub(super) struct ScratchTable<'a> {
    pub(super) columns: &'a [TableColumn],
    pub(super) text: &'a TableText,
    /// Columns in the order of the record.
    pub(super) stored: &'a [usize],
    /// The column that is the rowid.
    pub(super) alias: Option<usize>,
    pub(super) is_strict: bool,
    pub(super) encoding: Encoding,
}

impl ScratchTable<'_> {
    /// Plans the computing of expressions. For each wish its place among the results, or why it cannot be had.
    pub(super) fn plan(&self, wishes: Vec<Wish>) -> (Option<Evaluation>, Vec<Result<usize, String>>) {
        let table = match self.create_table() {
            Ok(table) => table,
            Err(reason) => return (None, wishes.iter().map(|_| Err(reason.clone())).collect()),
        };
        let mut making = vec![table];
        let mut tests = Vec::new();
        let mut results = Vec::new();
        let mut taken = Vec::new();
        let made = scratch(self.encoding, false).and_then(|connection| {
            connection.execute_batch(&making.concat())?;
            Ok(connection)
        });
        let connection = match made {
            Ok(connection) => connection,
            Err(error) => return (None, wishes.iter().map(|_| Err(error.to_string())).collect()),
        };
        let mut count = 0;
        for wish in wishes {
            let add = self.statements(&wish, count);
            let select = format!("SELECT {} FROM scratch", result_name(count));
            let outcome = add_column(&connection, &add, &select);
            match outcome {
                Ok(()) => {
                    making.push(add);
                    taken.push(self.taken_by(&wish));
                    tests.extend(wish.test);
                    results.push(Ok(count));
                    count += 1;
                }
                Err(reason) => results.push(Err(reason)),
            }
        }
        let evaluation = (count > 0).then(|| self.evaluation(making, tests, &taken));
        (evaluation, results)
    }

    fn evaluation(
        &self,
        making: Vec<String>,
        tests: Vec<ValueTest>,
        taken: &[(HashSet<String>, Vocabulary)],
    ) -> Evaluation {
        let used: HashSet<&String> = taken.iter().flat_map(|(names, _)| names).collect();
        let needed = self.columns.iter().enumerate().filter(|(_, column)| {
            column.hidden != VIRTUAL_COLUMN && used.contains(&column.name.to_ascii_lowercase())
        });
        let mut bound = Vec::new();
        let mut named = Vec::new();
        let mut columns = Vec::new();
        for (index, column) in needed {
            let place = self.stored.iter().position(|stored| *stored == index);
            if self.alias == Some(index) || place.is_some() {
                bound.push(place.filter(|_| self.alias != Some(index)));
                named.push(quoted(&column.name));
                columns.push(column.name.to_ascii_lowercase());
            }
        }
        let places = vec!["?"; named.len()];
        let insert = if named.is_empty() {
            "INSERT INTO scratch DEFAULT VALUES".to_owned()
        } else {
            format!("INSERT INTO scratch({}) VALUES ({})", named.join(", "), places.join(", "))
        };
        let results: Vec<_> = (0..taken.len()).map(result_name).collect();
        let select = format!("SELECT {} FROM scratch", results.join(", "));
        let dependences = taken.iter().map(|(names, vocabulary)| {
            let places = columns.iter().enumerate().filter(|(_, name)| names.contains(*name));
            let inputs = places.map(|(place, _)| place).collect();
            Dependence::of(vocabulary, inputs, self.columns_taken(names))
        });
        let dependences = dependences.collect();
        Evaluation { encoding: self.encoding, making, insert, select, bound, tests, dependences }
    }

    /// The names that an expression takes, those in the generated columns among them too, and what it is made of.
    fn taken_by(&self, wish: &Wish) -> (HashSet<String>, Vocabulary) {
        let stored_in = wish.stored_in.iter().map(|column| column.to_ascii_lowercase());
        let mut taken: HashSet<String> = names(&wish.expression).chain(stored_in).collect();
        let mut made_of = vocabulary(&wish.expression);
        let mut open: Vec<&TableColumn> = self.columns.iter().collect();
        // Each column is taken up once.
        loop {
            let is_taken = |column: &&TableColumn| taken.contains(&column.name.to_ascii_lowercase());
            let (found, rest): (Vec<_>, Vec<_>) = open.into_iter().partition(is_taken);
            let expressions = found.iter().filter(|column| column.hidden == VIRTUAL_COLUMN);
            for expression in expressions.filter_map(|column| self.generated(column)) {
                taken.extend(names(expression));
                made_of.add(vocabulary(expression));
            }
            if found.is_empty() {
                return (taken, made_of);
            }
            open = rest;
        }
    }

    fn generated(&self, column: &TableColumn) -> Option<&String> {
        let text = self.text.columns.iter().find(|text| text.name.eq_ignore_ascii_case(&column.name));
        text.and_then(|text| text.generated.as_ref())
    }

    /// The statements that add the virtual column of a result.
    fn statements(&self, wish: &Wish, place: usize) -> String {
        let add = |name: &str, declared: &str, expression: &str| {
            format!("ALTER TABLE scratch ADD COLUMN {name} {declared} AS ({expression}\n);")
        };
        let Some(name) = &wish.stored_in else {
            return add(&result_name(place), "", &wish.expression);
        };
        let column = self.columns.iter().find(|column| column.name == *name);
        let declared = column.map(|column| self.declared_type(column)).unwrap_or_default();
        let typed = format!("\"fathom typed {place}\"");
        let compared = format!("{} COLLATE BINARY IS {typed}", quoted(name));
        add(&typed, &declared, &wish.expression) + &add(&result_name(place), "", &compared)
    }

    fn declared_type(&self, column: &TableColumn) -> String {
        // EVIDENCE: sqlite stricttables 2: ANY is no affinity there, and NUMERIC elsewhere
        let is_any = self.is_strict && column.declared_type.eq_ignore_ascii_case("ANY");
        let is_untyped = is_any || column.declared_type.is_empty();
        if is_untyped { String::new() } else { quoted(&column.declared_type) }
    }

    fn columns_taken(&self, names: &HashSet<String>) -> Columns {
        let is_taken = |column: &&TableColumn| names.contains(&column.name.to_ascii_lowercase());
        let mut columns = Columns::default();
        for column in self.columns.iter().filter(is_taken) {
            let declared = column.declared_type.to_ascii_uppercase();
            columns.has_text |= Affinity::of(&declared) == Affinity::Text;
            columns.has_real |=
                column.hidden != 0 && ["REAL", "FLOA", "DOUB"].iter().any(|part| declared.contains(part));
        }
        columns
    }

    /// The columns as they are declared, without constraints; an error when a collation is not built in.
    fn create_table(&self) -> Result<String, String> {
        let mut columns = Vec::new();
        for column in self.columns {
            let text = self.text.columns.iter().find(|text| text.name.eq_ignore_ascii_case(&column.name));
            let collation = match text.and_then(|text| text.collation.as_ref()) {
                Some(name) if Collation::named(name).is_none() => {
                    return Err(format!("collation {name} is defined by the application"));
                }
                Some(name) => format!(" COLLATE {name}"),
                None => String::new(),
            };
            let declared = self.declared_type(column);
            let generated = match text.and_then(|text| text.generated.as_ref()) {
                Some(expression) if column.hidden == VIRTUAL_COLUMN => format!(" AS ({expression}\n)"),
                None if column.hidden == VIRTUAL_COLUMN => {
                    return Err(format!("the expression of column {} was not found", column.name));
                }
                _ => String::new(),
            };
            columns.push(format!("{} {declared}{collation}{generated}", quoted(&column.name)));
        }
        // A table needs one column that is not generated, and its rowid is not looked at.
        columns.insert(0, "\"fathom row\"".to_owned());
        Ok(format!("CREATE TABLE scratch({});", columns.join(", ")))
    }
}

/// Adds a virtual column and proves that it can be read: only then SQLite looks for its functions and collations.
fn add_column(connection: &Connection, add: &str, select: &str) -> Result<(), String> {
    let added = connection.execute_batch("SAVEPOINT wish").and_then(|()| connection.execute_batch(add));
    let readable = added.and_then(|()| connection.prepare(select).map(|_| ()));
    let undo = if readable.is_ok() { "RELEASE wish" } else { "ROLLBACK TO wish; RELEASE wish" };
    let ended = connection.execute_batch(undo);
    readable.and(ended).map_err(|error| {
        let message = match &error {
            rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
            other => other.to_string(),
        };
        message.trim_start_matches("error in table scratch after add column: ").to_owned()
    })
}

fn result_name(index: usize) -> String {
    format!("\"fathom result {index}\"")
}

/// An empty database in memory for definitions and rows of a file in that encoding.
fn scratch(encoding: Encoding, is_case_sensitive: bool) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open_in_memory()?;
    let name = match encoding {
        Encoding::Utf8 => "UTF-8",
        Encoding::Utf16Le => "UTF-16le",
        Encoding::Utf16Be => "UTF-16be",
    };
    connection.execute_batch(&format!("PRAGMA encoding='{name}'; PRAGMA trusted_schema=OFF;"))?;
    if is_case_sensitive {
        make_case_sensitive(&connection)?;
    }
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX)?;
    connection.authorizer(Some(|context: AuthContext<'_>| match context.action {
        AuthAction::Attach { .. }
        | AuthAction::Detach { .. }
        | AuthAction::CreateVtable { .. }
        | AuthAction::Pragma { .. } => Authorization::Deny,
        _ => Authorization::Allow,
    }))?;
    Ok(connection)
}

/// Computes the results of one table's rows. One per worker and table.
pub(super) struct Evaluator {
    connection: Connection,
    looks: Arc<AtomicU32>,
}

impl Evaluator {
    pub(super) fn new(evaluation: &Evaluation) -> Result<Self, String> {
        Self::with(evaluation, false)
    }

    /// One whose LIKE tells small letters from capitals, as a build or a pragma may want it.
    pub(super) fn case_sensitive(evaluation: &Evaluation) -> Result<Self, String> {
        Self::with(evaluation, true)
    }

    fn with(evaluation: &Evaluation, is_case_sensitive: bool) -> Result<Self, String> {
        let looks = Arc::new(AtomicU32::new(0));
        let make = || {
            let mut connection = scratch(evaluation.encoding, is_case_sensitive)?;
            connection.execute_batch(&evaluation.making.concat())?;
            connection.execute_batch("BEGIN")?;
            let seen = looks.clone();
            let is_too_long = move || seen.fetch_add(1, Ordering::Relaxed) >= LOOKS_MAX;
            connection.progress_handler(STEPS_PER_LOOK, Some(is_too_long))?;
            Ok(connection)
        };
        let connection = make().map_err(|error: rusqlite::Error| error.to_string())?;
        Ok(Self { connection, looks })
    }

    /// Computes all results of a row. `values` are those of [`Evaluation::bound`], in its order.
    pub(super) fn evaluate<'v>(
        &self,
        evaluation: &Evaluation,
        values: impl Iterator<Item = Value<'v>>,
        results: &mut Vec<OwnedValue>,
    ) -> Result<(), String> {
        results.clear();
        self.looks.store(0, Ordering::Relaxed);
        let failed = |error: rusqlite::Error| error.to_string();
        let mut insert = self.connection.prepare_cached(&evaluation.insert).map_err(failed)?;
        for (index, value) in values.enumerate() {
            let converted = bound_value(value, evaluation.encoding)?;
            insert.raw_bind_parameter(index + 1, converted).map_err(failed)?;
        }
        insert.raw_execute().map_err(failed)?;
        let computed = self.read(evaluation, results);
        let mut delete = self.connection.prepare_cached("DELETE FROM scratch").map_err(failed)?;
        delete.raw_execute().map_err(failed)?;
        computed
    }

    fn read(&self, evaluation: &Evaluation, results: &mut Vec<OwnedValue>) -> Result<(), String> {
        let failed = |error: rusqlite::Error| error.to_string();
        let mut select = self.connection.prepare_cached(&evaluation.select).map_err(failed)?;
        let count = select.column_count();
        let mut rows = select.raw_query();
        let row = rows.next().map_err(failed)?.ok_or("the row was not kept")?;
        for index in 0..count {
            results.push(match row.get_ref(index).map_err(failed)? {
                ValueRef::Null => OwnedValue::Null,
                ValueRef::Integer(value) => OwnedValue::Integer(value),
                ValueRef::Real(value) => OwnedValue::Real(value),
                ValueRef::Text(bytes) if evaluation.encoding == Encoding::Utf8 => {
                    OwnedValue::Text(bytes.to_vec())
                }
                ValueRef::Text(bytes) => OwnedValue::Text(encode(
                    std::str::from_utf8(bytes).map_err(|_| NOT_UTF_16)?,
                    evaluation.encoding,
                )),
                ValueRef::Blob(bytes) => OwnedValue::Blob(bytes.to_vec()),
            });
        }
        Ok(())
    }
}

const NOT_UTF_16: &str = "a text is not valid UTF-16, so that it cannot be given to SQLite as it is";

/// A value as it is bound: bytes of UTF-8 as they are, valid or not.
pub(super) struct Bound<'v>(ToSqlOutput<'v>);

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.0.clone())
    }
}

pub(super) fn bound_value(value: Value<'_>, encoding: Encoding) -> Result<Bound<'_>, String> {
    let value = match value {
        Value::Null => ToSqlOutput::Borrowed(ValueRef::Null),
        Value::Integer(number) => ToSqlOutput::Borrowed(ValueRef::Integer(number)),
        Value::Real(number) => ToSqlOutput::Borrowed(ValueRef::Real(number)),
        Value::Blob(bytes) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
        Value::Text(bytes) if encoding == Encoding::Utf8 => ToSqlOutput::Borrowed(ValueRef::Text(bytes)),
        Value::Text(bytes) => {
            let unit = |pair: &[u8]| {
                let pair = [pair.first().copied().unwrap_or(0), pair.get(1).copied().unwrap_or(0)];
                if encoding == Encoding::Utf16Be {
                    u16::from_be_bytes(pair)
                } else {
                    u16::from_le_bytes(pair)
                }
            };
            let decoded = char::decode_utf16(bytes.chunks(2).map(unit)).collect::<Result<String, _>>();
            if bytes.len() % 2 != 0 {
                return Err(NOT_UTF_16.to_owned());
            }
            ToSqlOutput::Owned(rusqlite::types::Value::Text(decoded.map_err(|_| NOT_UTF_16.to_owned())?))
        }
    };
    Ok(Bound(value))
}
