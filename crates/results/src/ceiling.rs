//! What the device alone gave for the patterns of a study, stored beside its runs.

use serde::{Deserialize, Serialize};

/// What was asked of the device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CeilingPattern {
    /// Durable appends, as a log makes them, by one writer with fdatasync.
    Appends {
        /// Bytes of one append.
        size_bytes: u64,
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
            CeilingPattern::Appends { size_bytes } => size_bytes,
            CeilingPattern::Writes { transfer_bytes, .. } => transfer_bytes,
        };
        self.per_s * size as f64
    }
}
