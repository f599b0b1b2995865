//! The files of a scan: their sizes at the start, opened when their turn comes, closed when they are done.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::Advice;

use super::file::{FileOutcome, ScanFile};
use super::totals::Totals;
use crate::file::{Access, CacheMode, OpenFile};
use crate::input::InputRecord;

/// `f_type` of statfs(2) for file systems in user space.
// EVIDENCE: Linux include/uapi/linux/magic.h FUSE_SUPER_MAGIC
const FUSE_MAGIC: i64 = 0x6573_5546;

/// The files of one scan.
#[derive(Debug)]
pub(super) struct Sources {
    /// Where failures are noted.
    record: Option<InputRecord>,
    want_direct: bool,
    /// Whether a file is on a file system in user space.
    is_in_user_space: bool,
    files: Vec<Source>,
    /// The alignment that direct reads need, by the number of the file system's device. A probe for each of ten
    /// thousand small files would double the reads.
    alignments: Mutex<HashMap<u64, usize>>,
}

#[derive(Debug)]
struct Source {
    path: PathBuf,
    range_bytes: Range<u64>,
    /// Why the size could not be found out.
    error: Option<String>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    open: Option<Arc<OpenFile>>,
    cache: Option<CacheMode>,
    error: Option<String>,
    /// The error number of a failed opening, which is not tried again for each extent.
    errno: Option<i32>,
    done_extent_count: u64,
}

impl Sources {
    /// Finds out the sizes.
    pub(super) fn new(files: &[ScanFile], want_direct: bool, record: Option<InputRecord>) -> Self {
        let files = files.iter().map(|file| {
            let (range_bytes, error) = match (&file.range_bytes, size_of(&file.path)) {
                (_, Err(error)) => {
                    if let Some(record) = &record {
                        record.failed(&file.path, None, &error, true);
                    }
                    let path = file.path.display();
                    // A part that was asked for comes as unreadable extents.
                    let range = file.range_bytes.clone().unwrap_or(0..0);
                    let range = range.start..range.end.max(range.start);
                    (range, Some(format!("could not inspect file \"{path}\": {error}")))
                }
                (Some(range), Ok(_)) => (range.start..range.end.max(range.start), None),
                (None, Ok(size_bytes)) => (0..size_bytes, None),
            };
            Source { path: file.path.clone(), range_bytes, error, state: Mutex::default() }
        });
        let files: Vec<Source> = files.collect();
        let is_in_user_space = is_in_user_space(&files);
        Sources { record, want_direct, is_in_user_space, files, alignments: Mutex::default() }
    }

