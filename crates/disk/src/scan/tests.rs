#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use super::*;
use crate::backend::{Backend, BackendChoice, BackendOptions, Fault, FaultyBackend, Request};
use crate::buffer::fill_incompressible;

const KIB: usize = 1024;

/// What a worker saw: stretches with their bytes, or none where there are none.
type Seen = Vec<(usize, u64, Found)>;

#[derive(Clone, Debug, PartialEq)]
enum Found {
    Bytes(Vec<u8>),
    Unreadable(u64),
    Missing(u64),
}

fn options() -> ScanOptions {
    ScanOptions { extent_bytes: 64 * KIB, retry_bytes: 4 * KIB, depth: 4, ..ScanOptions::default() }
}

fn record(seen: &mut Seen, extent: Extent<'_>) {
    let found = match extent.content {
        Content::Bytes(bytes) => Found::Bytes(bytes.to_vec()),
        Content::Unreadable { length_bytes, .. } => Found::Unreadable(length_bytes),
        Content::Missing { length_bytes } => Found::Missing(length_bytes),
    };
    seen.push((extent.file_index, extent.offset_bytes, found));
}

/// All stretches of all workers, sorted, and the outcome without states.
fn seen_by(outcome: ScanOutcome<Seen>) -> (Seen, Vec<FileOutcome>) {
    for file in &outcome.files {
        let parts = file.read_bytes + file.unreadable_bytes + file.missing_bytes + file.unclaimed_bytes;
        assert_eq!(parts, file.expected_bytes, "every byte is accounted for");
    }
    let mut seen: Seen = outcome.states.into_iter().flatten().collect();
    seen.sort_by_key(|(file_index, offset_bytes, _)| (*file_index, *offset_bytes));
    (seen, outcome.files)
}

fn read_all(files: &[ScanFile], options: &ScanOptions) -> (Seen, Vec<FileOutcome>) {
    seen_by(scan(files, options, |_| Seen::new(), record).unwrap())
}

/// Reads with a fault for the requests that `plan` picks, in a queue of `options.backend`.
fn read_faulty(
    files: &[ScanFile],
    options: &ScanOptions,
    plan: impl Fn(u64, &Request) -> Option<Fault> + Copy + Sync + 'static,
) -> (Seen, Vec<FileOutcome>) {
    let make_backend = |queue: &BackendOptions| -> Result<Box<dyn Backend>, BackendError> {
        let inner = open_backend(options.backend, queue)?;
        Ok(Box::new(FaultyBackend::new(inner, Box::new(plan))))
    };
    seen_by(scan_with(files, options, &make_backend, |_| Seen::new(), record).unwrap())
}

fn content(size_bytes: usize) -> Vec<u8> {
    let mut content = vec![0; size_bytes];
    fill_incompressible(&mut content, size_bytes as u64 + 1);
    content
}

fn file_in(directory: &Path, name: &str, content: &[u8]) -> ScanFile {
    let path = directory.join(name);
    std::fs::write(&path, content).unwrap();
    ScanFile::whole(path)
}

/// Puts the stretches of each file together. They must touch.
fn joined(seen: &Seen) -> BTreeMap<usize, Vec<u8>> {
    let mut files: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
    for (file_index, offset_bytes, found) in seen {
        let Found::Bytes(bytes) = found else { panic!("{found:?}") };
        let file = files.entry(*file_index).or_default();
        assert_eq!(file.len() as u64, *offset_bytes);
        file.extend_from_slice(bytes);
    }
    files
}

#[test]
fn every_byte_of_every_file_is_seen_once_whatever_the_way() {
    let sizes = [0, 1, 4095, 64 * KIB, 64 * KIB + 1, 700 * KIB + 511, 3];
    for place in [std::env::temp_dir(), "/dev/shm".into()] {
        let Ok(directory) = tempfile::tempdir_in(place) else { continue };
        let contents = sizes.map(content);
        let files: Vec<ScanFile> = contents
            .iter()
            .enumerate()
            .map(|(index, content)| file_in(directory.path(), &index.to_string(), content))
            .collect();
        for order in [ScanOrder::AllAsOne, ScanOrder::EachItsOwn] {
            for backend in [BackendChoice::Auto, BackendChoice::Threads] {
                for (worker_count, want_direct) in [(1, true), (3, true), (2, false)] {
                    let options = ScanOptions { order, backend, worker_count, want_direct, ..options() };
                    let (seen, outcomes) = read_all(&files, &options);
                    let joined = joined(&seen);
                    for (index, content) in contents.iter().enumerate() {
                        assert!(joined.get(&index).map(Vec::as_slice).unwrap_or_default() == content);
                        assert_eq!(outcomes[index].read_bytes, content.len() as u64);
                    }
                }
            }
        }
    }
}

