//! How long it takes until an append is durable: the question of every log.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::latencies::Latencies;
use super::row::LITTLE_PERCENT_MAX;
use super::{BaselineError, job::stamp, leftovers};
use crate::buffer::fill_incompressible;
use crate::counters::{disk_counters, machine_cpu, process_cpu_ns};
use crate::facts::storage_behind;
use crate::probe::{FlushBehaviour, behaviour_of, is_in_memory};

/// A writer that has appended so much starts over in an empty file, outside the time of any append. In memory a
/// writer of large appends would otherwise fill gigabytes.
const FILE_BYTES_MAX: u64 = 256 << 20;

/// A log that is filled beforehand has at least this size, that of a segment of PostgreSQL, and holds at least so
/// many appends.
const FILLED_BYTES_MIN: u64 = 16 << 20;
const FILLED_APPENDS_MIN: u64 = 4;

/// The most writers at once.
const WRITERS_MAX: u32 = 1024;

/// The largest append.
const APPEND_BYTES_MAX: u64 = 64 << 20;

/// How an append is made durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SyncMethod {
    /// A write, then fdatasync(2).
    Fdatasync,
    /// A write, then fsync(2).
    Fsync,
    /// A write to a file opened with `O_DSYNC`.
    OpenDsync,
}

impl SyncMethod {
    /// The name as PostgreSQL's `wal_sync_method` has it.
    pub fn name(self) -> &'static str {
        match self {
            SyncMethod::Fdatasync => "fdatasync",
            SyncMethod::Fsync => "fsync",
            SyncMethod::OpenDsync => "open_datasync",
        }
    }
}

/// Which appends to measure: each size with each method and each number of writers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncMatrix {
    /// The sizes of one append in bytes.
    pub sizes_bytes: Vec<u64>,
    /// The ways to make it durable.
    pub methods: Vec<SyncMethod>,
    /// How many writers append at the same time, each to a file of its own.
    pub writer_counts: Vec<u32>,
    /// How long each row is measured.
    pub runtime: Duration,
    /// Whether appends go into a log that was written whole beforehand and is used again from its start, as the logs
    /// of databases are; else each append extends its file, whose new size is flushed with it.
    pub fills_first: bool,
}

impl Default for SyncMatrix {
    /// 512 B, 4 KiB, 8 KiB and 60 KiB (the largest log block of SQL Server), both methods, 1 and 4 writers, 2 seconds
    /// each: 16 rows.
    fn default() -> Self {
        SyncMatrix {
            sizes_bytes: vec![512, 4096, 8192, 61_440],
            methods: vec![SyncMethod::Fdatasync, SyncMethod::OpenDsync],
            writer_counts: vec![1, 4],
            runtime: Duration::from_secs(2),
            fills_first: false,
        }
    }
}

/// The time of durable appends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SyncRow {
    /// The bytes of one append.
    pub size_bytes: u64,
    /// How it was made durable.
    pub method: SyncMethod,
    /// How many appended at the same time, each to a file of its own.
    pub writer_count: u32,
    /// Appends made durable.
    pub append_count: u64,
    /// Appends per second, of all writers.
    pub appends_per_s: f64,
    /// MiB per second, of all writers.
    pub mib_per_s: f64,
    /// The mean time of write and flush together, in nanoseconds.
    pub latency_ns_mean: f64,
    /// The median, in nanoseconds, exact to three digits like the other quantiles.
    pub latency_ns_p50: u64,
    /// The time that 99 % did not exceed.
    pub latency_ns_p99: u64,
    /// The longest.
    pub latency_ns_max: u64,
    /// How busy all processors were, in percent.
    pub cpu_percent: f64,
    /// How busy fathom itself kept them, in percent.
    pub own_cpu_percent: f64,
    /// The flushes that the device counted; absent where it counts none. One flush can serve several writers.
    pub device_flush_count: Option<u64>,
    /// What the times and the place say about flushes.
    pub behaviour: FlushBehaviour,
    /// How long was measured, in nanoseconds.
    pub measured_ns: u64,
    /// Why the figures are doubtful, as sentences.
    pub flags: Vec<String>,
}

