//! Growing a PostgreSQL database: a new one beside an untouched source on the same server.

mod copies;
mod source;
pub(crate) mod spread;

use std::collections::HashMap;
use std::path::PathBuf;

use lab::expand::sample::{self, Value};
use lab::expand::{
    self, Aim, Column, ExpandError, Growing, Grown, GrowthRequest, Kind, Reference, Shift, Table, grow,
    shifts,
};

use crate::address;
use crate::control::{Control, identifier, literal};
use crate::expand::spread::{Spread, sql_path};
use crate::external::own_database::{KEPT_MARK, set_comment};
use crate::wire::{Login, WireError};
use copies::Copies;
use source::{SOURCE, engine, number};

/// Rows of the sample in one statement.
const ROWS_PER_STATEMENT: usize = 100;

/// What is copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceDatabase {
    /// fathom's own sample schema.
    Sample,
    /// The database of this name on the server; nobody may be connected to it while it is copied.
    Named(String),
}

/// What is made.
#[derive(Clone, Copy, Debug)]
pub struct NewDatabase<'a> {
    /// Its name, which no database of the server has.
    pub name: &'a str,
    /// Directories, empty and the server's own, that share its tables and indexes; without any they go where the server
    /// keeps databases.
    pub directories: &'a [PathBuf],
}

/// Makes a database on the server of `url` and fills it with copies until it has the size.
///
/// The database must not exist; it is dropped again when anything goes wrong. `on_copy` gets the bytes made so far and
/// says whether to go on.
///
/// # Errors
/// A server that refuses, a database that exists, what cannot be copied.
pub fn expand_database(
    url: &str,
    source: &SourceDatabase,
    new: NewDatabase<'_>,
    wish: &GrowthRequest,
    on_copy: &mut dyn FnMut(u64) -> bool,
) -> Result<Grown, ExpandError> {
    let NewDatabase { name, directories } = new;
    if wish.files > 1 {
        return Err(refused(
            name,
            "--files is for SQLite: PostgreSQL keeps every table and index in files of its own, of 1 GiB each\n\
             hint: leave out --files, and name a --directory for each device that is to share the tables and indexes",
        ));
    }
    for directory in directories {
        sql_path(directory).map_err(|error| refused(name, error.to_string()))?;
    }
    let login = address::parse(url, "fathom-expand").map_err(|error| refused(name, error.to_string()))?;
    // A database cannot be copied from a session inside it.
    let beside =
        if *source == SourceDatabase::Named("postgres".to_owned()) { "template1" } else { "postgres" };
    let mut maintenance = connect(&Login { database: beside.to_owned(), ..login.clone() }, name)?;
    let template = match source {
        SourceDatabase::Sample => String::new(),
        SourceDatabase::Named(source) => format!(" TEMPLATE {}", identifier(source)),
    };
    if let SourceDatabase::Named(source) = source {
        // Before all of it is copied. The server says that there is no such database when it is asked to copy it.
        let sql = format!(
            "SELECT coalesce((SELECT pg_database_size(oid) FROM pg_database WHERE datname = {}), 0)",
            literal(source)
        );
        let bytes = number(&mut maintenance, &sql).map_err(|error| engine("measure", source, error))?;
        if bytes.unsigned_abs() > wish.size_bytes {
            return Err(too_large(source, wish, bytes.unsigned_abs()));
        }
    }
    let create = format!("CREATE DATABASE {}{template}", identifier(name));
    maintenance.work(&create).map_err(|error| engine("make", name, error))?;
    let spread = Spread::make(&mut maintenance, name, directories);
    let grown = match &spread {
        Ok(spread) => {
            let login = Login { database: name.to_owned(), ..login };
            fill(&login, source, (name, spread), wish, on_copy)
        }
        Err(error) => Err(engine("make the tablespaces of", name, error)),
    };
    if grown.is_err() {
        // Ours, a moment old, and of no use to anybody.
        let _ = maintenance.work(&format!("DROP DATABASE {}", identifier(name)));
        spread.iter().for_each(|spread| spread.remove(&mut maintenance));
    }
    maintenance.close();
    grown
}

fn fill(
    login: &Login,
    source: &SourceDatabase,
    (name, spread): (&str, &Spread),
    wish: &GrowthRequest,
    on_copy: &mut dyn FnMut(u64) -> bool,
) -> Result<Grown, ExpandError> {
    let mut control = connect(login, name)?;
    let mark = format!("{KEPT_MARK} expand {}", env!("CARGO_PKG_VERSION"));
    set_comment(&mut control, name, &mark).map_err(|error| refused(name, error.to_string()))?;
    if *source == SourceDatabase::Sample {
        make_sample(&mut control, wish.seed).map_err(|error| engine("make the sample in", name, error))?;
    }
    spread.share_out(&mut control).map_err(|error| engine("share out the tables of", name, error))?;
    let mut grown = copy_all(&mut control, name, wish, on_copy);
    if let Ok(grown) = &mut grown {
        grown.directories =
            spread.bytes(&mut control).map_err(|error| engine("look at the tablespaces of", name, error))?;
    }
    // Before anybody drops the database: a session inside it would keep it.
    control.close();
    grown
}