#[test]
fn a_place_that_cannot_be_read_is_narrowed_and_the_rest_arrives() {
    let directory = tempfile::tempdir().unwrap();
    let content = content(256 * KIB);
    let files = [file_in(directory.path(), "file", &content)];
    // Two neighbouring units in the second extent and the last unit of the file.
    let is_hit = |request: &Request| {
        let end = request.offset_bytes + request.length_bytes as u64;
        [(72 * KIB, 80 * KIB), (252 * KIB, 256 * KIB)]
            .iter()
            .any(|&(from, to)| request.offset_bytes < to as u64 && end > from as u64)
    };
    for backend in [BackendChoice::Auto, BackendChoice::Threads] {
        let options = ScanOptions { backend, ..options() };
        let plan = move |_, request: &Request| is_hit(request).then_some(Fault::Error { errno: libc::EIO });
        let (seen, outcomes) = read_faulty(&files, &options, plan);
        let bytes = |from: usize, to: usize| Found::Bytes(content[from * KIB..to * KIB].to_vec());
        let expected = [
            (0, 0, bytes(0, 64)),
            (0, 64 * KIB as u64, bytes(64, 72)),
            (0, 72 * KIB as u64, Found::Unreadable(8 * KIB as u64)),
            (0, 80 * KIB as u64, bytes(80, 128)),
            (0, 128 * KIB as u64, bytes(128, 192)),
            (0, 192 * KIB as u64, bytes(192, 252)),
            (0, 252 * KIB as u64, Found::Unreadable(4 * KIB as u64)),
        ];
        assert!(seen == expected);
        assert_eq!((outcomes[0].read_bytes, outcomes[0].unreadable_bytes), (244 * 1024, 12 * 1024));
    }
}

#[test]
fn short_reads_lose_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let content = content(500 * KIB + 77);
    let files = [file_in(directory.path(), "file", &content)];
    for want_direct in [true, false] {
        for bytes in [512, 4096, 60 * KIB] {
            // Every third request, retries included.
            let plan = move |serial: u64, _: &Request| (serial % 3 == 1).then_some(Fault::Short { bytes });
            let options = ScanOptions { want_direct, ..options() };
            let (seen, outcomes) = read_faulty(&files, &options, plan);
            assert!(joined(&seen)[&0] == content, "{bytes} bytes");
            assert_eq!(outcomes[0].read_bytes, content.len() as u64);
        }
    }
}

/// The bytes of one file at their places, whatever lies between.
fn joined_pieces(seen: &Seen) -> Vec<u8> {
    let mut file = Vec::new();
    for (_, offset_bytes, found) in seen {
        if let Found::Bytes(bytes) = found {
            file.resize(*offset_bytes as usize, 0);
            file.extend_from_slice(bytes);
        }
    }
    file
}

#[test]
fn an_error_that_does_not_come_back_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let content = content(200 * KIB);
    let files = [file_in(directory.path(), "file", &content)];
    let plan = |serial: u64, _: &Request| (serial < 4).then_some(Fault::Error { errno: libc::EIO });
    let (seen, outcomes) = read_faulty(&files, &options(), plan);
    assert!(joined(&seen)[&0] == content);
    assert_eq!(outcomes[0].unreadable_bytes, 0);
}

#[test]
fn what_lies_behind_the_end_is_missing_and_not_unreadable() {
    let directory = tempfile::tempdir().unwrap();
    let content = content(70 * KIB + 5);
    let whole = file_in(directory.path(), "file", &content);
    let files = [ScanFile::part(&whole.path, 0..200 * KIB as u64)];
    let (seen, outcomes) = read_all(&files, &options());
    assert!(joined_pieces(&seen) == content);
    assert_eq!(outcomes[0].missing_bytes, (200 * KIB - content.len()) as u64);
    assert_eq!(outcomes[0].unreadable_bytes, 0);
}

#[test]
fn parts_may_begin_and_end_anywhere() {
    let directory = tempfile::tempdir().unwrap();
    let content = content(300 * KIB);
    let whole = file_in(directory.path(), "file", &content);
    for (from, to) in
        [(1, 2), (511, 513), (4096, 4096), (5000, 70_000), (8192, 8193), (0, 65_537), (100, 300_000)]
    {
        let files = [ScanFile::part(&whole.path, from as u64..to as u64)];
        let (seen, _) = read_all(&files, &options());
        let mut found = Vec::new();
        for (_, offset_bytes, piece) in seen {
            let Found::Bytes(bytes) = piece else { panic!("{piece:?}") };
            assert_eq!(offset_bytes as usize, from + found.len());
            found.extend(bytes);
        }
        assert!(found == content[from..to], "{from}..{to}");
    }
}

