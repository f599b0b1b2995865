//! A second thread beside a pass: tells the progress, watches the clock, and passes a stop on.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use crate::progress::{Phase, Progress};

/// How often progress is told.
const PROGRESS_PERIOD: Duration = Duration::from_millis(200);

/// How often a pass is looked at whose time is over before it has read anything.
const LATE_PERIOD: Duration = Duration::from_millis(1);

/// A pass whose progress is told while it works, and that is halted when its time is over or a stop was asked for.
pub(super) struct Watched<'a> {
    /// What is under way.
    pub(super) phase: Phase,
    /// When to halt; no limit without.
    pub(super) deadline: Option<Instant>,
    /// The wish to stop, from outside.
    pub(super) stop: Option<&'a AtomicBool>,
    /// Ends the work when set.
    pub(super) halt: &'a AtomicBool,
    /// Bytes read so far.
    pub(super) done: &'a AtomicU64,
    /// Bytes of passes before this one.
    pub(super) bytes_before: u64,
    /// Bytes of all passes.
    pub(super) bytes_total: u64,
}

/// Ends the watching when the work ends, with a result or with a panic.
struct End<'a> {
    is_over: &'a AtomicBool,
    ticker: &'a Thread,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        self.ticker.unpark();
    }
}

impl Watched<'_> {
    /// Runs `work` on this thread while another one watches.
    pub(super) fn run<R>(&self, progress: &mut dyn Progress, work: impl FnOnce() -> R) -> R {
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let ticker = scope.spawn(|| self.watch(progress, &is_over));
            let _end = End { is_over: &is_over, ticker: ticker.thread() };
            work()
        })
    }

    fn watch(&self, progress: &mut dyn Progress, is_over: &AtomicBool) {
        while !is_over.load(Ordering::Acquire) {
            let done = self.done.load(Ordering::Relaxed);
            progress.advance(self.phase, self.bytes_before + done, self.bytes_total);
            let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let is_asked = self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
            // Something is read in any time, so that repeated calls come to an end.
            let is_late = left.is_some_and(|left| left.is_zero());
            if is_asked || is_late && self.done.load(Ordering::Relaxed) > 0 {
                self.halt.store(true, Ordering::Relaxed);
            }
            let wait = left.map_or(PROGRESS_PERIOD, |left| left.clamp(LATE_PERIOD, PROGRESS_PERIOD));
            thread::park_timeout(wait);
        }
    }
}
