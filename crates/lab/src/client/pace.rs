//! Arrival times of an open loop, and a sleep that is exact to microseconds.
//!
//! Runtime timers tick in milliseconds, which at thousands of transactions per second would be
//! counted as response time. Each paced client therefore owns one timer descriptor.

use std::io;
use std::os::fd::OwnedFd;
use std::task::Poll;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use stats::random::Random;

use super::event_loop::Registration;

/// Waits shorter than this are not worth a system call: the transaction starts at once.
const SHORTEST_SLEEP: Duration = Duration::from_micros(20);

/// Intended start times of one client: a Poisson process from a seed.
#[derive(Debug)]
pub(super) struct Arrivals {
    random: Random,
    mean_gap_ns: f64,
    next_ns: f64,
}

impl Arrivals {
    /// Arrivals at `rate_per_s` on average; the first one after one random gap.
    pub(super) fn new(rate_per_s: f64, seed: u64) -> Self {
        let mut arrivals = Self { random: Random::new(seed), mean_gap_ns: 1e9 / rate_per_s, next_ns: 0.0 };
        arrivals.advance();
        arrivals
    }

    /// The next intended start in nanoseconds since the barrier, not yet taken.
    pub(super) fn next_ns(&self) -> u64 {
        self.next_ns as u64
    }

    /// Takes the next arrival.
    pub(super) fn advance(&mut self) {
        self.next_ns += self.random.exponential(self.mean_gap_ns);
    }

    /// Takes all arrivals before `until_ns` and returns how many there were.
    pub(super) fn drain_until(&mut self, until_ns: u64) -> u64 {
        let mut count = 0;
        while self.next_ns() < until_ns {
            self.advance();
            count += 1;
        }
        count
    }
}

/// A timer that one client sleeps on.
#[derive(Debug)]
pub(super) struct Timer {
    descriptor: OwnedFd,
}

impl Timer {
    /// Makes the timer, which wakes the client on `registration`.
    pub(super) fn new(registration: Registration<'_>) -> io::Result<Self> {
        let descriptor =
            timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        registration.watch(&descriptor)?;
        Ok(Self { descriptor })
    }

    /// Sleeps until `at`; returns at once when it has passed or is nearer than a system call costs.
    pub(super) async fn sleep_until(&self, at: Instant) -> io::Result<()> {
        let wait = at.saturating_duration_since(Instant::now());
        if wait < SHORTEST_SLEEP {
            return Ok(());
        }
        let value = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
        // Setting the time also forgets an expiration that nobody read.
        timerfd_settime(&self.descriptor, TimerfdTimerFlags::empty(), &once)?;
        let mut expirations = [0u8; 8];
        std::future::poll_fn(|_| match rustix::io::read(&self.descriptor, &mut expirations) {
            Ok(_) => Poll::Ready(Ok(())),
            Err(Errno::AGAIN | Errno::INTR) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error.into())),
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::client::event_loop::EventLoop;

    #[test]
    fn the_same_seed_gives_the_same_arrivals_at_the_asked_rate() {
        let (mut first, mut second) = (Arrivals::new(1000.0, 7), Arrivals::new(1000.0, 7));
        assert_eq!(first.next_ns(), second.next_ns());
        let arrived = first.drain_until(100_000_000_000);
        assert_eq!(second.drain_until(100_000_000_000), arrived);
        // 100,000 expected, standard deviation 316: five of them.
        assert!((98_400..101_600).contains(&arrived), "{arrived}");
    }

    #[test]
    fn a_sleep_never_ends_before_its_time() {
        let event_loop = EventLoop::new().unwrap();
        let sleeper = async {
            let timer = Timer::new(event_loop.registration(0, 1)).unwrap();
            for wait_us in [0, 100, 700, 3_000] {
                let at = Instant::now() + Duration::from_micros(wait_us);
                timer.sleep_until(at).await.unwrap();
                assert!(Instant::now() + SHORTEST_SLEEP >= at);
            }
        };
        event_loop.run(vec![Box::pin(sleeper)]).unwrap();
    }
}
