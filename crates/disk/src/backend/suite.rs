//! One suite for all backends, on a disk and in memory, direct where that is possible.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::buffer::fill_incompressible;
use crate::file::{Access, OpenFile};

const KIB: usize = 1024;

/// Sizes around the alignments and the buffer.
const SIZES: [usize; 9] = [0, 1, 511, 512, 4095, 4096, 4097, 64 * KIB, 200 * KIB + 13];

fn options(depth: usize, buffer_bytes: usize) -> BackendOptions {
    BackendOptions {
        depth,
        buffer_bytes,
        file_count_max: 2,
        register_files: false,
        poll: false,
        grows: false,
        no_uring_reason: None,
    }
}

/// All backends that this machine has, with and without registered files.
fn backends(depth: usize, buffer_bytes: usize) -> Vec<Box<dyn Backend>> {
    let plain = options(depth, buffer_bytes);
    let registered = BackendOptions { register_files: true, ..plain };
    let mut backends = vec![open_backend(BackendChoice::Threads, &plain).unwrap()];
    backends.extend(open_backend(BackendChoice::Uring, &plain).ok());
    backends.extend(open_backend(BackendChoice::Uring, &registered).ok());
    backends.extend(open_backend(BackendChoice::Uring, &BackendOptions { grows: true, ..plain }).ok());
    backends
}

fn directories() -> Vec<tempfile::TempDir> {
    let places = [std::env::temp_dir(), "/dev/shm".into()];
    places.iter().filter_map(|place| tempfile::tempdir_in(place).ok()).collect()
}

fn content(size_bytes: usize) -> Vec<u8> {
    let mut content = vec![0; size_bytes];
    fill_incompressible(&mut content, size_bytes as u64);
    content
}

fn file_in(directory: &Path, content: &[u8], want_direct: bool) -> OpenFile {
    let path = directory.join("file");
    std::fs::write(&path, content).unwrap();
    OpenFile::open(&path, Access::ReadWrite, want_direct).unwrap()
}

fn read(slot: usize, offset_bytes: u64, length_bytes: usize) -> Request {
    Request { slot, operation: Operation::Read, file_index: 0, offset_bytes, length_bytes }
}

fn write(slot: usize, offset_bytes: u64, length_bytes: usize) -> Request {
    Request { operation: Operation::Write, ..read(slot, offset_bytes, length_bytes) }
}

/// Waits for all that is under way, by slot.
fn outcomes(backend: &mut dyn Backend) -> Vec<Option<io::Result<usize>>> {
    let mut outcomes: Vec<_> = (0..backend.depth()).map(|_| None).collect();
    let mut completions = Vec::new();
    while backend.in_flight() > 0 {
        backend.wait(&mut completions).unwrap();
        for Completion { slot, outcome } in completions.drain(..) {
            assert!(outcomes[slot].replace(outcome).is_none(), "a slot ends once");
        }
    }
    outcomes
}

/// Runs `test` for each backend, directory and way of opening.
fn everywhere(depth: usize, buffer_bytes: usize, test: impl Fn(&mut dyn Backend, &Path, bool)) {
    for directory in directories() {
        for want_direct in [false, true] {
            for mut backend in backends(depth, buffer_bytes) {
                test(backend.as_mut(), directory.path(), want_direct);
            }
        }
    }
}

#[test]
fn files_of_odd_sizes_are_read_whole_and_nothing_lies_behind_their_end() {
    everywhere(4, 64 * KIB, |backend, directory, want_direct| {
        for size_bytes in SIZES {
            let content = content(size_bytes);
            let open = file_in(directory, &content, want_direct);
            backend.set_file(0, Arc::clone(&open.file)).unwrap();
            for slot in 0..4 {
                backend.start(read(slot, (slot * 64 * KIB) as u64, 64 * KIB));
            }
            let outcomes = outcomes(backend);
            let mut found = Vec::new();
            for (slot, outcome) in outcomes.into_iter().enumerate() {
                let bytes = outcome.unwrap().unwrap();
                found.extend_from_slice(&backend.buffer(slot)[..bytes]);
            }
            assert!(found == content, "{} bytes, {:?}", size_bytes, backend.facts());
        }
    });
}

