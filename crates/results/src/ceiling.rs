//! What the device alone gave for the patterns of a study, stored beside its runs.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::engine::WriteModel;
use crate::model::Run;

/// Steps of the sizes that are told apart, per doubling: the size that is measured is at most 9 % off that of a run.
const STEPS_PER_DOUBLING: f64 = 4.0;
/// Sizes are multiples of this.
const STEP_BYTES: u64 = 512;
/// What one flush is measured with at most.
const FLUSH_BYTES_MAX: f64 = 16_777_216.0;

/// The bytes that one flush of the log made durable, by the counters of a run; absent when nothing was flushed or one
/// of the counters is missing. Less than a page is not written by an engine that writes whole pages.
pub fn flush_bytes(writes: WriteModel, run: &Run) -> Option<f64> {
    let flushes = run.metric("log_flushes").filter(|flushes| *flushes > 0.0)?;
    let bytes = run.metric("log_bytes")? / flushes;
    Some(writes.page_bytes.map_or(bytes, |page_bytes| bytes.max(f64::from(page_bytes))))
}

/// The bytes of one write to a data file: a page, or by the counters of a run; absent where they are not counted.
pub fn data_write_bytes(writes: WriteModel, run: &Run) -> Option<f64> {
    if let Some(page_bytes) = writes.page_bytes {
        return Some(f64::from(page_bytes));
    }
    let write_count = run.metric("data_writes").filter(|count| *count > 0.0)?;
    Some(run.metric("data_written_bytes")? / write_count)
}

/// The size of the durable append that stands for flushes of so many bytes: the nearest of four per doubling.
pub fn append_bytes_for(flush_bytes: f64) -> u64 {
    let steps = (flush_bytes.clamp(STEP_BYTES as f64, FLUSH_BYTES_MAX).log2() * STEPS_PER_DOUBLING).round();
    ((steps / STEPS_PER_DOUBLING).exp2() as u64).next_multiple_of(STEP_BYTES)
}

/// The size of the transfer that stands for writes of so many bytes: the nearest power of two from 4 KiB, which every
/// device takes, to 1 MiB.
pub fn transfer_bytes_for(write_bytes: f64) -> u64 {
    1 << (write_bytes.clamp(4096.0, 1_048_576.0).log2().round() as u32)
}

/// Device and file system of one entry of a run's layout, in the words of [`StoredCeiling::device`]; absent for an entry
/// without facts about its storage.
pub fn device_of(storage: &Value) -> Option<String> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut parts: Vec<String> = list(&storage["block_devices"])
        .iter()
        .filter_map(|device| {
            let size_bytes = device["size_bytes"].as_u64().unwrap_or(0);
            Some(format!(
                "{} {size_bytes} {}",
                text(&device["name"])?,
                device["model"].as_str().unwrap_or("-")
            ))
        })
        .collect();
    if parts.is_empty() {
        parts.extend(list(&storage["physical_devices"]).iter().filter_map(text));
    }
    if let Some(file_system) = text(&storage["mount"]["file_system"]) {
        let options: Vec<String> = list(&storage["mount"]["super_options"]).iter().filter_map(text).collect();
        parts.push(format!("{file_system} {}", options.join(",")));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Devices that held a role (`log` or `data`) in a run, each once. Without a role of its own the log is with the first
/// data directory. Empty where the run does not say.
pub fn devices_of_role(run: &Run, role: &str) -> BTreeSet<String> {
    let entries = run.environment.layout.as_array().map_or(&[][..], Vec::as_slice);
    let has_role = |entry: &&Value, role: &str| {
        let name = entry["role"].as_str().unwrap_or_default();
        name == role || role == "data" && name.starts_with("data ")
    };
    let devices = |role: &str| entries.iter().filter(|entry| has_role(entry, role)).collect::<Vec<_>>();
    let mut meant = devices(role);
    if meant.is_empty() && role == "log" {
        meant = devices("data").into_iter().take(1).collect();
    }
    meant.into_iter().filter_map(|entry| device_of(&entry["storage"])).collect()
}

/// How a log is made durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SyncCall {
    /// A write, then fdatasync(2): PostgreSQL on Linux, SQLite as distributions build it.
    #[default]
    Fdatasync,
    /// A write, then fsync(2): SQLite where nobody told it of fdatasync.
    Fsync,
    /// A write to a file opened with `O_DSYNC`.
    OpenDatasync,
}

