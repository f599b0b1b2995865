//! How far a check is.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How often progress is told.
const PROGRESS_PERIOD: Duration = Duration::from_millis(200);

/// How often a phase is looked at whose time is over before it has done anything.
const LATE_PERIOD: Duration = Duration::from_millis(1);

/// What a check is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Reads roots, inner pages and lists.
    Map,
    /// Reads all pages in physical order.
    Pass,
    /// Follows chains and compares sums.
    Match,
    /// Reads objects again whose sums differ.
    SecondPass,
}

/// Gets to know how far a check is; called a few times per second from one thread.
pub trait Progress: Send {
    /// The phase, the bytes dealt with and the bytes that the phase will deal with.
    fn advance(&mut self, phase: Phase, bytes_done: u64, bytes_total: u64);

    /// Something that concerns others while the check runs: locks that it holds.
    fn notice(&mut self, _text: &str) {}
}

/// Shows nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn advance(&mut self, _phase: Phase, _bytes_done: u64, _bytes_total: u64) {}
}

/// Runs a pass over the pages while another thread tells the progress and watches the clock.
pub fn with_ticker<R>(
    deadline: Option<Instant>,
    stop: &AtomicBool,
    done: &AtomicU64,
    total: u64,
    progress: &mut dyn Progress,
    work: impl FnOnce() -> R,
) -> R {
    Watched { phase: Phase::Pass, deadline, stop: None, halt: stop, done, total }.run(progress, work)
}

/// A phase whose progress is told while it works, and that is halted when its time is over or somebody asks for it.
pub struct Watched<'a> {
    /// What is under way.
    pub phase: Phase,
    /// When to halt; no limit without.
    pub deadline: Option<Instant>,
    /// The wish to stop, from outside.
    pub stop: Option<&'a AtomicBool>,
    /// Ends the work when set.
    pub halt: &'a AtomicBool,
    /// Bytes read so far.
    pub done: &'a AtomicU64,
    /// Bytes to be read.
    pub total: u64,
}

impl Watched<'_> {
    /// Runs `work` while another thread tells the progress, watches the clock, and passes on the wish to stop.
    pub fn run<R>(&self, progress: &mut dyn Progress, work: impl FnOnce() -> R) -> R {
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let is_over = &is_over;
            let ticker = scope.spawn(move || {
                while !is_over.load(Ordering::Acquire) {
                    progress.advance(self.phase, self.done.load(Ordering::Relaxed), self.total);
                    let left =
                        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
                    let is_asked = self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
                    // Something is done in any time, so that repeated calls come to an end.
                    let is_late = left.is_some_and(|left| left.is_zero());
                    if is_asked || is_late && self.done.load(Ordering::Relaxed) > 0 {
                        self.halt.store(true, Ordering::Relaxed);
                    }
                    let wait = left.map_or(PROGRESS_PERIOD, |left| left.clamp(LATE_PERIOD, PROGRESS_PERIOD));
                    thread::park_timeout(wait);
                }
            });
            let result = work();
            is_over.store(true, Ordering::Release);
            ticker.thread().unpark();
            result
        })
    }
}
