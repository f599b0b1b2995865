//! Pipes, sockets and devices where a cluster has files: found before any of them is opened.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::source::error::OpenError;

/// Files directly in a data directory that are read. A socket of the server may lie beside them.
const TOP_FILES: [&str; 8] = [
    "PG_VERSION",
    "backup_label",
    "backup_manifest",
    "postmaster.pid",
    "recovery.signal",
    "standby.signal",
    "tablespace_map",
    "postgresql.auto.conf",
];

/// Directories all files of which may be read.
const DIRECTORIES: [&str; 7] =
    ["global", "base", "pg_tblspc", "pg_wal", "pg_xact", "pg_multixact", "pg_replslot"];

/// Levels of directories: `pg_tblspc/SPACE/VERSION/DATABASE`.
const DEPTH_MAX: usize = 4;

/// Refuses a data directory with something other than files and directories among what may be read, links followed.
///
/// # Errors
/// [`OpenError::Read`] with the place and what is there.
pub(super) fn refuse(data: &Path) -> Result<(), OpenError> {
    for name in TOP_FILES {
        require(&data.join(name))?;
    }
    let mut waiting: Vec<(PathBuf, usize)> = DIRECTORIES.iter().map(|name| (data.join(name), 1)).collect();
    while let Some((directory, depth)) = waiting.pop() {
        // What cannot be listed is reported by whoever needs it.
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_file() {
                continue;
            }
            let path = entry.path();
            match path.is_dir() {
                true if depth < DEPTH_MAX => waiting.push((path, depth + 1)),
                true => {}
                false => require(&path)?,
            }
        }
    }
    Ok(())
}

/// A directory in the place of a file is the business of whoever reads it.
fn require(path: &Path) -> Result<(), OpenError> {
    match disk::regular::require(path) {
        Err(source) if source.kind() == io::ErrorKind::InvalidInput && !path.is_dir() => {
            Err(OpenError::Read { path: path.to_owned(), source })
        }
        _ => Ok(()),
    }
}
