//! The counters of a block device, from `/proc/diskstats`.
//!
//! Fields and units: `Documentation/admin-guide/iostats.rst` of the kernel; the derived figures are those of
//! iostat(1).

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{CountersError, malformed, read};
use crate::facts::DeviceNumber;

/// `/proc/diskstats` counts sectors of this size, whatever the block size of the device.
const SECTOR_BYTES: u64 = 512;

/// The kernel keeps times in 32 bits: they start again after this many milliseconds.
const MS_WRAP: u64 = 1 << 32;

/// The totals of one block device since it appeared. The number in brackets is the kernel's field number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskCounters {
    /// The name of the device.
    pub device: String,
    /// (1) Reads completed.
    pub reads: u64,
    /// (2) Reads merged with a neighbour before they were issued.
    pub reads_merged: u64,
    /// (3) Bytes read; the kernel's sectors times 512.
    pub read_bytes: u64,
    /// (4) Time of all reads added up, in milliseconds.
    pub read_ms: u64,
    /// (5) Writes completed.
    pub writes: u64,
    /// (6) Writes merged with a neighbour before they were issued.
    pub writes_merged: u64,
    /// (7) Bytes written; the kernel's sectors times 512.
    pub write_bytes: u64,
    /// (8) Time of all writes added up, in milliseconds.
    pub write_ms: u64,
    /// (9) Requests under way: a gauge, not a total.
    pub in_flight: u64,
    /// (10) Time with at least one request under way, in milliseconds.
    pub io_ms: u64,
    /// (11) Time of all requests added up, those under way included, in milliseconds.
    pub weighted_io_ms: u64,
    /// (12-15) Discards; absent before Linux 4.18.
    pub discards: Option<DiscardCounters>,
    /// (16-17) Flushes; absent before Linux 5.5. Partitions never count them.
    pub flushes: Option<FlushCounters>,
}

/// The discards of one block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiscardCounters {
    /// (12) Discards completed.
    pub discards: u64,
    /// (13) Discards merged with a neighbour before they were issued.
    pub discards_merged: u64,
    /// (14) Bytes discarded; the kernel's sectors times 512.
    pub discard_bytes: u64,
    /// (15) Time of all discards added up, in milliseconds.
    pub discard_ms: u64,
}

/// The flushes of one block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlushCounters {
    /// (16) Flush requests completed.
    pub flushes: u64,
    /// (17) Time of all flush requests added up, in milliseconds.
    pub flush_ms: u64,
}

/// What one block device did between two readings, and the figures derived from it.
///
/// A figure is absent where nothing was done that it could describe. Time in which a cgroup throttles requests is
/// not in any of these counters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceActivity {
    /// The differences of the totals; `in_flight` is that of the later reading.
    pub difference: DiskCounters,
    /// The time between the readings in nanoseconds.
    pub elapsed_ns: u64,
}

/// Reads the counters of the block device `device` (`vda`, `nvme0n1p2`, `dm-0`).
///
/// # Errors
/// When `/proc/diskstats` cannot be read, does not list the device, or its line is cut short.
pub fn disk_counters(device: &str) -> Result<DiskCounters, CountersError> {
    let path = Path::new("/proc/diskstats");
    find(&read(path)?, device, path)
}

/// Reads the lines of `/proc/diskstats`; lines that do not have the form are left out.
pub fn parse_diskstats(text: &str) -> Vec<(DeviceNumber, DiskCounters)> {
    text.lines().filter_map(parse_line).collect()
}

fn find(text: &str, device: &str, path: &Path) -> Result<DiskCounters, CountersError> {
    let line = text.lines().find(|line| line.split_ascii_whitespace().nth(2) == Some(device));
    let line = line.ok_or_else(|| CountersError::NoSuchDevice { device: device.to_owned() })?;
    let (_, counters) =
        parse_line(line).ok_or_else(|| malformed(path, &format!("11 counters of \"{device}\"")))?;
    Ok(counters)
}

