//! What the waits of SQLite mean, by its manual.

use results::EngineId;
use results::observations::{EngineWaits, Limit, WaitClass, WaitEntry};

/// All that is known of them.
pub(crate) static WAITS: EngineWaits = EngineWaits {
    engine: EngineId::Sqlite,
    entries: &ENTRIES,
    classes: &CLASSES,
    device_work: &[(Limit::Log, "vfs:WalSync")],
    reads: &["vfs:DataFileRead"],
    shown_by: &[
        (Limit::Log, "`vfs:WalSync`"),
        (Limit::Lock, "`vfs:BusyWait`"),
        (Limit::DataDevice, "`vfs:DataFileRead`"),
        (Limit::Cpu, "`vfs:BusyWait` (one writer)"),
    ],
};

const ENTRIES: [WaitEntry; 21] = [
    WaitEntry::new(
        "vfs",
        "WalSync",
        Limit::Log,
        "flushes the WAL, at every commit when synchronous is full",
        "SQLite documentation, wal.html and pragma.html#pragma_synchronous",
    ),
    WaitEntry::new(
        "vfs",
        "WalWrite",
        Limit::Log,
        "writes pages of its transaction to the WAL",
        "SQLite documentation, wal.html",
    ),
    WaitEntry::new(
        "vfs",
        "WalRead",
        Limit::Log,
        "reads a page from the WAL, because it is newer than in the database",
        "SQLite documentation, wal.html#how_wal_works",
    ),
    WaitEntry::new(
        "vfs",
        "WalCheckpointSync",
        Limit::Log,
        "flushes the WAL before a checkpoint",
        "SQLite documentation, wal.html#checkpointing",
    ),
    WaitEntry::new(
        "vfs",
        "WalTruncate",
        Limit::Log,
        "truncates the WAL after a checkpoint",
        "SQLite documentation, pragma.html#pragma_wal_checkpoint",
    ),
    WaitEntry::new(
        "vfs",
        "JournalWrite",
        Limit::Log,
        "writes original pages to the rollback journal",
        "SQLite documentation, lockingv3.html#rollback",
    ),
    WaitEntry::new(
        "vfs",
        "JournalSync",
        Limit::Log,
        "flushes the rollback journal before the database is changed",
        "SQLite documentation, lockingv3.html#rollback",
    ),
    WaitEntry::new(
        "vfs",
        "JournalRead",
        Limit::Log,
        "reads the rollback journal",
        "SQLite documentation, lockingv3.html#rollback",
    ),
    WaitEntry::new(
        "vfs",
        "JournalTruncate",
        Limit::Log,
        "ends a transaction by truncating the rollback journal",
        "SQLite documentation, pragma.html#pragma_journal_mode",
    ),
    WaitEntry::new(
        "vfs",
        "JournalDelete",
        Limit::Log,
        "ends a transaction by deleting the rollback journal",
        "SQLite documentation, pragma.html#pragma_journal_mode",
    ),
    WaitEntry::new(
        "vfs",
        "JournalOpen",
        Limit::Log,
        "creates a rollback journal",
        "SQLite documentation, lockingv3.html#rollback",
    ),
    WaitEntry::new(
        "vfs",
        "DataFileRead",
        Limit::DataDevice,
        "reads a page of the database file",
        "SQLite documentation, atomiccommit.html",
    ),
    WaitEntry::new(
        "vfs",
        "DataFileWrite",
        Limit::DataDevice,
        "writes a page of the database file: a checkpoint, or a commit with a rollback journal",
        "SQLite documentation, wal.html#checkpointing",
    ),
    WaitEntry::new(
        "vfs",
        "DataFileSync",
        Limit::DataDevice,
        "flushes the database file: the end of a checkpoint, or a commit with a rollback journal",
        "SQLite documentation, wal.html#checkpointing",
    ),
    WaitEntry::new(
        "vfs",
        "DataFileTruncate",
        Limit::DataDevice,
        "truncates the database file",
        "SQLite documentation, pragma.html#pragma_auto_vacuum",
    ),
    WaitEntry::new(
        "vfs",
        "TempFileRead",
        Limit::DataDevice,
        "reads a temporary file of a statement",
        "SQLite documentation, tempfiles.html",
    ),
    WaitEntry::new(
        "vfs",
        "TempFileWrite",
        Limit::DataDevice,
        "writes a temporary file, because the page cache is too small",
        "SQLite documentation, tempfiles.html",
    ),
    WaitEntry::new(
        "vfs",
        "BusyWait",
        Limit::Lock,
        "sleeps before a retry: another connection holds the only write lock (SQLITE_BUSY)",
        "SQLite documentation, c3ref/busy_timeout.html and wal.html#concurrency",
    ),
    WaitEntry::new(
        "vfs",
        "FileLock",
        Limit::Lock,
        "takes a lock on the database file",
        "SQLite documentation, lockingv3.html",
    ),
    WaitEntry::new(
        "vfs",
        "ShmLock",
        Limit::Lock,
        "takes a lock in the -shm file of the WAL",
        "SQLite documentation, walformat.html#locks",
    ),
    WaitEntry::new(
        "vfs",
        "ShmMap",
        Limit::Other,
        "maps or extends the -shm file of the WAL",
        "SQLite documentation, walformat.html",
    ),
];

const CLASSES: [WaitClass; 1] = [WaitClass {
    class: "vfs",
    limit: Limit::Other,
    meaning: "calls the operating system",
    source: "SQLite documentation, vfs.html",
}];
