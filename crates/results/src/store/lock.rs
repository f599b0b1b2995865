//! One writer per results directory: an advisory lock on `<directory>/lock` that names its holder.
//!
//! The kernel drops the lock when the holder ends, however it ends, so a crash leaves nothing to clean up. The file
//! itself stays: removing it would let two processes lock two different files of the same name.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::store::StoreError;

/// Name of the lock file within the results directory.
pub(super) const LOCK_FILE: &str = "lock";

/// Longest content of a lock file that is read: a process id and a line end.
const HOLDER_BYTES_MAX: u64 = 32;

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
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(not_writable)?;
        match file.try_lock() {
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
