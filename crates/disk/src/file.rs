//! Files and block devices opened for I/O that goes to the device, and the proof that it does.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, OFlags, StatxFlags};
use serde::{Deserialize, Serialize};

use crate::buffer::AlignedBuffer;
use crate::input::again_if_interrupted;
use crate::regular;

/// `f_type` of statfs(2) for file systems that live in the page cache. tmpfs accepts `O_DIRECT` since Linux 6.6 and
/// still copies from the page cache, so its word cannot be taken.
const MEMORY_FILE_SYSTEMS: [i64; 2] = [0x0102_1994 /* tmpfs */, 0x8584_58f6 /* ramfs */];

/// The alignments that are tried, smallest first, where the file system does not name one.
const ALIGNMENTS_BYTES: [usize; 2] = [512, 4096];

/// Where the bytes of a transfer come from and go to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "snake_case")]
pub enum CacheMode {
    /// From and to the device, past the page cache; one aligned transfer has shown that it is accepted.
    Direct,
    /// Through the page cache of the kernel.
    PageCache {
        /// Why not directly.
        reason: String,
    },
}

impl CacheMode {
    /// Says whether transfers go past the page cache.
    pub fn is_direct(&self) -> bool {
        *self == CacheMode::Direct
    }
}

/// What may be done with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reading only.
    Read,
    /// Reading and writing.
    ReadWrite,
}

/// An open file or block device.
#[derive(Clone, Debug)]
pub struct OpenFile {
    /// The open file. It is closed when the last holder drops it.
    pub file: Arc<File>,
    /// The path by which it was opened.
    pub path: PathBuf,
    /// Whether transfers go past the page cache.
    pub cache: CacheMode,
    /// Offsets and lengths of transfers must be multiples of this; 1 in the page cache.
    pub alignment_bytes: usize,
    /// The size in bytes at the moment of opening.
    pub size_bytes: u64,
    /// Its device and inode number.
    pub(crate) id: (u64, u64),
    /// Whether it is a block device.
    pub is_block_device: bool,
    /// The bytes of a regular file that have a place on the device; less than `size_bytes` for a sparse file. Absent
    /// for a device.
    pub allocated_bytes: Option<u64>,
}

impl OpenFile {
    /// Opens the file or block device at `path`, past the page cache where that is possible and `want_direct`.
    ///
    /// Costs one small read, which shows whether direct transfers are accepted. The access time is not changed where
    /// this process may forbid it (it owns the file, or is privileged).
    ///
    /// # Errors
    /// When the path is neither a regular file nor a block device, or cannot be opened. That direct I/O is refused is
    /// no error: `cache` says so, with the reason.
    pub fn open(path: &Path, access: Access, want_direct: bool) -> io::Result<Self> {
        Self::open_knowing(path, access, want_direct, None)
    }

    /// Opens like [`OpenFile::open`], without the small read when `known_alignment_bytes` tells what another file of
    /// the same file system accepted.
    ///
    /// # Errors
    /// As [`OpenFile::open`].
    pub fn open_knowing(
        path: &Path,
        access: Access,
        want_direct: bool,
        known_alignment_bytes: Option<usize>,
    ) -> io::Result<Self> {
        // A pipe would block in `open`.
        let kind = path.metadata()?.file_type();
        if let Some(other) = regular::other_kind(kind).filter(|_| !kind.is_block_device()) {
            let message = format!("it is {other}, neither a regular file nor a block device");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let (file, cache, alignment_bytes) = match want_direct {
            true => open_direct_or_not(path, access, known_alignment_bytes)?,
            false => {
                let reason = "direct I/O was not asked for".to_owned();
                (open_with(path, access, OFlags::empty())?, CacheMode::PageCache { reason }, 1)
            }
        };
        let metadata = file.metadata()?;
        let is_block_device = metadata.file_type().is_block_device();
        let size_bytes = if is_block_device { (&file).seek(SeekFrom::End(0))? } else { metadata.len() };
        Ok(OpenFile {
            file: Arc::new(file),
            path: path.to_path_buf(),
            cache,
            alignment_bytes,
            size_bytes,
            id: (metadata.dev(), metadata.ino()),
            is_block_device,
            // `st_blocks` counts in 512 bytes whatever the block size (stat(3type)).
            allocated_bytes: (!is_block_device).then(|| metadata.blocks().saturating_mul(512)),
        })
    }
}

fn open_with(path: &Path, access: Access, flags: OFlags) -> io::Result<File> {
    let open = |flags: OFlags| {
        let bits = i32::try_from(flags.bits()).expect("flags of open are below 2^31");
        let write = access == Access::ReadWrite;
        again_if_interrupted(|| OpenOptions::new().read(true).write(write).custom_flags(bits).open(path))
    };
    match open(flags | OFlags::NOATIME) {
        // Only the owner and the privileged may leave the access time alone.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => open(flags),
        result => result,
    }
}

fn open_direct_or_not(
    path: &Path,
    access: Access,
    known_alignment_bytes: Option<usize>,
) -> io::Result<(File, CacheMode, usize)> {
    let refused = |reason: String| {
        let file = open_with(path, access, OFlags::empty())?;
        Ok((file, CacheMode::PageCache { reason }, 1))
    };
    let file = match open_with(path, access, OFlags::DIRECT) {
        Ok(file) => file,
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            return refused("the file system refuses direct I/O".to_owned());
        }
        Err(error) => return Err(error),
    };
    let magic = rustix::fs::fstatfs(&file)?.f_type;
    if file.metadata()?.is_file() && MEMORY_FILE_SYSTEMS.contains(&magic) {
        return refused("the file system lives in memory".to_owned());
    }
    match known_alignment_bytes.or_else(|| accepted_alignment(&file)) {
        Some(alignment_bytes) => Ok((file, CacheMode::Direct, alignment_bytes)),
        None => refused("no aligned direct transfer was accepted".to_owned()),
    }
}

