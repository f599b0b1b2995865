//! How long a flush takes in a directory, and whether it waits for anything.
//!
//! A claim about group commit or batch size stands on flushes that take time. Where a flush returns at once the claim
//! cannot be tested, and the experiment must say so instead of measuring nothing.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::facts::{MEMORY, storage_behind};

/// A median below this means that nothing went to a device. Appending and flushing takes a write and, on most file
/// systems, a journal write; the fastest devices known (Optane, NVMe with power-loss protection) need about 10
/// microseconds for one write alone, and a flush on tmpfs takes less than one.
pub const FLUSH_NS_MIN: u64 = 10_000;

/// The most bytes of one append. A probe is not a bandwidth test.
const APPEND_BYTES_MAX: usize = 64 << 20;

/// What flushes do in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlushBehaviour {
    /// They take as long as something that reaches a device. A hypervisor that drops flushes may still look like this.
    Waits,
    /// The directory lies in memory, if need be through a loop device: nothing can wait for a disk.
    InMemory,
    /// The median is below [`FLUSH_NS_MIN`].
    TooFast,
}

/// The time of an append with a flush, in one directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncLatency {
    /// How many appends were made.
    pub count: u32,
    /// The bytes of one append.
    pub size_bytes: usize,
    /// The fastest, in nanoseconds.
    pub min_ns: u64,
    /// The lower median, in nanoseconds.
    pub median_ns: u64,
    /// The slowest, in nanoseconds.
    pub max_ns: u64,
    /// What the times and the place say about flushes.
    pub behaviour: FlushBehaviour,
}

impl SyncLatency {
    /// Says whether flushes look as if they did not wait for a device.
    pub fn flushes_look_ignored(&self) -> bool {
        self.behaviour != FlushBehaviour::Waits
    }
}

/// Why the time of a flush could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The question has no answer.
    #[error(
        "cannot measure {count} appends of {size_bytes} bytes: both numbers must be at least 1, and an append at most {APPEND_BYTES_MAX} bytes"
    )]
    NothingToMeasure {
        /// The appends asked for.
        count: u32,
        /// The bytes of one append asked for.
        size_bytes: usize,
    },
    /// The file of the probe could not be made, written or flushed.
    #[error("could not {action} probe file \"{}\": {source}", .path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file of the probe.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}

/// Measures `count` appends of `size_bytes` to a file of its own in `dir`, each followed by `fdatasync`.
///
/// The time of one is append plus flush, which is what the log of a database does at a commit. The file is removed
/// on every way out except the death of the process (its name begins with `.fathom-flush-probe-`). Costs
/// `count * size_bytes` of space and of writes.
///
/// # Errors
/// When a number is 0 or the append too large, and when the file cannot be made, written or flushed.
pub fn sync_latency(dir: &Path, count: u32, size_bytes: usize) -> Result<SyncLatency, ProbeError> {
    if count == 0 || size_bytes == 0 || size_bytes > APPEND_BYTES_MAX {
        return Err(ProbeError::NothingToMeasure { count, size_bytes });
    }
    let mut file = ProbeFile::create_in(dir)?;
    let content = incompressible(size_bytes);
    let mut times_ns = Vec::new();
    for _ in 0..count {
        let start = Instant::now();
        file.append_and_flush(&content)?;
        times_ns.push(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX));
    }
    drop(file);
    times_ns.sort_unstable();
    let median_ns = times_ns[(times_ns.len() - 1) / 2];
    let in_memory = is_in_memory(dir);
    Ok(SyncLatency {
        count,
        size_bytes,
        min_ns: times_ns[0],
        median_ns,
        max_ns: times_ns[times_ns.len() - 1],
        behaviour: behaviour_of(median_ns, in_memory),
    })
}

/// Says whether all that lies behind `dir` is memory.
pub(crate) fn is_in_memory(dir: &Path) -> bool {
    storage_behind(dir).is_ok_and(|facts| {
        !facts.physical_devices.is_empty() && facts.physical_devices.iter().all(|d| d == MEMORY)
    })
}

