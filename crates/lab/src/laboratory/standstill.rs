//! When nothing moves any more.

use std::time::{Duration, Instant};

/// Tells once when nothing has moved for too long.
pub(super) struct Standstill {
    limit: Option<Duration>,
    pulse: Option<u64>,
    since: Instant,
    is_reported: bool,
}

impl Standstill {
    pub(super) fn new(limit: Option<Duration>) -> Self {
        Self { limit, pulse: None, since: Instant::now(), is_reported: false }
    }

    pub(super) fn observe(&mut self, pulse: u64) -> Option<Duration> {
        if self.pulse != Some(pulse) {
            (self.pulse, self.since, self.is_reported) = (Some(pulse), Instant::now(), false);
        }
        let still_for = self.since.elapsed();
        if self.is_reported || self.limit.is_none_or(|limit| still_for < limit) {
            return None;
        }
        self.is_reported = true;
        Some(still_for)
    }
}
