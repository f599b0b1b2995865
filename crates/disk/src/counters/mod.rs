//! What devices, processes and the machine have done so far, to be read twice and subtracted.
//!
//! All are running totals of the kernel. Nothing here keeps state: the caller holds the two readings and the time
//! between them.

mod cpu;
mod disk;
mod process;

use std::io::{self, Read};
use std::path::{Path, PathBuf};

pub use cpu::{MachineCpu, machine_cpu, parse_machine_cpu, process_cpu_ns, thread_cpu_ns};
pub use disk::{
    DeviceActivity, DiscardCounters, DiskCounters, FlushCounters, disk_counters, parse_diskstats,
};
pub use process::{ProcessCpu, ProcessIo, parse_process_cpu, process_cpu, process_io, thread_io};

/// The most that is read of one counter file; `/proc/diskstats` of ten thousand devices is about 1 MiB.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Why a counter could not be had.
#[derive(Debug, thiserror::Error)]
pub enum CountersError {
    /// The file could not be read. `NotFound`: the process has ended; `PermissionDenied`: it belongs to another user.
    #[error("could not read \"{}\": {source}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The file could be read but does not have the field.
    #[error("could not find {field} in \"{}\": the line is missing, truncated or not a number", .path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What was looked for.
        field: String,
    },
    /// The device is not in the list of the kernel.
    #[error("could not find block device \"{device}\" in /proc/diskstats")]
    NoSuchDevice {
        /// The name asked for.
        device: String,
    },
    /// A total is lower than before: the device was taken away and came back between the readings.
    #[error("counter {field} of block device \"{device}\" went back from {before} to {after}")]
    WentBack {
        /// The device.
        device: String,
        /// The counter, by its name in [`DiskCounters`].
        field: &'static str,
        /// The earlier reading.
        before: u64,
        /// The later reading.
        after: u64,
    },
}

impl CountersError {
    /// Says whether the cause is that the process has ended.
    pub fn is_gone(&self) -> bool {
        // A process that ends between opening and reading its file answers ESRCH (3).
        matches!(self, CountersError::Unreadable { source, .. }
            if source.kind() == io::ErrorKind::NotFound || source.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()))
    }
}

fn read(path: &Path) -> Result<String, CountersError> {
    let content = || -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        std::fs::File::open(path)?.take(FILE_BYTES_MAX).read_to_end(&mut content)?;
        Ok(content)
    };
    match content() {
        Ok(content) => Ok(String::from_utf8_lossy(&content).into_owned()),
        Err(source) => Err(CountersError::Unreadable { path: path.to_path_buf(), source }),
    }
}

fn malformed(path: &Path, field: &str) -> CountersError {
    CountersError::Malformed { path: path.to_path_buf(), field: field.to_owned() }
}

/// Turns clock ticks of `/proc` into nanoseconds. `ticks_per_second` is 100 on every common Linux.
fn ticks_to_ns(ticks: u64, ticks_per_second: u64) -> u64 {
    let ns = u128::from(ticks) * 1_000_000_000 / u128::from(ticks_per_second.max(1));
    u64::try_from(ns).unwrap_or(u64::MAX)
}
