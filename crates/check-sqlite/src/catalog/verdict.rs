//! What SQLite says to all rows of sqlite_schema together: it is given them in an empty database in memory.
//!
//! Only SQLite knows everything for which it calls a schema malformed. So its verdict decides, and the comparison of a row
//! with its definition explains it. A row that is refused is corrected or left out, and the rest is shown to it again, until
//! nothing is refused any more.

use std::collections::{HashMap, HashSet};

use formats::sqlite::Encoding;
use rusqlite::Connection;
use rusqlite::types::Value;

use crate::catalog::ObjectKind;
use crate::catalog::definition::with_new_head;
use crate::catalog::row::{ResolvedRow, StoredRow};
use crate::catalog::schema::{SchemaRow, encode};
use crate::plan::OwnedValue;
use crate::source::reader::Brake;

/// Most rows that are named; SQLite is asked some twenty times for each.
const REFUSED_COUNT_MAX: usize = 100;
/// Indexes that the constraints of one table need, at most, when the name of one is looked for.
const AUTOINDEX_NUMBER_MAX: usize = 64;
/// Root pages of the database in memory; rows share them when there are more.
const ROOT_COUNT: usize = 1 << 15;
/// A root page number that no database has.
const ROOT_OUTSIDE: i64 = 0xffff_fff0;
/// Definitions of tables that SQLite makes itself.
// EVIDENCE: sqlite fileformat2 2.6.2 sqlite_sequence, 2.6.3 sqlite_stat1, 2.6.6 sqlite_stat4
const OWN_TABLES: [(&str, &str); 3] = [
    ("sqlite_sequence", "CREATE TABLE sqlite_sequence(name,seq)"),
    ("sqlite_stat1", "CREATE TABLE sqlite_stat1(tbl,idx,stat)"),
    ("sqlite_stat4", "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)"),
];

/// A row of the schema for which SQLite refuses the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    /// The row, by its place among all rows.
    pub(crate) index: usize,
    /// SQLite's reason, without the name of the object; may be empty.
    pub(crate) reason: String,
    /// Whether the row is right after its correction.
    pub(crate) is_corrected: bool,
    /// Further rows that are refused because this one is missing: how many.
    pub(crate) dependent_count: usize,
}

/// Shows the schema to SQLite; corrects `rows` where that makes it take them. Fails when SQLite cannot be asked, with the
/// reason.
pub(crate) fn verdict(
    rows: &mut [ResolvedRow],
    encoding: Encoding,
    page_count: u32,
    brake: &Brake,
) -> Result<Vec<Refused>, String> {
    let mut judge = Judge::new(rows, encoding, page_count, brake);
    let names: HashSet<String> = rows.iter().map(|row| row.row.name.to_ascii_lowercase()).collect();
    let mut refused: Vec<Refused> = Vec::new();
    let mut first_unknown = 0;
    while refused.len() < REFUSED_COUNT_MAX {
        let Err(reason) = judge.load(rows.len())? else { return Ok(refused) };
        if is_limit(&reason) {
            return Err(reason);
        }
        let (index, reason) = judge.first_refused(first_unknown, rows.len(), reason)?;
        first_unknown = index;
        let Some(row) = rows.get_mut(index) else { return Ok(refused) };
        let name = row.row.table_name.to_ascii_lowercase();
        let cause = judge.missing.get(&name).copied().filter(|_| row.damages.is_empty());
        if let Some(cause) = cause.and_then(|cause| refused.iter_mut().find(|known| known.index == cause)) {
            cause.dependent_count += 1;
            judge.leave_out(index, None);
            continue;
        }
        let is_corrected = judge.correct(index, row, &names)?;
        if !is_corrected {
            judge.leave_out(index, Some(row.row.name.to_ascii_lowercase()));
        }
        refused.push(Refused { index, reason, is_corrected, dependent_count: 0 });
    }
    Ok(refused)
}

/// Whether a reason is about a limit of the SQLite at hand, which the one of the application need not have.
fn is_limit(reason: &str) -> bool {
    ["too many", "too large", "too big", "overflow", "out of memory", "interrupted"]
        .iter()
        .any(|part| reason.contains(part))
}

/// What SQLite is shown: one set of values for each row, `None` for those left out.
struct Judge<'b> {
    brake: &'b Brake,
    shown: Vec<Option<[Value; 5]>>,
    encoding: Encoding,
    /// Names of objects that were left out, and their row.
    missing: HashMap<String, usize>,
}

impl<'b> Judge<'b> {
    fn new(rows: &[ResolvedRow], encoding: Encoding, page_count: u32, brake: &'b Brake) -> Self {
        let shown =
            rows.iter().enumerate().map(|(index, row)| Some(stored_values(index, &row.stored, page_count)));
        Self { brake, shown: shown.collect(), encoding, missing: HashMap::new() }
    }

    fn leave_out(&mut self, index: usize, name: Option<String>) {
        if let Some(shown) = self.shown.get_mut(index) {
            *shown = None;
        }
        if let Some(name) = name {
            self.missing.insert(name, index);
        }
    }

    /// The first row that is refused: all before `known` are taken, and all before `end` are refused for `reason`.
    fn first_refused(&self, known: usize, end: usize, reason: String) -> Result<(usize, String), String> {
        let (mut taken, mut refused, mut reason) = (known, end, reason);
        while taken + 1 < refused {
            let middle = taken + (refused - taken) / 2;
            match self.load(middle)? {
                Ok(()) => taken = middle,
                Err(earlier) => (refused, reason) = (middle, earlier),
            }
        }
        Ok((refused.saturating_sub(1), reason))
    }

