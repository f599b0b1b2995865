//! What the device alone gives for the pattern of a run, so that the figure of a database becomes a percentage.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::matrix::Matrix;
use super::pattern::Pattern;
use super::sync::{SyncMatrix, SyncMethod, measure_sync};
use super::{BaselineError, measure};
use crate::facts::{StorageFacts, storage_behind};

/// What a run asks of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CeilingPattern {
    /// Transfers to and from data files.
    Transfers {
        /// Their shape.
        pattern: Pattern,
    },
    /// Durable appends to a log.
    Appends {
        /// The bytes of one.
        size_bytes: u64,
        /// How they are made durable.
        method: SyncMethod,
        /// How many append at the same time.
        writer_count: u32,
        /// Whether they go into a log that was filled beforehand ([`SyncMatrix::fills_first`]).
        fills_first: bool,
    },
}

/// What a device gave for one pattern.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// The device and file system, as [`device_identity`] writes them.
    pub device: String,
    /// What was asked of it.
    pub pattern: CeilingPattern,
    /// Transfers or appends per second.
    pub per_s: f64,
    /// The mean latency of one in nanoseconds.
    pub latency_ns_mean: f64,
    /// The latency that 99 % did not exceed, in nanoseconds.
    pub latency_ns_p99: u64,
    /// When it was measured, in seconds since 1970 (UTC).
    pub measured_unix_s: u64,
    /// Why the figures are doubtful, as sentences; empty when nothing speaks against them.
    pub flags: Vec<String>,
}

impl Ceiling {
    /// What a run reached, in percent of the ceiling; absent when the ceiling is 0. Above 100 the device was not the
    /// same any more, or the pattern was not that of the run.
    pub fn reached_percent(&self, achieved_per_s: f64) -> Option<f64> {
        (self.per_s > 0.0).then(|| 100.0 * achieved_per_s / self.per_s)
    }
}

/// Ceilings measured before, to be kept between runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CeilingCache {
    /// At most one per device and pattern.
    pub ceilings: Vec<Ceiling>,
}

impl CeilingCache {
    /// Finds the ceiling of a device for a pattern that is not older than `age_max` at `now_unix_s`. One from the
    /// future is not believed either.
    pub fn find(
        &self,
        device: &str,
        pattern: &CeilingPattern,
        now_unix_s: u64,
        age_max: Duration,
    ) -> Option<&Ceiling> {
        self.ceilings.iter().find(|ceiling| {
            let age_s = now_unix_s.checked_sub(ceiling.measured_unix_s);
            let is_fresh = age_s.is_some_and(|age_s| age_s <= age_max.as_secs());
            ceiling.device == device && ceiling.pattern == *pattern && is_fresh
        })
    }

    /// Keeps a ceiling in place of an older one of the same device and pattern.
    pub fn keep(&mut self, ceiling: Ceiling) {
        self.ceilings.retain(|kept| kept.device != ceiling.device || kept.pattern != ceiling.pattern);
        self.ceilings.push(ceiling);
    }
}

/// Names the devices and the file system behind a directory, so that a ceiling is not used for others: names, sizes
/// and models of the devices, file system and its options.
pub fn device_identity(facts: &StorageFacts) -> String {
    let mut parts: Vec<String> = facts
        .block_devices
        .iter()
        .map(|device| {
            let size_bytes = device.size_bytes.unwrap_or(0);
            format!("{} {size_bytes} {}", device.name, device.model.as_deref().unwrap_or("-"))
        })
        .collect();
    if parts.is_empty() {
        parts.extend(facts.physical_devices.iter().cloned());
    }
    if let Some(mount) = &facts.mount {
        parts.push(format!("{} {}", mount.file_system, mount.super_options.join(",")));
    }
    parts.join("; ")
}

