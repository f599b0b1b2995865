//! Reading parts of a database file with workers: under the limits that the options set, with progress.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use disk::backend::{BackendChoice, open_backend};
use disk::scan::{Extent, Governor, ScanError, ScanFile, ScanOptions, ScanOutcome, scan_with};

use check::options::Options;
use check::progress::{Phase, Progress, Watched};

/// Reads that each worker has under way.
const DEPTH: usize = 8;
/// Bytes of a claim without a wish.
const CLAIM_BYTES: usize = 1 << 20;
/// Fewest bytes of a claim: what direct reads allow.
const CLAIM_BYTES_MIN: usize = 4096;

/// How a phase reads.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'o> {
    pub(crate) options: &'o Options,
    pub(crate) phase: Phase,
    pub(crate) page_size_bytes: usize,
    /// When to stop; no limit without.
    pub(crate) deadline: Option<Instant>,
    /// The limit of the whole check.
    pub(crate) governor: &'o Arc<Governor>,
}

impl Reading<'_> {
    /// Bytes of one claim: a multiple of the page size and of what direct reads allow.
    pub(crate) fn claim_bytes(&self) -> usize {
        let page_size_bytes = self.page_size_bytes;
        let wanted =
            self.options.page_batch.map_or(CLAIM_BYTES, |pages| pages.saturating_mul(page_size_bytes));
        wanted.clamp(CLAIM_BYTES_MIN.max(page_size_bytes), 1 << 28).next_multiple_of(CLAIM_BYTES_MIN)
    }

    /// Lets the buffers be made for a read of `expected_bytes` that comes later.
    pub(crate) fn prepare(&self, expected_bytes: u64) {
        if self.options.queues.is_none() {
            disk::scan::prepare(&self.scan_options(), expected_bytes);
        }
    }

    fn scan_options(&self) -> ScanOptions {
        ScanOptions {
            worker_count: self.options.worker_count.max(1),
            extent_bytes: self.claim_bytes(),
            depth: DEPTH,
            governor: Some(Arc::clone(self.governor)),
            retry_bytes: self.page_size_bytes,
            want_direct: self.options.want_direct,
            ..ScanOptions::default()
        }
    }

    /// Shows all extents of these parts of the file to the workers. Stops at the deadline, and when the options say so.
    pub(crate) fn read<S: Send>(
        &self,
        parts: &[ScanFile],
        progress: &mut dyn Progress,
        make_state: impl Fn(usize) -> S + Sync,
        visit: impl Fn(&mut S, Extent<'_>) + Sync,
    ) -> Result<ScanOutcome<S>, ScanError> {
        let done = Arc::new(AtomicU64::new(0));
        let halt = Arc::new(AtomicBool::new(self.is_stop_asked()));
        let options = ScanOptions {
            stop: Some(halt.clone()),
            progress_bytes: Some(done.clone()),
            ..self.scan_options()
        };
        let total =
            parts.iter().filter_map(|part| part.range_bytes.clone()).map(|part| part.end - part.start).sum();
        let make_queue = |queue: &disk::backend::BackendOptions| match &self.options.queues {
            Some(queues) => (queues.0)(queue),
            None => open_backend(BackendChoice::Auto, queue),
        };
        let watched = Watched {
            phase: self.phase,
            deadline: self.deadline,
            stop: self.options.stop.as_deref(),
            halt: &halt,
            done: &done,
            total,
        };
        watched.run(progress, || scan_with(parts, &options, &make_queue, make_state, visit))
    }

    /// Whether the time is over or the options say to stop.
    pub(crate) fn is_over(&self) -> bool {
        self.is_stop_asked() || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    pub(crate) fn is_stop_asked(&self) -> bool {
        self.options.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}
