//! A device with faults below a check.

use std::sync::Arc;

use check::options::{Options, Queues};
use disk::backend::{Backend, BackendChoice, BackendOptions, Fault, FaultyBackend, Request, open_backend};
use results::check::CheckReport;

/// The options, with queues that have the faults of a plan.
pub(crate) fn with_faults(
    base: Options,
    plan: impl Fn(u64, &Request) -> Option<Fault> + Copy + Send + Sync + 'static,
) -> Options {
    let make = move |queue: &BackendOptions| {
        let inner = open_backend(BackendChoice::Auto, queue)?;
        let faulty: Box<dyn Backend> = Box::new(FaultyBackend::new(inner, Box::new(plan)));
        Ok(faulty)
    };
    Options { queues: Some(Queues(Arc::new(make))), ..base }
}

/// Proves that each expected byte was read or belongs to a page that is counted as unreadable or not reached.
pub(crate) fn assert_accounted(report: &CheckReport) {
    let accounting = &report.accounting;
    let page_bytes = accounting.bytes_expected / accounting.page_count.max(1);
    let missing = (accounting.unreadable_count + accounting.unreached_count) * page_bytes;
    assert_eq!(accounting.bytes_read + missing, accounting.bytes_expected);
}

/// Whether a request reads the byte at an offset.
pub(crate) fn covers(request: &Request, offset_bytes: u64) -> bool {
    (request.offset_bytes..request.offset_bytes + request.length_bytes as u64).contains(&offset_bytes)
}
