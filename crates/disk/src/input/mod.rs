//! Reading files under test: what fails, what differs between two readings, and which files change meanwhile.
//!
//! A check makes a [`InputRecord`] and enters it. From then on every read of its thread through [`File`], and of every scan
//! that it starts, is noted: failures with their [`Cause`], a hash of each page that a scan read and of each single
//! read, the identity, length and times of each file when it was opened. A page or a place that is read again is
//! compared with its reading before. In the end the check asks which readings differed, and which files changed.
//!
//! Cost: one hash per page read, 4 bytes of memory per page up to 64 MiB, and one small lock per single read.

mod cause;
mod file;
mod pages;
mod record;
mod repeat;
mod stamp;

use std::io;
use std::path::{Path, PathBuf};

pub use cause::{Cause, hint};
pub use file::File;
pub(crate) use file::{INTERRUPTED_MAX, again_if_interrupted, early_end};
pub use record::{Differing, Entered, Failure, InputRecord};

/// Asks for the facts about a file; a failure is in the record of this thread, that it is absent is none.
///
/// # Errors
/// As [`std::fs::metadata`].
pub fn metadata(path: impl AsRef<Path>) -> io::Result<std::fs::Metadata> {
    let path = path.as_ref();
    noted(path, std::fs::metadata(path))
}

/// As [`metadata`], without following a link at the end of the path.
///
/// # Errors
/// As [`std::fs::symlink_metadata`].
pub fn symlink_metadata(path: impl AsRef<Path>) -> io::Result<std::fs::Metadata> {
    let path = path.as_ref();
    noted(path, std::fs::symlink_metadata(path))
}

/// Whether a path is a directory, or a link to one; a failure is in the record of this thread.
pub fn is_dir(path: impl AsRef<Path>) -> bool {
    metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

/// Lists a directory; a failure, of an entry as well, is in the record of this thread, that it is absent is none.
///
/// # Errors
/// As [`std::fs::read_dir`].
pub fn read_dir(path: impl AsRef<Path>) -> io::Result<Entries> {
    let path = path.as_ref();
    let inner = noted(path, std::fs::read_dir(path))?;
    Ok(Entries { inner, path: path.to_path_buf() })
}

/// The entries of a directory, in no order.
#[derive(Debug)]
pub struct Entries {
    inner: std::fs::ReadDir,
    path: PathBuf,
}

impl Iterator for Entries {
    type Item = io::Result<std::fs::DirEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        self.inner.next().map(|entry| noted(&self.path, entry))
    }
}

/// Lets the record of this thread be that of another one, too: to be called there with what this gives.
pub fn carried<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let record = InputRecord::current();
    move || {
        let _entered = record.as_ref().map(InputRecord::enter);
        work()
    }
}

fn noted<T>(path: &Path, outcome: io::Result<T>) -> io::Result<T> {
    if let (Err(error), Some(record)) = (&outcome, InputRecord::current()) {
        record.failed(path, None, error, false);
    }
    outcome
}

#[cfg(test)]
mod tests;
