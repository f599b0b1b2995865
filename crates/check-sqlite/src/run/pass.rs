//! The pass over all pages in physical order.

use std::path::Path;
use std::time::Instant;

use disk::scan::{Content, Extent, ScanFile, ScanOutcome};
use results::check::CheckCounters;

use check::options::Options;
use check::progress::{Phase, Progress};

use crate::map::chain::Window;
use crate::run::context::Context;
use crate::run::reading::Reading;
use crate::run::worker::Worker;

/// What the pass brought: the sum of all workers, and how it was read.
pub(crate) struct Passed<'a> {
    pub(crate) worker: Worker<'a>,
    /// Pages that were not claimed because the check was stopped.
    pub(crate) unreached_count: u64,
    pub(crate) bytes_read: u64,
    /// Why the file could not be read to its end.
    pub(crate) trouble: Option<String>,
}

/// Reads all pages once and shows them to the workers.
pub(crate) fn pass<'a>(
    context: &'a Context<'a>,
    path: &Path,
    range_bytes: std::ops::Range<u64>,
    options: &Options,
    started: Instant,
    counters: &mut CheckCounters,
    progress: &mut dyn Progress,
) -> Passed<'a> {
    let page_size_bytes = context.geometry.page_size_bytes as usize;
    let pass_started = Instant::now();
    // A map that took all the time still leaves some for the pass, so that repeated calls come to an end.
    let deadline = options.time_max.map(|time| (started + time).max(pass_started + time / 10));
    let governor = &context.reader.brake.governor;
    let reading = Reading { options, phase: Phase::Pass, page_size_bytes, deadline, governor };
    let outcome = reading.read(
        &[ScanFile::part(path, range_bytes)],
        progress,
        |_| Worker::new(context),
        |worker, extent| visit(context, worker, &extent),
    );
    counters.claim_bytes = reading.claim_bytes() as u64;
    counters.pass_ns = u64::try_from(pass_started.elapsed().as_nanos()).unwrap_or(u64::MAX);
    match outcome {
        Ok(outcome) => merged(context, outcome, page_size_bytes as u64, counters),
        Err(error) => Passed {
            worker: Worker::new(context),
            unreached_count: u64::from(context.page_count),
            bytes_read: 0,
            trouble: Some(error.to_string()),
        },
    }
}

fn merged<'a>(
    context: &'a Context<'a>,
    outcome: ScanOutcome<Worker<'a>>,
    page_size_bytes: u64,
    counters: &mut CheckCounters,
) -> Passed<'a> {
    let bytes_read = outcome.read_bytes();
    let direct = if outcome.page_cache_reason().is_none() { "direct" } else { "through the page cache" };
    counters.reader = format!("{}, {direct}", outcome.backend.engine);
    counters.worker_count = outcome.states.len() as u64;
    counters.worker_cpu_ns = outcome.worker_cpu_ns;
    counters.claim_wait_ns = outcome.claim_wait_ns;
    let unclaimed: u64 = outcome.files.iter().map(|file| file.unclaimed_bytes).sum();
    let trouble = outcome.files.iter().find_map(|file| file.error.clone());
    let mut worker = Worker::new(context);
    outcome.states.into_iter().for_each(|state| worker.merge(state));
    counters.claim_count = worker.claim_count;
    Passed { worker, unreached_count: unclaimed / page_size_bytes, bytes_read, trouble }
}

/// Shows an extent to a worker, with the log laid over it.
pub(crate) fn visit(context: &Context<'_>, worker: &mut Worker<'_>, extent: &Extent<'_>) {
    let page_size_bytes = context.geometry.page_size_bytes as usize;
    let first_page = u32::try_from(extent.offset_bytes / page_size_bytes as u64 + 1).unwrap_or(u32::MAX);
    match &extent.content {
        Content::Bytes(bytes) => {
            worker.claim_count += 1;
            let laid_over = context.reader.laid_over(first_page, bytes);
            worker.look(&Window { first_page, bytes: &laid_over, page_size_bytes });
        }
        Content::Unreadable { length_bytes, error } => {
            let count = (*length_bytes as usize).div_ceil(page_size_bytes) as u32;
            for page in first_page..first_page.saturating_add(count) {
                worker.unreadable(page, &error.to_string());
            }
        }
        Content::Missing { length_bytes } => {
            let count = (*length_bytes as usize).div_ceil(page_size_bytes) as u32;
            for page in first_page..first_page.saturating_add(count) {
                worker.unreadable(page, "the file ends before the page");
            }
        }
    }
}
