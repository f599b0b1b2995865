//! One row of the table, and what makes its figures doubtful: a pure function of what was measured.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::latencies::Latencies;
use super::link::RateLimit;
use super::matrix::Pattern;
use super::steady::Steadiness;
use crate::counters::MachineCpu;
use crate::space::format_bytes;

const MIB: f64 = (1u64 << 20) as f64;

/// The largest difference between IOPS times size and the rate, in percent.
pub const UNIT_PERCENT_MAX: f64 = 1.0;

/// The largest difference between outstanding divided by IOPS and the mean latency, in percent (Little 1961).
pub const LITTLE_PERCENT_MAX: f64 = 5.0;

/// The device must have moved at least this share of what was transferred, for the page cache to be ruled out. The
/// two are not read at the same instant.
const DEVICE_PERCENT_MIN: f64 = 95.0;

/// Above this share of what was transferred others used the device too, or the kernel read ahead.
const DEVICE_PERCENT_MAX: f64 = 110.0;

/// The share of all processors that others may use before it is said.
const OTHERS_PERCENT_MAX: f64 = 10.0;

/// Why the figures of a row are doubtful.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "flag", rename_all = "snake_case")]
pub enum Flag {
    /// Nothing was transferred in the time measured.
    NoTransfers,
    /// IOPS times size is not the rate: some transfers were cut short.
    UnitIdentity {
        /// By how much, in percent of the rate.
        off_percent: f64,
    },
    /// Outstanding divided by IOPS is not the mean latency: the queue was not full all the time.
    LittlesLaw {
        /// By how much, in percent of the mean latency.
        off_percent: f64,
    },
    /// No steady state was reached.
    NotSteady {
        /// The difference of the fastest and the slowest fifth, in percent.
        range_percent: f64,
        /// The change from the first fifth to the last, in percent.
        drift_percent: f64,
    },
    /// Transfers were direct, and the counters of the device show fewer bytes than were transferred.
    CountersShowLess {
        /// What the device moved, in percent of what was transferred.
        device_percent: f64,
    },
    /// The counters of the device show more bytes than were transferred.
    CountersShowMore {
        /// What the device moved, in percent of what was transferred.
        device_percent: f64,
    },
    /// No counter of a device could be read: that transfers were direct rests on the system's word.
    NoCounters,
    /// The rate is above what is known to be possible.
    AboveLimit {
        /// What is known.
        limit: RateLimit,
    },
    /// Others used the processors.
    OthersUsedCpu {
        /// How much, in percent of all processors.
        cpu_percent: f64,
    },
}

impl fmt::Display for Flag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Flag::NoTransfers => f.write_str("nothing was transferred in the time measured"),
            Flag::UnitIdentity { off_percent } => {
                write!(f, "IOPS x size is {off_percent:.1} % off the rate: transfers were cut short")
            }
            Flag::LittlesLaw { off_percent } => write!(
                f,
                "outstanding / IOPS is {off_percent:.1} % off the mean latency: the queue was not full all the time"
            ),
            Flag::NotSteady { range_percent, drift_percent } => write!(
                f,
                "no steady state: fifths of the time differ by {range_percent:.0} %, drift {drift_percent:+.0} %"
            ),
            Flag::CountersShowLess { device_percent } => write!(
                f,
                "the device moved only {device_percent:.0} % of the bytes: some came from a cache above it"
            ),
            Flag::CountersShowMore { device_percent } => write!(
                f,
                "the device moved {device_percent:.0} % of the bytes: others used it at the same time"
            ),
            Flag::NoCounters => f.write_str("no counters of a device to verify direct I/O by"),
            Flag::AboveLimit { limit } => write!(
                f,
                "the rate is above {}/s, all that {} can give",
                format_bytes(limit.bytes_per_s as u64),
                limit.source
            ),
            Flag::OthersUsedCpu { cpu_percent } => {
                write!(f, "others, kernel threads included, used {cpu_percent:.0} % of the processors")
            }
        }
    }
}

