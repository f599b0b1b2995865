//! What tells that a database was changed between two moments, where no lock kept it from being changed.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use formats::sqlite::{HEADER_SIZE_BYTES, Header};

use crate::source::view::beside;

/// Two changes closer than this may have the same time of change: a tick of the kernel's clock is at most 10 ms.
const TICK: Duration = Duration::from_millis(20);
/// Bytes of the WAL's header, which changes when the WAL is started anew.
const WAL_HEADER_BYTES: usize = 32;

/// Length, time of change and identity of the database file; the generation of the WAL; which files there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stamp {
    database: Option<FileStamp>,
    wal: Option<WalStamp>,
}

/// What was changed since a stamp was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// Nothing that is read.
    Nothing,
    /// The database file, or the WAL by a checkpoint: what is there now is a later state.
    Later,
    /// The database file was removed, replaced by another one, or truncated by something else than SQLite; or the WAL was, or truncated, although no checkpoint
    /// wrote the database: its transactions are lost.
    Lost,
}

/// The generation of the WAL, and how long it was: committed frames stay where they are.
#[derive(Debug, Clone, PartialEq, Eq)]
struct WalStamp {
    header: Vec<u8>,
    identity: (u64, u64),
    length: u64,
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
    pub(crate) fn new(path: &Path) -> io::Result<Self> {
        let mut facts = disk::input::metadata(path)?;
        let age = facts.modified().ok().and_then(|time| SystemTime::now().duration_since(time).ok());
        if age.is_some_and(|age| age < TICK) {
            std::thread::sleep(TICK);
            facts = disk::input::metadata(path)?;
        }
        Ok(Self { database: Some(FileStamp::of(&facts)), wal: wal_stamp(path)? })
    }

    /// What was changed since: frames may have been added to the WAL, nothing else may have changed.
    pub(crate) fn change(&self, path: &Path) -> Change {
        let database = match disk::input::metadata(path) {
            Ok(facts) => Some(FileStamp::of(&facts)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            // The error is in the record of the check, which ends with it.
            Err(_) => return Change::Nothing,
        };
        if database != self.database {
            let identity = |stamp: &Option<FileStamp>| stamp.as_ref().map(|stamp| stamp.identity);
            let is_same_file = identity(&database) == identity(&self.database);
            let length = |stamp: &Option<FileStamp>| stamp.as_ref().map_or(0, |stamp| stamp.length);
            let is_shorter = length(&database) < length(&self.database);
            let is_lost = !is_same_file || is_shorter && lacks_pages(path, length(&database));
            return if is_lost { Change::Lost } else { Change::Later };
        }
        // A WAL that was made meanwhile changes nothing, as long as the database file is the same.
        let Some(before) = &self.wal else { return Change::Nothing };
        match wal_stamp(path) {
            Ok(Some(now)) if now.identity != before.identity => Change::Lost,
            // Started anew: all of its frames had been in the database before.
            Ok(Some(now)) if now.header != before.header => Change::Later,
            Ok(Some(now)) if now.length < before.length => Change::Lost,
            Ok(Some(_)) => Change::Nothing,
            // Truncated by a checkpoint, which had nothing to write.
            Ok(None) if beside(path, "-wal").exists() => Change::Later,
            Ok(None) => Change::Lost,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Change::Lost,
            Err(_) => Change::Nothing,
        }
    }
}

/// Whether a database that became shorter has fewer pages than its header states. SQLite writes the new count before it
/// truncates the file.
// EVIDENCE: sqlite pager.c sqlite3PagerCommitPhaseOne: page 1 is written by pager_write_pagelist, then pager_truncate; wal.c
// walCheckpoint: pages of the WAL are written, then sqlite3OsTruncate
fn lacks_pages(path: &Path, length: u64) -> bool {
    let mut bytes = [0; HEADER_SIZE_BYTES];
    let read = disk::input::File::open(path).and_then(|file| file.read_exact_at(&mut bytes, 0));
    if read.is_err() {
        // An error is in the record of the check. Not even the header is left of a file that ends before it.
        return length < HEADER_SIZE_BYTES as u64;
    }
    let mut is_damaged = false;
    let header = Header::new(&bytes, |_| is_damaged = true);
    !is_damaged
        && header.is_page_count_valid()
        && length < u64::from(header.page_count) * u64::from(header.page_size_bytes)
}

/// The stamp of the WAL; `None` when there is none, or no whole header.
fn wal_stamp(path: &Path) -> io::Result<Option<WalStamp>> {
    let file = match disk::input::File::open(beside(path, "-wal")) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut header = vec![0; WAL_HEADER_BYTES];
    match file.read_exact_at(&mut header, 0) {
        Ok(()) => {
            let facts = file.metadata()?;
            Ok(Some(WalStamp { header, identity: (facts.dev(), facts.ino()), length: facts.len() }))
        }
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}
