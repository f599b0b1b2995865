//! Locks on byte ranges of a file that belong to the open file, not to the process.

use std::fs::File;
use std::io;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

/// What became of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lock {
    Taken,
    /// Another open file has a lock in the way.
    Busy,
}

/// Takes a shared lock on a range, without waiting.
///
/// EVIDENCE: fcntl(2): locks of open files and of processes exclude each other, also within one process
pub(super) fn shared(file: &File, start: u64, length: u64) -> io::Result<Lock> {
    match fcntl(file, FcntlArg::F_OFD_SETLK(&range(libc::F_RDLCK, start, length))) {
        Ok(_) => Ok(Lock::Taken),
        Err(Errno::EAGAIN | Errno::EACCES) => Ok(Lock::Busy),
        Err(error) => Err(error.into()),
    }
}

/// Gives a range back.
pub(super) fn release(file: &File, start: u64, length: u64) -> io::Result<()> {
    fcntl(file, FcntlArg::F_OFD_SETLK(&range(libc::F_UNLCK, start, length)))?;
    Ok(())
}

/// The process with a lock on the range that an exclusive lock would have to wait for; 0 for a lock of an open file.
pub(super) fn holder(file: &File, start: u64, length: u64) -> Option<i32> {
    let mut question = range(libc::F_WRLCK, start, length);
    fcntl(file, FcntlArg::F_OFD_GETLK(&mut question)).ok()?;
    (i32::from(question.l_type) != libc::F_UNLCK).then_some(question.l_pid.max(0))
}

fn range(kind: i32, start: u64, length: u64) -> libc::flock {
    // The ranges are constants of SQLite, far below the limits of these types.
    libc::flock {
        l_type: i16::try_from(kind).unwrap_or(0),
        l_whence: i16::try_from(libc::SEEK_SET).unwrap_or(0),
        l_start: i64::try_from(start).unwrap_or(i64::MAX),
        l_len: i64::try_from(length).unwrap_or(i64::MAX),
        l_pid: 0,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_lock_belongs_to_its_open_file_and_outlives_others_of_the_same_file() {
        let path = tempfile::NamedTempFile::new().unwrap();
        let open = || File::open(path.path()).unwrap();
        let (first, second) = (open(), open());
        assert_eq!(shared(&first, 100, 10).unwrap(), Lock::Taken);
        drop(open());
        // A shared lock is in the way of an exclusive one, also from the same process.
        assert_eq!(holder(&second, 105, 1), Some(0));
        assert_eq!(holder(&second, 110, 1), None);
        assert_eq!(holder(&first, 105, 1), None);
        release(&first, 100, 10).unwrap();
        assert_eq!(holder(&second, 105, 1), None);
    }
}
