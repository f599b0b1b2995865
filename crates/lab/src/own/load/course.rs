//! How far a load is.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How far the threads of a load are, and whether they go on.
#[derive(Debug, Default)]
pub(super) struct Course {
    pub(super) next_slice: AtomicU64,
    pub(super) rows: AtomicU64,
    pub(super) is_stopped: AtomicBool,
}

impl Course {
    /// Counts rows; false when the load is to end.
    pub(super) fn add(&self, rows: u64) -> bool {
        self.rows.fetch_add(rows, Ordering::Relaxed);
        !self.is_stopped.load(Ordering::Relaxed)
    }
}
