//! The expressions of a table's definition, computed by SQLite for one row at a time.
//!
//! A database in memory has a table with the columns that the expressions name, no constraints, and one virtual column for
//! each expression ([`ScratchTable`]); where these are more than a table can have, several tables.
//! The values of a row, read from the checked file by this crate, are put in; the results are read. So affinities,
//! collations and functions are SQLite's own, and SQLite never opens the checked file. As virtual columns allow
//! deterministic functions only, an expression that depends on anything but the row is refused, with SQLite's reason.

mod database;
mod evaluation;
mod planning;
mod table;
mod trials;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use formats::sqlite::{Encoding, Value};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql};

use crate::catalog::schema::encode;
use crate::catalog::scratch::database::scratch;
use crate::catalog::scratch::evaluation::Part;
pub(crate) use crate::catalog::scratch::evaluation::{Evaluation, ValueTest, Wish};
pub(crate) use crate::catalog::scratch::table::ScratchTable;
use crate::plan::OwnedValue;

/// Steps of the engine between two looks at whether a row takes too long.
const STEPS_PER_LOOK: i32 = 100_000;
/// Looks after which a row is given up: a million steps; one row of usual length takes some tens.
const LOOKS_MAX: u32 = 10;

/// Computes the results of one table's rows. One per worker and table.
pub(crate) struct Evaluator {
    connection: Connection,
    looks: Arc<AtomicU32>,
}

impl Evaluator {
    pub(crate) fn new(evaluation: &Evaluation) -> Result<Self, String> {
        Self::with(evaluation, false)
    }

    /// One whose LIKE tells small letters from capitals, as a build or a pragma may want it.
    pub(crate) fn case_sensitive(evaluation: &Evaluation) -> Result<Self, String> {
        Self::with(evaluation, true)
    }

    fn with(evaluation: &Evaluation, is_case_sensitive: bool) -> Result<Self, String> {
        let looks = Arc::new(AtomicU32::new(0));
        let make = || {
            let mut connection = scratch(evaluation.encoding, is_case_sensitive)?;
            // Three statements for each part.
            connection.set_prepared_statement_cache_capacity(3 * evaluation.parts.len().max(16));
            for part in &evaluation.parts {
                connection.execute_batch(&part.making)?;
            }
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
    pub(crate) fn evaluate<'v>(
        &self,
        evaluation: &Evaluation,
        values: impl Iterator<Item = Value<'v>>,
        results: &mut Vec<OwnedValue>,
    ) -> Result<(), String> {
        results.clear();
        self.looks.store(0, Ordering::Relaxed);
        let values: Vec<Value<'v>> = values.collect();
        evaluation.parts.iter().try_for_each(|part| self.part(evaluation.encoding, part, &values, results))
    }

    /// Computes the results of one scratch table.
    fn part(
        &self,
        encoding: Encoding,
        part: &Part,
        values: &[Value<'_>],
        results: &mut Vec<OwnedValue>,
    ) -> Result<(), String> {
        let failed = |error: rusqlite::Error| error.to_string();
        let mut insert = self.connection.prepare_cached(&part.insert).map_err(failed)?;
        for (index, input) in part.inputs.iter().enumerate() {
            let value = values.get(*input).copied().unwrap_or(Value::Null);
            insert.raw_bind_parameter(index + 1, bound_value(value, encoding)?).map_err(failed)?;
        }
        insert.raw_execute().map_err(failed)?;
        let computed = self.read(encoding, &part.select, results);
        let mut delete = self.connection.prepare_cached(&part.delete).map_err(failed)?;
        delete.raw_execute().map_err(failed)?;
        computed
    }

    fn read(&self, encoding: Encoding, select: &str, results: &mut Vec<OwnedValue>) -> Result<(), String> {
        let failed = |error: rusqlite::Error| error.to_string();
        let mut select = self.connection.prepare_cached(select).map_err(failed)?;
        let count = select.column_count();
        let mut rows = select.raw_query();
        let row = rows.next().map_err(failed)?.ok_or("the row was not inserted")?;
        for index in 0..count {
            results.push(match row.get_ref(index).map_err(failed)? {
                ValueRef::Null => OwnedValue::Null,
                ValueRef::Integer(value) => OwnedValue::Integer(value),
                ValueRef::Real(value) => OwnedValue::Real(value),
                ValueRef::Text(bytes) if encoding == Encoding::Utf8 => OwnedValue::Text(bytes.to_vec()),
                ValueRef::Text(bytes) => {
                    OwnedValue::Text(encode(std::str::from_utf8(bytes).map_err(|_| NOT_UTF_16)?, encoding))
                }
                ValueRef::Blob(bytes) => OwnedValue::Blob(bytes.to_vec()),
            });
        }
        Ok(())
    }
}

const NOT_UTF_16: &str = "a text is not valid UTF-16, so it cannot be passed to SQLite";

/// A value as it is bound: bytes of UTF-8 as they are, valid or not.
pub(crate) struct Bound<'v>(ToSqlOutput<'v>);

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.0.clone())
    }
}

pub(crate) fn bound_value(value: Value<'_>, encoding: Encoding) -> Result<Bound<'_>, String> {
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