/// One row: a pattern and what it gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The pattern.
    pub pattern: Pattern,
    /// Transfers completed.
    pub transfer_count: u64,
    /// Bytes transferred.
    pub transferred_bytes: u64,
    /// Transfers per second.
    pub iops: f64,
    /// The rate, in MiB per second.
    pub mib_per_s: f64,
    /// The mean latency in nanoseconds, from the moment before the request was handed over to the moment after its
    /// completion was seen.
    pub latency_ns_mean: f64,
    /// The largest latency in nanoseconds.
    pub latency_ns_max: u64,
    /// The median latency in nanoseconds, exact to three digits like the other two quantiles.
    pub latency_ns_p50: u64,
    /// The latency that 99 % did not exceed.
    pub latency_ns_p99: u64,
    /// The latency that 99.9 % did not exceed.
    pub latency_ns_p999: u64,
    /// How busy all processors of the machine were, by whomever, in percent (the CPU column of IOMeter).
    pub cpu_percent: f64,
    /// How busy fathom itself kept them, the kernel's work on its behalf included as far as it is charged to it.
    pub own_cpu_percent: f64,
    /// fathom's processor time per transfer, in nanoseconds.
    pub own_cpu_ns_per_transfer: f64,
    /// The bytes that the device says it read, scaled to the time measured; absent without counters.
    pub device_read_bytes: Option<u64>,
    /// The bytes that the device says it wrote, scaled to the time measured; absent without counters.
    pub device_write_bytes: Option<u64>,
    /// How long was measured, in nanoseconds.
    pub measured_ns: u64,
    /// How long the row ran before that, in nanoseconds: the ramp asked for and what was left out until it was
    /// steady.
    pub warm_up_ns: u64,
    /// Whether it was steady.
    pub steadiness: Steadiness,
    /// Why the figures are doubtful; empty when nothing speaks against them.
    pub flags: Vec<Flag>,
}

/// What one row gave, before any figure is derived.
#[derive(Clone, Debug)]
pub(super) struct Measurement {
    pub(super) transferred_bytes: u64,
    pub(super) latencies: Latencies,
    pub(super) measured_ns: u64,
    pub(super) warm_up_ns: u64,
    pub(super) steadiness: Steadiness,
    /// Bytes read and written by the device, and in how many nanoseconds.
    pub(super) device: Option<(u64, u64, u64)>,
    pub(super) machine_cpu: MachineCpu,
    pub(super) own_cpu_ns: u64,
    /// In how many nanoseconds of elapsed time the processors were watched.
    pub(super) cpu_watched_ns: u64,
    pub(super) is_direct: bool,
}

impl Row {
    pub(super) fn new(pattern: Pattern, measured: &Measurement, limits: &[RateLimit]) -> Self {
        let seconds = measured.measured_ns as f64 / 1e9;
        let latencies = &measured.latencies;
        let count = latencies.count as f64;
        let all_cpu_ns =
            measured.machine_cpu.busy_ns() + measured.machine_cpu.unused_ns() + measured.machine_cpu.steal_ns;
        let percent_of_cpu = |ns: u64| percent(ns as f64, all_cpu_ns as f64);
        let scaled = |bytes: u64, watched_ns: u64| match watched_ns {
            0 => 0,
            _ => (u128::from(bytes) * u128::from(measured.measured_ns) / u128::from(watched_ns)) as u64,
        };
        // Processor time is read between other moments than transfers are counted.
        let own_cpu_ns = scaled(measured.own_cpu_ns, measured.cpu_watched_ns);
        let mut row = Row {
            pattern,
            transfer_count: latencies.count,
            transferred_bytes: measured.transferred_bytes,
            iops: ratio(count, seconds),
            mib_per_s: ratio(measured.transferred_bytes as f64 / MIB, seconds),
            latency_ns_mean: latencies.mean_ns(),
            latency_ns_max: latencies.max_ns,
            latency_ns_p50: latencies.quantile_ns(0.5),
            latency_ns_p99: latencies.quantile_ns(0.99),
            latency_ns_p999: latencies.quantile_ns(0.999),
            cpu_percent: percent_of_cpu(measured.machine_cpu.busy_ns()),
            own_cpu_percent: percent_of_cpu(measured.own_cpu_ns),
            own_cpu_ns_per_transfer: ratio(own_cpu_ns as f64, count),
            device_read_bytes: measured.device.map(|(read, _, watched_ns)| scaled(read, watched_ns)),
            device_write_bytes: measured.device.map(|(_, write, watched_ns)| scaled(write, watched_ns)),
            measured_ns: measured.measured_ns,
            warm_up_ns: measured.warm_up_ns,
            steadiness: measured.steadiness,
            flags: Vec::new(),
        };
        row.flags = flags(&row, measured, limits);
        row
    }

