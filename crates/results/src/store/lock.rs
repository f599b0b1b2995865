//! One writer per results directory: an advisory lock on `<directory>/lock` that names its holder.
//!
//! The kernel drops the lock when the holder ends, however it ends, so a crash leaves nothing to clean up. The file
//! itself stays: removing it would let two processes lock two different files of the same name.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use crate::store::StoreError;

/// Name of the lock file within the results directory.
pub(super) const LOCK_FILE: &str = "lock";

/// Longest content of a lock file that is read: a process id and a line end.
const HOLDER_BYTES_MAX: u64 = 32;

/// Whoever asks [`is_held`] holds the lock for the moment of the question: it is tried for so long before it counts as
/// taken.
const TRIES: u32 = 10;
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// The lock; held until it is dropped.
#[derive(Debug)]
pub(super) struct WriteLock {
    _file: File,
}

impl WriteLock {
    /// Takes the lock without waiting and writes this process's id into the file.
    ///
    /// # Errors
    /// [`StoreError::InUse`] when another process (or another store of this process) holds it,
    /// [`StoreError::NotWritable`] when the file cannot be opened for writing.
    pub(super) fn take(directory: &Path) -> Result<Self, StoreError> {
        let path = directory.join(LOCK_FILE);
        let not_writable = |error: std::io::Error| StoreError::NotWritable {
            directory: directory.to_owned(),
            reason: error.to_string(),
        };
        // Another user may have put a link there: its target is not ours to lock, nor to write to.
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = disk::regular::open_unlinked(&mut options, &path).map_err(not_writable)?;
        let mut tries_left = TRIES;
        let taken = loop {
            tries_left -= 1;
            match file.try_lock() {
                Err(TryLockError::WouldBlock) if tries_left > 0 => std::thread::sleep(BETWEEN_TRIES),
                outcome => break outcome,
            }
        };
        match taken {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::InUse {
                    directory: directory.to_owned(),
                    holder_pid: holder(&mut file),
                });
            }
            Err(TryLockError::Error(source)) => return Err(StoreError::Io { path, source }),
        }
        // The id is for the message of the next process only: on a full disk the lock holds all the same.
        let _ = write_holder(&mut file);
        Ok(Self { _file: file })
    }
}

/// Does a process hold the lock of this directory? `None` when that cannot be learned: no right to read the file, or a
/// file system without locks.
pub(super) fn is_held(directory: &Path) -> Option<bool> {
    let file = match disk::regular::open_unlinked(OpenOptions::new().read(true), &directory.join(LOCK_FILE)) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Some(false),
        Err(_) => return None,
    };
    match file.try_lock_shared() {
        Ok(()) => Some(false),
        Err(TryLockError::WouldBlock) => Some(true),
        Err(TryLockError::Error(_)) => None,
    }
}

fn write_holder(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    writeln!(file, "{}", std::process::id())
}

fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(HOLDER_BYTES_MAX).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_lock_that_is_a_symbolic_link_is_refused_and_its_target_stays_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("file of somebody else");
        std::fs::write(&target, "content").unwrap();
        let results = directory.path().join("results");
        std::fs::create_dir(&results).unwrap();
        for place in [target.as_path(), Path::new("not there")] {
            std::os::unix::fs::symlink(place, results.join(LOCK_FILE)).unwrap();
            let refused = WriteLock::take(&results).unwrap_err().to_string();
            assert!(refused.contains("it is a symbolic link, not a file"), "{refused}");
            assert_eq!(is_held(&results), None);
            assert_eq!(std::fs::read_to_string(&target).unwrap(), "content");
            assert!(!results.join("not there").exists());
            std::fs::remove_file(results.join(LOCK_FILE)).unwrap();
        }
    }

    #[test]
    fn a_lock_that_is_a_pipe_is_refused_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(LOCK_FILE);
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &path,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from(0o600),
            0,
        )
        .unwrap();
        assert!(
            WriteLock::take(directory.path()).unwrap_err().to_string().contains("it is a pipe, not a file")
        );
    }
}
