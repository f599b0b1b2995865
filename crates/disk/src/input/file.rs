//! Files under test, opened for reading: short reads are continued, interrupted ones repeated, and each read is noted.

use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::cause::{Cause, EarlyEnd};
use super::record::InputRecord;
use super::stamp::FileId;

/// How often an interrupted read is repeated. Signals of the program itself restart reads; a file system that answers
/// every read with EINTR would otherwise be asked for ever.
pub(crate) const INTERRUPTED_MAX: usize = 100;
/// How often a read that gave nothing before the end of the file is repeated.
const EARLY_END_MAX: usize = 3;

/// A file under test, in place of [`std::fs::File`]: read only.
#[derive(Debug)]
pub struct File {
    inner: std::fs::File,
    path: PathBuf,
    record: Option<(InputRecord, FileId)>,
    /// Where [`Read`] goes on.
    position: AtomicU64,
}

impl File {
    /// Opens a file for reading.
    ///
    /// # Errors
    /// As [`std::fs::File::open`]; a failure is in the record of this thread.
    pub fn open(path: impl AsRef<Path>) -> io::Result<File> {
        let path = path.as_ref();
        let record = InputRecord::current();
        match again_if_interrupted(|| crate::regular::open(path)) {
            Ok(inner) => {
                let id = match &record {
                    Some(record) => Some(record.opened(path, &inner.metadata()?)),
                    None => None,
                };
                Ok(File { inner, path: path.to_path_buf(), record: record.zip(id), position: 0.into() })
            }
            Err(error) => {
                if let Some(record) = record {
                    record.failed(path, None, &error, false);
                }
                Err(error)
            }
        }
    }

    /// Reads up to the length of the buffer from a place. 0: the file ends there.
    ///
    /// # Errors
    /// When the read fails, or gives nothing although the file goes on. A failure is in the record.
    pub fn read_at(&self, buffer: &mut [u8], offset_bytes: u64) -> io::Result<usize> {
        let outcome = self.read_at_quietly(buffer, offset_bytes);
        match &outcome {
            Ok(count) => self.note(offset_bytes, buffer.get(..*count).unwrap_or_default()),
            Err(error) => self.failed(offset_bytes, buffer.len(), error),
        }
        outcome
    }

    /// Fills the buffer from a place.
    ///
    /// # Errors
    /// As [`File::read_at`]; `UnexpectedEof` when the file ends before, which is no failure.
    pub fn read_exact_at(&self, buffer: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        let mut done = 0;
        while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
            let at = offset_bytes + done as u64;
            match self.read_at_quietly(rest, at) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => done += count,
                Err(error) => {
                    self.failed(at, rest.len(), &error);
                    return Err(error);
                }
            }
        }
        self.note(offset_bytes, buffer);
        Ok(())
    }

    fn read_at_quietly(&self, buffer: &mut [u8], offset_bytes: u64) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        for _ in 0..EARLY_END_MAX {
            let mut read = || again_if_interrupted(|| FileExt::read_at(&self.inner, buffer, offset_bytes));
            // A device says no twice, as it does to a scan.
            let count = match read() {
                Err(error) if Cause::of(&error) == Cause::Media => read()?,
                outcome => outcome?,
            };
            if count > 0 || offset_bytes >= self.inner.metadata()?.len() {
                return Ok(count);
            }
        }
        Err(early_end(offset_bytes, self.inner.metadata()?.len()))
    }

    fn note(&self, offset_bytes: u64, bytes: &[u8]) {
        if let Some((record, id)) = &self.record {
            record.read(*id, offset_bytes, bytes);
        }
    }

    fn failed(&self, offset_bytes: u64, length: usize, error: &io::Error) {
        if let Some((record, _)) = &self.record {
            record.failed(&self.path, Some((offset_bytes, length as u64)), error, true);
        }
    }
}

/// What says that a read gave nothing although the file goes on.
pub(crate) fn early_end(offset_bytes: u64, size_bytes: u64) -> io::Error {
    io::Error::other(EarlyEnd { offset_bytes, size_bytes })
}

/// Repeats what was interrupted, so often.
pub(crate) fn again_if_interrupted<T>(mut attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let mut outcome = attempt();
    for _ in 0..INTERRUPTED_MAX {
        match &outcome {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => outcome = attempt(),
            _ => break,
        }
    }
    // Others repeat `Interrupted` for ever: it is another kind of error by now.
    outcome.map_err(|error| match error.kind() {
        io::ErrorKind::Interrupted => io::Error::other(format!("{error}, {INTERRUPTED_MAX} times")),
        _ => error,
    })
}

impl Deref for File {
    type Target = std::fs::File;

    fn deref(&self) -> &std::fs::File {
        &self.inner
    }
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.as_fd()
    }
}

impl From<std::fs::File> for File {
    /// A file whose reads are not noted.
    fn from(inner: std::fs::File) -> File {
        File { inner, path: PathBuf::new(), record: None, position: 0.into() }
    }
}

impl Read for File {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self).read(buffer)
    }
}

impl Read for &File {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let position = self.position.load(Ordering::Relaxed);
        let count = self.read_at(buffer, position)?;
        self.position.store(position + count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl Seek for File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        (&*self).seek(to)
    }
}

impl Seek for &File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let from = |start: u64, step: i64| start.checked_add_signed(step).ok_or(io::ErrorKind::InvalidInput);
        let position = match to {
            SeekFrom::Start(position) => position,
            SeekFrom::Current(step) => from(self.position.load(Ordering::Relaxed), step)?,
            SeekFrom::End(step) => from(self.inner.metadata()?.len(), step)?,
        };
        self.position.store(position, Ordering::Relaxed);
        Ok(position)
    }
}