fn parse_line(line: &str) -> Option<(DeviceNumber, DiskCounters)> {
    let mut fields = line.split_ascii_whitespace();
    let major = fields.next()?.parse().ok()?;
    let minor = fields.next()?.parse().ok()?;
    let device = fields.next()?.to_owned();
    let mut next = || fields.next()?.parse::<u64>().ok();
    let counters = DiskCounters {
        device,
        reads: next()?,
        reads_merged: next()?,
        read_bytes: next()?.checked_mul(SECTOR_BYTES)?,
        read_ms: next()?,
        writes: next()?,
        writes_merged: next()?,
        write_bytes: next()?.checked_mul(SECTOR_BYTES)?,
        write_ms: next()?,
        in_flight: next()?,
        io_ms: next()?,
        weighted_io_ms: next()?,
        discards: parse_discards(&mut next),
        flushes: parse_flushes(&mut next),
    };
    Some((DeviceNumber { major, minor }, counters))
}

fn parse_discards(next: &mut impl FnMut() -> Option<u64>) -> Option<DiscardCounters> {
    Some(DiscardCounters {
        discards: next()?,
        discards_merged: next()?,
        discard_bytes: next()?.checked_mul(SECTOR_BYTES)?,
        discard_ms: next()?,
    })
}

fn parse_flushes(next: &mut impl FnMut() -> Option<u64>) -> Option<FlushCounters> {
    Some(FlushCounters { flushes: next()?, flush_ms: next()? })
}

impl DiskCounters {
    /// Subtracts the earlier reading, taken `elapsed_ns` nanoseconds before.
    ///
    /// Times that started again from 0 (after 2^32 ms) are carried over, once.
    ///
    /// # Errors
    /// When a total went back, which means that the device is not the one it was.
    pub fn since(&self, earlier: &DiskCounters, elapsed_ns: u64) -> Result<DeviceActivity, CountersError> {
        let total = |field: &'static str, after: u64, before: u64| {
            after.checked_sub(before).ok_or_else(|| CountersError::WentBack {
                device: self.device.clone(),
                field,
                before,
                after,
            })
        };
        let time = |field: &'static str, after: u64, before: u64| match after < before && before < MS_WRAP {
            true => Ok(after + MS_WRAP - before),
            false => total(field, after, before),
        };
        let discards = match (self.discards, earlier.discards) {
            (Some(after), Some(before)) => Some(DiscardCounters {
                discards: total("discards", after.discards, before.discards)?,
                discards_merged: total("discards_merged", after.discards_merged, before.discards_merged)?,
                discard_bytes: total("discard_bytes", after.discard_bytes, before.discard_bytes)?,
                discard_ms: time("discard_ms", after.discard_ms, before.discard_ms)?,
            }),
            _ => None,
        };
        let flushes = match (self.flushes, earlier.flushes) {
            (Some(after), Some(before)) => Some(FlushCounters {
                flushes: total("flushes", after.flushes, before.flushes)?,
                flush_ms: time("flush_ms", after.flush_ms, before.flush_ms)?,
            }),
            _ => None,
        };
        let difference = DiskCounters {
            device: self.device.clone(),
            reads: total("reads", self.reads, earlier.reads)?,
            reads_merged: total("reads_merged", self.reads_merged, earlier.reads_merged)?,
            read_bytes: total("read_bytes", self.read_bytes, earlier.read_bytes)?,
            read_ms: time("read_ms", self.read_ms, earlier.read_ms)?,
            writes: total("writes", self.writes, earlier.writes)?,
            writes_merged: total("writes_merged", self.writes_merged, earlier.writes_merged)?,
            write_bytes: total("write_bytes", self.write_bytes, earlier.write_bytes)?,
            write_ms: time("write_ms", self.write_ms, earlier.write_ms)?,
            in_flight: self.in_flight,
            io_ms: time("io_ms", self.io_ms, earlier.io_ms)?,
            weighted_io_ms: time("weighted_io_ms", self.weighted_io_ms, earlier.weighted_io_ms)?,
            discards,
            flushes,
        };
        Ok(DeviceActivity { difference, elapsed_ns })
    }
}

