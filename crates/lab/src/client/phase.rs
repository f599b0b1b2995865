//! The phases of a run, as the control thread sets them for all clients.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

/// What the control thread wants the clients to do now.
#[derive(Clone, Copy, Debug)]
pub(super) enum Phase {
    /// Nothing yet.
    Wait,
    /// Warm up, from this time on.
    WarmUp(Instant),
    /// Work, from this time on.
    Measure(Instant),
    /// Have the engine count all that was done.
    FlushStats,
    /// Close the connection.
    Close,
}

/// The present phase, and a signal for those who wait for the next one.
#[derive(Debug)]
pub(super) struct PhaseSignal {
    phase: Mutex<Phase>,
    changed: Condvar,
}

impl PhaseSignal {
    /// Begins with waiting.
    pub(super) fn new() -> Self {
        Self { phase: Mutex::new(Phase::Wait), changed: Condvar::new() }
    }

    /// Sets the phase for all clients.
    pub(super) fn set(&self, phase: Phase) {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = phase;
        self.changed.notify_all();
    }

    /// Waits for the phase that `wanted` picks; `None` when all clients are to close first.
    pub(super) fn wait_for<T>(&self, wanted: impl Fn(Phase) -> Option<T>) -> Option<T> {
        let mut phase = self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(found) = wanted(*phase) {
                return Some(found);
            }
            if matches!(*phase, Phase::Close) {
                return None;
            }
            phase = self.changed.wait(phase).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