    /// Why the files must not be read through io_uring.
    pub(super) fn no_uring_reason(&self) -> Option<&'static str> {
        self.is_in_user_space
            .then_some("the file system is in user space (FUSE), where it repeats short reads wrongly")
    }

    /// The bytes to be read of each file.
    pub(super) fn ranges(&self) -> Vec<Range<u64>> {
        self.files.iter().map(|file| file.range_bytes.clone()).collect()
    }

    /// Opens a file, or hands out the one that is open.
    pub(super) fn open(&self, file_index: usize) -> io::Result<Arc<OpenFile>> {
        let source = &self.files[file_index];
        // Others who want this file wait here until it is open.
        let mut state = lock(&source.state);
        if let Some(open) = &state.open {
            return Ok(Arc::clone(open));
        }
        if let Some(errno) = state.errno {
            return Err(io::Error::from_raw_os_error(errno));
        }
        match self.open_anew(&source.path) {
            Ok(open) => {
                if let (Some(record), Ok(metadata)) = (&self.record, open.file.metadata()) {
                    record.opened(&source.path, &metadata);
                }
                let open = Arc::new(open);
                state.cache = Some(open.cache.clone());
                state.open = Some(Arc::clone(&open));
                Ok(open)
            }
            Err(error) => {
                let path = source.path.display();
                if let Some(record) = &self.record {
                    record.failed(&source.path, None, &error, true);
                }
                state.errno = error.raw_os_error();
                state.error = Some(format!("could not open file \"{path}\": {error}"));
                Err(error)
            }
        }
    }

    fn open_anew(&self, path: &Path) -> io::Result<OpenFile> {
        let device = path.metadata()?.dev();
        let known = lock(&self.alignments).get(&device).copied();
        let open = OpenFile::open_knowing(path, Access::Read, self.want_direct, known)?;
        if open.cache.is_direct() {
            lock(&self.alignments).insert(device, open.alignment_bytes);
        } else {
            // A hint to read ahead further; without it the scan is only slower.
            let _refused = rustix::fs::fadvise(&open.file, 0, None, Advice::Sequential);
        }
        Ok(open)
    }

    /// Notes what was read, page by page.
    pub(super) fn delivered(&self, open: &OpenFile, page_bytes: usize, offset_bytes: u64, bytes: &[u8]) {
        if let Some(record) = &self.record {
            record.delivered(open.id, page_bytes, offset_bytes, bytes);
        }
    }

    /// Notes a read that failed twice.
    pub(super) fn failed(&self, file_index: usize, offset_bytes: u64, length_bytes: u64, error: &io::Error) {
        let source = &self.files[file_index];
        // That a file cannot be opened was noted then.
        let is_open = lock(&source.state).errno.is_none();
        if let Some(record) = self.record.as_ref().filter(|_| is_open) {
            record.failed(&source.path, Some((offset_bytes, length_bytes)), error, true);
        }
    }

    /// Counts an extent of the file as done and lets the file go after the last of `extent_count`.
    pub(super) fn extent_done(&self, file_index: usize, extent_count: u64) {
        let mut state = lock(&self.files[file_index].state);
        state.done_extent_count += 1;
        if state.done_extent_count == extent_count {
            state.open = None;
        }
    }

    /// What became of each file.
    pub(super) fn into_outcomes(self, totals: &Totals) -> Vec<FileOutcome> {
        let outcome = |(file_index, source): (usize, Source)| {
            let state = source.state.into_inner().unwrap_or_else(PoisonError::into_inner);
            let counts = totals.files.get(file_index).copied().unwrap_or_default();
            let expected_bytes = source.range_bytes.end - source.range_bytes.start;
            let dealt_with = counts.read_bytes + counts.unreadable_bytes + counts.missing_bytes;
            FileOutcome {
                expected_bytes,
                read_bytes: counts.read_bytes,
                unreadable_bytes: counts.unreadable_bytes,
                missing_bytes: counts.missing_bytes,
                unclaimed_bytes: expected_bytes
                    .checked_sub(dealt_with)
                    .expect("each byte is dealt with at most once"),
                cache: state.cache,
                error: source.error.or(state.error),
            }
        };
        self.files.into_iter().enumerate().map(outcome).collect()
    }
}

fn size_of(path: &Path) -> io::Result<u64> {
    let metadata = path.metadata()?;
    match metadata.file_type() {
        kind if kind.is_file() => Ok(metadata.len()),
        kind if kind.is_block_device() => {
            OpenFile::open(path, Access::Read, false).map(|open| open.size_bytes)
        }
        _ => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is neither a regular file nor a block device",
        )),
    }
}

/// Whether one of the first files, or one in another directory than the one before it, is on a file system in user space.
///
/// io_uring goes on after a short direct read; FUSE does not move the position of the first part, so that the same bytes
/// are read again and stand where the following ones belong.
// OBSERVED: Linux 6, a FUSE server that answers with 512 bytes: a read of 8 KiB gave the first 512 bytes 16 times
fn is_in_user_space(files: &[Source]) -> bool {
    let mut before = None;
    files.iter().any(|file| {
        let directory = file.path.parent();
        let is_new = before.replace(directory) != Some(directory);
        is_new && rustix::fs::statfs(&file.path).is_ok_and(|facts| facts.f_type == FUSE_MAGIC)
    })
}

/// What is guarded stays whole between two statements, so a panic elsewhere does not spoil it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
