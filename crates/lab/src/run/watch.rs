//! Looks at a run while its clients work: for the caller, for signs of life of an engine, and for one that died silently.

use std::time::{Duration, Instant};

use crate::client::Progress;
use crate::engine::{Counters, Target};
use crate::work::{LoopSide, Work};

use super::tick::{Course, Tick};

/// Counters of an engine are asked for signs of life this often while its own loop runs.
const PULSE_PERIOD: Duration = Duration::from_secs(2);

/// Loops inside an engine that should end are interrupted this often until they do.
const INTERRUPT_PERIOD: Duration = Duration::from_millis(500);

/// A client of a workload of the user's own has this long to end its transaction when it should end, before its statement is
/// interrupted: most end by themselves, and without an error of their own.
const STATEMENT_TIME_MAX: Duration = Duration::from_secs(2);

/// An engine that completed no transaction for so long is asked whether it still answers, and again after that.
const SILENCE_TIME_MAX: Duration = Duration::from_secs(30);

/// Looks at the run ten times a second on behalf of the caller.
pub(super) struct Watch<'a> {
    pub(super) target: &'a mut dyn Target,
    pub(super) work: &'a Work,
    pub(super) on_tick: &'a mut dyn FnMut(Tick) -> Course,
    pub(super) pulse: Pulse,
}

/// Last sign of life of an engine.
pub(super) struct Pulse {
    asked_at: Instant,
    /// When it answered or completed something.
    alive_at: Instant,
    rows: u64,
    beats: u64,
    last: Counters,
    interrupted_at: Option<Instant>,
    /// Since when the clients should end.
    stopped_at: Option<Instant>,
}

impl Pulse {
    /// Is it time to interrupt what clients of a workload of the user's own execute?
    fn is_overdue(&mut self) -> bool {
        self.stopped_at.get_or_insert_with(Instant::now).elapsed() >= STATEMENT_TIME_MAX
    }

    /// Is it time to interrupt the engine's loops, again if need be? An interrupt that comes before a loop has begun
    /// is lost.
    fn may_interrupt(&mut self) -> bool {
        if self.interrupted_at.is_some_and(|at| at.elapsed() < INTERRUPT_PERIOD) {
            return false;
        }
        self.interrupted_at = Some(Instant::now());
        true
    }
}

impl Default for Pulse {
    fn default() -> Self {
        let now = Instant::now();
        Self {
            asked_at: now,
            alive_at: now,
            rows: 0,
            beats: 0,
            last: Counters::default(),
            interrupted_at: None,
            stopped_at: None,
        }
    }
}

impl<'a> Watch<'a> {
    pub(super) fn look(mut self) -> impl FnMut(&Progress) + 'a {
        move |progress| {
            let rows = progress.rows();
            if rows != self.pulse.rows {
                (self.pulse.rows, self.pulse.alive_at) = (rows, Instant::now());
            }
            if let Some(reason) = self.feel_pulse() {
                progress.give_up(reason);
            }
            if (self.on_tick)(Tick { rows, loading: None, pulse: rows + self.pulse.beats }) == Course::Stop {
                progress.stop();
            }
            let is_over = progress.is_stopped()
                && (self.work.loop_side == LoopSide::Server
                    || (self.work.own.is_some() && self.pulse.is_overdue()));
            if is_over
                && self.pulse.may_interrupt()
                && let Some(Err(error)) = self.target.clients().map(|clients| clients.interrupt())
            {
                tracing::warn!("could not interrupt the clients in the engine: {error}");
            }
        }
    }

    /// Asks an engine that loops by itself, or a server that was silent for too long. Returns why the run is given up:
    /// the server does not answer any more, so that its clients would wait for ever.
    fn feel_pulse(&mut self) -> Option<String> {
        let is_server = !self.target.engine().is_embedded && !self.work.workload.is_task();
        let is_due = match self.work.loop_side {
            LoopSide::Server => self.pulse.asked_at.elapsed() >= PULSE_PERIOD,
            _ => {
                is_server
                    && self.pulse.alive_at.elapsed() >= SILENCE_TIME_MAX
                    && self.pulse.asked_at.elapsed() >= SILENCE_TIME_MAX
            }
        };
        if !is_due {
            return None;
        }
        let answer = self.target.counters();
        self.pulse.asked_at = Instant::now();
        match answer {
            Ok(counters) => {
                self.pulse.alive_at = Instant::now();
                if self.work.loop_side == LoopSide::Server && counters != self.pulse.last {
                    self.pulse.beats += 1;
                    self.pulse.last = counters;
                }
                None
            }
            Err(error) if is_server && self.pulse.alive_at.elapsed() >= SILENCE_TIME_MAX => Some(format!(
                "given up: no transaction was completed and no question answered for {} s: {error}",
                self.pulse.alive_at.elapsed().as_secs()
            )),
            Err(_) => None,
        }
    }
}
