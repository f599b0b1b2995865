//! What an error of a read says: about the device, or about the surroundings of the program.

use std::io;

/// What an error is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The device, or the file system, has the bytes no more: the page is lost as long as that holds.
    Media,
    /// Permissions, limits, memory, the network, a file that is gone: nothing is known about the bytes.
    Environment,
}

/// Error numbers with which the kernel says that a device or a file system could not deliver its bytes.
// EVIDENCE: Linux block/blk-core.c blk_errors: EIO, ENODATA (medium), EILSEQ (protection), EREMOTEIO (target);
// fs/ext4/ext4.h and fs/xfs/xfs_linux.h: EFSCORRUPTED is EUCLEAN, EFSBADCRC is EBADMSG
const MEDIA: [i32; 6] =
    [libc::EIO, libc::ENODATA, libc::EILSEQ, libc::EREMOTEIO, libc::EUCLEAN, libc::EBADMSG];

impl Cause {
    /// The cause of an error. One that is not known is about the environment: it accuses no page.
    #[must_use]
    pub fn of(error: &io::Error) -> Cause {
        match error.raw_os_error() {
            Some(number) if MEDIA.contains(&number) => Cause::Media,
            None if error.get_ref().is_some_and(|inner| inner.is::<EarlyEnd>()) => Cause::Media,
            _ => Cause::Environment,
        }
    }
}

/// A read that gave no byte although the file goes on.
#[derive(Debug, thiserror::Error)]
#[error("the read returned 0 bytes at byte {offset_bytes}, the file has {size_bytes} bytes")]
pub(crate) struct EarlyEnd {
    pub(crate) offset_bytes: u64,
    pub(crate) size_bytes: u64,
}

/// What to do about an error of the environment, in a sentence.
#[must_use]
pub fn hint(error_number: Option<i32>) -> &'static str {
    match error_number {
        Some(libc::EACCES | libc::EPERM) => {
            "run the check as the owner of the files, or as a user that may read all of them"
        }
        Some(libc::EMFILE) => "raise the limit of open files (ulimit -n) and check again",
        Some(libc::ENFILE) => {
            "the system is out of open files (sysctl fs.file-max): close some and check again"
        }
        Some(libc::ENOMEM) => "free memory, or check with fewer --jobs",
        Some(libc::ENOENT | libc::ESTALE | libc::ENOTDIR) => {
            "a file was removed during the check: stop the program that removes it, or check a copy"
        }
        Some(libc::EINTR) => "the file system ends each read early: check its mount, then check again",
        _ => "check the mount and the permissions, then check again",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_accuses_no_page() {
        for number in [libc::EIO, libc::EUCLEAN, libc::EBADMSG, libc::ENODATA, libc::EILSEQ] {
            assert_eq!(Cause::of(&io::Error::from_raw_os_error(number)), Cause::Media, "{number}");
        }
        for number in [
            libc::EACCES,
            libc::EPERM,
            libc::EMFILE,
            libc::ENFILE,
            libc::ENOMEM,
            libc::ENOENT,
            libc::ESTALE,
            libc::ENODEV,
            libc::EINTR,
            4000,
        ] {
            assert_eq!(Cause::of(&io::Error::from_raw_os_error(number)), Cause::Environment, "{number}");
        }
        assert_eq!(Cause::of(&io::Error::other("who knows")), Cause::Environment);
        let early = io::Error::other(EarlyEnd { offset_bytes: 8192, size_bytes: 16384 });
        assert_eq!(Cause::of(&early), Cause::Media);
    }
}