#[test]
fn what_is_written_is_read_back_after_a_flush() {
    everywhere(8, 8 * KIB, |backend, directory, want_direct| {
        let open = file_in(directory, &[], want_direct);
        backend.set_file(0, Arc::clone(&open.file)).unwrap();
        for slot in 0..8 {
            fill_incompressible(backend.buffer_mut(slot), slot as u64);
            backend.start(write(slot, ((7 - slot) * 8 * KIB) as u64, 8 * KIB));
        }
        assert!(outcomes(backend).into_iter().all(|outcome| outcome.unwrap().unwrap() == 8 * KIB));
        backend.start(Request { operation: Operation::FlushData, ..read(0, 0, 0) });
        assert_eq!(outcomes(backend)[0].take().unwrap().unwrap(), 0);
        let found = std::fs::read(&open.path).unwrap();
        for slot in 0..8 {
            assert!(found[(7 - slot) * 8 * KIB..][..8 * KIB] == *backend.buffer(slot));
        }
    });
}

#[test]
fn a_full_queue_is_refilled_a_thousand_times_and_each_request_ends_once() {
    everywhere(16, 4 * KIB, |backend, directory, want_direct| {
        let content = content(64 * KIB);
        let open = file_in(directory, &content, want_direct);
        backend.set_file(0, Arc::clone(&open.file)).unwrap();
        let mut completions = Vec::new();
        let mut offsets = [0usize; 16];
        let mut started = 0;
        let mut ended = 0;
        let mut free: Vec<usize> = (0..16).collect();
        while ended < 1000 {
            while let Some(slot) = free.pop_if(|_| started < 1000) {
                offsets[slot] = started % 16 * 4 * KIB;
                backend.start(read(slot, offsets[slot] as u64, 4 * KIB));
                started += 1;
            }
            assert_eq!(backend.in_flight(), started - ended);
            backend.wait(&mut completions).unwrap();
            assert!(!completions.is_empty());
            for Completion { slot, outcome } in completions.drain(..) {
                assert_eq!(outcome.unwrap(), 4 * KIB);
                assert!(content[offsets[slot]..][..4 * KIB] == *backend.buffer(slot));
                free.push(slot);
                ended += 1;
            }
        }
        assert_eq!((started, backend.in_flight()), (1000, 0));
        backend.wait(&mut completions).unwrap();
        assert!(completions.is_empty(), "waiting for nothing returns at once");
    });
}

#[test]
fn two_files_are_kept_apart_and_an_index_takes_another_file() {
    for mut backend in backends(2, 4 * KIB) {
        let directory = tempfile::tempdir().unwrap();
        for round in 0..3u8 {
            for file_index in 0..2u8 {
                let path = directory.path().join(format!("{round}-{file_index}"));
                std::fs::write(&path, [round * 2 + file_index; 100]).unwrap();
                let open = OpenFile::open(&path, Access::Read, true).unwrap();
                backend.set_file(file_index.into(), open.file).unwrap();
                backend
                    .start(Request { file_index: file_index.into(), ..read(file_index.into(), 0, 4 * KIB) });
            }
            for (slot, outcome) in outcomes(backend.as_mut()).into_iter().enumerate() {
                assert_eq!(outcome.unwrap().unwrap(), 100);
                assert_eq!(backend.buffer(slot)[..100], [round * 2 + slot as u8; 100]);
            }
        }
    }
}

#[test]
fn one_error_ends_one_request() {
    for mut backend in backends(2, 4 * KIB) {
        let directory = tempfile::tempdir().unwrap();
        let open = file_in(directory.path(), &[7; 4096], false);
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        backend.set_file(0, open.file).unwrap();
        backend.set_file(1, Arc::new(full)).unwrap();
        backend.start(read(0, 0, 4 * KIB));
        backend.start(Request { file_index: 1, ..write(1, 0, 512) });
        let mut outcomes = outcomes(backend.as_mut());
        assert_eq!(outcomes[0].take().unwrap().unwrap(), 4096);
        let error = outcomes[1].take().unwrap().unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOSPC));
    }
}

#[test]
fn a_backend_can_go_while_requests_are_under_way() {
    everywhere(16, 64 * KIB, |backend, directory, want_direct| {
        // A second backend of the same kind, to be dropped.
        let choice = match backend.facts().engine.as_str() {
            "io_uring" => BackendChoice::Uring,
            _ => BackendChoice::Threads,
        };
        let mut short_lived = open_backend(choice, &options(16, 64 * KIB)).unwrap();
        let content = content(64 * KIB);
        let open = file_in(directory, &content, want_direct);
        short_lived.set_file(0, Arc::clone(&open.file)).unwrap();
        for slot in 0..15 {
            short_lived.start(read(slot, 0, 64 * KIB));
        }
        short_lived.wait(&mut Vec::new()).unwrap();
        // One more that is queued and never handed over.
        short_lived.start(read(15, 0, 64 * KIB));
        drop(short_lived);
        assert!(std::fs::read(&open.path).unwrap() == content);
    });
}

