//! Reading a list of files whole, at the speed of the device: the reader of the checker.
//!
//! Workers claim extents by one atomic addition, keep a deep queue of reads, and look at each extent on the thread
//! that read it, while the bytes are in its cache. All state is the worker's own and comes back at the end.
//!
//! ```no_run
//! use disk::scan::{Content, ScanFile, ScanOptions, scan};
//!
//! let files = [ScanFile::whole("base/5/16384")];
//! let outcome = scan(&files, &ScanOptions::default(), |_worker| 0u64, |zero_count, extent| {
//!     if let Content::Bytes(bytes) = extent.content {
//!         *zero_count += bytes.iter().filter(|&&byte| byte == 0).count() as u64;
//!     }
//! })?;
//! assert!(outcome.is_complete());
//! println!("{} zeros", outcome.states.iter().sum::<u64>());
//! # Ok::<(), disk::scan::ScanError>(())
//! ```

mod extent;
mod file;
mod governor;
mod options;
mod order;
mod queue;
mod source;
mod totals;
mod worker;

use std::io;
use std::thread;
use std::time::Instant;

pub use extent::{Content, Extent};
pub use file::{FileOutcome, ScanFile};
pub use governor::Governor;
pub use options::{MakeBackend, ScanOptions, WORKERS_MAX};
pub use order::ScanOrder;

use crate::backend::{BackendError, BackendFacts, DEPTH_MAX, open_backend, prepare_queues};
use crate::buffer::BUFFER_ALIGNMENT_BYTES;
use crate::file::CacheMode;
use crate::input::InputRecord;
use order::ExtentOrder;
use source::Sources;
use totals::Totals;
use worker::Worker;

/// What a scan brought.
#[derive(Debug)]
pub struct ScanOutcome<S> {
    /// The state of each worker, by its number.
    pub states: Vec<S>,
    /// What became of each file, in the order of the list.
    pub files: Vec<FileOutcome>,
    /// From before the first open to after the last worker, in nanoseconds.
    pub elapsed_ns: u64,
    /// The processor time of the workers, the visitor's included, in nanoseconds.
    pub worker_cpu_ns: u64,
    /// The time that workers spent getting their claims, in nanoseconds: the counter that they share, and sleep where
    /// the limit on reading had none for them and nothing was under way.
    pub claim_wait_ns: u64,
    /// The way to the kernel that was taken.
    pub backend: BackendFacts,
}

impl<S> ScanOutcome<S> {
    /// Says whether every byte of every file was delivered.
    pub fn is_complete(&self) -> bool {
        self.files.iter().all(|file| file.error.is_none() && file.read_bytes == file.expected_bytes)
    }

    /// The bytes delivered, of all files.
    pub fn read_bytes(&self) -> u64 {
        self.files.iter().map(|file| file.read_bytes).sum()
    }

    /// The bytes that were to be read, of all files whose size is known.
    pub fn expected_bytes(&self) -> u64 {
        self.files.iter().map(|file| file.expected_bytes).sum()
    }

    /// The first reason why a file was read through the page cache; `None` when all were read directly.
    pub fn page_cache_reason(&self) -> Option<&str> {
        self.files.iter().find_map(|file| match &file.cache {
            Some(CacheMode::PageCache { reason }) => Some(reason.as_str()),
            _ => None,
        })
    }
}

/// Why a scan could not be done. What concerns one file or one extent is not among it.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// An option is outside its range.
    #[error("cannot scan with {name} {value}: it must be {range}")]
    Option {
        /// The option.
        name: &'static str,
        /// Its value.
        value: usize,
        /// What is allowed.
        range: String,
    },
    /// No queue could be made.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// A worker could not be started.
    #[error("could not start worker {worker_index}: {source}")]
    Worker {
        /// Its number.
        worker_index: usize,
        /// What the operating system said.
        source: io::Error,
    },
    /// A queue stopped working in the middle.
    #[error("could not go on with worker {worker_index}: its queue failed: {source}")]
    Queue {
        /// Its number.
        worker_index: usize,
        /// What the operating system said.
        source: io::Error,
    },
}