impl DeviceActivity {
    /// The mean time of a read in milliseconds (iostat r_await).
    pub fn read_await_ms(&self) -> Option<f64> {
        ratio(self.difference.read_ms, self.difference.reads)
    }

    /// The mean time of a write in milliseconds (iostat w_await).
    pub fn write_await_ms(&self) -> Option<f64> {
        ratio(self.difference.write_ms, self.difference.writes)
    }

    /// The mean time of a flush in milliseconds (iostat f_await).
    pub fn flush_await_ms(&self) -> Option<f64> {
        self.difference.flushes.and_then(|flushes| ratio(flushes.flush_ms, flushes.flushes))
    }

    /// The mean time of a discard in milliseconds (iostat d_await).
    pub fn discard_await_ms(&self) -> Option<f64> {
        self.difference.discards.and_then(|discards| ratio(discards.discard_ms, discards.discards))
    }

    /// The mean size of a read in bytes (iostat rareq-sz).
    pub fn read_size_bytes(&self) -> Option<f64> {
        ratio(self.difference.read_bytes, self.difference.reads)
    }

    /// The mean size of a write in bytes (iostat wareq-sz).
    pub fn write_size_bytes(&self) -> Option<f64> {
        ratio(self.difference.write_bytes, self.difference.writes)
    }

    /// The mean number of requests under way (iostat aqu-sz).
    pub fn queue_length(&self) -> Option<f64> {
        ratio(self.difference.weighted_io_ms, self.elapsed_ns).map(|per_ns| per_ns * 1e6)
    }

    /// The share of time with at least one request under way, 0 to 1 (iostat %util divided by 100). A device that
    /// works on many requests at once is not full at 1. The kernel rounds up to whole milliseconds or ticks, so short
    /// intervals can come out a little above 1.
    pub fn utilisation(&self) -> Option<f64> {
        ratio(self.difference.io_ms, self.elapsed_ns).map(|per_ns| per_ns * 1e6)
    }

    /// Reads completed per second.
    pub fn reads_per_s(&self) -> Option<f64> {
        self.per_s(self.difference.reads)
    }

    /// Writes completed per second.
    pub fn writes_per_s(&self) -> Option<f64> {
        self.per_s(self.difference.writes)
    }

    /// Bytes read per second.
    pub fn read_bytes_per_s(&self) -> Option<f64> {
        self.per_s(self.difference.read_bytes)
    }

    /// Bytes written per second.
    pub fn write_bytes_per_s(&self) -> Option<f64> {
        self.per_s(self.difference.write_bytes)
    }

    fn per_s(&self, amount: u64) -> Option<f64> {
        ratio(amount, self.elapsed_ns).map(|per_ns| per_ns * 1e9)
    }
}

