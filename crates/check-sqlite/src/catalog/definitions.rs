//! What SQLite understands of the definitions in a schema, asked of an empty database in memory.

use std::collections::{HashMap, HashSet};

use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::types::Null;

use crate::catalog::schema::SchemaRow;
use crate::plan::{CLASS_BLOB, CLASS_INTEGER, CLASS_NULL, CLASS_REAL, CLASS_TEXT};

/// Steps after which a definition is given up; one of usual length takes some hundred.
const STEPS_MAX: i32 = 1_000_000;
/// Functions of the application that one definition may need.
const FOREIGN_FUNCTIONS_MAX: usize = 64;
/// What a function must be to stand in an index or a generated column.
const STAND_IN: FunctionFlags = FunctionFlags::SQLITE_UTF8
    .union(FunctionFlags::SQLITE_DETERMINISTIC)
    .union(FunctionFlags::SQLITE_INNOCUOUS);
/// What `PRAGMA table_xinfo` calls a generated column that is not stored.
// EVIDENCE: sqlite pragma table_xinfo: 2 for VIRTUAL, 3 for STORED
pub(crate) const VIRTUAL_COLUMN: i64 = 2;
pub(crate) const STORED_COLUMN: i64 = 3;

pub(crate) struct TableColumn {
    pub(crate) name: String,
    pub(crate) declared_type: String,
    pub(crate) is_not_null: bool,
    pub(crate) default: Option<String>,
    pub(crate) key_position: i64,
    pub(crate) hidden: i64,
}

pub(crate) struct IndexColumn {
    pub(crate) column: i64,
    pub(crate) is_descending: bool,
    pub(crate) collation: String,
    pub(crate) is_key: bool,
}

pub(crate) struct IndexFacts {
    pub(crate) name: String,
    pub(crate) is_unique: bool,
    pub(crate) origin: String,
    pub(crate) is_partial: bool,
    pub(crate) columns: Vec<IndexColumn>,
}

pub(crate) fn connection() -> rusqlite::Result<Connection> {
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

pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

pub(crate) fn execute(connection: &mut Connection, definition: &str, row: &SchemaRow) -> Result<(), String> {
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
    let run = |connection: &Connection| {
        connection.prepare(definition).and_then(|mut statement| statement.execute([]))
    };
    let mut result = run(connection);
    for _ in 0..FOREIGN_FUNCTIONS_MAX {
        let Some(name) = result.as_ref().err().and_then(missing_function) else { break };
        connection.create_scalar_function(name.as_str(), -1, STAND_IN, |_| Ok(Null)).map_err(failed)?;
        result = run(connection);
    }
    connection.authorizer(None::<fn(AuthContext<'_>) -> Authorization>).map_err(failed)?;
    match result {
        Ok(_) => Ok(()),
        // AUTOINCREMENT in an earlier definition has made it.
        Err(_) if row.name.eq_ignore_ascii_case("sqlite_sequence") => Ok(()),
        Err(error) => Err(failed(error)),
    }
}

/// The function that a definition needs and only the application has. The database stays empty, so that one which is
/// never called can stand in for it.
fn missing_function(error: &rusqlite::Error) -> Option<String> {
    let message = match error {
        rusqlite::Error::SqlInputError { msg, .. } | rusqlite::Error::SqliteFailure(_, Some(msg)) => msg,
        _ => return None,
    };
    Some(message.strip_prefix("no such function: ")?.to_owned())
}

/// The objects that definitions have made: read once, since a schema may have many thousands.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// Type, name and table name.
    objects: HashSet<[String; 3]>,
    /// By name: whether the table has rowids, and whether it is STRICT.
    tables: HashMap<String, (bool, bool)>,
}

impl Known {
    pub(crate) fn read(connection: &Connection) -> rusqlite::Result<Self> {
        let mut known = Self::default();
        let mut statement = connection.prepare("SELECT type, name, tbl_name FROM sqlite_schema")?;
        let rows = statement.query_map([], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?]))?;
        for object in rows {
            known.objects.insert(object?.map(|name: String| name.to_ascii_lowercase()));
        }
        // EVIDENCE: sqlite pragma table_list: schema, name, type, ncol, wr, strict
        let mut statement = connection.prepare("PRAGMA main.table_list")?;
        let rows = statement.query_map([], |row| {
            Ok((row.get::<_, String>(1)?, (row.get::<_, i64>(4)? == 0, row.get::<_, i64>(5)? != 0)))
        })?;
        for table in rows {
            let (name, facts) = table?;
            known.tables.insert(name.to_ascii_lowercase(), facts);
        }
        Ok(known)
    }

    /// Whether the definitions have made the object of a row.
    pub(crate) fn has(&self, row: &SchemaRow) -> bool {
        let kind = if row.is_table { "table" } else { "index" };
        let object = [kind, &row.name, &row.table_name];
        self.objects.contains(&object.map(str::to_ascii_lowercase))
    }

    /// Whether a table has rowids, and whether it is STRICT.
    pub(crate) fn table(&self, name: &str) -> Option<(bool, bool)> {
        self.tables.get(&name.to_ascii_lowercase()).copied()
    }
}

pub(crate) fn table_columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<TableColumn>> {
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

pub(crate) fn table_indexes(connection: &Connection, table: &str) -> rusqlite::Result<Vec<IndexFacts>> {
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
pub(crate) enum Affinity {
    Text,
    Blob,
    Numeric,
}

impl Affinity {
    // EVIDENCE: sqlite datatype3 3.1, the five rules in their order; INTEGER, REAL and NUMERIC are one here
    pub(crate) fn of(declared_type: &str) -> Self {
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
pub(crate) fn strict_classes(declared_type: &str) -> u8 {
    CLASS_NULL
        | match declared_type.to_ascii_uppercase().as_str() {
            "INT" | "INTEGER" => CLASS_INTEGER,
            "REAL" => CLASS_INTEGER | CLASS_REAL,
            "TEXT" => CLASS_TEXT,
            "BLOB" => CLASS_BLOB,
            _ => 0x0f,
        }
}