impl SyncCall {
    /// The name as PostgreSQL's `wal_sync_method` has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fdatasync => "fdatasync",
            Self::Fsync => "fsync",
            Self::OpenDatasync => "open_datasync",
        }
    }

    /// The call with this name; absent for others, such as `open_sync`.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Fdatasync, Self::Fsync, Self::OpenDatasync].into_iter().find(|call| call.name() == name)
    }

    /// The call that made the log of a run durable, by the record of its engine and settings; absent for a call that is not
    /// measured.
    pub fn of_run(run: &Run) -> Option<Self> {
        let setting = run.settings.iter().find(|setting| setting.name == "wal_sync_method");
        let name = setting
            .map(|setting| setting.value.as_str())
            .or_else(|| run.environment.engine["sync_call"].as_str());
        name.map_or(Some(Self::default()), Self::named)
    }
}

/// What was asked of the device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CeilingPattern {
    /// Durable appends, as a log makes them, by one writer.
    Appends {
        /// What makes them durable.
        #[serde(default)]
        method: SyncCall,
        /// Bytes of one append.
        size_bytes: u64,
        /// Whether they went into a log that was filled beforehand, as logs that are used again are. Else each
        /// extended its file, which takes longer.
        #[serde(default)]
        fills_first: bool,
    },
    /// Writes to data files.
    Writes {
        /// Bytes of one write.
        transfer_bytes: u64,
        /// Share of them at a random place, 0 to 100.
        random_percent: u8,
        /// Writes under way at the same time.
        outstanding: u32,
    },
}

/// What a device gave for one pattern.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredCeiling {
    /// Role of the directory in the study: `log` or `data`.
    pub role: String,
    /// Device and file system, so that the figure is not used for others.
    pub device: String,
    /// What was asked.
    pub pattern: CeilingPattern,
    /// Appends or writes per second.
    pub per_s: f64,
    /// Mean latency of one in nanoseconds.
    pub latency_ns_mean: f64,
    /// Latency that 99 % did not exceed, in nanoseconds.
    pub latency_ns_p99: u64,
    /// When it was measured, in seconds since 1970 (UTC).
    pub measured_unix_s: u64,
    /// Why the figure is doubtful, as sentences.
    pub flags: Vec<String>,
}

impl StoredCeiling {
    /// Bytes per second.
    pub fn bytes_per_s(&self) -> f64 {
        let size = match self.pattern {
            CeilingPattern::Appends { size_bytes, .. } => size_bytes,
            CeilingPattern::Writes { transfer_bytes, .. } => transfer_bytes,
        };
        self.per_s * size as f64
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_size_that_is_measured_is_at_most_nine_percent_off() {
        for flush_bytes in [4_000.0, 8_192.0, 97_000.0, 130_000.0, 1_500_000.0, 16_000_000.0] {
            let size = append_bytes_for(flush_bytes);
            assert!((size as f64 / flush_bytes - 1.0).abs() < 0.095, "{flush_bytes}: {size}");
            assert!(size.is_multiple_of(512));
            assert_eq!(append_bytes_for(size as f64), size);
        }
        assert_eq!([0.0, 8192.0, 1e12].map(append_bytes_for), [512, 8192, 16 << 20]);
        assert_eq!([1.0, 4096.0, 8000.0, 1e9].map(transfer_bytes_for), [4096, 4096, 8192, 1 << 20]);
    }

    #[test]
    fn a_stored_append_of_an_older_version_extended_its_file() {
        let text = r#"{"kind":"appends","size_bytes":8192}"#;
        let method = SyncCall::Fdatasync;
        let expected = CeilingPattern::Appends { method, size_bytes: 8192, fills_first: false };
        assert_eq!(serde_json::from_str::<CeilingPattern>(text).unwrap(), expected);
    }
}
