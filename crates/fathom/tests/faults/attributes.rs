//! Attributes of files and errors, in the form in which the kernel takes them.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, SystemTime};

use fuser::{Errno, FileAttr, FileType, INodeNo};

pub(crate) fn attributes_of(metadata: &Metadata, number: u64) -> FileAttr {
    let time = |seconds: i64, nanoseconds: i64| {
        SystemTime::UNIX_EPOCH + Duration::new(seconds as u64, nanoseconds as u32)
    };
    let kind = metadata.file_type();
    FileAttr {
        ino: INodeNo(number),
        size: metadata.len(),
        blocks: metadata.blocks(),
        atime: time(metadata.atime(), metadata.atime_nsec()),
        mtime: time(metadata.mtime(), metadata.mtime_nsec()),
        ctime: time(metadata.ctime(), metadata.ctime_nsec()),
        crtime: SystemTime::UNIX_EPOCH,
        kind: if kind.is_dir() {
            FileType::Directory
        } else if kind.is_symlink() {
            FileType::Symlink
        } else {
            FileType::RegularFile
        },
        perm: (metadata.mode() & 0o7777) as u16,
        nlink: metadata.nlink() as u32,
        uid: metadata.uid(),
        gid: metadata.gid(),
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}

pub(crate) fn errno(error: &io::Error) -> Errno {
    let number = error.raw_os_error().unwrap_or(match error.kind() {
        io::ErrorKind::NotFound => 2,
        _ => 5,
    });
    Errno::from_i32(number)
}
