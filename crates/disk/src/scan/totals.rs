//! What the workers of a scan add up.

use crate::backend::BackendFacts;

/// The bytes of one file that a worker dealt with.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FileCounts {
    pub(super) read_bytes: u64,
    pub(super) unreadable_bytes: u64,
    pub(super) missing_bytes: u64,
}

/// What workers add up.
#[derive(Debug, Default)]
pub(super) struct Totals {
    /// By file; shorter than the list when the last files had nothing.
    pub(super) files: Vec<FileCounts>,
    pub(super) cpu_ns: u64,
    pub(super) claim_wait_ns: u64,
    /// That of the first worker.
    pub(super) backend: Option<BackendFacts>,
}

impl Totals {
    pub(super) fn counts(&mut self, file_index: usize) -> &mut FileCounts {
        if self.files.len() <= file_index {
            self.files.resize(file_index + 1, FileCounts::default());
        }
        &mut self.files[file_index]
    }

    pub(super) fn merge(&mut self, other: Totals) {
        for (file_index, counts) in other.files.into_iter().enumerate() {
            let sum = self.counts(file_index);
            sum.read_bytes += counts.read_bytes;
            sum.unreadable_bytes += counts.unreadable_bytes;
            sum.missing_bytes += counts.missing_bytes;
        }
        self.cpu_ns += other.cpu_ns;
        self.claim_wait_ns += other.claim_wait_ns;
        self.backend = self.backend.take().or(other.backend);
    }
}
