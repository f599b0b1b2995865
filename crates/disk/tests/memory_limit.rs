//! A queue that does not fit into memory is an error with its numbers, and one that fits works right below the limit.
//!
//! The limit holds for the whole process, so this is a test program of its own with one test.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use disk::backend::{BackendChoice, BackendError};
use disk::baseline::{Matrix, Pattern, measure};
use disk::scan::{Content, ScanError, ScanFile, ScanOptions, scan};
use rustix::process::{Resource, Rlimit, setrlimit};

const MIB: u64 = 1 << 20;

fn address_space_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = statm.split_whitespace().next().unwrap().parse().unwrap();
    pages * rustix::param::page_size() as u64
}

/// Rows of the miniature that fit are measured, and one whose buffers do not fit is an error with its numbers.
fn baseline_respects_it(backend: BackendChoice) {
    let directory = tempfile::tempdir().unwrap();
    let fitting = Matrix::miniature().patterns.into_iter().filter(|row| row.outstanding == 1).collect();
    let short = |patterns| Matrix {
        runtime: Duration::from_millis(20),
        ramp: Duration::ZERO,
        backend,
        ..Matrix::of(patterns, 16 * MIB)
    };
    let baseline = measure(directory.path(), &short(fitting), &mut |_| ()).unwrap();
    assert_eq!(baseline.rows.len(), 4);
    let large = short(vec![Pattern::read(16 * MIB, 0, 64)]);
    let error = measure(directory.path(), &large, &mut |_| ()).unwrap_err();
    assert!(error.to_string().starts_with("could not set up 64 transfers of 16777216 bytes: "), "{error}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn scans_and_baselines_respect_what_memory_there_is() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), vec![3; 20 << 20]).unwrap();
    let files = [ScanFile::whole(file.path())];
    let limit = Rlimit { current: Some(address_space_bytes() + 96 * MIB), maximum: None };
    setrlimit(Resource::As, limit).unwrap();
    for backend in [BackendChoice::Auto, BackendChoice::Threads] {
        let options = ScanOptions { backend, depth: 4, ..ScanOptions::default() };
        let count = |sum: &mut u64, extent: disk::scan::Extent<'_>| {
            if let Content::Bytes(bytes) = extent.content {
                *sum += bytes.iter().map(|&byte| u64::from(byte)).sum::<u64>();
            }
        };
        let outcome = scan(&files, &options, |_| 0, count).unwrap();
        assert_eq!(outcome.states, [3 * (20 << 20)]);
        // Eight buffers of 64 MiB are five times what is left.
        let options = ScanOptions { extent_bytes: 64 << 20, depth: 8, worker_count: 1, ..options };
        let large = [ScanFile::part(file.path(), 0..512 * MIB)];
        let error = scan(&large, &options, |_| 0, count).unwrap_err();
        assert!(matches!(&error, ScanError::Backend(BackendError::Setup { depth: 8, .. })), "{error}");
        assert!(error.to_string().starts_with("could not set up 8 transfers of 67108864 bytes: "), "{error}");
        baseline_respects_it(backend);
    }
}
