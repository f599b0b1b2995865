//! Growing SQLite databases: new files beside an untouched source.

mod catalog;
mod growth;
mod sql;

use std::collections::HashMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use lab::expand::sample::{self, Value};
use lab::expand::{Aim, ExpandError, Grown, GrowthRequest, Kind, Shift, Table, grow, shifts, tag};
use rusqlite::types::ToSqlOutput;
use rusqlite::{Connection, OpenFlags, ToSql};

use catalog::read_catalog;
use growth::{SqliteGrowth, size_bytes};
use sql::{engine, quoted};

/// What the name of the file with the steps of a partial copy ends with.
const SCRATCH: &str = ".steps";

/// What is copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// fathom's own sample schema.
    Sample,
    /// A SQLite database, opened for reading only.
    File(PathBuf),
}

/// Makes `destination` (with several files `destination.1`, `destination.2`, ...) from the source's schema and rows.
///
/// The files must not exist; they bear another name until they are whole. `on_copy` gets the bytes made so far and says
/// whether to go on.
///
/// # Errors
/// What cannot be read, written or copied; nothing half made is left behind.
pub fn expand_file(
    source: &Source,
    destination: &Path,
    wish: &GrowthRequest,
    on_copy: &mut dyn FnMut(u64) -> bool,
) -> Result<Grown, ExpandError> {
    let files = file_names(destination, wish.files.max(1));
    for file in &files {
        if file.exists() {
            return Err(ExpandError::Source {
                place: format!("into \"{}\"", file.display()),
                reason: "it exists already, and fathom changes nothing that it did not make".to_owned(),
            });
        }
    }
    let mut unfinished = Unfinished(Vec::new());
    let origin = match source {
        Source::File(path) if keeps_a_log(path)? => {
            let copy = with_suffix(destination, ".source");
            unfinished.0.push(copy.clone());
            copy_with_log(path, &copy)?;
            Origin { path: copy, is_ours: true }
        }
        Source::File(path) => Origin { path: path.clone(), is_ours: false },
        Source::Sample => {
            let path = with_suffix(destination, ".sample");
            unfinished.0.push(path.clone());
            make_sample(&path, wish.seed).map_err(engine("make the sample in", &path))?;
            Origin { path, is_ours: true }
        }
    };
    let mut grown = Grown::default();
    let mut rows: HashMap<String, u64> = HashMap::new();
    let share_bytes = wish.size_bytes.div_ceil(files.len() as u64);
    for (index, file) in files.iter().enumerate() {
        let path = with_suffix(file, ".unfinished");
        unfinished.0.push(path.clone());
        let part = Part {
            index: index as u64,
            step: files.len() as u64,
            wanted_bytes: wish.size_bytes,
            share_bytes,
            seed: wish.seed,
        };
        unfinished.0.push(with_suffix(&path, SCRATCH));
        let made = fill(&origin, &path, &part, &mut |bytes| on_copy(grown.size_bytes + bytes))?;
        grown.copies += made.copies;
        grown.partial_copies += made.partial_copies;
        grown.size_bytes += made.size_bytes;
        made.rows.into_iter().for_each(|(table, count)| *rows.entry(table).or_default() += count);
    }
    for file in &files {
        let path = with_suffix(file, ".unfinished");
        fs::rename(&path, file).map_err(|source| ExpandError::Io { action: "rename", path, source })?;
    }
    grown.files = files;
    grown.rows = rows.into_iter().collect();
    grown.rows.sort();
    Ok(grown)
}

/// Is the database in the mode of a write-ahead log? Even to read such a file SQLite makes files beside it.
fn keeps_a_log(path: &Path) -> Result<bool, ExpandError> {
    use std::io::Read;
    // EVIDENCE: sqlite fileformat2 1.3.3, bytes 18 and 19: 2 for write-ahead logs
    let mut head = [0; 20];
    let io = |source| ExpandError::Io { action: "read", path: path.to_owned(), source };
    for suffix in ["-wal", "-shm", "-journal"] {
        let path = with_suffix(path, suffix);
        disk::regular::require(&path).map_err(|source| ExpandError::Io { action: "read", path, source })?;
    }
    disk::regular::open(path).and_then(|mut file| file.read_exact(&mut head)).map_err(io)?;
    Ok(head[18] == 2 || head[19] == 2)
}