/// Finds the smallest alignment with which one direct read is accepted. Errors other than a refusal of the alignment
/// are left to the reads that follow: a first block that cannot be read says nothing about direct I/O.
fn accepted_alignment(file: &File) -> Option<usize> {
    let named = named_alignment(file);
    if named == Some(0) {
        return None;
    }
    let mut buffer = AlignedBuffer::new(*ALIGNMENTS_BYTES.last()?).ok()?;
    let candidates = ALIGNMENTS_BYTES.into_iter().filter(|&bytes| named.is_none_or(|named| bytes >= named));
    let accepted = candidates.into_iter().find(|&bytes| {
        let read = file.read_at(&mut buffer.as_mut_slice()[..bytes], 0);
        !matches!(read, Err(error) if error.raw_os_error() == Some(libc::EINVAL))
    });
    // An alignment above the ones tried would need larger buffers too: nothing known has it.
    accepted
}

/// The alignment that the file system names (statx(2) `STATX_DIOALIGN`, Linux 6.1); 0 where it says that direct I/O
/// is not possible.
fn named_alignment(file: &File) -> Option<usize> {
    let facts = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).ok()?;
    let is_known = facts.stx_mask & StatxFlags::DIOALIGN.bits() != 0;
    is_known.then(|| facts.stx_dio_offset_align.max(facts.stx_dio_mem_align.min(512)) as usize)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_file_in_memory_is_in_the_page_cache_whatever_the_kernel_accepts() {
        let Ok(directory) = tempfile::tempdir_in("/dev/shm") else { return };
        let path = directory.path().join("file");
        std::fs::write(&path, [1; 5000]).unwrap();
        let magic = rustix::fs::statfs(directory.path()).unwrap().f_type;
        if MEMORY_FILE_SYSTEMS.contains(&magic) {
            let open = OpenFile::open(&path, Access::Read, true).unwrap();
            assert!(matches!(&open.cache, CacheMode::PageCache { reason } if reason.contains("memory")));
            assert_eq!((open.alignment_bytes, open.size_bytes), (1, 5000));
        }
    }

    #[test]
    fn a_sparse_file_shows_what_it_has_on_the_device() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(1 << 20).unwrap();
        let open = OpenFile::open(file.path(), Access::Read, true).unwrap();
        assert_eq!((open.size_bytes, open.allocated_bytes), (1 << 20, Some(0)));
        assert!(!open.is_block_device);
    }

    #[test]
    fn what_is_neither_file_nor_device_is_refused_before_it_is_opened() {
        let directory = tempfile::tempdir().unwrap();
        for (path, kind) in
            [(directory.path(), "a directory"), (Path::new("/dev/zero"), "a character device")]
        {
            let message = OpenFile::open(path, Access::Read, true).unwrap_err().to_string();
            assert_eq!(message, format!("it is {kind}, neither a regular file nor a block device"));
        }
        assert!(OpenFile::open(&directory.path().join("missing"), Access::Read, true).is_err());
    }

    #[test]
    fn reading_only_does_not_write_and_the_page_cache_can_be_chosen() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"content").unwrap();
        let open = OpenFile::open(file.path(), Access::Read, false).unwrap();
        assert!(open.file.write_at(b"x", 0).is_err());
        assert!(!open.cache.is_direct());
        assert_eq!(std::fs::read(file.path()).unwrap(), b"content");
    }
}
