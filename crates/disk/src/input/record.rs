//! What one check learned about its reads: which failed, which differed, which files changed meanwhile.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::cause::Cause;
use super::pages::{Pages, hash};
use super::stamp::{FileId, Stamp};

/// Most memory for hashes of pages: those of 64 GiB in pages of 4 KiB. Pages beyond it are not compared between
/// readings, except those that a check reads twice by itself.
const PAGE_HASH_BYTES_MAX: u64 = 64 << 20;
/// Most single reads that are kept, to be repeated and compared; about 40 bytes each.
const READS_MAX: usize = 1 << 18;
/// How often a file that was just written is waited for.
const WAITS_MAX: usize = 3;
/// Failures and places that are kept; more are counted.
const LISTED_MAX: usize = 1000;

thread_local! {
    static CURRENT: RefCell<Option<InputRecord>> = const { RefCell::new(None) };
}

/// The reads of one check. Clones share one record.
#[derive(Clone, Debug, Default)]
pub struct InputRecord {
    state: Arc<Mutex<State>>,
}

/// A read that failed, or a file that could not be opened or listed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The file or directory.
    pub path: PathBuf,
    /// Where the read began; absent when the file could not be opened.
    pub offset_bytes: Option<u64>,
    /// How long it was to be.
    pub length_bytes: u64,
    /// What the error is about.
    pub cause: Cause,
    /// The error number of the operating system.
    pub error_number: Option<i32>,
    /// What the operating system said.
    pub error: String,
}

/// A place whose readings differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Differing {
    /// The file.
    pub path: PathBuf,
    /// Where the place begins.
    pub offset_bytes: u64,
    /// How long it is.
    pub length_bytes: u64,
    /// The hash of the first reading that was kept.
    pub first_hash: u32,
    /// The hash of the first other reading.
    pub other_hash: u32,
    /// How often the place was read since the first difference, both readings of it included.
    pub reading_count: u64,
    /// How many contents were seen, at least.
    pub content_count: u64,
    /// Whether no process wrote the file meanwhile; set by [`InputRecord::settle`].
    pub is_still: bool,
}

#[derive(Debug, Default)]
struct State {
    files: HashMap<FileId, FileState>,
    ids: HashMap<PathBuf, FileId>,
    failures: Vec<Failure>,
    differing: BTreeMap<(FileId, u64), DifferingRange>,
    read_count: usize,
    page_hash_bytes: u64,
    wait_count: usize,
}

#[derive(Debug)]
struct FileState {
    path: PathBuf,
    stamp: Stamp,
    pages: Option<Arc<Pages>>,
    /// Single reads: length and hash by offset.
    reads: HashMap<u64, (u32, u32)>,
}

#[derive(Debug)]
struct DifferingRange {
    length_bytes: u64,
    first_hash: u32,
    other_hash: u32,
    reading_count: u64,
    hashes: HashSet<u32>,
}

/// Keeps a record as that of this thread until it is dropped.
#[derive(Debug)]
pub struct Entered {
    before: Option<InputRecord>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        let before = self.before.take();
        CURRENT.with(|current| *current.borrow_mut() = before);
    }
}

impl InputRecord {
    /// Lets all reads of this thread, and of scans that it starts, be noted here.
    #[must_use]
    pub fn enter(&self) -> Entered {
        Entered { before: CURRENT.with(|current| current.borrow_mut().replace(self.clone())) }
    }

    /// The record of this thread.
    #[must_use]
    pub fn current() -> Option<InputRecord> {
        CURRENT.with(|current| current.borrow().clone())
    }

    /// Notes a file that was opened.
    pub(crate) fn opened(&self, path: &Path, metadata: &Metadata) -> FileId {
        let mut stamp = Stamp::of(metadata);
        // Right after a change another one would have the same time. Files that are written all the time are not
        // waited for.
        let wait = stamp.wait().filter(|_| {
            let mut state = self.lock();
            state.wait_count += 1;
            state.wait_count <= WAITS_MAX && !state.files.contains_key(&stamp.id)
        });
        if let Some(wait) = wait {
            std::thread::sleep(wait);
            if let Some(later) = std::fs::metadata(path).ok().map(|metadata| Stamp::of(&metadata)) {
                stamp = if later.id == stamp.id { later } else { stamp };
            }
        }
        let mut state = self.lock();
        let State { files, ids, .. } = &mut *state;
        files.entry(stamp.id).or_insert_with(|| FileState {
            path: path.to_path_buf(),
            stamp,
            pages: None,
            reads: HashMap::new(),
        });
        // The first one stays: another file in its place is a change.
        ids.entry(path.to_path_buf()).or_insert(stamp.id);
        stamp.id
    }