#[test]
fn a_file_that_is_not_there_does_not_stop_the_others() {
    let directory = tempfile::tempdir().unwrap();
    let content = content(100);
    let files = [
        ScanFile::whole(directory.path().join("missing")),
        ScanFile::whole(directory.path()),
        file_in(directory.path(), "file", &content),
    ];
    let outcome = scan(&files, &options(), |_| Seen::new(), record).unwrap();
    assert!(!outcome.is_complete());
    let (seen, outcomes) = seen_by(outcome);
    assert_eq!(seen, [(2, 0, Found::Bytes(content))]);
    assert!(outcomes[0].error.as_ref().unwrap().starts_with("could not inspect file \""));
    assert!(outcomes[1].error.as_ref().unwrap().ends_with("neither a regular file nor a block device"));
}

#[test]
fn three_hundred_small_files_arrive_whole() {
    let directory = tempfile::tempdir().unwrap();
    let files: Vec<ScanFile> = (0..300)
        .map(|index: usize| file_in(directory.path(), &index.to_string(), &content(index * 37)))
        .collect();
    let options = ScanOptions { worker_count: 2, order: ScanOrder::EachItsOwn, ..options() };
    let (seen, outcomes) = read_all(&files, &options);
    for (index, bytes) in joined(&seen) {
        assert!(bytes == content(index * 37));
    }
    assert_eq!(
        outcomes.iter().map(|file| file.read_bytes).sum::<u64>(),
        (0..300).map(|n| n * 37).sum::<u64>()
    );
}

#[test]
fn a_stopped_scan_tells_what_it_did_not_claim() {
    let directory = tempfile::tempdir().unwrap();
    let files = [file_in(directory.path(), "file", &content(64 * 64 * KIB))];
    let stop = Arc::new(AtomicBool::new(false));
    let options = ScanOptions { stop: Some(Arc::clone(&stop)), ..options() };
    let visit = |count: &mut u32, _: Extent<'_>| {
        *count += 1;
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    };
    let outcome = scan(&files, &options, |_| 0u32, visit).unwrap();
    let file = &outcome.files[0];
    assert!(!outcome.is_complete() && file.unclaimed_bytes > 0);
    assert_eq!(file.read_bytes, u64::from(outcome.states[0]) * 64 * KIB as u64);
    assert_eq!(file.read_bytes + file.unclaimed_bytes, file.expected_bytes);
}

#[test]
fn progress_ends_at_what_was_expected_and_a_limit_changes_no_byte() {
    let directory = tempfile::tempdir().unwrap();
    let content = content(640 * KIB);
    let files = [file_in(directory.path(), "file", &content)];
    let progress_bytes = Arc::new(AtomicU64::new(0));
    let options = ScanOptions {
        progress_bytes: Some(Arc::clone(&progress_bytes)),
        rate_bytes_per_s_max: Some(20 << 20),
        worker_count: 2,
        ..options()
    };
    let (seen, _) = read_all(&files, &options);
    assert!(joined(&seen)[&0] == content);
    assert_eq!(progress_bytes.load(std::sync::atomic::Ordering::Relaxed), content.len() as u64);
    let outcome = scan(&files, &options, |_| (), |(), _| ()).unwrap();
    assert!(outcome.claim_wait_ns > 0);
}

#[test]
fn options_outside_their_range_are_refused_with_the_range() {
    let cases = [
        (ScanOptions { worker_count: 0, ..options() }, "worker count 0: it must be 1 to 1024"),
        (ScanOptions { depth: 5000, ..options() }, "depth 5000: it must be 1 to 1024"),
        (ScanOptions { extent_bytes: 5000, ..options() }, "extent bytes 5000: it must be a multiple of 4096"),
        (ScanOptions { retry_bytes: 0, ..options() }, "retry bytes 0: it must be a multiple of 512"),
    ];
    for (options, text) in cases {
        let error = scan(&[], &options, |_| (), |(), _| ()).unwrap_err();
        assert_eq!(error.to_string(), format!("cannot scan with {text}"));
    }
    let outcome = scan(&[], &options(), |_| (), |(), _| ()).unwrap();
    assert!(outcome.is_complete() && outcome.files.is_empty() && outcome.states.len() == 1);
}

#[test]
fn an_empty_read_in_the_middle_of_a_file_is_tried_again() {
    let directory = tempfile::tempdir().unwrap();
    let content = content(200 * KIB);
    let files = [file_in(directory.path(), "file", &content)];
    let plan = |serial: u64, _: &Request| (serial == 1).then_some(Fault::Short { bytes: 0 });
    let (seen, _) = read_faulty(&files, &options(), plan);
    assert!(joined(&seen)[&0] == content);
}
