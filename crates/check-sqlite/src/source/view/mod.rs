//! A view of a database that no other process changes while it is checked: the locks that a reader of SQLite holds.
//!
//! ```text
//! database file   a shared lock: no transaction is written into the file in rollback modes, and the last connection in
//!                 WAL mode neither checkpoints nor deletes the WAL when it closes
//! -shm            in WAL mode, read locks 0 and one of 1 to 4: no checkpoint writes into the database file, and the WAL
//!                 is not started anew; writers go on appending to it
//! ```
//!
//! The locks belong to an open file (`F_OFD_SETLK`), not to the process: those of a process are dropped when any
//! descriptor of the file is closed, and the workers open and close it. No byte of any file is written for them. Where the
//! locks cannot be had (a file system without them, a -shm that does not exist yet), [`Stamp`] tells afterwards whether
//! something changed.

mod journal;
mod lock;
pub(crate) mod notice;
mod shared_memory;
mod stamp;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub(crate) use crate::source::view::journal::{Journal, JournalDamage};
use crate::source::view::lock::{Lock, holder, shared};
pub(crate) use crate::source::view::shared_memory::WalIndex;
use crate::source::view::shared_memory::{INITIALISED_BYTE, READ_LOCK_START};
pub(crate) use crate::source::view::stamp::{Change, Stamp};

/// First byte of the locks on the database file.
// EVIDENCE: sqlite os.h, PENDING_BYTE, RESERVED_BYTE, SHARED_FIRST and SHARED_SIZE; fileformat2 1.4
const PENDING_BYTE: u64 = 1 << 30;
const RESERVED_BYTE: u64 = PENDING_BYTE + 1;
const SHARED_FIRST: u64 = PENDING_BYTE + 2;
const SHARED_BYTES: u64 = 510;
/// How long a writer is waited for. A commit takes milliseconds; a VACUUM, or a connection that keeps the file for itself,
/// takes longer and is named.
const WAIT_MAX: Duration = Duration::from_secs(5);
/// Pause between two attempts: shorter than the pauses between transactions of most writers.
const WAIT_STEP: Duration = Duration::from_millis(1);

/// The locks of a reader, held until it is dropped.
#[derive(Debug)]
pub(crate) struct View {
    /// Whether the lock on the database file is held; it belongs to the open file of the page reader.
    is_database_locked: bool,
    /// The open -shm file, whose read locks are held as long as it is open.
    shared_memory: Option<File>,
    /// Whether the read locks of the -shm are held.
    is_wal_locked: bool,
    /// Whether another process has the -shm open, so that its contents are up to date.
    is_live: bool,
    since: Instant,
}

/// Why there is no view: a process that keeps readers out; 0 when it is on another machine or in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeptOut {
    pub(crate) pid: i32,
}

impl View {
    /// Takes the locks on a database file and its -shm; waits for writers, for a bounded time.
    pub(crate) fn new(file: &File, path: &Path, stop: Option<&AtomicBool>) -> Result<Self, KeptOut> {
        let since = Instant::now();
        let mut patience = Patience { deadline: since + WAIT_MAX, stop };
        let is_database_locked = patience.lock(file, PENDING_BYTE, shared_database)?;
        let mut view =
            Self { is_database_locked, shared_memory: None, is_wal_locked: false, is_live: false, since };
        if let Ok(shared_memory) = disk::regular::open(beside(path, "-shm")) {
            view.is_wal_locked = patience.lock(&shared_memory, READ_LOCK_START, shared_wal)?;
            view.is_live = holder(&shared_memory, INITIALISED_BYTE, 1).is_some();
            view.shared_memory = Some(shared_memory);
        }
        Ok(view)
    }

    /// Whether the locks keep every process that follows SQLite's rules from changing what is read.
    pub(crate) fn is_held(&self, is_wal_mode: bool) -> bool {
        self.is_database_locked && (!is_wal_mode || self.is_wal_locked)
    }

    /// What the processes that have the database open know of the WAL; `None` when there is none, so that nothing but
    /// the WAL itself tells.
    pub(crate) fn wal_index(&self) -> Option<WalIndex> {
        let file = self.shared_memory.as_ref().filter(|_| self.is_live && self.is_wal_locked)?;
        WalIndex::read(file)
    }

    /// Whether a process is in a transaction of a rollback mode, so that a journal is its own.
    pub(crate) fn has_writer(file: &File) -> bool {
        holder(file, RESERVED_BYTE, 1).is_some()
    }

    /// How long the locks have been held.
    pub(crate) fn age(&self) -> Duration {
        self.since.elapsed()
    }
}

/// The shared lock of a reader, in SQLite's order: past a writer that waits for readers to end, none begins.
// EVIDENCE: sqlite os_unix.c unixLock: a SHARED lock is taken while PENDING is read-locked, which is then released
fn shared_database(file: &File) -> io::Result<Lock> {
    if shared(file, PENDING_BYTE, 1)? == Lock::Busy {
        return Ok(Lock::Busy);
    }
    let outcome = shared(file, SHARED_FIRST, SHARED_BYTES);
    lock::release(file, PENDING_BYTE, 1)?;
    outcome
}

/// The read locks in the -shm that keep the database file and the WAL as they are.
// EVIDENCE: sqlite walformat 2.3.1 and wal.c walCheckpoint, walRestartLog: a checkpoint writes into the database under an
// exclusive WAL_READ_LOCK(0), and the WAL is started anew under exclusive WAL_READ_LOCK(1) to (4) at once
fn shared_wal(file: &File) -> io::Result<Lock> {
    if shared(file, READ_LOCK_START, 1)? == Lock::Busy {
        return Ok(Lock::Busy);
    }
    // From the last one on: it is the one that readers use least.
    for number in (1..=4).rev() {
        if shared(file, READ_LOCK_START + number, 1)? == Lock::Taken {
            return Ok(Lock::Taken);
        }
    }
    lock::release(file, READ_LOCK_START, 1)?;
    Ok(Lock::Busy)
}

/// How long is waited.
struct Patience<'a> {
    deadline: Instant,
    stop: Option<&'a AtomicBool>,
}

impl Patience<'_> {
    /// Repeats an attempt until the lock is taken (true) or cannot be had on this file at all (false).
    fn lock(
        &mut self,
        file: &File,
        first: u64,
        attempt: impl Fn(&File) -> io::Result<Lock>,
    ) -> Result<bool, KeptOut> {
        loop {
            match attempt(file) {
                Ok(Lock::Taken) => return Ok(true),
                // A file system without such locks: what changes is told by the stamps.
                Err(_) => return Ok(false),
                Ok(Lock::Busy) => {}
            }
            let is_stopped = self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
            if is_stopped || Instant::now() >= self.deadline {
                return Err(KeptOut { pid: holder(file, first, SHARED_BYTES).unwrap_or(0) });
            }
            std::thread::sleep(WAIT_STEP);
        }
    }
}

/// The path of a file that belongs to a database.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
