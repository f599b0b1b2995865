//! How a scan reads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use super::governor::Governor;
use super::order::ScanOrder;
use crate::backend::{Backend, BackendChoice, BackendError, BackendOptions};

/// The most workers of one scan.
pub const WORKERS_MAX: usize = 1024;

/// How to read.
#[derive(Clone, Debug)]
pub struct ScanOptions {
    /// The number of workers, 1 to [`WORKERS_MAX`]. Each is one thread.
    pub worker_count: usize,
    /// The size of a read, a multiple of 4096 bytes. Pages that divide it are never cut.
    pub extent_bytes: usize,
    /// How many reads each worker has under way, 1 to [`DEPTH_MAX`]. Memory is
    /// `worker_count * (depth + 2) * extent_bytes`; up to 32 MiB of it are kept for the next scan.
    pub depth: usize,
    /// How extents of several files follow each other.
    pub order: ScanOrder,
    /// What all workers together may read per second, in bytes.
    pub rate_bytes_per_s_max: Option<u64>,
    /// A limit that is shared with others, in place of that one.
    pub governor: Option<Arc<Governor>>,
    /// The unit in which an extent that cannot be read is tried again, a multiple of 512 bytes; the size of a page
    /// tells best what is lost.
    pub retry_bytes: usize,
    /// Which way to the kernel.
    pub backend: BackendChoice,
    /// Whether to go past the page cache where that is possible.
    pub want_direct: bool,
    /// Ends the scan early when set: no extent is claimed any more, those under way are delivered.
    pub stop: Option<Arc<AtomicBool>>,
    /// Counts the bytes dealt with so far, for a display of progress.
    pub progress_bytes: Option<Arc<AtomicU64>>,
}

impl Default for ScanOptions {
    /// One worker with 8 direct reads of 1 MiB under way, retries by 8 KiB, no limit.
    fn default() -> Self {
        ScanOptions {
            worker_count: 1,
            extent_bytes: 1 << 20,
            depth: 8,
            order: ScanOrder::AllAsOne,
            rate_bytes_per_s_max: None,
            governor: None,
            retry_bytes: 8192,
            backend: BackendChoice::Auto,
            want_direct: true,
            stop: None,
            progress_bytes: None,
        }
    }
}

/// How a worker gets its queue; tests put faults in between.
pub type MakeBackend<'a> = &'a (dyn Fn(&BackendOptions) -> Result<Box<dyn Backend>, BackendError> + Sync);