/// Measures durable appends in `directory`, row by row: sizes within methods within numbers of writers.
///
/// Each writer has a file of its own in the directory, which is removed afterwards. An append extends the file, as a
/// growing log does; logs that were filled beforehand need less.
///
/// # Errors
/// When there is nothing to measure, or a file cannot be made, written or flushed.
pub fn measure_sync(
    directory: &Path,
    matrix: &SyncMatrix,
    watch: &mut dyn FnMut(&SyncRow),
) -> Result<Vec<SyncRow>, BaselineError> {
    let sizes_fit = matrix.sizes_bytes.iter().all(|size| (1..=APPEND_BYTES_MAX).contains(size));
    let writers_fit = matrix.writer_counts.iter().all(|count| (1..=WRITERS_MAX).contains(count));
    let is_empty =
        matrix.sizes_bytes.is_empty() || matrix.methods.is_empty() || matrix.writer_counts.is_empty();
    if is_empty || !sizes_fit || !writers_fit || matrix.runtime.is_zero() {
        return Err(BaselineError::Nothing);
    }
    leftovers::remove_abandoned(directory);
    let mut rows = Vec::new();
    for &writer_count in &matrix.writer_counts {
        for &method in &matrix.methods {
            for &size_bytes in &matrix.sizes_bytes {
                let row = measure_row(directory, size_bytes, method, writer_count, matrix)?;
                watch(&row);
                rows.push(row);
            }
        }
    }
    Ok(rows)
}

fn measure_row(
    directory: &Path,
    size_bytes: u64,
    method: SyncMethod,
    writer_count: u32,
    matrix: &SyncMatrix,
) -> Result<SyncRow, BaselineError> {
    let runtime = matrix.runtime;
    let device =
        storage_behind(directory).ok().and_then(|facts| Some(facts.block_devices.first()?.name.clone()));
    let flush_count = || {
        let counters = disk_counters(device.as_deref()?).ok()?;
        counters.flushes.map(|flushes| flushes.flushes)
    };
    let mut logs = Vec::new();
    for writer_index in 0..writer_count {
        let mut log = Log::create_in(directory, writer_index, method, size_bytes)?;
        if matrix.fills_first {
            log.fill()?;
        }
        logs.push(log);
    }
    let (flushes_before, cpu_before, own_before) =
        (flush_count(), machine_cpu().unwrap_or_default(), process_cpu_ns());
    let barrier = Barrier::new(logs.len());
    let start = Instant::now();
    let results: Vec<_> = thread::scope(|scope| {
        let mut handles = Vec::new();
        for log in &mut logs {
            let barrier = &barrier;
            handles.push(scope.spawn(move || {
                barrier.wait();
                log.append_until(start + runtime)
            }));
        }
        handles.into_iter().map(|handle| handle.join().expect("a writer does not panic")).collect()
    });
    let measured_ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let mut sum = Latencies::new();
    for result in results {
        sum.merge(&result?);
    }
    let cpu = machine_cpu().unwrap_or_default().since(&cpu_before);
    let all_cpu_ns = (cpu.busy_ns() + cpu.unused_ns() + cpu.steal_ns).max(1) as f64;
    let seconds = measured_ns as f64 / 1e9;
    let latency_ns_p50 = sum.quantile_ns(0.5);
    let mut row = SyncRow {
        size_bytes,
        method,
        writer_count,
        append_count: sum.count,
        appends_per_s: sum.count as f64 / seconds,
        mib_per_s: (sum.count * size_bytes) as f64 / f64::from(1 << 20) / seconds,
        latency_ns_mean: sum.mean_ns(),
        latency_ns_p50,
        latency_ns_p99: sum.quantile_ns(0.99),
        latency_ns_max: sum.max_ns,
        cpu_percent: 100.0 * cpu.busy_ns() as f64 / all_cpu_ns,
        own_cpu_percent: 100.0 * process_cpu_ns().saturating_sub(own_before) as f64 / all_cpu_ns,
        device_flush_count: flush_count()
            .zip(flushes_before)
            .map(|(after, before)| after.saturating_sub(before)),
        behaviour: behaviour_of(latency_ns_p50, is_in_memory(directory)),
        measured_ns,
        flags: Vec::new(),
    };
    row.flags = flags(&row);
    Ok(row)
}

