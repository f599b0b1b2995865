//! What the device can do: the matrix of IOMeter with the words of fio, and the time of a flush.
//!
//! [`measure`] takes a directory (and makes a file in it), an existing file or a block device (and reads it), and
//! gives one [`Row`] per pattern, each with the reasons that speak against its figures. A row is never left out and
//! never mended.

mod ceiling;
mod error;
mod fio_job;
mod job;
mod latencies;
mod leftovers;
mod link;
mod matrix;
mod pattern;
mod row;
mod runner;
mod steady;
mod stream;
mod sync;
mod target;
mod window;

use std::path::Path;
use std::time::Instant;

use serde::{Deserialize, Serialize};

pub use ceiling::{Ceiling, CeilingCache, CeilingPattern, device_identity, measure_ceiling};
pub use error::BaselineError;
pub use fio_job::{FioJob, FioJobError, read_fio_job};
pub use link::{RateLimit, link_limit};
pub use matrix::{Matrix, PUBLISHED_NAME};
pub use pattern::{JOBS_MAX, Pattern, TRANSFER_BYTES_MAX};
pub use row::{Flag, LITTLE_PERCENT_MAX, Row, UNIT_PERCENT_MAX};
pub use steady::Steadiness;
pub use sync::{SyncMatrix, SyncMethod, SyncRow, measure_sync};
pub use target::{TargetFacts, TargetKind};

use crate::backend::BackendFacts;
use target::Target;

/// A measured matrix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// The matrix as it was asked for.
    pub matrix: Matrix,
    /// What was measured.
    pub target: TargetFacts,
    /// The way to the kernel that was taken.
    pub backend: BackendFacts,
    /// The highest rates that are known to be possible, from the machine and from the matrix.
    pub limits: Vec<RateLimit>,
    /// One row per pattern, in the order of the matrix.
    pub rows: Vec<Row>,
    /// What touches all rows, as sentences.
    pub warnings: Vec<String>,
    /// The time for making the file, in nanoseconds; 0 when none was made.
    pub preparation_ns: u64,
}

impl Baseline {
    /// Says what the table shows: `direct I/O` or `page cache`, the way to the kernel, the file.
    pub fn title(&self) -> String {
        let TargetFacts { path, size_bytes, .. } = &self.target;
        let cache = if self.target.cache.is_direct() { "direct I/O" } else { "page cache" };
        let polled = if self.backend.polled { ", polled" } else { "" };
        let size = crate::space::format_bytes(*size_bytes);
        format!("{cache}, {}{polled}, {size} of {path}", self.backend.engine)
    }
}

/// What [`measure`] tells while it works.
#[derive(Debug)]
pub enum Progress<'a> {
    /// The file is being made, of so many bytes.
    MakingFile {
        /// Its size.
        size_bytes: u64,
    },
    /// A row begins.
    RowStarted {
        /// Its position in the matrix.
        row_index: usize,
        /// Its pattern.
        pattern: &'a Pattern,
    },
    /// A row is done.
    RowDone {
        /// Its position in the matrix.
        row_index: usize,
        /// What it gave.
        row: &'a Row,
    },
}

/// Measures `matrix` on `path`: a directory, in which a file is made, or an existing file or block device.
///
/// Takes [`Matrix::duration`] and the time to write the file. Everything is checked before anything is written.
///
/// # Errors
/// When the matrix is impossible on the target, something would be overwritten that fathom did not make, there is no
/// room, or a transfer fails.
pub fn measure(
    path: &Path,
    matrix: &Matrix,
    watch: &mut dyn FnMut(Progress<'_>),
) -> Result<Baseline, BaselineError> {
    matrix.check()?;
    let start = Instant::now();
    if path.is_dir() {
        watch(Progress::MakingFile { size_bytes: matrix.size_bytes });
    }
    let target = Target::open(path, matrix)?;
    let is_made = target.facts.kind == TargetKind::MadeFile;
    let preparation_ns =
        if is_made { u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX) } else { 0 };
    check_fit(path, matrix, &target)?;
    let limits = limits_of(matrix, &target.facts);
    let mut backend = None;
    let mut rows = Vec::new();
    for (row_index, pattern) in matrix.patterns.iter().enumerate() {
        watch(Progress::RowStarted { row_index, pattern });
        let (facts, measured) = runner::run(path, &target, matrix, pattern)?;
        let row = Row::new(*pattern, &measured, &limits);
        watch(Progress::RowDone { row_index, row: &row });
        backend.get_or_insert(facts);
        rows.push(row);
    }
    let backend = backend.expect("a checked matrix has a row");
    let warnings = warnings_of(matrix, &target.facts, &backend);
    Ok(Baseline {
        matrix: matrix.clone(),
        target: target.facts,
        backend,
        limits,
        rows,
        warnings,
        preparation_ns,
    })
}

fn check_fit(path: &Path, matrix: &Matrix, target: &Target) -> Result<(), BaselineError> {
    let TargetFacts { size_bytes, alignment_bytes, .. } = target.facts;
    for &Pattern { transfer_bytes, jobs, .. } in &matrix.patterns {
        if !transfer_bytes.is_multiple_of(alignment_bytes) {
            return Err(BaselineError::Unaligned { transfer_bytes, alignment_bytes });
        }
        if size_bytes / transfer_bytes < u64::from(jobs) {
            let path = path.to_path_buf();
            return Err(BaselineError::TooSmall { path, size_bytes, transfer_bytes, jobs });
        }
    }
    Ok(())
}

fn limits_of(matrix: &Matrix, target: &TargetFacts) -> Vec<RateLimit> {
    let told = matrix.rate_bytes_per_s_max.map(|bytes_per_s| RateLimit {
        bytes_per_s: bytes_per_s as f64,
        source: "the device as stated".to_owned(),
    });
    // A link limits only what passes through the one device; behind a RAID there are several.
    let only_device = match target.storage.as_ref().map(|storage| storage.physical_devices.as_slice()) {
        Some([device]) => Some(device.as_str()),
        Some(_) => None,
        None => target.counted_device.as_deref(),
    };
    let link = only_device.filter(|_| target.cache.is_direct()).and_then(link_limit);
    told.into_iter().chain(link).collect()
}

fn warnings_of(matrix: &Matrix, target: &TargetFacts, backend: &BackendFacts) -> Vec<String> {
    let mut warnings = Vec::new();
    if matrix.poll && target.cache.is_direct() && !backend.polled {
        warnings.push(why_not_polled(target, backend));
    }
    if let crate::file::CacheMode::PageCache { reason } = &target.cache {
        warnings.push(format!("the values are those of the page cache, not of a device: {reason}"));
    }
    if target.is_sparse {
        warnings.push(
            "parts of the file have no place on the device, and reads of them do not reach it".to_owned(),
        );
    }
    warnings.extend(backend.fallback_reason.clone());
    warnings
}

/// Says why completions come by interrupt, where polling was wanted.
fn why_not_polled(target: &TargetFacts, backend: &BackendFacts) -> String {
    let reason = match target.counted_device.as_deref() {
        None => "the block device is not known".to_owned(),
        Some(device) if !link::can_poll(device) => {
            format!("device {device} has no queues for polling (queue/io_poll)")
        }
        Some(_) if backend.engine != "io_uring" => format!("{} cannot poll", backend.engine),
        Some(device) => format!("device {device} has queues for polling, but the file system refused"),
    };
    format!("completions come by interrupt: {reason}")
}

#[cfg(test)]
mod tests;
