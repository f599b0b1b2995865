//! A file of a scan, and what became of it.

use std::ops::Range;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::file::CacheMode;

/// A file to be read, or a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanFile {
    /// A regular file or a block device.
    pub path: PathBuf,
    /// The bytes to be read; all, as many as there are when the scan begins, without.
    pub range_bytes: Option<Range<u64>>,
}

impl ScanFile {
    /// All of a file.
    pub fn whole(path: impl Into<PathBuf>) -> Self {
        ScanFile { path: path.into(), range_bytes: None }
    }

    /// A part of a file. Extents begin at its start; any start is allowed, multiples of 4096 cost least.
    pub fn part(path: impl Into<PathBuf>, range_bytes: Range<u64>) -> Self {
        ScanFile { path: path.into(), range_bytes: Some(range_bytes) }
    }
}

/// What became of one file. `expected = read + unreadable + missing + unclaimed`, in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileOutcome {
    /// The bytes that were to be read; 0 when the size could not be found out.
    pub expected_bytes: u64,
    /// The bytes delivered.
    pub read_bytes: u64,
    /// The bytes reported as unreadable.
    pub unreadable_bytes: u64,
    /// The bytes reported as missing.
    pub missing_bytes: u64,
    /// The bytes that no worker took, because the scan was stopped.
    pub unclaimed_bytes: u64,
    /// Whether its reads went past the page cache; absent when it was never opened.
    pub cache: Option<CacheMode>,
    /// Why the file could not be looked at or opened.
    pub error: Option<String>,
}