fn flags(row: &SyncRow) -> Vec<String> {
    let mut flags = Vec::new();
    match row.behaviour {
        FlushBehaviour::Waits => {}
        FlushBehaviour::InMemory => {
            flags.push("the directory is in memory: no device is involved".to_owned())
        }
        FlushBehaviour::TooFast => {
            flags.push("flushes return faster than any device can: they are probably ignored".to_owned());
        }
    }
    let expected_ns = f64::from(row.writer_count) * 1e9 / row.appends_per_s.max(f64::MIN_POSITIVE);
    let off_percent = 100.0 * (expected_ns / row.latency_ns_mean.max(1.0) - 1.0).abs();
    if off_percent > LITTLE_PERCENT_MAX {
        flags.push(format!(
            "writers / rate is {off_percent:.1} % off the mean time: writers were delayed outside their appends"
        ));
    }
    flags
}

/// A log of one writer. It keeps its name until it goes out of scope: some file systems (btrfs) skip the flush of a
/// file that nobody could find after a crash.
#[derive(Debug)]
struct Log {
    file: File,
    path: PathBuf,
    method: SyncMethod,
    content: Vec<u8>,
    /// The bytes that were written beforehand; 0 for a log that grows.
    filled_bytes: u64,
}

impl Log {
    fn create_in(
        directory: &Path,
        writer_index: u32,
        method: SyncMethod,
        size_bytes: u64,
    ) -> Result<Self, BaselineError> {
        let path = directory.join(format!("{}{}-{writer_index}", leftovers::PREFIX, std::process::id()));
        let flags = match method {
            SyncMethod::Fdatasync | SyncMethod::Fsync => OFlags::empty(),
            SyncMethod::OpenDsync => OFlags::DSYNC,
        };
        let flags = i32::try_from(flags.bits()).expect("flags of open are below 2^31");
        let mut content = vec![0; size_bytes as usize];
        fill_incompressible(&mut content, u64::from(writer_index));
        match OpenOptions::new().write(true).create_new(true).custom_flags(flags).mode(0o600).open(&path) {
            Ok(file) => {
                leftovers::hold(&file);
                Ok(Log { file, path, method, content, filled_bytes: 0 })
            }
            Err(source) => Err(BaselineError::Io { action: "create", path, source }),
        }
    }

    /// Writes the log whole, so that appends find their place on the device.
    fn fill(&mut self) -> Result<(), BaselineError> {
        let append_bytes = self.content.len() as u64;
        let append_count = FILLED_APPENDS_MIN.max(FILLED_BYTES_MIN.div_ceil(append_bytes));
        let path = self.path.clone();
        let error = |action| move |source| BaselineError::Io { action, path, source };
        // Not append by append: a log that is opened with O_DSYNC would flush each.
        let file = OpenOptions::new().write(true).open(&self.path).map_err(error.clone()("open"))?;
        for index in 0..append_count {
            file.write_all_at(&self.content, index * append_bytes).map_err(error.clone()("write"))?;
        }
        file.sync_all().map_err(error("flush"))?;
        self.filled_bytes = append_count * append_bytes;
        Ok(())
    }

    fn append_until(&mut self, end: Instant) -> Result<Latencies, BaselineError> {
        let path = self.path.clone();
        let error = |action| move |source: io::Error| BaselineError::Io { action, path, source };
        let mut times = Latencies::new();
        let mut offset_bytes = 0;
        let mut before = Instant::now();
        // At least one, however late this thread was woken.
        loop {
            stamp(&mut self.content, times.count);
            if let Err((action, source)) = self.append(offset_bytes) {
                return Err(error(action)(source));
            }
            let after = Instant::now();
            times.record(u64::try_from((after - before).as_nanos()).unwrap_or(u64::MAX));
            before = after;
            offset_bytes += self.content.len() as u64;
            if self.filled_bytes > 0 {
                offset_bytes %= self.filled_bytes;
            } else if offset_bytes >= FILE_BYTES_MAX {
                if let Err(source) = self.file.set_len(0) {
                    return Err(error("cut")(source));
                }
                offset_bytes = 0;
                before = Instant::now();
            }
            if before >= end {
                return Ok(times);
            }
        }
    }

    fn append(&self, offset_bytes: u64) -> Result<(), (&'static str, io::Error)> {
        self.file.write_all_at(&self.content, offset_bytes).map_err(|source| ("write", source))?;
        match self.method {
            SyncMethod::Fdatasync => self.file.sync_data().map_err(|source| ("flush", source)),
            SyncMethod::Fsync => self.file.sync_all().map_err(|source| ("flush", source)),
            SyncMethod::OpenDsync => Ok(()),
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        // Nothing can be done about a failure, and what is measured is not touched by it.
        let _unremoved = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests;