    /// Notes a failure. That a file is absent is one only when it was there before.
    pub(crate) fn failed(&self, path: &Path, at: Option<(u64, u64)>, error: &io::Error, was_there: bool) {
        let mut state = self.lock();
        let is_absent = matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
        let is_known = was_there || state.ids.contains_key(path);
        // A pipe or a device in the place of a file is a matter of the engine.
        if error.raw_os_error().is_none() && error.kind() == io::ErrorKind::InvalidInput {
            return;
        }
        if is_absent && !is_known || state.failures.len() >= LISTED_MAX {
            return;
        }
        state.failures.push(Failure {
            path: path.to_path_buf(),
            offset_bytes: at.map(|(offset, _)| offset),
            length_bytes: at.map_or(0, |(_, length)| length),
            cause: Cause::of(error),
            error_number: error.raw_os_error(),
            error: error.to_string(),
        });
    }

    /// Notes what a pass read, page by page from `offset_bytes` on.
    pub(crate) fn delivered(&self, id: FileId, page_bytes: usize, offset_bytes: u64, bytes: &[u8]) {
        let Some(pages) = self.pages(id, page_bytes) else { return };
        for (offset, page) in (offset_bytes..).step_by(page_bytes).zip(bytes.chunks_exact(page_bytes)) {
            if let Some((old, new)) = pages.note(offset, page) {
                self.lock().differ(id, offset, page_bytes as u64, old, new);
            }
        }
    }

    /// Notes a single read.
    pub(crate) fn read(&self, id: FileId, offset_bytes: u64, bytes: &[u8]) {
        let Ok(length) = u32::try_from(bytes.len()) else { return };
        let mut state = self.lock();
        let Some(file) = state.files.get_mut(&id) else { return };
        let new = hash(bytes);
        let is_page = |pages: &&Arc<Pages>| pages.page_bytes == bytes.len();
        let of_pass = file.pages.as_ref().filter(is_page).and_then(|pages| pages.get(offset_bytes));
        let before = file.reads.get(&offset_bytes).filter(|(known, _)| *known == length);
        let before = before.map(|(_, hash)| *hash).or(of_pass);
        let is_new = !file.reads.contains_key(&offset_bytes);
        // A file that a scan reads whole keeps what is a page there: its last reading is enough.
        if !is_new || of_pass.is_none() {
            if is_new && state.read_count >= READS_MAX {
                return;
            }
            let known = state.files.get_mut(&id).map(|file| file.reads.entry(offset_bytes));
            if let Some(known) = known {
                let known = known.or_insert((length, new));
                // The longest read of a place is the one that is repeated: it covers the others.
                if known.0 <= length {
                    *known = (length, new);
                }
            }
            state.read_count += usize::from(is_new);
        }
        match before {
            Some(old) if old != new => state.differ(id, offset_bytes, length.into(), old, new),
            Some(same) => state.read_again(id, offset_bytes, same),
            None => {}
        }
    }

    /// Where hashes of the pages of a file are kept; `None` when there is no room.
    fn pages(&self, id: FileId, page_bytes: usize) -> Option<Arc<Pages>> {
        let mut state = self.lock();
        let used = state.page_hash_bytes;
        let file = state.files.get_mut(&id)?;
        if let Some(pages) = &file.pages {
            return Some(Arc::clone(pages)).filter(|pages| pages.page_bytes == page_bytes);
        }
        let memory = Pages::memory_bytes(file.stamp.size_bytes, page_bytes);
        if page_bytes == 0 || used + memory > PAGE_HASH_BYTES_MAX {
            return None;
        }
        let pages = Arc::new(Pages::new(file.stamp.size_bytes, page_bytes));
        file.pages = Some(Arc::clone(&pages));
        state.page_hash_bytes += memory;
        Some(pages)
    }

    /// Whether a reading differed from an earlier one so far.
    #[must_use]
    pub fn has_differing(&self) -> bool {
        !self.lock().differing.is_empty()
    }

