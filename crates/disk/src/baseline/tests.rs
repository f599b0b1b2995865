#![allow(clippy::unwrap_used)]

use std::os::unix::fs::FileExt;
use std::time::Duration;

use super::*;
use crate::backend::BackendChoice;

const MIB: u64 = 1 << 20;

/// A matrix that takes about half a second a row.
fn quick(patterns: Vec<Pattern>) -> Matrix {
    Matrix {
        runtime: Duration::from_millis(400),
        ramp: Duration::from_millis(40),
        ..Matrix::of(patterns, 4 * MIB)
    }
}

fn run(path: &Path, matrix: &Matrix) -> Result<Baseline, BaselineError> {
    measure(path, matrix, &mut |_| ())
}

/// Says whether the machine was so busy that nothing was transferred at all; the row says so too.
fn is_starved(row: &Row) -> bool {
    assert_eq!(row.transfer_count == 0, row.flags == [Flag::NoTransfers]);
    row.transfer_count == 0
}

#[test]
fn a_file_that_is_cut_while_it_is_measured_gives_errors_and_no_transfers_per_second() {
    for backend in [BackendChoice::Auto, BackendChoice::Threads] {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![1; 4 * MIB as usize]).unwrap();
        let matrix = Matrix { backend, ..quick(vec![Pattern::read(8192, 100, 4)]) };
        let mut cut = |progress: Progress<'_>| {
            if matches!(progress, Progress::RowStarted { .. }) {
                file.as_file().set_len(0).unwrap();
            }
        };
        let baseline = measure(file.path(), &matrix, &mut cut).unwrap();
        let row = &baseline.rows[0];
        assert_eq!((row.transfer_count, row.iops, row.mib_per_s), (0, 0.0, 0.0));
        let error = row.error().unwrap().to_string();
        assert!(error.contains("short reads") && error.contains("returned 0 of 8192 bytes"), "{error}");
    }
}

#[test]
fn what_is_no_file_directory_or_block_device_is_refused_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("pipe");
    let mode = rustix::fs::Mode::from(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    for path in [pipe.as_path(), Path::new("/dev/null"), Path::new("/dev/zero")] {
        let error = run(path, &quick(vec![Pattern::read(8192, 100, 4)])).unwrap_err().to_string();
        assert!(error.contains("neither a directory nor a regular file nor a block device"), "{error}");
    }
}

#[test]
fn a_real_matrix_keeps_the_identities_or_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let patterns = vec![
        Pattern::read(8192, 100, 32),
        Pattern::read(65536, 0, 4),
        Pattern { jobs: 2, ..Pattern::read(8192, 50, 4) },
        Pattern { read_percent: 50, ..Pattern::write(8192, 100, 8) },
    ];
    for backend in [BackendChoice::Auto, BackendChoice::Threads] {
        let matrix = Matrix { backend, ..quick(patterns.clone()) };
        let baseline = run(directory.path(), &matrix).unwrap();
        assert_eq!(baseline.rows.len(), 4);
        for (row, pattern) in baseline.rows.iter().zip(&patterns) {
            assert_eq!(row.pattern, *pattern);
            if is_starved(row) {
                continue;
            }
            assert!(row.unit_off_percent() <= UNIT_PERCENT_MAX);
            let is_flagged = row.flags.iter().any(|flag| matches!(flag, Flag::LittlesLaw { .. }));
            assert_eq!(row.little_off_percent() > LITTLE_PERCENT_MAX, is_flagged);
            assert!(row.latency_ns_p50 <= row.latency_ns_p99 && row.latency_ns_p99 <= row.latency_ns_p999);
            assert!(row.latency_ns_mean <= row.latency_ns_max as f64);
            assert!(row.own_cpu_ns_per_transfer > 0.0);
            assert!(row.warm_up_ns >= 40_000_000);
        }
        assert_eq!(baseline.target.kind, TargetKind::MadeFile);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "nothing is left behind");
    }
}

#[test]
fn scenario_8_the_miniature_has_eight_rows_in_the_published_columns() {
    let directory = tempfile::tempdir().unwrap();
    let matrix = Matrix {
        runtime: Duration::from_millis(400),
        ramp: Duration::from_millis(40),
        size_bytes: 16 * MIB,
        ..Matrix::miniature()
    };
    let baseline = run(directory.path(), &matrix).unwrap();
    assert_eq!(baseline.rows.len(), 8);
    for row in &baseline.rows {
        if is_starved(row) {
            continue;
        }
        // IOPS x size = MiB/s within 1 %, depth / IOPS = latency within 5 %, or the row says that it is not.
        let product = row.iops * row.pattern.transfer_bytes as f64 / MIB as f64;
        assert!((product / row.mib_per_s - 1.0).abs() < 0.01);
        let expected_ns = f64::from(row.pattern.outstanding) / row.iops * 1e9;
        let is_lawful = (expected_ns / row.latency_ns_mean - 1.0).abs() <= 0.05;
        assert!(is_lawful || row.flags.iter().any(|flag| matches!(flag, Flag::LittlesLaw { .. })));
    }
    assert!(baseline.title().starts_with("direct I/O") || baseline.title().starts_with("page cache"));
}