#[test]
fn impossible_shapes_are_refused_with_their_numbers() {
    for (depth, buffer_bytes) in [(0, 1), (DEPTH_MAX + 1, 1), (1, 0), (2, BUFFER_BYTES_MAX), (1, usize::MAX)]
    {
        for choice in [BackendChoice::Auto, BackendChoice::Uring, BackendChoice::Threads] {
            let Err(error) = open_backend(choice, &options(depth, buffer_bytes)) else {
                panic!("{depth} transfers of {buffer_bytes} bytes were accepted");
            };
            assert!(matches!(error, BackendError::Shape { .. }), "{error}");
        }
    }
}

#[test]
fn a_queue_of_one_needs_no_thread_and_works_the_same() {
    everywhere(1, 4 * KIB, |backend, directory, want_direct| {
        let open = file_in(directory, &[9; 6000], want_direct);
        backend.set_file(0, open.file).unwrap();
        for (offset_bytes, expected) in [(0, 4096), (4096, 1904), (8192, 0)] {
            backend.start(read(0, offset_bytes, 4 * KIB));
            assert_eq!(outcomes(backend)[0].take().unwrap().unwrap(), expected);
        }
    });
}

fn faulty(inner: Box<dyn Backend>, fault: Fault) -> FaultyBackend {
    FaultyBackend::new(inner, Box::new(move |serial, _| (serial == 1).then_some(fault)))
}

#[test]
fn faults_hit_the_request_they_are_planned_for_and_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let content = content(16 * KIB);
    let open = file_in(directory.path(), &content, true);
    let faults = [
        Fault::Short { bytes: 512 },
        Fault::Torn { bytes: 512 },
        Fault::Misplaced { offset_bytes: 8192 },
        Fault::Error { errno: libc::EIO },
    ];
    for fault in faults {
        for inner in backends(3, 4 * KIB) {
            let mut backend = faulty(inner, fault);
            backend.set_file(0, Arc::clone(&open.file)).unwrap();
            (0..3).for_each(|slot| backend.start(read(slot, (slot * 4 * KIB) as u64, 4 * KIB)));
            let mut outcomes = outcomes(&mut backend);
            for slot in [0, 2] {
                assert_eq!(outcomes[slot].take().unwrap().unwrap(), 4 * KIB);
                assert!(content[slot * 4 * KIB..][..4 * KIB] == *backend.buffer(slot));
            }
            let hit = outcomes[1].take().unwrap();
            match fault {
                Fault::Short { .. } => assert_eq!(hit.unwrap(), 512),
                Fault::Torn { .. } => {
                    assert_eq!(hit.unwrap(), 4 * KIB);
                    assert!(backend.buffer(1)[..512] == content[4096..4608]);
                    assert!(backend.buffer(1)[512..] == [0; 3584]);
                }
                Fault::Misplaced { .. } => {
                    assert_eq!(hit.unwrap(), 4 * KIB);
                    assert!(*backend.buffer(1) == content[8192..12288]);
                }
                Fault::Error { errno } => assert_eq!(hit.unwrap_err().raw_os_error(), Some(errno)),
            }
        }
    }
}

#[test]
fn a_torn_write_claims_all_and_leaves_the_old_tail() {
    let directory = tempfile::tempdir().unwrap();
    for inner in backends(2, 4 * KIB) {
        let open = file_in(directory.path(), &[1; 8192], true);
        let mut backend = faulty(inner, Fault::Torn { bytes: 512 });
        backend.set_file(0, Arc::clone(&open.file)).unwrap();
        for slot in 0..2 {
            backend.buffer_mut(slot).fill(2);
            backend.start(write(slot, (slot * 4 * KIB) as u64, 4 * KIB));
        }
        assert!(outcomes(&mut backend).into_iter().all(|outcome| outcome.unwrap().unwrap() == 4 * KIB));
        let found = std::fs::read(&open.path).unwrap();
        assert!(found[..4608] == [2; 4608] && found[4608..] == [1; 3584]);
    }
}