    /// What failed so far, in the order in which it did; at most a thousand.
    #[must_use]
    pub fn failures(&self) -> Vec<Failure> {
        self.lock().failures.clone()
    }

    /// Files that are not what they were when they were opened: another file has the name, or none, or the length or
    /// the time of the last write is another one.
    #[must_use]
    pub fn changed(&self) -> Vec<PathBuf> {
        let known: Vec<(PathBuf, Option<Stamp>)> = {
            let state = self.lock();
            let stamp = |id| state.files.get(id).map(|file| file.stamp);
            state.ids.iter().map(|(path, id)| (path.clone(), stamp(id))).collect()
        };
        let mut changed: Vec<PathBuf> = known
            .into_iter()
            .filter(|(path, _)| !path.starts_with("/proc"))
            .filter(|(path, stamp)| {
                let now = std::fs::metadata(path).ok().map(|metadata| Stamp::of(&metadata));
                match (stamp, now) {
                    (Some(stamp), Some(now)) => stamp.is_changed(&now),
                    _ => true,
                }
            })
            .map(|(path, _)| path)
            .collect();
        changed.sort();
        changed
    }

    /// The single reads that were noted, by path: offset and length, ascending.
    pub(crate) fn single_reads(&self) -> Vec<(PathBuf, Vec<(u64, u32)>)> {
        let state = self.lock();
        let mut all: Vec<_> = state
            .files
            .values()
            .map(|file| {
                let mut reads: Vec<_> =
                    file.reads.iter().map(|(offset, (length, _))| (*offset, *length)).collect();
                reads.sort_unstable();
                (file.path.clone(), reads)
            })
            .collect();
        all.sort();
        all
    }

    /// Compares single reads from before a pass with what the pass read.
    pub(crate) fn reconcile(&self) {
        let mut state = self.lock();
        let mut found = Vec::new();
        for (id, file) in &state.files {
            let Some(pages) = &file.pages else { continue };
            for (offset, (length, single)) in &file.reads {
                let of_pass = pages.get(*offset).filter(|_| *length as usize == pages.page_bytes);
                if let Some(of_pass) = of_pass.filter(|of_pass| of_pass != single) {
                    found.push((*id, *offset, u64::from(*length), *single, of_pass));
                }
            }
        }
        for (id, offset, length, first, other) in found {
            state.differ(id, offset, length, first, other);
        }
    }

    /// The places whose readings differ, by path and offset. A place inside of another one is left out.
    #[must_use]
    pub fn settle(&self) -> Vec<Differing> {
        let state = self.lock();
        let mut now: HashMap<FileId, bool> = HashMap::new();
        let mut places: Vec<Differing> = Vec::new();
        for ((id, offset), place) in &state.differing {
            let Some(file) = state.files.get(id) else { continue };
            let is_still = *now.entry(*id).or_insert_with(|| {
                let metadata = std::fs::File::open(&file.path).and_then(|file| file.metadata());
                metadata.is_ok_and(|metadata| file.stamp.is_still(&Stamp::of(&metadata)))
            });
            places.push(Differing {
                path: file.path.clone(),
                offset_bytes: *offset,
                length_bytes: place.length_bytes,
                first_hash: place.first_hash,
                other_hash: place.other_hash,
                reading_count: place.reading_count,
                content_count: place.hashes.len() as u64,
                is_still,
            });
        }
        places.sort_by(|a, b| {
            (&a.path, a.offset_bytes, b.length_bytes).cmp(&(&b.path, b.offset_bytes, a.length_bytes))
        });
        places
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn differ(&mut self, id: FileId, offset_bytes: u64, length_bytes: u64, old: u32, new: u32) {
        if self.differing.len() >= LISTED_MAX && !self.differing.contains_key(&(id, offset_bytes)) {
            return;
        }
        let place = self.differing.entry((id, offset_bytes)).or_insert_with(|| DifferingRange {
            length_bytes,
            first_hash: old,
            other_hash: new,
            reading_count: 1,
            hashes: HashSet::from([old]),
        });
        place.reading_count += 1;
        place.hashes.insert(new);
    }

    /// Counts one more reading of a place that had differed.
    fn read_again(&mut self, id: FileId, offset_bytes: u64, hash: u32) {
        if let Some(place) = self.differing.get_mut(&(id, offset_bytes)) {
            place.reading_count += 1;
            place.hashes.insert(hash);
        }
    }
}
