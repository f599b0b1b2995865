//! When nothing moves any more.

use std::time::{Duration, Instant};

/// Tells once when nothing has moved for too long.
pub(super) struct Stillness {
    limit: Option<Duration>,
    pulse: Option<u64>,
    since: Instant,
    told: bool,
}

impl Stillness {
    pub(super) fn new(limit: Option<Duration>) -> Self {
        Self { limit, pulse: None, since: Instant::now(), told: false }
    }

    pub(super) fn look(&mut self, pulse: u64) -> Option<Duration> {
        if self.pulse != Some(pulse) {
            (self.pulse, self.since, self.told) = (Some(pulse), Instant::now(), false);
        }
        let still_for = self.since.elapsed();
        if self.told || self.limit.is_none_or(|limit| still_for < limit) {
            return None;
        }
        self.told = true;
        Some(still_for)
    }
}
