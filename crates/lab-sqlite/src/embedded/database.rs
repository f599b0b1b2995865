//! The run's database file and how connections to it are opened.

use std::ffi::CStr;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

/// A file, and the VFS that its connections go through.
#[derive(Clone, Debug)]
pub(crate) struct Database {
    path: PathBuf,
    /// `None` is SQLite's default. Registered tables live as long as the process.
    vfs: Option<&'static CStr>,
}

impl Database {
    pub(crate) fn new(path: PathBuf, vfs: Option<&'static CStr>) -> Self {
        Self { path, vfs }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a connection; the file is made when it is not there.
    pub(crate) fn create(&self) -> rusqlite::Result<Connection> {
        self.with(OpenFlags::default())
    }

    /// Opens a connection for one thread at a time; the file must be there.
    pub(crate) fn open(&self) -> rusqlite::Result<Connection> {
        self.with(OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)
    }

    fn with(&self, flags: OpenFlags) -> rusqlite::Result<Connection> {
        match self.vfs {
            Some(vfs) => Connection::open_with_flags_and_vfs(&self.path, flags, vfs),
            None => Connection::open_with_flags(&self.path, flags),
        }
    }
}