/// Measures what the device behind `directory` gives for `pattern`, for `runtime`.
///
/// Transfers use a file of `size_bytes` that is made and removed; a size near that of the database's files is best.
///
/// # Errors
/// As [`measure`] and [`measure_sync`].
pub fn measure_ceiling(
    directory: &Path,
    pattern: &CeilingPattern,
    size_bytes: u64,
    runtime: Duration,
    now_unix_s: u64,
) -> Result<Ceiling, BaselineError> {
    let device = storage_behind(directory).map_or_else(|_| String::new(), |facts| device_identity(&facts));
    let ceiling = |per_s, latency_ns_mean, latency_ns_p99, flags| Ceiling {
        device,
        pattern: *pattern,
        per_s,
        latency_ns_mean,
        latency_ns_p99,
        measured_unix_s: now_unix_s,
        flags,
    };
    match *pattern {
        CeilingPattern::Transfers { pattern } => {
            let matrix = Matrix { runtime, ..Matrix::of(vec![pattern], size_bytes) };
            let baseline = measure(directory, &matrix, &mut |_| ())?;
            let row = &baseline.rows[0];
            if let Some(error) = row.error() {
                return Err(BaselineError::Row { path: directory.to_path_buf(), error: error.to_string() });
            }
            let flags = row.flags.iter().map(ToString::to_string).chain(baseline.warnings.clone()).collect();
            Ok(ceiling(row.iops, row.latency_ns_mean, row.latency_ns_p99, flags))
        }
        CeilingPattern::Appends { size_bytes, method, writer_count, fills_first } => {
            let matrix = SyncMatrix {
                sizes_bytes: vec![size_bytes],
                methods: vec![method],
                writer_counts: vec![writer_count],
                runtime,
                fills_first,
            };
            let row = measure_sync(directory, &matrix, &mut |_| ())?.remove(0);
            Ok(ceiling(row.appends_per_s, row.latency_ns_mean, row.latency_ns_p99, row.flags))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const APPENDS: CeilingPattern = CeilingPattern::Appends {
        size_bytes: 8192,
        method: SyncMethod::Fdatasync,
        writer_count: 1,
        fills_first: true,
    };

    fn ceiling(device: &str, pattern: CeilingPattern, measured_unix_s: u64) -> Ceiling {
        Ceiling {
            device: device.to_owned(),
            pattern,
            per_s: 1190.0,
            latency_ns_mean: 840_000.0,
            latency_ns_p99: 2_000_000,
            measured_unix_s,
            flags: Vec::new(),
        }
    }

    #[test]
    fn a_ceiling_holds_for_its_device_its_pattern_and_its_time() {
        let reads = CeilingPattern::Transfers { pattern: Pattern::read(8192, 100, 32) };
        let mut cache = CeilingCache::default();
        cache.keep(ceiling("a", APPENDS, 1000));
        cache.keep(ceiling("a", reads, 1000));
        let hour = Duration::from_secs(3600);
        assert!(cache.find("a", &APPENDS, 4600, hour).is_some());
        assert!(cache.find("a", &APPENDS, 4601, hour).is_none(), "too old");
        assert!(cache.find("a", &APPENDS, 999, hour).is_none(), "from the future");
        assert!(cache.find("b", &APPENDS, 1000, hour).is_none());
        cache.keep(ceiling("a", APPENDS, 9000));
        assert_eq!(cache.ceilings.len(), 2);
        assert_eq!(cache.find("a", &APPENDS, 9000, hour).unwrap().measured_unix_s, 9000);
        let text = serde_json::to_string(&cache).unwrap();
        assert_eq!(serde_json::from_str::<CeilingCache>(&text).unwrap(), cache);
    }

    #[test]
    fn the_published_sentence_has_its_percentage() {
        let ceiling = ceiling("a", APPENDS, 0);
        assert_eq!(ceiling.reached_percent(1112.0).unwrap().round(), 93.0);
        assert_eq!(Ceiling { per_s: 0.0, ..ceiling }.reached_percent(1.0), None);
    }

    #[test]
    fn both_kinds_of_pattern_are_measured_on_the_directory_of_the_run() {
        let directory = tempfile::tempdir().unwrap();
        let reads = CeilingPattern::Transfers { pattern: Pattern::read(8192, 100, 4) };
        for pattern in [APPENDS, reads] {
            let found =
                measure_ceiling(directory.path(), &pattern, 2 << 20, Duration::from_millis(30), 77).unwrap();
            let is_starved = found.flags.iter().any(|flag| flag.starts_with("nothing was transferred"));
            assert!(is_starved || found.per_s > 0.0 && found.latency_ns_mean > 0.0);
            assert_eq!((found.measured_unix_s, found.pattern), (77, pattern));
            assert_eq!(found.device, device_identity(&storage_behind(directory.path()).unwrap()));
        }
    }
}
