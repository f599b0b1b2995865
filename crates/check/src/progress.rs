//! How far a check is.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How often progress is told.
const PROGRESS_PERIOD: Duration = Duration::from_millis(200);

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
}

/// Shows nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn advance(&mut self, _phase: Phase, _bytes_done: u64, _bytes_total: u64) {}
}

/// Runs a pass over the pages while another thread tells the progress and watches the clock.
pub(crate) fn with_ticker<R>(
    deadline: Option<Instant>,
    stop: &AtomicBool,
    done: &AtomicU64,
    total: u64,
    progress: &mut dyn Progress,
    work: impl FnOnce() -> R,
) -> R {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let is_over = &is_over;
        let ticker = scope.spawn(move || {
            while !is_over.load(Ordering::Acquire) {
                let now = Instant::now();
                let wait = deadline.map_or(PROGRESS_PERIOD, |deadline| {
                    deadline.saturating_duration_since(now).min(PROGRESS_PERIOD)
                });
                if deadline.is_some_and(|deadline| now >= deadline) {
                    stop.store(true, Ordering::Relaxed);
                    progress.advance(Phase::Pass, done.load(Ordering::Relaxed), total);
                    return;
                }
                progress.advance(Phase::Pass, done.load(Ordering::Relaxed), total);
                thread::park_timeout(wait);
            }
        });
        let result = work();
        is_over.store(true, Ordering::Release);
        ticker.thread().unpark();
        result
    })
}
