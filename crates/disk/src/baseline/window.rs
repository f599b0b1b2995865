//! The transfers of a job that ended in one window of time.

use super::latencies::Latencies;
use crate::backend::Operation;

/// The transfers that ended in one window of time.
#[derive(Clone, Debug)]
pub(super) struct Window {
    pub(super) latencies: Latencies,
    pub(super) transferred_bytes: u64,
    /// Not among the transfers: those that moved fewer bytes than asked for.
    pub(super) short: Option<ShortTransfers>,
}

impl Window {
    pub(super) fn new() -> Self {
        Window { latencies: Latencies::new(), transferred_bytes: 0, short: None }
    }

    pub(super) fn record(&mut self, bytes: usize, latency_ns: u64) {
        self.latencies.record(latency_ns);
        self.transferred_bytes += bytes as u64;
    }

    pub(super) fn record_short(&mut self, short: ShortTransfers) {
        self.short = Some(self.short.take().map_or(short, |first| first.and(short)));
    }

    pub(super) fn merge(&mut self, other: &Window) {
        self.latencies.merge(&other.latencies);
        self.transferred_bytes += other.transferred_bytes;
        if let Some(short) = other.short {
            self.record_short(short);
        }
    }
}

/// Transfers that moved fewer bytes than asked for, and the first of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ShortTransfers {
    pub(super) count: u64,
    pub(super) operation: Operation,
    pub(super) offset_bytes: u64,
    pub(super) moved_bytes: u64,
}

impl ShortTransfers {
    fn and(self, later: Self) -> Self {
        ShortTransfers { count: self.count + later.count, ..self }
    }
}
