#![allow(clippy::unwrap_used)]
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use disk::scan::Content;

use super::*;
use crate::progress::Silent;

const PAGE_BYTES: usize = 512;

fn file(page_count: usize) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), vec![7; page_count * PAGE_BYTES]).unwrap();
    file
}

fn read(options: &Options, deadline: Option<Instant>, page_count: usize) -> (u64, CheckCounters) {
    let file = file(page_count);
    let governor = Arc::new(Governor::new(options.rate_bytes_per_s_max));
    let pass = Pass { deadline, ..Pass::new(options, &governor, PAGE_BYTES) };
    let parts = [ScanFile::part(file.path(), 0..(page_count * PAGE_BYTES) as u64)];
    let visit = |sum: &mut u64, extent: Extent<'_>| {
        if let Content::Bytes(bytes) = extent.content {
            *sum += bytes.len() as u64;
        }
    };
    let outcome = pass.run(&parts, &mut Silent, |_| 0, visit).unwrap();
    let mut counters = CheckCounters::default();
    pass.count(&outcome, &mut counters);
    let seen: u64 = outcome.states.iter().sum();
    assert_eq!(seen + unclaimed_bytes(&outcome), (page_count * PAGE_BYTES) as u64);
    (seen, counters)
}

#[test]
fn a_panic_of_a_worker_ends_the_pass_with_that_panic() {
    let file = file(100);
    let options = Options::default();
    let governor = Arc::new(Governor::new(None));
    let pass = Pass::new(&options, &governor, PAGE_BYTES);
    let parts = [ScanFile::part(file.path(), 0..(100 * PAGE_BYTES) as u64)];
    let run = || pass.run(&parts, &mut Silent, |_| (), |_, _| panic!("a rule panics"));
    let panic = catch_unwind(AssertUnwindSafe(run)).map(|_| ()).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"a rule panics"));
}

#[test]
fn claims_are_whole_pages_within_what_direct_reads_allow() {
    let governor = Arc::new(Governor::new(None));
    for (page_batch, page_bytes, wanted) in [
        (None, 8192, CLAIM_BYTES),
        (Some(1), 512, 4096),
        (Some(3), 8192, 3 * 8192),
        (Some(9), 512, 2 * 4096),
        (Some(1), 65536, 65536),
        (Some(usize::MAX), 8192, CLAIM_BYTES_MAX),
    ] {
        let options = Options { page_batch, ..Options::default() };
        assert_eq!(Pass::new(&options, &governor, page_bytes).claim_bytes(), wanted);
    }
}

#[test]
fn claims_are_counted_as_they_are_taken() {
    let options = Options { page_batch: Some(8), worker_count: 3, ..Options::default() };
    let (seen, counters) = read(&options, None, 81);
    assert_eq!(seen, 81 * PAGE_BYTES as u64);
    assert_eq!((counters.claim_bytes, counters.claim_count), (4096, 11));
}

#[test]
fn a_stop_that_was_asked_for_before_reads_nothing() {
    let stop = Some(Arc::new(AtomicBool::new(true)));
    assert_eq!(read(&Options { stop, ..Options::default() }, None, 100).0, 0);
}

#[test]
fn a_pass_whose_time_is_over_reads_something_and_ends() {
    let rate_bytes_per_s_max = Some(20 * 4096);
    let options = Options { page_batch: Some(8), rate_bytes_per_s_max, ..Options::default() };
    let (seen, _) = read(&options, Some(Instant::now() - Duration::from_secs(1)), 8 * 1000);
    assert!((4096..8 * 1000 * PAGE_BYTES as u64).contains(&seen), "{seen}");
}
