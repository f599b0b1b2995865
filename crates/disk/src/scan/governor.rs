//! The highest rate at which all workers together may read.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How much of the past may be made up for. A worker that wakes up late must not lower the rate, and a pause must
/// not be followed by a burst.
const CATCH_UP_NS: u64 = 50_000_000;
/// The longest sleep of somebody who waits, so that a stop is noticed.
const SLEEP_MAX: Duration = Duration::from_millis(100);

/// Hands out the right to read, at a rate: to the workers of a scan, and to whoever reads beside them.
#[derive(Debug)]
pub struct Governor {
    start: Instant,
    bytes_per_s_max: Option<u64>,
    /// When the next read may begin, in nanoseconds since `start`.
    next_ns: AtomicU64,
}

impl Governor {
    /// Makes one for so many bytes per second; without a number nobody ever waits.
    #[must_use]
    pub fn new(bytes_per_s_max: Option<u64>) -> Self {
        Governor { start: Instant::now(), bytes_per_s_max, next_ns: AtomicU64::new(0) }
    }

    /// Whether there is a limit at all.
    #[must_use]
    pub fn is_limited(&self) -> bool {
        self.bytes_per_s_max.is_some()
    }

    /// Waits until `bytes` may be read. A stop ends the waiting: what is left then is not held back.
    pub fn wait(&self, bytes: usize, stop: Option<&AtomicBool>) {
        while let Err(wait) = self.reserve(bytes) {
            if stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                return;
            }
            thread::sleep(wait.min(SLEEP_MAX));
        }
    }

    /// Reserves a read of `bytes`, or tells how long to wait before asking again.
    pub(super) fn reserve(&self, bytes: usize) -> Result<(), Duration> {
        let Some(bytes_per_s_max) = self.bytes_per_s_max else { return Ok(()) };
        let now_ns = u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.reserve_at(now_ns, bytes, bytes_per_s_max)
    }

    /// Gives back what a reservation had too much: the end of a file is shorter than an extent.
    pub(super) fn give_back(&self, bytes: usize) {
        let Some(bytes_per_s_max) = self.bytes_per_s_max.filter(|_| bytes > 0) else { return };
        // What was added for these bytes and nothing more is taken away, so that this stays above zero.
        self.next_ns.fetch_sub(cost_ns(bytes, bytes_per_s_max), Ordering::Relaxed);
    }

    fn reserve_at(&self, now_ns: u64, bytes: usize, bytes_per_s_max: u64) -> Result<(), Duration> {
        let cost_ns = cost_ns(bytes, bytes_per_s_max);
        let mut next_ns = self.next_ns.load(Ordering::Relaxed);
        loop {
            if next_ns > now_ns {
                return Err(Duration::from_nanos(next_ns - now_ns));
            }
            let after_ns = next_ns.max(now_ns.saturating_sub(CATCH_UP_NS)).saturating_add(cost_ns);
            // Nothing else is published through this number: relaxed suffices.
            match self.next_ns.compare_exchange_weak(next_ns, after_ns, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => return Ok(()),
                Err(current_ns) => next_ns = current_ns,
            }
        }
    }
}

/// What reading so many bytes takes at a rate.
fn cost_ns(bytes: usize, bytes_per_s_max: u64) -> u64 {
    let cost_ns = bytes as u128 * 1_000_000_000 / u128::from(bytes_per_s_max.max(1));
    u64::try_from(cost_ns).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_reader_that_asks_when_told_gets_the_rate() {
        let governor = Governor::new(Some(50_000_000));
        let (mut now_ns, mut bytes) = (0, 0u64);
        while now_ns < 10_000_000_000 {
            match governor.reserve_at(now_ns, 1 << 20, 50_000_000) {
                Ok(()) => bytes += 1 << 20,
                // Wakes up a little late, as threads do.
                Err(wait) => now_ns += wait.as_nanos() as u64 + 300_000,
            }
        }
        let ratio = bytes as f64 / 500e6;
        assert!((0.98..1.02).contains(&ratio), "{ratio}");
    }

    #[test]
    fn extents_of_small_files_cost_what_they_hold() {
        let governor = Governor::new(Some(1_000_000));
        let (mut now_ns, mut bytes) = (0, 0u64);
        while now_ns < 10_000_000_000 {
            match governor.reserve_at(now_ns, 1 << 20, 1_000_000) {
                Ok(()) => {
                    governor.give_back((1 << 20) - 8192);
                    bytes += 8192;
                }
                Err(wait) => now_ns += wait.as_nanos() as u64 + 300_000,
            }
        }
        let ratio = bytes as f64 / 10e6;
        assert!((0.98..1.02).contains(&ratio), "{ratio}");
    }

    #[test]
    fn a_pause_is_not_followed_by_a_burst() {
        let governor = Governor::new(Some(1_000_000));
        governor.reserve_at(0, 1, 1_000_000).unwrap();
        let reserved =
            (0..10_000).take_while(|_| governor.reserve_at(3_600_000_000_000, 1000, 1_000_000).is_ok());
        assert_eq!(reserved.count(), 51);
    }

    #[test]
    fn without_a_limit_nobody_waits_and_a_limit_of_nothing_does_not_divide_by_it() {
        let governor = Governor::new(None);
        assert!((0..1000).all(|_| governor.reserve(usize::MAX).is_ok()));
        let governor = Governor::new(Some(0));
        governor.reserve(1000).unwrap();
        assert!(governor.reserve(1).unwrap_err() > Duration::from_secs(100));
    }
}
