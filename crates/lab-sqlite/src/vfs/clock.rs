//! The clock around every call: two readings of it are most of what timing costs.
//!
//! Where the kernel itself keeps time by the processor's time-stamp counter, the counter is read directly: 10 ns in place
//! of 25 for the monotonic clock. The kernel uses it only when it runs at one rate, does not stop, and agrees between
//! processors. Everywhere else the monotonic clock is read.
#![allow(unsafe_code)]

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Where the kernel says what it keeps time by.
const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
/// Time over which the counter is compared with the monotonic clock: 10 ms give its rate to about 10 in a million.
const COMPARISON: Duration = Duration::from_millis(10);
/// Readings of both clocks of which the closest pair is taken, in case something comes between two.
const PAIRS_TRIED: u32 = 16;

/// A reading, in units that only the clock that made it understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) struct Ticks(u64);

/// Reads ticks, and knows how long one is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// Nanoseconds per tick of the counter; `None` reads the monotonic clock, whose ticks are nanoseconds.
    counter_ns: Option<f64>,
    origin: Instant,
}

impl Clock {
    /// The clock of this process, the same at each call.
    pub(super) fn get() -> Self {
        static CLOCK: OnceLock<Clock> = OnceLock::new();
        *CLOCK.get_or_init(|| Self { counter_ns: counter_rate(), origin: Instant::now() })
    }

    /// Reads it.
    #[inline]
    pub(super) fn now(&self) -> Ticks {
        match self.counter_ns {
            Some(_) => Ticks(counter()),
            None => Ticks(self.origin.elapsed().as_nanos() as u64),
        }
    }

    /// Ticks since an earlier reading.
    #[inline]
    pub(super) fn since(&self, earlier: Ticks) -> u64 {
        self.now().0.saturating_sub(earlier.0)
    }

    /// Length of so many ticks, in nanoseconds.
    pub(super) fn nanoseconds(&self, ticks: u64) -> u64 {
        self.counter_ns.map_or(ticks, |tick_ns| (ticks as f64 * tick_ns) as u64)
    }
}

/// Nanoseconds per tick of the counter, where the kernel trusts it.
fn counter_rate() -> Option<f64> {
    if !cfg!(target_arch = "x86_64") || std::fs::read_to_string(CLOCK_SOURCE).ok()?.trim() != "tsc" {
        return None;
    }
    let (began, began_ticks) = pair();
    while began.elapsed() < COMPARISON {
        std::hint::spin_loop();
    }
    let (ended, ended_ticks) = pair();
    let ticks = ended_ticks.checked_sub(began_ticks).filter(|ticks| *ticks > 0)?;
    Some(ended.duration_since(began).as_nanos() as f64 / ticks as f64)
}

/// Both clocks at the same moment, as nearly as a few tries get them.
fn pair() -> (Instant, u64) {
    let mut best = (Instant::now(), counter());
    let mut best_gap = Duration::MAX;
    for _ in 0..PAIRS_TRIED {
        let before = Instant::now();
        let ticks = counter();
        let gap = before.elapsed();
        if gap < best_gap {
            (best, best_gap) = ((before + gap / 2, ticks), gap);
        }
    }
    best
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn counter() -> u64 {
    // SAFETY: the instruction reads a register and exists on every x86-64 processor.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn counter() -> u64 {
    0
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn agrees(clock: Clock) {
        let (began, ticks) = (Instant::now(), clock.now());
        while began.elapsed() < Duration::from_millis(20) {
            std::hint::spin_loop();
        }
        let ticks = clock.since(ticks);
        let elapsed = began.elapsed();
        let found = Duration::from_nanos(clock.nanoseconds(ticks));
        assert!(found <= elapsed + elapsed / 1000, "{found:?} of {elapsed:?}");
        assert!(found >= Duration::from_millis(20) - elapsed / 1000, "{found:?} of {elapsed:?}");
    }

    #[test]
    fn ticks_are_as_long_as_the_monotonic_clock_says() {
        agrees(Clock::get());
        agrees(Clock { counter_ns: None, origin: Instant::now() });
    }

    #[test]
    fn a_reading_from_the_future_is_no_time_at_all() {
        let clock = Clock::get();
        assert_eq!(clock.since(Ticks(u64::MAX)), 0);
    }
}