/// Copies a database and its log, which nobody may write meanwhile.
fn copy_with_log(from: &Path, to: &Path) -> Result<(), ExpandError> {
    let log = with_suffix(from, "-wal");
    let state = || {
        [from, &log]
            .map(|path| fs::metadata(path).and_then(|facts| Ok((facts.len(), facts.modified()?))).ok())
    };
    let before = state();
    let copy = |from: &Path, to: &Path| {
        let io = |source| ExpandError::Io { action: "copy", path: from.to_owned(), source };
        fs::copy(from, to).map(drop).map_err(io)
    };
    copy(from, to)?;
    if log.exists() {
        copy(&log, &with_suffix(to, "-wal"))?;
    }
    if before == state() {
        return Ok(());
    }
    Err(ExpandError::Source {
        place: format!("\"{}\"", from.display()),
        reason: "it was changed while it was copied\nhint: repeat it when no process writes to the source"
            .to_owned(),
    })
}

/// Where rows come from.
struct Origin {
    path: PathBuf,
    /// Did fathom make it?
    is_ours: bool,
}

/// Which copies a file gets: `index`, `index + step`, ... until its share of bytes is there.
struct Part {
    index: u64,
    step: u64,
    /// Bytes of all files together.
    wanted_bytes: u64,
    share_bytes: u64,
    seed: u64,
}

fn fill(
    origin: &Origin,
    path: &Path,
    part: &Part,
    on_copy: &mut dyn FnMut(u64) -> bool,
) -> Result<Grown, ExpandError> {
    let failed = engine("fill", path);
    let Origin { path: origin, is_ours } = origin;
    // VACUUM INTO takes a URI as the file was opened with them.
    let read_only = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let flags = if *is_ours { OpenFlags::default() } else { read_only };
    let source = Connection::open_with_flags(origin, flags).map_err(engine("open", origin))?;
    let tables = read_catalog(&source, origin)?;
    let shifts = shifts(&tables)?;
    // Schema, settings of the file and all, without a byte written to the source.
    source.execute("VACUUM INTO ?1", [format!("file:{}", uri_path(path))]).map_err(engine("copy", origin))?;
    drop(source);
    let connection = Connection::open(path).map_err(engine("open", path))?;
    prepare(&connection, origin, path).map_err(&failed)?;
    let whole_bytes = size_bytes(&connection).map_err(&failed)?;
    let source_rows = source_rows(&connection, &tables).map_err(&failed)?;
    can_grow(origin, part, whole_bytes, source_rows)?;
    let strides = strides(&connection, &tables, &shifts).map_err(&failed)?;
    let had_orphans = orphans(&connection).map_err(&failed)?;
    // A later file begins with another copy than the unshifted one, so that keys are unique over all files; a file whose
    // share is less than the source gets a part of its copy.
    let is_whole = part.index == 0 && whole_bytes <= part.share_bytes;
    if !is_whole {
        empty(&connection, &tables).map_err(&failed)?;
    }
    let mut growing = SqliteGrowth {
        connection: &connection,
        path: path.to_owned(),
        tables: &tables,
        shifts: &shifts,
        strides,
        tag: tag(part.seed, source_rows),
    };
    let aim = Aim {
        wanted_bytes: part.share_bytes,
        first: if is_whole { part.step } else { part.index },
        step: part.step,
        copy_bytes: whole_bytes,
    };
    let growth = grow(&mut growing, &tables, aim, &mut |bytes| match on_copy(bytes) {
        true => Ok(()),
        false => Err(ExpandError::Source {
            place: format!("\"{}\"", path.display()),
            reason: "it was stopped before the size was reached".to_owned(),
        }),
    })?;
    let mut grown = Grown {
        copies: growth.whole_copies + u64::from(is_whole),
        partial_copies: growth.partial_copies,
        size_bytes: growth.size_bytes,
        ..Grown::default()
    };
    if !had_orphans && orphans(&connection).map_err(&failed)? {
        return Err(ExpandError::Source {
            place: format!("\"{}\"", path.display()),
            reason: "a foreign key of a copy leads nowhere".to_owned(),
        });
    }
    grown.rows = counts(&connection, &tables).map_err(&failed)?;
    Ok(grown)
}

/// Refuses a source that is larger than what is wanted, and one without rows.
fn can_grow(origin: &Path, part: &Part, whole_bytes: u64, source_rows: u64) -> Result<(), ExpandError> {
    let place = format!("\"{}\"", origin.display());
    if whole_bytes > part.wanted_bytes {
        return Err(ExpandError::Size { place, wanted_bytes: part.wanted_bytes, source_bytes: whole_bytes });
    }
    if source_rows == 0 {
        return Err(ExpandError::Source { place, reason: "its tables hold no row".to_owned() });
    }
    Ok(())
}

/// Rows of each table that was made.
fn counts(connection: &Connection, tables: &[Table]) -> rusqlite::Result<Vec<(String, u64)>> {
    let count = |table: &Table| {
        let sql = format!("SELECT count(*) FROM main.{}", table.name);
        let count: i64 = connection.query_row(&sql, [], |row| row.get(0))?;
        Ok((table.name.trim_matches('"').to_owned(), count.unsigned_abs()))
    };
    tables.iter().map(count).collect()
}

