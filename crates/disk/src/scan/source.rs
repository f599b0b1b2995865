//! The files of a scan: their sizes at the start, opened when their turn comes, closed when they are done.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::Advice;

use super::worker::Totals;
use super::{FileOutcome, ScanFile};
use crate::file::{Access, CacheMode, OpenFile};

/// The files of one scan.
#[derive(Debug)]
pub(super) struct Sources {
    want_direct: bool,
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
    pub(super) fn new(files: &[ScanFile], want_direct: bool) -> Self {
        let files = files.iter().map(|file| {
            let (range_bytes, error) = match (&file.range_bytes, size_of(&file.path)) {
                (_, Err(error)) => {
                    let path = file.path.display();
                    (0..0, Some(format!("could not look at file \"{path}\": {error}")))
                }
                (Some(range), Ok(_)) => (range.start..range.end.max(range.start), None),
                (None, Ok(size_bytes)) => (0..size_bytes, None),
            };
            Source { path: file.path.clone(), range_bytes, error, state: Mutex::default() }
        });
        Sources { want_direct, files: files.collect(), alignments: Mutex::default() }
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
                let open = Arc::new(open);
                state.cache = Some(open.cache.clone());
                state.open = Some(Arc::clone(&open));
                Ok(open)
            }
            Err(error) => {
                let path = source.path.display();
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

/// What is guarded stays whole between two statements, so a panic elsewhere does not spoil it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
