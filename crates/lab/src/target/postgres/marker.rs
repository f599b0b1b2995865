//! The mark that fathom puts on every directory it makes, and the lock that says its maker still lives.
//!
//! A directory without the mark is never touched. A marked one whose lock is free has lost its owner, because the
//! kernel drops the lock with the process: no guessing by process id or age.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::super::TargetError;

/// Name of the marker file.
const FILE_NAME: &str = "fathom.json";

/// Largest marker file that is read; ours are some hundred bytes.
const MARKER_BYTES_MAX: u64 = 64 * 1024;

/// First characters of the name of every directory that holds (part of) a cluster.
pub(super) const DIRECTORY_PREFIX: &str = "fathom-postgres-";

/// First characters of the name of every directory for a socket.
pub(super) const SOCKET_PREFIX: &str = "fathom-pg-";

/// What the marker says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mark {
    /// Always `fathom`.
    pub(super) made_by: String,
    /// RFC 3339, UTC.
    pub(super) made_at: String,
    /// Version of fathom.
    pub(super) fathom_version: String,
    /// Process id of the maker, for people: whether it lives is told by the lock.
    pub(super) process_id: u32,
    /// The same in all directories of one cluster.
    pub(super) cluster_id: String,
    /// The cluster's main directory.
    pub(super) cluster_directory: PathBuf,
    /// Directories elsewhere that belong to it: tablespaces, log. Only the main directory's mark lists them.
    pub(super) parts: Vec<PathBuf>,
    /// Private directory of the socket, when it exists.
    pub(super) socket_directory: Option<PathBuf>,
    /// Left in place on purpose: not a leftover.
    pub(super) kept: bool,
}

/// A marker file with its lock, held as long as this value lives.
#[derive(Debug)]
pub(super) struct Marker {
    file: File,
    path: PathBuf,
    mark: Mark,
}

impl Marker {
    /// Writes the marker into `directory` and locks it.
    pub(super) fn create(directory: &Path, mark: Mark) -> Result<Self, TargetError> {
        let path = directory.join(FILE_NAME);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
            .map_err(|source| TargetError::Io { action: "create", path: path.clone(), source })?;
        // Waits: somebody who looks for leftovers may hold the new file for a moment, and lets it go as it is empty.
        flock(&file, FlockOperation::LockExclusive).map_err(|error| TargetError::Io {
            action: "lock",
            path: path.clone(),
            source: error.into(),
        })?;
        let marker = Self { file, path, mark };
        marker.write()?;
        Ok(marker)
    }

    /// Takes over the marker in `directory` if its owner is gone; `None` when it lives, or when there is no marker
    /// that can be read.
    pub(super) fn take_over(directory: &Path) -> Option<Self> {
        let path = directory.join(FILE_NAME);
        let file = OpenOptions::new().read(true).write(true).open(&path).ok()?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
        if file.metadata().ok()?.len() > MARKER_BYTES_MAX {
            return None;
        }
        let mark: Mark = serde_json::from_str(&std::fs::read_to_string(&path).ok()?).ok()?;
        (mark.made_by == "fathom").then_some(Self { file, path, mark })
    }

    /// What it says.
    pub(super) fn mark(&self) -> &Mark {
        &self.mark
    }

    /// Changes what it says.
    pub(super) fn update(&mut self, change: impl FnOnce(&mut Mark)) -> Result<(), TargetError> {
        change(&mut self.mark);
        self.write()
    }

    fn write(&self) -> Result<(), TargetError> {
        use std::os::unix::fs::FileExt;
        let text = serde_json::to_string_pretty(&self.mark).expect("a mark is plain data");
        // In place: a rename would leave the lock on the old file.
        self.file
            .set_len(0)
            .and_then(|()| self.file.write_all_at(text.as_bytes(), 0))
            .map_err(|source| TargetError::Io { action: "write", path: self.path.clone(), source })
    }
}

impl Drop for Marker {
    fn drop(&mut self) {
        // Closing alone would not do: a child between fork and exec still has the descriptor for a moment.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn mark(directory: &Path) -> Mark {
        Mark {
            made_by: "fathom".to_owned(),
            made_at: "2026-01-01T00:00:00Z".to_owned(),
            fathom_version: "0".to_owned(),
            process_id: 1,
            cluster_id: "x".to_owned(),
            cluster_directory: directory.to_path_buf(),
            parts: Vec::new(),
            socket_directory: None,
            kept: false,
        }
    }

    #[test]
    fn a_marker_is_taken_over_only_after_its_owner_is_gone() {
        let scratch = tempfile::tempdir().unwrap();
        let mut marker = Marker::create(scratch.path(), mark(scratch.path())).unwrap();
        assert!(Marker::take_over(scratch.path()).is_none());
        marker.update(|mark| mark.kept = true).unwrap();
        drop(marker);
        assert!(Marker::take_over(scratch.path()).unwrap().mark().kept);
    }

    #[test]
    fn directories_without_a_whole_marker_of_ours_are_left_alone() {
        let scratch = tempfile::tempdir().unwrap();
        assert!(Marker::take_over(scratch.path()).is_none());
        let mut other = mark(scratch.path());
        other.made_by = "somebody".to_owned();
        let other = serde_json::to_string(&other).unwrap();
        for text in ["", "{", "{\"made_by\": \"fathom\"}", &other] {
            std::fs::write(scratch.path().join(FILE_NAME), text).unwrap();
            assert!(Marker::take_over(scratch.path()).is_none(), "{text}");
        }
    }
}
