//! Figures and doubts of made-up measurements.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::backend::Operation;

const SECOND: u64 = 1_000_000_000;

/// 8 KiB, 32 outstanding, 1000 transfers a second for 5 seconds, 32 ms each; two processors, one of four used.
fn measurement() -> Measurement {
    let mut latencies = Latencies::new();
    (0..5000).for_each(|_| latencies.record(32_000_000));
    Measurement {
        transferred_bytes: 5000 * 8192,
        latencies,
        short: None,
        measured_ns: 5 * SECOND,
        warm_up_ns: SECOND,
        steadiness: Steadiness { is_steady: true, range_percent: 1.0, drift_percent: 0.0 },
        device: Some((5000 * 8192, 0, 5 * SECOND)),
        machine_cpu: MachineCpu {
            user_ns: SECOND,
            system_ns: 3 * SECOND / 2,
            idle_ns: 15 * SECOND / 2,
            ..MachineCpu::default()
        },
        own_cpu_ns: 2 * SECOND,
        cpu_watched_ns: 5 * SECOND,
        is_direct: true,
    }
}

fn row(change: impl Fn(&mut Measurement)) -> Row {
    let mut measured = measurement();
    change(&mut measured);
    Row::new(Pattern::read(8192, 100, 32), &measured, &[])
}

#[test]
fn figures_have_the_units_of_their_names_and_a_good_row_has_no_flag() {
    let row = row(|_| ());
    assert_eq!(row.flags, []);
    assert_eq!((row.iops, row.mib_per_s), (1000.0, 7.8125));
    assert_eq!(row.latency_ns_mean, 32e6);
    assert!((row.latency_ns_p999 as f64 / 32e6 - 1.0).abs() < 1e-3);
    assert_eq!((row.cpu_percent, row.own_cpu_percent), (25.0, 20.0));
    assert_eq!(row.own_cpu_ns_per_transfer, 400_000.0);
    assert_eq!(row.device_percent(), Some(100.0));
}

#[test]
fn short_transfers_break_the_identity_of_units() {
    let bad = row(|m| m.transferred_bytes = m.transferred_bytes * 98 / 100);
    assert!(matches!(bad.flags[0], Flag::UnitIdentity { off_percent } if (off_percent - 2.04).abs() < 0.01));
    assert_eq!(row(|m| m.transferred_bytes = m.transferred_bytes * 995 / 1000).flags, []);
}

#[test]
fn a_queue_that_was_not_full_breaks_littles_law() {
    let bad = row(|m| m.latencies.sum_ns = m.latencies.sum_ns * 94 / 100);
    assert!(matches!(&bad.flags[..], [Flag::LittlesLaw { off_percent }] if *off_percent > 6.0));
    assert_eq!(row(|m| m.latencies.sum_ns = m.latencies.sum_ns * 96 / 100).flags, []);
}

#[test]
fn counters_of_the_device_tell_of_caches_and_of_others() {
    let less = row(|m| m.device = Some((1000 * 8192, 0, 5 * SECOND)));
    assert_eq!(less.flags, [Flag::CountersShowLess { device_percent: 20.0 }]);
    let more = row(|m| m.device = Some((10_000 * 8192, 0, 5 * SECOND)));
    assert_eq!(more.flags, [Flag::CountersShowMore { device_percent: 200.0 }]);
    assert_eq!(row(|m| m.device = None).flags, [Flag::NoCounters]);
    // Through the page cache the counters prove nothing either way; the title says it.
    let cached = |m: &mut Measurement| (m.is_direct, m.device) = (false, Some((0, 0, SECOND)));
    assert_eq!(row(cached).flags, []);
    // Counters read over a longer time count for their share.
    assert_eq!(row(|m| m.device = Some((6000 * 8192, 0, 6 * SECOND))).flags, []);
}

#[test]
fn a_rate_above_the_narrowest_limit_is_flagged_with_its_source() {
    let limit = |bytes_per_s: f64, source: &str| RateLimit { bytes_per_s, source: source.to_owned() };
    let limits = [limit(1e9, "wide"), limit(8e6, "narrow")];
    let row = Row::new(Pattern::read(8192, 100, 32), &measurement(), &limits);
    assert_eq!(row.flags, [Flag::AboveLimit { limit: limits[1].clone() }]);
    assert_eq!(row.flags[0].to_string(), "the rate is above 7.6 MiB/s, all that narrow can give");
}

#[test]
fn others_on_the_processors_and_an_unsteady_row_are_said() {
    let busy = row(|m| m.machine_cpu.user_ns = 5 * SECOND);
    assert!(matches!(busy.flags[..], [Flag::OthersUsedCpu { .. }]));
    let unsteady = row(|m| m.steadiness.is_steady = false);
    assert!(matches!(unsteady.flags[..], [Flag::NotSteady { .. }]));
}

#[test]
fn nothing_transferred_gives_zeros_and_one_flag() {
    let nothing = row(|m| {
        (m.transferred_bytes, m.latencies) = (0, Latencies::new());
        (m.measured_ns, m.cpu_watched_ns) = (0, 0);
        m.machine_cpu = MachineCpu::default();
    });
    assert_eq!(nothing.flags, [Flag::NoTransfers]);
    assert_eq!((nothing.iops, nothing.cpu_percent, nothing.latency_ns_p99), (0.0, 0.0, 0));
}

#[test]
fn transfers_cut_short_are_an_error_of_the_row_that_names_the_first() {
    let short = ShortTransfers { count: 3, operation: Operation::Read, offset_bytes: 16384, moved_bytes: 0 };
    let some = row(|m| m.short = Some(short));
    assert_eq!(
        some.error().unwrap().to_string(),
        "error: 3 short reads, not counted; the first at byte 16384 returned 0 of 8192 bytes"
    );
    let none = row(|m| {
        m.short = Some(ShortTransfers { count: 1, operation: Operation::Write, ..short });
        m.latencies = Latencies::new();
        m.transferred_bytes = 0;
    });
    assert_eq!((none.iops, none.flags.len()), (0.0, 2));
    assert!(none.error().unwrap().to_string().starts_with("error: 1 short write, not counted"));
    assert_eq!(row(|_| ()).error(), None);
}
