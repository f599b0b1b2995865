//! How often a connection found a page in its cache.
#![allow(unsafe_code)]

use rusqlite::{Connection, ffi};

/// Pages asked for since the connection was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CacheCounters {
    /// Found in the connection's cache.
    pub(crate) hits: u64,
    /// Read from the file.
    pub(crate) misses: u64,
}

/// Reads the counters of a connection; `None` when SQLite does not answer.
pub(crate) fn read(connection: &Connection) -> Option<CacheCounters> {
    Some(CacheCounters {
        hits: status(connection, ffi::SQLITE_DBSTATUS_CACHE_HIT)?,
        misses: status(connection, ffi::SQLITE_DBSTATUS_CACHE_MISS)?,
    })
}

fn status(connection: &Connection, which: std::ffi::c_int) -> Option<u64> {
    let (mut current, mut highest) = (0, 0);
    // SAFETY: the handle is that of an open connection, which the reference keeps open and on this thread for the length
    // of the call; both pointers are to live integers.
    let code =
        unsafe { ffi::sqlite3_db_status(connection.handle(), which, &raw mut current, &raw mut highest, 0) };
    // The counter has 32 bits on older versions and may have turned negative.
    (code == ffi::SQLITE_OK).then(|| u64::from(current as u32))
}