#[test]
fn a_directory_in_memory_is_titled_page_cache() {
    let Ok(directory) = tempfile::tempdir_in("/dev/shm") else {
        return skips::skip(skips::Capability::Shm, "no directory can be made in /dev/shm");
    };
    let baseline = run(directory.path(), &quick(vec![Pattern::read(8192, 100, 4)])).unwrap();
    if !baseline.target.cache.is_direct() {
        assert!(baseline.title().starts_with("page cache, "), "{}", baseline.title());
        assert!(baseline.warnings[0].starts_with("the values are those of the page cache"));
    }
    let matrix = Matrix { want_direct: false, ..quick(vec![Pattern::read(8192, 100, 4)]) };
    let baseline = run(&std::env::temp_dir(), &matrix).unwrap();
    assert!(baseline.title().starts_with("page cache, "));
}

#[test]
fn an_existing_file_is_read_and_stays_as_it_was() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let content: Vec<u8> = (0..MIB).map(|byte| (byte % 251) as u8).collect();
    file.as_file().write_all_at(&content, 0).unwrap();
    file.as_file().sync_all().unwrap();
    let before = file.path().metadata().unwrap().modified().unwrap();
    let baseline = run(file.path(), &quick(vec![Pattern::read(4096, 100, 8)])).unwrap();
    assert_eq!((baseline.target.kind, baseline.target.size_bytes), (TargetKind::ExistingFile, MIB));
    assert!(std::fs::read(file.path()).unwrap() == content);
    assert_eq!(file.path().metadata().unwrap().modified().unwrap(), before);
}

#[test]
fn what_fathom_did_not_make_is_written_only_when_its_name_is_repeated() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let content = vec![7u8; MIB as usize];
    std::fs::write(file.path(), &content).unwrap();
    let writing = quick(vec![Pattern::read(4096, 0, 1), Pattern::write(4096, 100, 4)]);
    let name = file.path().to_string_lossy().into_owned();
    for destroy_contents in
        [None, Some("/other".to_owned()), Some(String::new()), Some(name.replace("/", "//x"))]
    {
        let matrix = Matrix { destroy_contents, ..writing.clone() };
        let error = run(file.path(), &matrix).unwrap_err();
        assert!(matches!(&error, BaselineError::WouldDestroy { .. }), "{error}");
        assert!(error.to_string().contains("--destroy-contents"));
        assert!(std::fs::read(file.path()).unwrap() == content);
    }
    let matrix = Matrix { destroy_contents: Some(name), ..writing };
    run(file.path(), &matrix).unwrap();
    let after = std::fs::read(file.path()).unwrap();
    assert!(after != content && after.len() == content.len());
}

#[test]
fn a_sparse_file_is_warned_about() {
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(MIB).unwrap();
    let baseline = run(file.path(), &quick(vec![Pattern::read(4096, 100, 4)])).unwrap();
    assert!(baseline.target.is_sparse);
    assert!(baseline.warnings.iter().any(|warning| warning.contains("no place on the device")));
}

#[test]
fn a_made_file_is_really_written() {
    let directory = tempfile::tempdir().unwrap();
    let baseline = run(directory.path(), &quick(vec![Pattern::read(4096, 100, 4)])).unwrap();
    assert!(!baseline.target.is_sparse);
    assert_eq!(baseline.target.size_bytes, 4 * MIB);
    assert!(baseline.preparation_ns > 0);
}

#[test]
fn what_does_not_fit_is_said_with_its_numbers() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), vec![1; 10_000]).unwrap();
    let matrix = quick(vec![Pattern { jobs: 3, ..Pattern::read(4096, 100, 1) }]);
    let message = run(file.path(), &matrix).unwrap_err().to_string();
    assert!(message.contains("10000 bytes do not hold 3 transfers of 4096 bytes"), "{message}");
    let missing = file.path().join("missing");
    assert!(matches!(run(&missing, &matrix), Err(BaselineError::Open { .. })));
    assert!(matches!(run(Path::new("/dev/zero"), &matrix), Err(BaselineError::Open { .. })));
    let directory = tempfile::tempdir().unwrap();
    let matrix = Matrix { size_bytes: u64::MAX / 2, ..matrix };
    assert!(matches!(run(directory.path(), &matrix), Err(BaselineError::Space(_))));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn progress_names_each_row_once_and_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let matrix = quick(vec![Pattern::read(4096, 100, 1), Pattern::read(8192, 0, 2)]);
    let mut told = Vec::new();
    measure(directory.path(), &matrix, &mut |progress| {
        told.push(match progress {
            Progress::MakingFile { size_bytes } => format!("make {size_bytes}"),
            Progress::RowStarted { row_index, .. } => format!("start {row_index}"),
            Progress::RowDone { row_index, row } => {
                format!("done {row_index} {}", row.pattern.transfer_bytes)
            }
        });
    })
    .unwrap();
    assert_eq!(told, ["make 4194304", "start 0", "done 0 4096", "start 1", "done 1 8192"]);
}
