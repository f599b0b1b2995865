//! Counters of each major, and what one sample is made of.

#![allow(clippy::unwrap_used)]

use super::*;

fn samples(readings: &[(i64, &[(&'static str, f64)])]) -> Samples<PostgresReading> {
    let sample = |(at_s, numbers): &(i64, &[(&'static str, f64)])| {
        (at_s * 1_000_000_000, Some(numbers.iter().copied().collect()))
    };
    Samples { samples: readings.iter().map(sample).collect() }
}

#[test]
fn totals_become_rates_and_times_become_milliseconds_per_call() {
    let samples = samples(&[
        (0, &[("log_position", 1000.0), ("log_flushes", 10.0), ("log_flush_ms", 40.0)]),
        (2, &[("log_position", 5000.0), ("log_flushes", 30.0), ("log_flush_ms", 100.0)]),
    ]);
    let sampled = all_series(&samples);
    let value = |name: &str| sampled.iter().find(|series| series.name == name).unwrap().values[0];
    assert_eq!(value("log_bytes_per_s"), Some(2000.0));
    assert_eq!(value("log_flushes_per_s"), Some(10.0));
    assert_eq!(value("log_flush_ms"), Some(3.0));
    assert!(sampled.iter().all(|series| series.name != "pages_extended_per_s"));
}

#[test]
fn a_server_that_does_not_time_its_flushes_has_no_time_of_zero() {
    let samples = samples(&[
        (0, &[("log_flushes", 10.0), ("log_flush_ms", 0.0)]),
        (1, &[("log_flushes", 30.0), ("log_flush_ms", 0.0)]),
    ]);
    assert!(all_series(&samples).iter().all(|series| series.name != "log_flush_ms"));
}

#[test]
fn every_series_has_a_number_that_some_group_asks_for() {
    let known: Vec<&str> =
        GROUPS.iter().chain([&CHECKPOINTER]).flat_map(|group| group.columns).map(|(name, _)| *name).collect();
    let used = RATES.iter().map(|rate| rate.1).chain(GAUGES.iter().map(|gauge| gauge.0));
    for name in used.chain(TIMES.iter().flat_map(|time| [time.1, time.2])) {
        assert!(known.contains(&name), "{name}");
    }
}

#[test]
fn no_major_asks_for_a_number_twice() {
    for major in 14..=19 {
        let mut names: Vec<&str> = GROUPS
            .iter()
            .filter(|group| group.majors.contains(&major))
            .flat_map(|group| group.columns)
            .map(|(name, _)| *name)
            .collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "{major}");
    }
}
