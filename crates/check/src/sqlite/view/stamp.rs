//! What tells that a database was changed between two moments, where no lock kept it from being changed.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::beside;

/// Two changes closer than this may have the same time of change: a tick of the kernel's clock is at most 10 ms.
const TICK: Duration = Duration::from_millis(20);
/// Bytes of the WAL's header, which changes when the WAL is started anew.
const WAL_HEADER_BYTES: usize = 32;

/// Length, time of change and identity of the database file; the generation of the WAL; which files there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sqlite) struct Stamp {
    database: Option<FileStamp>,
    wal_header: Option<Vec<u8>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct FileStamp {
    identity: (u64, u64),
    length: u64,
    changed: (i64, i64),
}

impl FileStamp {
    fn of(facts: &Metadata) -> Self {
        Self {
            identity: (facts.dev(), facts.ino()),
            length: facts.len(),
            changed: (facts.mtime(), facts.mtime_nsec()),
        }
    }
}

impl Stamp {
    /// Takes the stamp of a database. Right after a change it waits for a moment, so that a second change right behind
    /// has another time.
    pub(in crate::sqlite) fn new(path: &Path) -> io::Result<Self> {
        let mut facts = std::fs::metadata(path)?;
        let age = facts.modified().ok().and_then(|time| SystemTime::now().duration_since(time).ok());
        if age.is_some_and(|age| age < TICK) {
            std::thread::sleep(TICK);
            facts = std::fs::metadata(path)?;
        }
        Ok(Self { database: Some(FileStamp::of(&facts)), wal_header: wal_header(path)? })
    }

    /// Whether the database is as it was: frames may have been added to the WAL, nothing else may have changed.
    pub(in crate::sqlite) fn is_current(&self, path: &Path) -> bool {
        let database = std::fs::metadata(path).ok().map(|facts| FileStamp::of(&facts));
        let Ok(wal_header) = wal_header(path) else { return false };
        // A WAL that was made meanwhile changes nothing, as long as the database file is the same.
        let is_same_wal = self.wal_header.is_none() || self.wal_header == wal_header;
        database == self.database && is_same_wal
    }
}

/// The header of the WAL; `None` when there is none, or no whole one.
fn wal_header(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = match disk::regular::open(beside(path, "-wal")) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut header = vec![0; WAL_HEADER_BYTES];
    match file.read_exact_at(&mut header, 0) {
        Ok(()) => Ok(Some(header)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}
