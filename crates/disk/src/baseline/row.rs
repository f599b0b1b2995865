//! One row of the table, and what makes its figures doubtful: a pure function of what was measured.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::error::verb;
use super::latencies::Latencies;
use super::link::RateLimit;
use super::pattern::Pattern;
use super::steady::Steadiness;
use super::window::ShortTransfers;
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
    /// Transfers that moved fewer bytes than asked for: errors of the row, and not among its transfers.
    ShortTransfers {
        /// How many.
        count: u64,
        /// `read` or `write`.
        operation: String,
        /// Place of the first one.
        offset_bytes: u64,
        /// Bytes that the first one moved.
        moved_bytes: u64,
        /// Bytes that were asked for.
        asked_bytes: u64,
    },
    /// Nothing was transferred in the time measured.
    NoTransfers,
    /// IOPS times size is not the rate: some short transfers.
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
            Flag::ShortTransfers { count, operation, offset_bytes, moved_bytes, asked_bytes } => {
                let plural = if *count == 1 { "" } else { "s" };
                write!(
                    f,
                    "error: {count} short {operation}{plural}, not counted; the first at byte {offset_bytes} \
                     returned {moved_bytes} of {asked_bytes} bytes"
                )
            }
            Flag::NoTransfers => f.write_str("nothing was transferred in the time measured"),
            Flag::UnitIdentity { off_percent } => {
                write!(f, "IOPS x size is {off_percent:.1} % off the rate: short transfers")
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
                write!(f, "other processes, kernel threads included, used {cpu_percent:.0} % of the CPUs")
            }
        }
    }
}

/// One row: a pattern and what it gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The pattern.
    pub pattern: Pattern,
    /// Transfers completed, all of them whole.
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
    pub(super) short: Option<ShortTransfers>,
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

    /// Why the row is no measurement: its first transfer that moved fewer bytes than asked for.
    pub fn error(&self) -> Option<&Flag> {
        self.flags.iter().find(|flag| matches!(flag, Flag::ShortTransfers { .. }))
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
    let mut flags = Vec::new();
    if let Some(ShortTransfers { count, operation, offset_bytes, moved_bytes }) = measured.short {
        let (operation, asked_bytes) = (verb(operation).to_owned(), row.pattern.transfer_bytes);
        flags.push(Flag::ShortTransfers { count, operation, offset_bytes, moved_bytes, asked_bytes });
    }
    if row.transfer_count == 0 {
        flags.push(Flag::NoTransfers);
        return flags;
    }
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
mod tests;
