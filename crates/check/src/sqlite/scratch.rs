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

use super::definitions::{TableColumn, VIRTUAL_COLUMN, quoted};
use super::expressions::{TableText, names};
use super::plan::OwnedValue;
use super::schema::encode;

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
        let mut used = HashSet::new();
        let made = scratch(self.encoding).and_then(|connection| {
            connection.execute_batch(&making.concat())?;
            Ok(connection)
        });
        let connection = match made {
            Ok(connection) => connection,
            Err(error) => return (None, wishes.iter().map(|_| Err(error.to_string())).collect()),
        };
        let mut count = 0;
        for wish in wishes {
            let add =
                format!("ALTER TABLE scratch ADD COLUMN {} AS ({}\n);", result_name(count), wish.expression);
            let select = format!("SELECT {} FROM scratch", result_name(count));
            let outcome = add_column(&connection, &add, &select);
            match outcome {
                Ok(()) => {
                    making.push(add);
                    used.extend(names(&wish.expression));
                    tests.extend(wish.test);
                    results.push(Ok(count));
                    count += 1;
                }
                Err(reason) => results.push(Err(reason)),
            }
        }
        let generated = self.text.columns.iter().filter_map(|column| column.generated.as_ref());
        used.extend(generated.flat_map(|expression| names(expression)));
        let evaluation = (count > 0).then(|| self.evaluation(making, tests, count, &used));
        (evaluation, results)
    }

    fn evaluation(
        &self,
        making: Vec<String>,
        tests: Vec<ValueTest>,
        result_count: usize,
        used: &HashSet<String>,
    ) -> Evaluation {
        let needed = self.columns.iter().enumerate().filter(|(_, column)| {
            column.hidden != VIRTUAL_COLUMN && used.contains(&column.name.to_ascii_lowercase())
        });
        let mut bound = Vec::new();
        let mut named = Vec::new();
        for (index, column) in needed {
            let place = self.stored.iter().position(|stored| *stored == index);
            if self.alias == Some(index) || place.is_some() {
                bound.push(place.filter(|_| self.alias != Some(index)));
                named.push(quoted(&column.name));
            }
        }
        let places = vec!["?"; named.len()];
        let insert = if named.is_empty() {
            "INSERT INTO scratch DEFAULT VALUES".to_owned()
        } else {
            format!("INSERT INTO scratch({}) VALUES ({})", named.join(", "), places.join(", "))
        };
        let results: Vec<_> = (0..result_count).map(result_name).collect();
        let select = format!("SELECT {} FROM scratch", results.join(", "));
        Evaluation { encoding: self.encoding, making, insert, select, bound, tests }
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
            // EVIDENCE: sqlite stricttables 2: ANY is no affinity there, and NUMERIC elsewhere
            let is_any = self.is_strict && column.declared_type.eq_ignore_ascii_case("ANY");
            let is_untyped = is_any || column.declared_type.is_empty();
            let declared = if is_untyped { String::new() } else { quoted(&column.declared_type) };
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
fn scratch(encoding: Encoding) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open_in_memory()?;
    let name = match encoding {
        Encoding::Utf8 => "UTF-8",
        Encoding::Utf16Le => "UTF-16le",
        Encoding::Utf16Be => "UTF-16be",
    };
    connection.execute_batch(&format!("PRAGMA encoding='{name}'; PRAGMA trusted_schema=OFF;"))?;
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
        let looks = Arc::new(AtomicU32::new(0));
        let make = || {
            let mut connection = scratch(evaluation.encoding)?;
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
struct Bound<'v>(ToSqlOutput<'v>);

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.0.clone())
    }
}

fn bound_value(value: Value<'_>, encoding: Encoding) -> Result<Bound<'_>, String> {
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