fn ratio(amount: u64, by: u64) -> Option<f64> {
    (by > 0).then(|| amount as f64 / by as f64)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const LINE: &str = " 254       0 vda 28238 5908 3037890 9871 6068 16398 1100968 2418 3 3404 12487 3319 36 189216 189 252 8";

    fn counters(line: &str) -> DiskCounters {
        parse_line(line).unwrap().1
    }

    #[test]
    fn the_seventeen_fields_have_their_names_and_units() {
        let (number, counters) = parse_line(LINE).unwrap();
        assert_eq!(number, DeviceNumber { major: 254, minor: 0 });
        let expected = DiskCounters {
            device: "vda".to_owned(),
            reads: 28238,
            reads_merged: 5908,
            read_bytes: 3037890 * 512,
            read_ms: 9871,
            writes: 6068,
            writes_merged: 16398,
            write_bytes: 1100968 * 512,
            write_ms: 2418,
            in_flight: 3,
            io_ms: 3404,
            weighted_io_ms: 12487,
            discards: Some(DiscardCounters {
                discards: 3319,
                discards_merged: 36,
                discard_bytes: 189216 * 512,
                discard_ms: 189,
            }),
            flushes: Some(FlushCounters { flushes: 252, flush_ms: 8 }),
        };
        assert_eq!(counters, expected);
    }

    #[test]
    fn older_kernels_have_no_discards_or_no_flushes() {
        let eleven = counters("8 0 sda 1 2 3 4 5 6 7 8 9 10 11");
        assert_eq!((eleven.weighted_io_ms, eleven.discards, eleven.flushes), (11, None, None));
        let fifteen = counters("8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15");
        assert!(fifteen.discards.is_some() && fifteen.flushes.is_none());
    }

    #[test]
    fn a_line_cut_anywhere_never_panics_and_is_named() {
        let path = Path::new("/proc/diskstats");
        for end in 0..LINE.len() {
            match find(&LINE[..end], "vda", path) {
                Ok(counters) => assert!(counters.reads == 28238 && counters.in_flight == 3),
                Err(CountersError::NoSuchDevice { device }) => assert_eq!(device, "vda"),
                Err(error) => assert!(error.to_string().contains("\"vda\""), "{error}"),
            }
        }
        let odd = String::from_utf8_lossy(b"8 0 sd\xff 1 2\n8 x sda 1\n8 0 sda -1 99999999999999999999\n");
        assert_eq!(parse_diskstats(&odd), []);
        assert_eq!(parse_line("8 0 sda 1 2 18446744073709551615 4 5 6 7 8 9 10 11"), None);
    }

    #[test]
    fn the_difference_gives_the_figures_of_iostat() {
        let before = counters("8 0 sda 100 0 1000 50 200 0 2000 100 0 500 700 0 0 0 0 10 40");
        let after = counters("8 0 sda 150 0 1400 150 300 5 3600 1100 2 1000 2700 0 0 0 0 20 140");
        let activity = after.since(&before, 2_000_000_000).unwrap();
        assert_eq!(activity.read_await_ms(), Some(2.0));
        assert_eq!(activity.write_await_ms(), Some(10.0));
        assert_eq!(activity.flush_await_ms(), Some(10.0));
        assert_eq!(activity.discard_await_ms(), None);
        assert_eq!(activity.read_size_bytes(), Some(4096.0));
        assert_eq!(activity.write_size_bytes(), Some(8192.0));
        assert_eq!(activity.queue_length(), Some(1.0));
        assert_eq!(activity.utilisation(), Some(0.25));
        assert_eq!(activity.reads_per_s(), Some(25.0));
        assert_eq!(activity.writes_per_s(), Some(50.0));
        assert_eq!(activity.read_bytes_per_s(), Some(102_400.0));
        assert_eq!(activity.write_bytes_per_s(), Some(409_600.0));
        assert_eq!(activity.difference.in_flight, 2);
        assert_eq!(after.since(&after, 0).unwrap().queue_length(), None);
    }

    #[test]
    fn a_time_that_started_again_is_carried_over_and_a_count_that_went_back_is_an_error() {
        let before = counters("8 0 sda 100 0 0 4294967290 0 0 0 0 0 0 0");
        let after = counters("8 0 sda 101 0 0 4 0 0 0 0 0 0 0");
        assert_eq!(after.since(&before, 1).unwrap().difference.read_ms, 10);
        let message = before.since(&after, 1).unwrap_err().to_string();
        assert_eq!(message, "counter reads of block device \"sda\" went back from 101 to 100");
    }

    #[test]
    fn the_devices_of_this_machine_can_be_read_twice() {
        let Ok(text) = std::fs::read_to_string("/proc/diskstats") else { return };
        for (_, before) in parse_diskstats(&text) {
            // A loop device can be detached by others between the two readings.
            let Ok(after) = disk_counters(&before.device) else { continue };
            let Ok(activity) = after.since(&before, 1_000_000) else { continue };
            assert!(activity.difference.reads <= after.reads);
        }
        let missing = disk_counters("no-such-device").unwrap_err();
        assert!(matches!(missing, CountersError::NoSuchDevice { .. }));
    }
}