/// Reads all of `files` and shows each extent to `visit` once, with the state that `make_state` made for the worker.
///
/// Files are opened for reading only, when their turn comes, and closed when they are done. Claims follow
/// `options.order`; a worker gets its extents in the order in which their reads end, which is nearly that. An
/// extent that cannot be read is tried again in pieces of `options.retry_bytes`. A file that cannot be opened comes
/// as unreadable extents; one that is to be read whole and whose size cannot be found out comes not at all, with an
/// error in its outcome.
///
/// Nothing is shared between workers but the claim counter, the governor and one short lock per extent for the file.
///
/// # Errors
/// When an option is out of range, memory or threads are short, or a queue breaks. `visit` is then not called for
/// the rest.
///
/// # Panics
/// When `make_state` or `visit` panics.
pub fn scan<S: Send>(
    files: &[ScanFile],
    options: &ScanOptions,
    make_state: impl Fn(usize) -> S + Sync,
    visit: impl Fn(&mut S, Extent<'_>) + Sync,
) -> Result<ScanOutcome<S>, ScanError> {
    scan_with(files, options, &|queue| open_backend(options.backend, queue), make_state, visit)
}

/// Begins to make the buffers of a scan of one part of `expected_bytes` that is going to be asked for with these
/// options, and returns at once. For whoever has something else to do first: on a virtual machine the buffers of a
/// worker can cost as much time as reading 30 MiB.
pub fn prepare(options: &ScanOptions, expected_bytes: u64) {
    let extent_count = expected_bytes.div_ceil(options.extent_bytes.max(1) as u64);
    let extent_count = usize::try_from(extent_count).unwrap_or(usize::MAX);
    let queue = queue::queue_options(options.depth, options.extent_bytes, extent_count);
    prepare_queues(options.worker_count.min(extent_count), &queue);
}

/// As [`scan`], with queues made by the caller.
///
/// # Errors
/// As [`scan`].
///
/// # Panics
/// As [`scan`].
pub fn scan_with<S: Send>(
    files: &[ScanFile],
    options: &ScanOptions,
    make_backend: MakeBackend<'_>,
    make_state: impl Fn(usize) -> S + Sync,
    visit: impl Fn(&mut S, Extent<'_>) + Sync,
) -> Result<ScanOutcome<S>, ScanError> {
    check(options)?;
    let start = Instant::now();
    let record = InputRecord::current();
    let sources = Sources::new(files, options.want_direct, record.clone());
    let order = ExtentOrder::new(options.order, options.extent_bytes, sources.ranges());
    let shared = worker::Shared::new(&sources, &order, options);
    // Workers beyond the number of extents would only make queues.
    let worker_count =
        options.worker_count.min(usize::try_from(order.extent_count()).unwrap_or(usize::MAX)).max(1);
    let results = thread::scope(|scope| {
        let (shared, make_state, visit, record) = (&shared, &make_state, &visit, &record);
        let run = move |worker_index: usize| {
            // What the visitor reads by itself is noted with the rest.
            let _entered = record.as_ref().map(InputRecord::enter);
            let mut state = make_state(worker_index);
            let mut worker = Worker::new(shared, make_backend)?;
            match worker.run(&mut |extent| visit(&mut state, extent)) {
                Ok(()) => Ok((state, worker.finish())),
                Err(source) => {
                    shared.stop();
                    Err(ScanError::Queue { worker_index, source })
                }
            }
        };
        let mut handles = Vec::new();
        for worker_index in 1..worker_count {
            let builder = thread::Builder::new().name(format!("scan-{worker_index}"));
            match builder.spawn_scoped(scope, move || run(worker_index)) {
                Ok(handle) => handles.push(handle),
                Err(source) => {
                    shared.stop();
                    return vec![Err(ScanError::Worker { worker_index, source })];
                }
            }
        }
        let mut results = vec![run(0)];
        results.extend(handles.into_iter().map(|handle| match handle.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }));
        results
    });
    let mut states = Vec::with_capacity(worker_count);
    let mut totals = Totals::default();
    for result in results {
        let (state, part) = result?;
        states.push(state);
        totals.merge(part);
    }
    let backend = totals.backend.take().expect("there is at least one worker");
    let (worker_cpu_ns, claim_wait_ns) = (totals.cpu_ns, totals.claim_wait_ns);
    let files = sources.into_outcomes(&totals);
    let elapsed_ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    Ok(ScanOutcome { states, files, elapsed_ns, worker_cpu_ns, claim_wait_ns, backend })
}

fn check(options: &ScanOptions) -> Result<(), ScanError> {
    let demand = |name, value, is_allowed: bool, range: String| match is_allowed {
        true => Ok(()),
        false => Err(ScanError::Option { name, value, range }),
    };
    let workers = options.worker_count;
    demand("worker count", workers, (1..=WORKERS_MAX).contains(&workers), format!("1 to {WORKERS_MAX}"))?;
    let depth = options.depth;
    demand("depth", depth, (1..=DEPTH_MAX).contains(&depth), format!("1 to {DEPTH_MAX}"))?;
    let extent = options.extent_bytes;
    let is_whole = extent > 0 && extent.is_multiple_of(BUFFER_ALIGNMENT_BYTES);
    demand("extent bytes", extent, is_whole, format!("a multiple of {BUFFER_ALIGNMENT_BYTES}"))?;
    let retry = options.retry_bytes;
    demand("retry bytes", retry, retry > 0 && retry.is_multiple_of(512), "a multiple of 512".to_owned())
}

#[cfg(test)]
mod tests;