/// Attaches the source and a file for the steps of a partial copy, and leaves out what only slows down a file that nobody reads yet: flushes, triggers, checks of
/// references row by row.
fn prepare(connection: &Connection, origin: &Path, path: &Path) -> rusqlite::Result<()> {
    let triggers = rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER;
    connection.set_db_config(triggers, false)?;
    connection.execute_batch("PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF")?;
    connection.query_row("PRAGMA journal_mode = MEMORY", [], |_| Ok(()))?;
    let name = format!("file:{}?mode=ro", uri_path(origin));
    connection.execute("ATTACH ?1 AS source", [name])?;
    let scratch = format!("file:{}", uri_path(&with_suffix(path, SCRATCH)));
    connection.execute("ATTACH ?1 AS scratch", [scratch])?;
    connection.execute_batch("PRAGMA scratch.synchronous = OFF")?;
    connection.query_row("PRAGMA scratch.journal_mode = MEMORY", [], |_| Ok(()))
}

/// A path as part of a URI, byte by byte: it need not be UTF-8.
fn uri_path(path: &Path) -> String {
    let mut uri = String::new();
    for &byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri += &format!("%{byte:02X}");
        }
    }
    uri
}

fn empty(connection: &Connection, tables: &[Table]) -> rusqlite::Result<()> {
    let deletes: Vec<String> =
        tables.iter().map(|table| format!("DELETE FROM main.{}", table.name)).collect();
    connection.execute_batch(&format!("BEGIN; {}; COMMIT; VACUUM main", deletes.join("; ")))
}

fn orphans(connection: &Connection) -> rusqlite::Result<bool> {
    connection.prepare("PRAGMA main.foreign_key_check")?.exists([])
}

fn source_rows(connection: &Connection, tables: &[Table]) -> rusqlite::Result<u64> {
    let count = |table: &Table| {
        let sql = format!("SELECT count(*) FROM source.{}", table.name);
        connection.query_row(&sql, [], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs)
    };
    tables.iter().map(count).sum()
}

/// For each shifted number, how far apart copies are: one more than the range of its values, so that none meet.
fn strides(
    connection: &Connection,
    tables: &[Table],
    shifts: &[Vec<Option<Shift>>],
) -> rusqlite::Result<HashMap<Shift, i64>> {
    let mut strides = HashMap::new();
    for shift in shifts.iter().flatten().flatten().filter(|shift| shift.kind == Kind::Integer) {
        let table = &tables[shift.table];
        let column = quoted(&table.columns[shift.column].name);
        let sql = format!("SELECT coalesce(max({column}) - min({column}), 0) + 1 FROM source.{}", table.name);
        strides.insert(*shift, connection.query_row(&sql, [], |row| row.get(0))?);
    }
    Ok(strides)
}

fn make_sample(path: &Path, seed: u64) -> rusqlite::Result<()> {
    let connection = Connection::open(path)?;
    connection.execute_batch("PRAGMA synchronous = OFF; BEGIN")?;
    for table in sample::TABLES {
        let columns = table.columns.replace("BIGINT", "INTEGER").replace("BYTES", "BLOB");
        connection.execute_batch(&format!("CREATE TABLE {} ({columns})", table.name))?;
        for index in table.indexes {
            connection.execute_batch(index)?;
        }
        for row in sample::rows(table.name, seed) {
            let places = vec!["?"; row.len()].join(", ");
            connection
                .prepare_cached(&format!("INSERT INTO {} VALUES ({places})", table.name))?
                .execute(rusqlite::params_from_iter(row.iter().map(Parameter)))?;
        }
    }
    connection.execute_batch("COMMIT")
}

/// A value of the sample as a parameter of a statement.
struct Parameter<'a>(&'a Value);

impl ToSql for Parameter<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self.0 {
            Value::Null => ToSqlOutput::from(rusqlite::types::Null),
            Value::Integer(number) => ToSqlOutput::from(*number),
            Value::Text(text) => ToSqlOutput::from(text.as_str()),
            Value::Bytes(bytes) => ToSqlOutput::from(bytes.as_slice()),
        })
    }
}

fn file_names(destination: &Path, files: u32) -> Vec<PathBuf> {
    match files {
        1 => vec![destination.to_owned()],
        _ => (1..=files).map(|number| with_suffix(destination, &format!(".{number}"))).collect(),
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Files that are not whole yet, removed with whatever lies beside them.
struct Unfinished(Vec<PathBuf>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        for path in &self.0 {
            for suffix in ["", "-journal", "-wal", "-shm"] {
                // Renamed, or never made: both are fine.
                let _ = fs::remove_file(with_suffix(path, suffix));
            }
        }
    }
}
