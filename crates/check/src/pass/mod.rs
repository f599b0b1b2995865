//! One pass over files: workers claim extents and share nothing; the pass ends at its time limit or on request.

mod watch;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use disk::backend::{BackendChoice, BackendOptions, open_backend};
use disk::scan::{Extent, Governor, ScanError, ScanFile, ScanOptions, ScanOutcome, scan_with};
use results::check::CheckCounters;
use results::structure::StructureCounters;

use crate::options::Options;
use crate::pass::watch::Watched;
use crate::progress::{Phase, Progress};

/// Bytes of a claim, if the user does not say.
pub const CLAIM_BYTES: usize = 1 << 20;
/// Fewest bytes of a claim, and its unit: what direct reads allow.
const CLAIM_BYTES_MIN: usize = 4096;
/// Most bytes of a claim.
const CLAIM_BYTES_MAX: usize = 1 << 28;
/// Reads that each worker has under way.
const DEPTH: usize = 8;

/// How a pass reads. One claim is one read: each page is read once and is looked at by the worker that read it.
#[derive(Clone, Copy)]
pub struct Pass<'o> {
    /// Workers, limits, and where queues come from.
    pub options: &'o Options,
    /// What the progress says.
    pub phase: Phase,
    /// Size of a page: no claim cuts one, and what cannot be read is tried again page by page.
    pub page_bytes: usize,
    /// When no extent is claimed any more; no limit without. Something is read in any case.
    pub deadline: Option<Instant>,
    /// The rate limit of the whole check.
    pub governor: &'o Arc<Governor>,
    /// Bytes of passes before this one, for the progress.
    pub bytes_before: u64,
    /// Bytes of all passes, for the progress; without, the bytes of this one.
    pub bytes_total: Option<u64>,
}

impl<'o> Pass<'o> {
    /// A pass without a time limit.
    pub fn new(options: &'o Options, governor: &'o Arc<Governor>, page_bytes: usize) -> Self {
        Self {
            options,
            phase: Phase::Pass,
            page_bytes,
            deadline: None,
            governor,
            bytes_before: 0,
            bytes_total: None,
        }
    }

    /// Bytes of one claim: a multiple of the page size and of what direct reads allow.
    #[must_use]
    pub fn claim_bytes(&self) -> usize {
        let page_bytes = self.page_bytes.max(1);
        let wanted = self.options.page_batch.map_or(CLAIM_BYTES, |pages| pages.saturating_mul(page_bytes));
        wanted.clamp(CLAIM_BYTES_MIN.max(page_bytes), CLAIM_BYTES_MAX).next_multiple_of(CLAIM_BYTES_MIN)
    }

    /// Makes the buffers for a read of `bytes_expected` that comes later.
    pub fn prepare(&self, bytes_expected: u64) {
        if self.options.queues.is_none() {
            disk::scan::prepare(&self.scan_options(), bytes_expected);
        }
    }

    /// Reads these parts of files once and shows each extent to the worker that read it.
    ///
    /// # Errors
    /// When memory, threads or queues cannot be had. Files that cannot be opened or read are in the outcome.
    ///
    /// # Panics
    /// When `make_state` or `visit` panics.
    pub fn run<S: Send>(
        &self,
        parts: &[ScanFile],
        progress: &mut dyn Progress,
        make_state: impl Fn(usize) -> S + Sync,
        visit: impl Fn(&mut S, Extent<'_>) + Sync,
    ) -> Result<ScanOutcome<S>, ScanError> {
        let done = Arc::new(AtomicU64::new(0));
        let halt = Arc::new(AtomicBool::new(self.is_stop_asked()));
        let options = ScanOptions {
            stop: Some(Arc::clone(&halt)),
            progress_bytes: Some(Arc::clone(&done)),
            ..self.scan_options()
        };
        let ranges = parts.iter().filter_map(|part| part.range_bytes.as_ref());
        let bytes_of_parts = || ranges.map(|range| range.end.saturating_sub(range.start)).sum();
        let make_queue = |queue: &BackendOptions| match &self.options.queues {
            Some(queues) => (queues.0)(queue),
            None => open_backend(BackendChoice::Auto, queue),
        };
        let watched = Watched {
            phase: self.phase,
            deadline: self.deadline,
            stop: self.options.stop.as_deref(),
            halt: &halt,
            done: &done,
            bytes_before: self.bytes_before,
            bytes_total: self.bytes_total.unwrap_or_else(bytes_of_parts),
        };
        watched.run(progress, || scan_with(parts, &options, &make_queue, make_state, visit))
    }

    /// Whether the time is over or a stop was asked for.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_stop_asked() || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Adds what a pass cost.
    pub fn count<S>(&self, outcome: &ScanOutcome<S>, counters: &mut CheckCounters) {
        let claim_bytes = self.claim_bytes() as u64;
        let claims = outcome
            .files
            .iter()
            .map(|file| file.expected_bytes.saturating_sub(file.unclaimed_bytes).div_ceil(claim_bytes));
        counters.worker_count = counters.worker_count.max(outcome.states.len() as u64);
        counters.claim_bytes = claim_bytes;
        counters.claim_count += claims.sum::<u64>();
        counters.claim_wait_ns += outcome.claim_wait_ns;
        counters.pass_ns += outcome.elapsed_ns;
        counters.worker_cpu_ns += outcome.worker_cpu_ns;
        counters.reader = reader_text(outcome);
    }

    fn is_stop_asked(&self) -> bool {
        self.options.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    fn scan_options(&self) -> ScanOptions {
        ScanOptions {
            worker_count: self.options.worker_count.max(1),
            extent_bytes: self.claim_bytes(),
            depth: DEPTH,
            governor: Some(Arc::clone(self.governor)),
            retry_bytes: self.page_bytes,
            want_direct: self.options.want_direct,
            ..ScanOptions::default()
        }
    }
}

/// Sets what the pass of a measurement of fragmentation cost.
pub fn count_structure<S>(outcome: &ScanOutcome<S>, counters: &mut StructureCounters) {
    counters.worker_count = outcome.states.len() as u64;
    counters.pass_ns = outcome.elapsed_ns;
    counters.worker_cpu_ns = outcome.worker_cpu_ns;
    counters.reader = reader_text(outcome);
}

/// Bytes that no worker claimed, because the pass was stopped.
pub fn unclaimed_bytes<S>(outcome: &ScanOutcome<S>) -> u64 {
    outcome.files.iter().map(|file| file.unclaimed_bytes).sum()
}

/// Why a file was not opened; the first one.
pub fn file_error<S>(outcome: &ScanOutcome<S>) -> Option<String> {
    outcome.files.iter().find_map(|file| file.error.clone())
}

/// How the device was read: the way to the kernel, direct or through the page cache and why.
fn reader_text<S>(outcome: &ScanOutcome<S>) -> String {
    let engine = &outcome.backend.engine;
    match outcome.page_cache_reason() {
        None => format!("{engine}, direct"),
        Some(reason) => format!("{engine}, through the page cache: {reason}"),
    }
}

#[cfg(test)]
mod tests;