fn copy_all(
    control: &mut Control,
    name: &str,
    wish: &GrowthRequest,
    on_copy: &mut dyn FnMut(u64) -> bool,
) -> Result<Grown, ExpandError> {
    let failed = |error: WireError| engine("fill", name, error);
    let tables = read_catalog(control).map_err(failed)?;
    if tables.is_empty() {
        return Err(refused(name, "the source has no table"));
    }
    let shifts = shifts(&tables)?;
    let mut first = vec![format!("CREATE SCHEMA {SOURCE}")];
    for (index, table) in tables.iter().enumerate() {
        first.push(format!("CREATE UNLOGGED TABLE {SOURCE}.t{index} AS TABLE {}", table.name));
        // The source's own triggers had their turn when its rows came.
        first.push(format!("ALTER TABLE {} DISABLE TRIGGER USER", table.name));
    }
    for statement in first {
        control.work(&statement).map_err(failed)?;
    }
    let strides = strides(control, &tables, &shifts).map_err(failed)?;
    let source_rows = source_rows(control, &tables).map_err(failed)?;
    if source_rows == 0 {
        return Err(refused(name, "the tables of the source hold no row"));
    }
    let tag = expand::tag(wish.seed, source_rows);
    let growth = {
        let shifts = &shifts;
        let mut copies = Copies { control, name, tables: &tables, shifts, strides, tag };
        let source_bytes = copies.size_bytes()?;
        if source_bytes > wish.size_bytes {
            return Err(too_large(name, wish, source_bytes));
        }
        let copy_bytes = copies.rows_bytes()?;
        let aim = Aim { wanted_bytes: wish.size_bytes, first: 1, step: 1, copy_bytes };
        grow(&mut copies, &tables, aim, &mut |bytes| match on_copy(bytes) {
            true => Ok(()),
            false => Err(refused(name, "it was stopped before the size was reached")),
        })?
    };
    let mut grown =
        Grown { copies: 1 + growth.whole_copies, partial_copies: growth.partial_copies, ..Grown::default() };
    finish(control, &tables).map_err(failed)?;
    for table in &tables {
        let count = number(control, &format!("SELECT count(*) FROM {}", table.name)).map_err(failed)?;
        grown.rows.push((table.name.clone(), count.unsigned_abs()));
    }
    grown.rows.sort();
    let size = "SELECT pg_database_size(current_database())";
    grown.size_bytes = number(control, size).map_err(failed)?.unsigned_abs();
    Ok(grown)
}

/// Removes the rows that were set aside, lets triggers fire again, and takes sequences beyond the new keys.
fn finish(control: &mut Control, tables: &[Table]) -> Result<(), WireError> {
    control.work(&format!("DROP SCHEMA {SOURCE} CASCADE"))?;
    for table in tables {
        control.work(&format!("ALTER TABLE {} ENABLE TRIGGER USER", table.name))?;
        for column in table.columns.iter().filter(|column| column.kind == Kind::Integer) {
            let (owner, own) = (literal(&table.name), literal(&column.name));
            control.work(&format!(
                "SELECT setval(pg_get_serial_sequence({owner}, {own}), (SELECT max({}) FROM {})) \
                 WHERE pg_get_serial_sequence({owner}, {own}) IS NOT NULL",
                identifier(&column.name),
                table.name
            ))?;
        }
    }
    control.work("ANALYZE").map(drop)
}

fn source_rows(control: &mut Control, tables: &[Table]) -> Result<u64, WireError> {
    let mut rows = 0;
    for index in 0..tables.len() {
        rows += number(control, &format!("SELECT count(*) FROM {SOURCE}.t{index}"))?.unsigned_abs();
    }
    Ok(rows)
}

fn strides(
    control: &mut Control,
    tables: &[Table],
    shifts: &[Vec<Option<Shift>>],
) -> Result<HashMap<Shift, i64>, WireError> {
    let mut strides = HashMap::new();
    for shift in shifts.iter().flatten().flatten().filter(|shift| shift.kind == Kind::Integer) {
        let column = identifier(&tables[shift.table].columns[shift.column].name);
        let sql = format!(
            "SELECT coalesce(max({column})::bigint - min({column}), 0) + 1 FROM {SOURCE}.t{}",
            shift.table
        );
        strides.insert(*shift, number(control, &sql)?);
    }
    Ok(strides)
}

