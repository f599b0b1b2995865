//! Opening: what kind of file is there, which version, and who may write.

use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::store::StoreError;
use crate::store::redaction::{self, Redaction};

/// Name of the results file within its directory.
pub const RESULTS_FILE: &str = "results.db";

/// Marks the file type in the SQLite header: "FTHM".
pub const APPLICATION_ID: i32 = 0x4654_484D;

/// Newest version of the schema that this fathom reads and writes.
pub const SCHEMA_VERSION: i64 = MIGRATIONS.len() as i64;

/// Statement batches that lead from version n to n + 1; a released one never changes.
pub(super) const MIGRATIONS: [&str; 9] = [
    include_str!("schema.sql"),
    include_str!("schema_2.sql"),
    include_str!("schema_3.sql"),
    include_str!("schema_4.sql"),
    include_str!("schema_5.sql"),
    include_str!("schema_6.sql"),
    include_str!("schema_7.sql"),
    include_str!("schema_8.sql"),
    include_str!("schema_9.sql"),
];

/// The file is made under this name and renamed when whole, so that `results.db` is absent or complete.
const NEW_FILE: &str = "results.db.new";

/// A reader waits this long for a lock of the writer; a commit takes milliseconds, a stalled device seconds.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

const SQLITE_MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// Place of the application id in the header: 4 bytes, big-endian.
// EVIDENCE: sqlite fileformat2 1.3
const APPLICATION_ID_OFFSET: usize = 68;
const HEADER_BYTES: usize = 100;

/// Opens the file for writing; makes the directory and the file when they are absent, migrates an older one.
///
/// Returns what was removed from an older one, too. The caller holds the write lock of the directory.
pub(super) fn writable(directory: &Path) -> Result<(Connection, Option<Redaction>), StoreError> {
    let path = directory.join(RESULTS_FILE);
    require_regular(&path)?;
    if path_exists(&path)? {
        require_results_file(&path)?;
    } else {
        create(directory, &path)?;
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let failed = |error| sqlite_error(&path, error);
    let mut connection = Connection::open_with_flags(&path, flags).map_err(failed)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(failed)?;
    let found = version(&connection).map_err(failed)?;
    require_known_version(&path, found)?;
    connection.pragma_update(None, "journal_mode", "wal").map_err(failed)?;
    // FULL: a run that was reported as stored survives a power cut.
    connection.pragma_update(None, "synchronous", "full").map_err(failed)?;
    connection.pragma_update(None, "foreign_keys", "on").map_err(failed)?;
    // What is replaced or deleted leaves nothing behind in free space.
    connection.pragma_update(None, "secure_delete", "on").map_err(failed)?;
    let removed = migrate(&mut connection, found).map_err(failed)?;
    let is_wiped = redaction::wipe(&connection, BUSY_TIMEOUT).map_err(failed)?;
    Ok((connection, removed.map(|removed| Redaction { is_wiped, ..removed })))
}

/// Opens the file for reading; writes nothing, also not beside a file in a directory that cannot be written. An older
/// file is read as it is: later versions only added tables, and whoever reads those asks for the version.
pub(super) fn read_only(directory: &Path) -> Result<Connection, StoreError> {
    let path = directory.join(RESULTS_FILE);
    require_regular(&path)?;
    if !path_exists(&path)? {
        return Err(StoreError::NoResults { directory: directory.to_owned() });
    }
    require_results_file(&path)?;
    let failed = |error| sqlite_error(&path, error);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(&path, flags).map_err(failed)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(failed)?;
    let found = match version(&connection) {
        Ok(found) => found,
        // A file in WAL mode needs its shared memory file. Where that cannot be made (read-only medium) and no log
        // is left to apply, the file stands still and may be read as it is.
        Err(_) if is_log_absent(&path) => {
            let flags = flags | OpenFlags::SQLITE_OPEN_URI;
            connection = Connection::open_with_flags(immutable_uri(&path), flags).map_err(failed)?;
            version(&connection).map_err(failed)?
        }
        Err(error) => return Err(failed(error)),
    };
    require_known_version(&path, found)?;
    Ok(connection)
}

/// Turns an error of SQLite into the one that tells the user what to do.
pub(super) fn sqlite_error(path: &Path, error: rusqlite::Error) -> StoreError {
    use rusqlite::ErrorCode;
    let path = path.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::Full { path },
        Some(ErrorCode::NotADatabase) => {
            StoreError::NotAResultsFile { path, reason: "SQLite cannot read its header".to_owned() }
        }
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen) => StoreError::NotWritable {
            directory: path.parent().map(Path::to_owned).unwrap_or_default(),
            reason: error.to_string(),
        },
        Some(ErrorCode::SystemIoFailure) if is_of_writing(&error) => {
            StoreError::NotWritten { path, source: error }
        }
        _ => StoreError::Sqlite { path, source: error },
    }
}

