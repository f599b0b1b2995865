//! The space of miniatures beside what their files took, and that of full scale beside its rows.

use results::model::Scale;

use lab::estimate::{Earlier, Space, estimate};
use lab::spec::{Experiment, Request, find};

/// The estimate over what is right may be off by this factor, either way.
const FACTOR_MAX: f64 = 1.3;

fn bytes(name: &str, scale: Scale, engine: &str) -> f64 {
    let experiment = Experiment::parse(name, find(name).unwrap().text).unwrap();
    let resolved = experiment.resolve(&Request::plain(scale, crate::engine(engine))).unwrap();
    estimate(&resolved, Some(2_500_000), &|_| Earlier::default()).space.total as f64
}

/// The sum of all files of engine and ceilings at their peak: du every 20 ms while the miniature ran.
// OBSERVED: du of the directories of SQLite 3.51 and PostgreSQL 18.6 on one machine
const SEEN: [(&str, &str, f64); 34] = [
    ("a-a", "sqlite", 72.9e6),
    ("a-a", "postgres", 107.1e6),
    ("allocation-contention", "postgres", 156.9e6),
    ("backup-restore-parallelism", "sqlite", 179.9e6),
    ("backup-restore-parallelism", "postgres", 505.7e6),
    ("bigger-machines", "postgres", 74.6e6),
    ("check-dop", "sqlite", 60.2e6),
    ("check-dop", "postgres", 169.9e6),
    ("check-vs-raw-read", "sqlite", 122.3e6),
    ("check-vs-raw-read", "postgres", 180.1e6),
    ("connections-after-unmasking", "sqlite", 72.9e6),
    ("connections-after-unmasking", "postgres", 107.1e6),
    ("files-x-arrays", "postgres", 157.0e6),
    ("fragmentation-report", "sqlite", 188.1e6),
    ("fragmentation-report", "postgres", 331.5e6),
    ("guid-lookup-join", "sqlite", 188.2e6),
    ("guid-lookup-join", "postgres", 519.5e6),
    ("guid-lookup-scan", "sqlite", 188.1e6),
    ("guid-lookup-scan", "postgres", 519.4e6),
    ("guid-populate", "sqlite", 118.6e6),
    ("guid-populate", "postgres", 314.3e6),
    ("io-baseline", "postgres", 309.2e6),
    ("log-anatomy", "sqlite", 19.8e6),
    ("log-anatomy", "postgres", 74.3e6),
    ("log-growth", "sqlite", 109.3e6),
    ("log-growth", "postgres", 108.9e6),
    ("log-sizing", "sqlite", 145.9e6),
    ("log-sizing", "postgres", 140.0e6),
    ("multi-file", "postgres", 114.5e6),
    ("nonclustered-indexes", "sqlite", 70.3e6),
    ("nonclustered-indexes", "postgres", 107.4e6),
    ("populate-batch", "sqlite", 19.8e6),
    ("populate-batch", "postgres", 74.3e6),
    ("random-key", "sqlite", 71.6e6),
];

#[test]
fn the_space_of_every_miniature_is_what_its_files_took() {
    let off: Vec<String> = SEEN
        .iter()
        .map(|&(name, engine, seen)| (name, engine, bytes(name, Scale::Miniature, engine) / seen))
        .filter(|(_, _, factor)| !(1.0 / FACTOR_MAX..=FACTOR_MAX).contains(factor))
        .map(|(name, engine, factor)| format!("{name} on {engine}: {factor:.2} of what was seen"))
        .collect();
    assert!(off.is_empty(), "{}", off.join("\n"));
}