    /// What the device moved in percent of what was transferred; absent without counters or transfers.
    pub fn device_percent(&self) -> Option<f64> {
        let device_bytes = self.device_read_bytes?.saturating_add(self.device_write_bytes?);
        (self.transferred_bytes > 0).then(|| percent(device_bytes as f64, self.transferred_bytes as f64))
    }

    /// By how much IOPS times size differs from the rate, in percent of the rate.
    pub fn unit_off_percent(&self) -> f64 {
        let product = self.iops * self.pattern.transfer_bytes as f64 / MIB;
        percent((product - self.mib_per_s).abs(), self.mib_per_s)
    }

    /// By how much outstanding divided by IOPS differs from the mean latency, in percent of the latency.
    pub fn little_off_percent(&self) -> f64 {
        let expected_ns = ratio(self.pattern.outstanding_total() as f64 * 1e9, self.iops);
        percent((expected_ns - self.latency_ns_mean).abs(), self.latency_ns_mean)
    }
}

fn flags(row: &Row, measured: &Measurement, limits: &[RateLimit]) -> Vec<Flag> {
    if row.transfer_count == 0 {
        return vec![Flag::NoTransfers];
    }
    let mut flags = Vec::new();
    let mut flag_if = |condition: bool, flag: Flag| {
        if condition {
            flags.push(flag);
        }
    };
    let off_percent = row.unit_off_percent();
    flag_if(off_percent > UNIT_PERCENT_MAX, Flag::UnitIdentity { off_percent });
    let off_percent = row.little_off_percent();
    flag_if(off_percent > LITTLE_PERCENT_MAX, Flag::LittlesLaw { off_percent });
    let Steadiness { is_steady, range_percent, drift_percent } = row.steadiness;
    flag_if(!is_steady, Flag::NotSteady { range_percent, drift_percent });
    if measured.is_direct {
        match row.device_percent() {
            None => flag_if(true, Flag::NoCounters),
            Some(device_percent) => {
                flag_if(device_percent < DEVICE_PERCENT_MIN, Flag::CountersShowLess { device_percent });
                flag_if(device_percent > DEVICE_PERCENT_MAX, Flag::CountersShowMore { device_percent });
            }
        }
    }
    let narrowest = limits.iter().min_by(|a, b| a.bytes_per_s.total_cmp(&b.bytes_per_s));
    if let Some(limit) = narrowest {
        flag_if(row.mib_per_s * MIB > limit.bytes_per_s, Flag::AboveLimit { limit: limit.clone() });
    }
    let cpu_percent = row.cpu_percent - row.own_cpu_percent;
    flag_if(cpu_percent > OTHERS_PERCENT_MAX, Flag::OthersUsedCpu { cpu_percent });
    flags
}

fn ratio(amount: f64, by: f64) -> f64 {
    if by > 0.0 { amount / by } else { 0.0 }
}

fn percent(part: f64, whole: f64) -> f64 {
    100.0 * ratio(part, whole)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// 8 KiB, 32 outstanding, 1000 transfers a second for 5 seconds, 32 ms each; two processors, one of four used.
    fn measurement() -> Measurement {
        let mut latencies = Latencies::new();
        (0..5000).for_each(|_| latencies.record(32_000_000));
        Measurement {
            transferred_bytes: 5000 * 8192,
            latencies,
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
        assert!(
            matches!(bad.flags[0], Flag::UnitIdentity { off_percent } if (off_percent - 2.04).abs() < 0.01)
        );
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
}