/// Did an I/O error come from writing, flushing or truncating?
fn is_of_writing(error: &rusqlite::Error) -> bool {
    use rusqlite::ffi;
    let rusqlite::Error::SqliteFailure(failure, _) = error else { return false };
    let writing = [
        ffi::SQLITE_IOERR_WRITE,
        ffi::SQLITE_IOERR_FSYNC,
        ffi::SQLITE_IOERR_DIR_FSYNC,
        ffi::SQLITE_IOERR_TRUNCATE,
        ffi::SQLITE_IOERR_SHMSIZE,
    ];
    writing.contains(&failure.extended_code)
}

fn create(directory: &Path, path: &Path) -> Result<(), StoreError> {
    let new = directory.join(NEW_FILE);
    // Left by a process that ended here; the lock says that it is gone.
    remove_new_files(&new);
    let made = Connection::open(&new)
        .and_then(|mut connection| {
            connection.pragma_update(None, "application_id", APPLICATION_ID)?;
            migrate(&mut connection, 0)?;
            connection.close().map_err(|(_, error)| error)
        })
        .map_err(|error| sqlite_error(path, error))
        .and_then(|()| {
            fs::rename(&new, path).map_err(|source| StoreError::Io { path: path.to_owned(), source })?;
            // The new name must outlive a power cut as the content does.
            let synced = fs::File::open(directory).and_then(|directory| directory.sync_all());
            synced.map_err(|source| StoreError::Io { path: directory.to_owned(), source })
        });
    if made.is_err() {
        remove_new_files(&new);
    }
    made
}

fn remove_new_files(new: &Path) {
    let mut journal = new.as_os_str().to_owned();
    journal.push("-journal");
    for file in [new, Path::new(&journal)] {
        // Absent is what we want; any other reason comes back when the file is opened.
        let _ = fs::remove_file(file);
    }
}

fn migrate(connection: &mut Connection, found: i64) -> rusqlite::Result<Option<Redaction>> {
    let mut removed = None;
    for (index, statements) in MIGRATIONS.iter().enumerate().skip(found as usize) {
        let transaction = connection.transaction()?;
        transaction.execute_batch(statements)?;
        let version = index as i64 + 1;
        if version == redaction::VERSION {
            removed = redaction::remove(&transaction)?;
        }
        transaction.pragma_update(None, "user_version", version)?;
        transaction.commit()?;
    }
    Ok(removed)
}

pub(super) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

fn require_known_version(path: &Path, found: i64) -> Result<(), StoreError> {
    if found > SCHEMA_VERSION {
        return Err(StoreError::NewerVersion { path: path.to_owned(), found, supported: SCHEMA_VERSION });
    }
    if found < 1 {
        // Version 0 has no tables: `results.db` gets its name only when it has them.
        let reason = format!("its version is {found}");
        return Err(StoreError::NotAResultsFile { path: path.to_owned(), reason });
    }
    Ok(())
}

/// Looks at the header with plain reads, so that a file of somebody else is not touched, not even by SQLite.
fn require_results_file(path: &Path) -> Result<(), StoreError> {
    let mut header = Vec::with_capacity(HEADER_BYTES);
    disk::regular::open(path)
        .and_then(|file| file.take(HEADER_BYTES as u64).read_to_end(&mut header))
        .map_err(|source| StoreError::Io { path: path.to_owned(), source })?;
    let refuse = |reason: String| Err(StoreError::NotAResultsFile { path: path.to_owned(), reason });
    if header.is_empty() {
        return refuse("it is empty".to_owned());
    }
    if header.len() < HEADER_BYTES || !header.starts_with(SQLITE_MAGIC) {
        return refuse("it does not begin as a SQLite file does".to_owned());
    }
    let mut id = [0; 4];
    id.copy_from_slice(&header[APPLICATION_ID_OFFSET..APPLICATION_ID_OFFSET + 4]);
    match i32::from_be_bytes(id) {
        APPLICATION_ID => Ok(()),
        0 => refuse("it is a SQLite file of another application".to_owned()),
        other => refuse(format!("it is a SQLite file of another application (id {other:#010x})")),
    }
}

/// Refuses pipes, sockets and devices in the place of the file, or of those that SQLite has beside it: SQLite would wait
/// for them.
fn require_regular(path: &Path) -> Result<(), StoreError> {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let mut beside = path.as_os_str().to_owned();
        beside.push(suffix);
        let path = PathBuf::from(beside);
        disk::regular::require(&path).map_err(|source| StoreError::Io { path, source })?;
    }
    Ok(())
}

fn path_exists(path: &Path) -> Result<bool, StoreError> {
    match fs::metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(source) => Err(StoreError::Io { path: path.to_owned(), source }),
    }
}

fn is_log_absent(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    fs::metadata(PathBuf::from(log)).map_or(true, |log| log.len() == 0)
}

/// Writes the path as a URI that tells SQLite that nobody changes the file.
fn immutable_uri(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let mut uri = "file:".to_owned();
    for &byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte) {
            uri.push(byte as char);
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri.push_str("?immutable=1");
    uri
}