/// Ordinary and partitioned tables of all schemas but the server's own; those of extensions stay as they are.
fn read_catalog(control: &mut Control) -> Result<Vec<Table>, WireError> {
    let found = control.query(
        "SELECT c.oid, quote_ident(n.nspname) || '.' || quote_ident(c.relname) FROM pg_class c \
         JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition \
         AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%' AND NOT EXISTS \
         (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e') \
         ORDER BY 2",
    )?;
    let oids: Vec<String> = found.iter().map(|row| text(row, 0)).collect();
    let mut tables = Vec::new();
    // Positions of columns by the server's numbers.
    let mut places: Vec<HashMap<String, usize>> = Vec::new();
    for row in &found {
        let (table, numbers) = read_table(control, &text(row, 0), text(row, 1))?;
        tables.push(table);
        places.push(numbers);
    }
    for own in 0..tables.len() {
        let rows = control.query(&format!(
            "SELECT confrelid, array_to_string(conkey, ','), array_to_string(confkey, ',') FROM pg_constraint \
             WHERE contype = 'f' AND conparentid = 0 AND conrelid = {} ORDER BY oid",
            oids[own]
        ))?;
        for row in rows {
            let Some(other) = oids.iter().position(|oid| *oid == text(&row, 0)) else { continue };
            let (from, to) = (text(&row, 1), text(&row, 2));
            let pairs = from.split(',').zip(to.split(','));
            let columns =
                pairs.filter_map(|(from, to)| Some((*places[own].get(from)?, *places[other].get(to)?)));
            let reference = Reference { columns: columns.collect(), table: other };
            tables[own].references.push(reference);
        }
    }
    Ok(tables)
}

fn read_table(
    control: &mut Control,
    oid: &str,
    name: String,
) -> Result<(Table, HashMap<String, usize>), WireError> {
    let rows = control.query(&format!(
        "SELECT attnum, attname, atttypid FROM pg_attribute WHERE attrelid = {oid} AND attnum > 0 \
         AND NOT attisdropped AND attgenerated = '' ORDER BY attnum"
    ))?;
    let numbers: HashMap<String, usize> =
        rows.iter().enumerate().map(|(place, row)| (text(row, 0), place)).collect();
    let columns =
        rows.iter().map(|row| Column { name: text(row, 1), kind: kind_of(&text(row, 2)) }).collect();
    let rows = control.query(&format!(
        "SELECT indnkeyatts, indkey::text FROM pg_index WHERE indrelid = {oid} AND indisunique AND indisvalid \
         ORDER BY indisprimary DESC, indexrelid"
    ))?;
    // An expression is column 0, which is none: what is unique then depends on the others, or the copy says so.
    let key = |row: &Vec<Option<String>>| {
        let count = text(row, 0).parse().unwrap_or(0);
        text(row, 1).split(' ').take(count).filter_map(|number| numbers.get(number).copied()).collect()
    };
    let keys = rows.iter().map(key).collect();
    // Where the rows are set aside, no column has this name: it is the server's own.
    let identity = vec!["ctid".to_owned()];
    Ok((Table { name, columns, keys, references: Vec::new(), identity }, numbers))
}

/// By the type's number.
// EVIDENCE: PostgreSQL src/include/catalog/pg_type.dat
fn kind_of(type_oid: &str) -> Kind {
    match type_oid {
        "20" | "21" | "23" => Kind::Integer,
        "25" | "1042" | "1043" => Kind::Text,
        "2950" => Kind::Uuid,
        "17" => Kind::Bytes,
        _ => Kind::Other,
    }
}

fn make_sample(control: &mut Control, seed: u64) -> Result<(), WireError> {
    for table in sample::TABLES {
        control.work(&format!(
            "CREATE TABLE {} ({})",
            table.name,
            table.columns.replace("BYTES", "bytea")
        ))?;
        for index in table.indexes {
            control.work(index)?;
        }
        for rows in sample::rows(table.name, seed).chunks(ROWS_PER_STATEMENT) {
            let rows: Vec<String> = rows.iter().map(|row| row_text(row)).collect();
            control.work(&format!("INSERT INTO {} VALUES {}", table.name, rows.join(", ")))?;
        }
    }
    Ok(())
}

fn row_text(row: &[Value]) -> String {
    let value = |value: &Value| match value {
        Value::Null => "NULL".to_owned(),
        Value::Integer(number) => number.to_string(),
        Value::Text(text) => literal(text),
        Value::Bytes(bytes) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("'\\x{digits}'")
        }
    };
    format!("({})", row.iter().map(value).collect::<Vec<_>>().join(", "))
}

fn connect(login: &Login, name: &str) -> Result<Control, ExpandError> {
    let mut control =
        crate::external::connecting::connect(login).map_err(|error| engine("connect for", name, error))?;
    // Has a limit of time, which statements that copy rows have not: a server that is silent from the start is left.
    control.query("SELECT version()").map_err(|error| engine("connect for", name, error))?;
    Ok(control)
}

fn text(row: &[Option<String>], place: usize) -> String {
    row.get(place).cloned().flatten().unwrap_or_default()
}

fn refused(name: &str, reason: impl Into<String>) -> ExpandError {
    ExpandError::Source { place: format!("into database \"{name}\""), reason: reason.into() }
}

fn too_large(name: &str, wish: &GrowthRequest, source_bytes: u64) -> ExpandError {
    let place = format!("database \"{name}\"");
    ExpandError::Size { place, wanted_bytes: wish.size_bytes, source_bytes }
}