#[test]
fn the_space_of_full_scale_is_that_of_its_rows() {
    // Rows at seven to a page, with the index of their keys.
    for (name, engine, right) in [
        ("check-dop", "sqlite", 480e9),
        ("check-dop", "postgres", 485e9),
        ("check-vs-raw-read", "postgres", 4.3e12),
        // A file for each number of objects.
        ("check-vs-raw-read", "sqlite", 8.5e12),
        ("backup-restore-parallelism", "postgres", 3.0 * 970e9),
        ("populate-batch", "postgres", 1.1e12),
        ("populate-batch", "sqlite", 1.1e12),
        ("multi-file", "postgres", 38e9),
        // Three ways to keep the same rows.
        ("guid-lookup-scan", "postgres", 331e9),
        ("guid-lookup-scan", "sqlite", 188e9),
    ] {
        let factor = bytes(name, Scale::Full, engine) / right;
        assert!((1.0 / FACTOR_MAX..=FACTOR_MAX).contains(&factor), "{name} on {engine}: {factor:.2}");
    }
}

#[test]
fn a_rate_bounds_the_rows_of_a_run_by_time() {
    let experiment = Experiment::parse("a-a", find("a-a").unwrap().text).unwrap();
    let mut request = Request::plain(Scale::Miniature, crate::engine("postgres"));
    let set = [("duration", "100s"), ("warm_up", "100s"), ("rate", "100"), ("batch_size", "10")];
    request.overrides = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let resolved = experiment.resolve(&request).unwrap();
    let bytes = estimate(&resolved, None, &|_| Earlier::default()).space.total as f64;
    // 200 s at 100 transactions of 10 rows, a page each, beside a cluster and 64 MiB of WAL.
    let right = 200_000.0 * 8192.0 + 92e6;
    assert!((1.0 / FACTOR_MAX..=FACTOR_MAX).contains(&(bytes / right)), "{bytes} of {right}");
}

/// The space of `a-a` with these overrides and directories.
fn space(overrides: &[(&str, &str)], data: &[&str], log: Option<&str>, rows_per_s: Option<f64>) -> Space {
    let experiment = Experiment::parse("a-a", find("a-a").unwrap().text).unwrap();
    let mut request = Request::plain(Scale::Miniature, crate::engine("postgres"));
    request.overrides =
        overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    request.layout.data = data.iter().map(std::path::PathBuf::from).collect();
    request.layout.log = log.map(std::path::PathBuf::from);
    let resolved = experiment.resolve(&request).unwrap();
    estimate(&resolved, Some(2_500_000), &|_| Earlier { rows_per_s, ..Earlier::default() }).space
}

#[test]
fn each_directory_is_asked_for_its_own_part() {
    let rows = ("rows_total", "1_000_000");
    let together = space(&[rows], &["/a"], None, None);
    assert_eq!((together.data.len(), together.log, together.is_bound), (1, 0, false));
    assert_eq!(together.data[0], together.total);
    let apart = space(&[rows, ("placement", "log-apart")], &["/a"], Some("/l"), None);
    assert_eq!(apart.data[0] + apart.log, together.total);
    // A WAL of 64 MiB, which a checkpoint may pass, beside 8 GB of rows.
    assert!((67_000_000..90_000_000).contains(&apart.log), "{apart:?}");
    let divided = space(&[rows, ("data_files", "2")], &["/a", "/b"], None, None);
    assert!((4_000_000_000..4_400_000_000).contains(&divided.data[1]), "{divided:?}");
    assert!(divided.data[0] > divided.data[1], "the cluster and its WAL are in the first one");
    let moved = space(&[rows, ("placement", "data-apart")], &["/a"], Some("/l"), None);
    assert!(moved.log > 8_000_000_000 && moved.data[0] < 1_400_000_000, "{moved:?}");
}

#[test]
fn a_run_by_time_is_bounded_until_an_earlier_one_tells_its_rate() {
    let timed = [("duration", "100s")];
    let bound = space(&timed, &["/a"], None, None);
    assert!(bound.is_bound);
    let known = space(&timed, &["/a"], None, Some(2_000.0));
    // 200,000 rows of a page each, beside a cluster and its WAL.
    let right = 200_000.0 * 8192.0 + 24e6 + 75e6;
    assert!(
        !known.is_bound && (1.0 / FACTOR_MAX..=FACTOR_MAX).contains(&(known.total as f64 / right)),
        "{known:?}"
    );
    let with_rate = space(&[timed[0], ("rate", "100"), ("batch_size", "10")], &["/a"], None, None);
    assert!(!with_rate.is_bound);
}