    /// Tries to correct a row that is refused; whether SQLite takes it then.
    fn correct(
        &mut self,
        index: usize,
        row: &mut ResolvedRow,
        names: &HashSet<String>,
    ) -> Result<bool, String> {
        let mut candidates = vec![row.row.clone()];
        if let Some((_, sql)) = OWN_TABLES.iter().find(|(name, _)| row.row.name.eq_ignore_ascii_case(name)) {
            candidates.push(SchemaRow { definition: Some((*sql).to_owned()), ..row.row.clone() });
        }
        let sql = row.row.definition.as_deref().unwrap_or_default();
        if let Some(sql) = with_new_head(sql, row.row.kind, &row.row.name) {
            candidates.push(SchemaRow { definition: Some(sql), ..row.row.clone() });
        }
        if row.row.kind == ObjectKind::Index && sql.is_empty() {
            let name = |number| format!("sqlite_autoindex_{}_{number}", row.row.table_name);
            let free =
                (1..=AUTOINDEX_NUMBER_MAX).map(name).find(|name| !names.contains(&name.to_ascii_lowercase()));
            candidates.extend(free.map(|name| SchemaRow { name, ..row.row.clone() }));
        }
        for candidate in candidates {
            let values = corrected_values(index, &candidate, self.encoding);
            if let Some(shown) = self.shown.get_mut(index) {
                *shown = Some(values);
            }
            if self.load(index + 1)?.is_ok() {
                row.row = candidate;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Lets SQLite read the first `count` rows as a schema: its reason when it refuses them.
    fn load(&self, count: usize) -> Result<Result<(), String>, String> {
        if self.brake.is_over() {
            return Err("the check was stopped".to_owned());
        }
        let failed = |error: rusqlite::Error| error.to_string();
        let connection = Connection::open_in_memory().map_err(failed)?;
        let encoding = match self.encoding {
            Encoding::Utf8 => "UTF-8",
            Encoding::Utf16Le => "UTF-16le",
            Encoding::Utf16Be => "UTF-16be",
        };
        // A table without its row leaves pages behind: root pages have to lie inside the database.
        let pad_bytes = (self.shown.len().min(ROOT_COUNT) + 8) * 512;
        let prepare = format!(
            "PRAGMA page_size=512; PRAGMA encoding='{encoding}'; CREATE TABLE pad(x);
             INSERT INTO pad VALUES (zeroblob({pad_bytes})); PRAGMA writable_schema=ON; BEGIN; DELETE FROM sqlite_schema;"
        );
        connection.execute_batch(&prepare).map_err(failed)?;
        let sql = "INSERT INTO sqlite_schema VALUES (?1, ?2, ?3, ?4, ?5)";
        let texts = "INSERT INTO sqlite_schema VALUES (CAST(?1 AS TEXT), CAST(?2 AS TEXT), CAST(?3 AS TEXT), ?4, CAST(?5 AS TEXT))";
        {
            let mut plain = connection.prepare(sql).map_err(failed)?;
            let mut encoded = connection.prepare(texts).map_err(failed)?;
            for row in self.shown.iter().take(count).flatten() {
                // Texts come as bytes in the encoding of the file.
                let is_text = |value: &Value| matches!(value, Value::Blob(_) | Value::Null);
                let [kind, name, table, _, definition] = row;
                let statement = if [kind, name, table, definition].into_iter().all(is_text) {
                    &mut encoded
                } else {
                    &mut plain
                };
                statement.execute(rusqlite::params_from_iter(row)).map_err(failed)?;
            }
        }
        connection.execute_batch("COMMIT; PRAGMA writable_schema=RESET").map_err(failed)?;
        let outcome = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()));
        Ok(outcome.map_err(|error| reason_of(&error)))
    }
}

/// SQLite's reason, without the words that are the same for each.
fn reason_of(error: &rusqlite::Error) -> String {
    let message = match error {
        rusqlite::Error::SqlInputError { msg, .. } | rusqlite::Error::SqliteFailure(_, Some(msg)) => {
            msg.clone()
        }
        error => error.to_string(),
    };
    // EVIDENCE: sqlite prepare.c corruptSchema: "malformed database schema (NAME) - REASON"
    message.split_once(") - ").map_or(String::new(), |(_, reason)| reason.to_owned())
}

/// A number for a root page inside the small database in memory: no two rows of one table have the same.
fn small_root(index: usize) -> i64 {
    i64::try_from(index % ROOT_COUNT).map_or(ROOT_OUTSIDE, |index| index + 2)
}

fn stored_values(index: usize, row: &StoredRow, page_count: u32) -> [Value; 5] {
    let value = |value: &OwnedValue| match value {
        OwnedValue::Null => Value::Null,
        OwnedValue::Integer(number) => Value::Integer(*number),
        OwnedValue::Real(number) => Value::Real(*number),
        OwnedValue::Text(bytes) | OwnedValue::Blob(bytes) => Value::Blob(bytes.clone()),
    };
    let mut values = row.values.each_ref().map(value);
    if let [_, _, _, Value::Integer(root), _] = &mut values
        && *root != 0
    {
        let is_inside = (1..=i64::from(page_count)).contains(root);
        *root = if is_inside { small_root(index) } else { ROOT_OUTSIDE };
    }
    values
}

fn corrected_values(index: usize, row: &SchemaRow, encoding: Encoding) -> [Value; 5] {
    let text = |text: &str| Value::Blob(encode(text, encoding));
    [
        text(row.kind.type_word()),
        text(&row.name),
        text(&row.table_name),
        Value::Integer(if row.kind.has_tree() { small_root(index) } else { 0 }),
        row.definition.as_deref().map_or(Value::Null, text),
    ]
}
