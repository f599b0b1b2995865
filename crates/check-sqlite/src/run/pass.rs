//! The pass over all pages in physical order.

use std::path::Path;
use std::time::Instant;

use disk::scan::{Content, Extent, ScanFile, ScanOutcome};
use results::check::CheckCounters;

use check::options::Options;
use check::pass::{Pass, file_error, unclaimed_bytes};
use check::progress::Progress;

use crate::map::chain::Window;
use crate::run::context::Context;
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
    let pass = Pass { deadline, ..Pass::new(options, &context.reader.brake.governor, page_size_bytes) };
    let outcome = pass.run(
        &[ScanFile::part(path, range_bytes)],
        progress,
        |_| Worker::new(context),
        |worker, extent| visit(context, worker, &extent),
    );
    match outcome {
        Ok(outcome) => {
            pass.count(&outcome, counters);
            merged(context, outcome, page_size_bytes as u64)
        }
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
) -> Passed<'a> {
    let bytes_read = outcome.read_bytes();
    let unclaimed = unclaimed_bytes(&outcome);
    let trouble = file_error(&outcome);
    let mut worker = Worker::new(context);
    outcome.states.into_iter().for_each(|state| worker.merge(state));
    Passed { worker, unreached_count: unclaimed / page_size_bytes, bytes_read, trouble }
}

/// Shows an extent to a worker, with the log laid over it.
pub(crate) fn visit(context: &Context<'_>, worker: &mut Worker<'_>, extent: &Extent<'_>) {
    let page_size_bytes = context.geometry.page_size_bytes as usize;
    let first_page = u32::try_from(extent.offset_bytes / page_size_bytes as u64 + 1).unwrap_or(u32::MAX);
    match &extent.content {
        Content::Bytes(bytes) => {
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
