#![allow(clippy::unwrap_used)]
use super::*;

#[test]
fn each_size_method_and_number_of_writers_has_a_row_and_nothing_is_left_behind() {
    let directory = tempfile::tempdir().unwrap();
    let matrix = SyncMatrix {
        sizes_bytes: vec![512, 61_440],
        writer_counts: vec![1, 3],
        runtime: Duration::from_millis(20),
        ..SyncMatrix::default()
    };
    let mut watched = 0;
    let rows = measure_sync(directory.path(), &matrix, &mut |_| watched += 1).unwrap();
    let shapes: Vec<_> =
        rows.iter().map(|row| (row.writer_count, row.method.name(), row.size_bytes)).collect();
    let expected: Vec<_> = [1, 3]
        .into_iter()
        .flat_map(|writers| {
            ["fdatasync", "open_datasync"]
                .into_iter()
                .flat_map(move |method| [512, 61_440].map(|size_bytes| (writers, method, size_bytes)))
        })
        .collect();
    assert_eq!((shapes, watched), (expected, 8));
    for row in &rows {
        assert!(row.append_count >= u64::from(row.writer_count));
        assert!(row.latency_ns_p50 <= row.latency_ns_p99 && row.latency_ns_mean <= row.latency_ns_max as f64);
        let product = row.appends_per_s * row.size_bytes as f64 / f64::from(1 << 20);
        assert!((product / row.mib_per_s - 1.0).abs() < 0.01);
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn a_log_that_was_filled_does_not_grow() {
    let directory = tempfile::tempdir().unwrap();
    for (size_bytes, filled_bytes) in [(60_000, 280 * 60_000), (8 << 20, 32 << 20)] {
        let mut log = Log::create_in(directory.path(), 0, SyncMethod::OpenDsync, size_bytes).unwrap();
        log.fill().unwrap();
        let length = || std::fs::metadata(&log.path).unwrap().len();
        assert_eq!((length(), log.filled_bytes), (filled_bytes, filled_bytes));
        let mut log = log;
        log.append_until(Instant::now() + Duration::from_millis(5)).unwrap();
        assert_eq!(std::fs::metadata(&log.path).unwrap().len(), filled_bytes);
    }
}

#[test]
fn a_directory_in_memory_is_flagged() {
    let Ok(directory) = tempfile::tempdir_in("/dev/shm") else {
        return skips::skip(skips::Capability::Shm, "no directory can be made in /dev/shm");
    };
    let matrix = SyncMatrix {
        sizes_bytes: vec![512],
        methods: vec![SyncMethod::Fdatasync],
        writer_counts: vec![1],
        runtime: Duration::from_millis(5),
        ..SyncMatrix::default()
    };
    let rows = measure_sync(directory.path(), &matrix, &mut |_| ()).unwrap();
    if is_in_memory(directory.path()) {
        assert!(rows[0].flags[0].contains("in memory"));
    }
}

#[test]
fn nothing_to_measure_and_a_missing_directory_are_errors() {
    let directory = tempfile::tempdir().unwrap();
    let nothing = [
        SyncMatrix { sizes_bytes: vec![0], ..SyncMatrix::default() },
        SyncMatrix { methods: Vec::new(), ..SyncMatrix::default() },
        SyncMatrix { writer_counts: vec![0], ..SyncMatrix::default() },
        SyncMatrix { runtime: Duration::ZERO, ..SyncMatrix::default() },
    ];
    for matrix in nothing {
        let error = measure_sync(directory.path(), &matrix, &mut |_| ()).unwrap_err();
        assert!(matches!(error, BaselineError::Nothing));
    }
    let missing = directory.path().join("missing");
    let message = measure_sync(&missing, &SyncMatrix::default(), &mut |_| ()).unwrap_err().to_string();
    assert!(message.starts_with("could not create file \""), "{message}");
}