pub(crate) fn behaviour_of(median_ns: u64, in_memory: bool) -> FlushBehaviour {
    match (in_memory, median_ns < FLUSH_NS_MIN) {
        (true, _) => FlushBehaviour::InMemory,
        (false, true) => FlushBehaviour::TooFast,
        (false, false) => FlushBehaviour::Waits,
    }
}

/// Bytes that a compressing file system cannot shrink to nothing (xorshift64, Marsaglia 2003).
fn incompressible(size_bytes: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut content = Vec::with_capacity(size_bytes + 8);
    while content.len() < size_bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        content.extend(state.to_le_bytes());
    }
    content.truncate(size_bytes);
    content
}

/// A file that is removed when it goes out of scope. It keeps its name until then: some file systems (btrfs) skip
/// the flush of a file that has no name, because nobody could find it after a crash.
struct ProbeFile {
    file: File,
    path: PathBuf,
}

impl ProbeFile {
    fn create_in(dir: &Path) -> Result<Self, ProbeError> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let serial = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = dir.join(format!(".fathom-flush-probe-{}-{serial}", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => Ok(ProbeFile { file, path }),
            Err(source) => Err(ProbeError::Io { action: "create", path, source }),
        }
    }

    fn append_and_flush(&mut self, content: &[u8]) -> Result<(), ProbeError> {
        let path = &self.path;
        let error = |action, source| ProbeError::Io { action, path: path.clone(), source };
        self.file.write_all(content).map_err(|source| error("write", source))?;
        self.file.sync_data().map_err(|source| error("flush", source))
    }
}

impl Drop for ProbeFile {
    fn drop(&mut self) {
        // Nothing can be done about a failure here, and the measurement is not touched by it.
        let _unremoved = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_probe_is_ordered_and_leaves_nothing_behind() {
        let directory = tempfile::tempdir().unwrap();
        let latency = sync_latency(directory.path(), 4, 512).unwrap();
        assert!(latency.min_ns <= latency.median_ns && latency.median_ns <= latency.max_ns);
        assert!(latency.min_ns > 0);
        assert_eq!((latency.count, latency.size_bytes), (4, 512));
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_file_is_removed_when_a_write_fails() {
        let directory = tempfile::tempdir().unwrap();
        let mut probe = ProbeFile::create_in(directory.path()).unwrap();
        // A file opened for reading refuses the append.
        probe.file = File::open(&probe.path).unwrap();
        let message = probe.append_and_flush(b"x").unwrap_err().to_string();
        assert!(message.starts_with("could not write probe file \""), "{message}");
        drop(probe);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_directory_in_memory_looks_as_if_it_ignored_flushes() {
        let memory = Path::new("/dev/shm");
        let Ok(directory) = tempfile::tempdir_in(memory) else { return };
        if storage_behind(memory).unwrap().physical_devices == [MEMORY] {
            assert!(sync_latency(directory.path(), 3, 100).unwrap().flushes_look_ignored());
        }
    }

    #[test]
    fn memory_beats_time_and_the_threshold_itself_waits() {
        assert_eq!(behaviour_of(FLUSH_NS_MIN * 100, true), FlushBehaviour::InMemory);
        assert_eq!(behaviour_of(FLUSH_NS_MIN - 1, false), FlushBehaviour::TooFast);
        assert_eq!(behaviour_of(FLUSH_NS_MIN, false), FlushBehaviour::Waits);
    }

    #[test]
    fn nothing_to_measure_and_a_missing_directory_are_errors() {
        let directory = tempfile::tempdir().unwrap();
        for (count, size_bytes) in [(0, 1), (1, 0), (1, usize::MAX)] {
            let error = sync_latency(directory.path(), count, size_bytes).unwrap_err();
            assert!(matches!(error, ProbeError::NothingToMeasure { .. }));
        }
        let message = sync_latency(&directory.path().join("missing"), 1, 1).unwrap_err().to_string();
        assert!(message.starts_with("could not create probe file \""), "{message}");
    }
}
