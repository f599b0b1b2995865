//! How far long work is: a bar on a terminal, plain lines in a pipe.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use check::progress::{Phase, Progress};
use disk::space::format_bytes;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use results::wording::percent;

use super::terminal::say;

/// Before this nothing is said in a pipe: most work is done by then.
const QUIET_TIME: Duration = Duration::from_secs(1);

/// Time between two lines of the same phase in a pipe.
const LINE_PERIOD: Duration = Duration::from_secs(10);

/// Redraws per second of the bar.
const REDRAWS_PER_S: u8 = 4;

/// Progress of work that is counted in bytes, phase by phase.
pub(crate) struct ByteProgress {
    bar: ProgressBar,
    lines: Option<Lines>,
    phase: &'static str,
    began: Instant,
}

impl ByteProgress {
    /// Starts without a phase.
    pub(crate) fn new() -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr_with_hz(REDRAWS_PER_S));
        let style = ProgressStyle::with_template(
            "{msg:12} {bar:30} {bytes}/{total_bytes}  {bytes_per_sec}  {eta} left",
        );
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        let lines = (!stderr().is_terminal()).then(Lines::default);
        Self { bar, lines, phase: "", began: Instant::now() }
    }

    /// Shows how far a phase is, in bytes; a total of 0 is not known.
    pub(crate) fn advance(&mut self, phase: &'static str, done_bytes: u64, total_bytes: u64) {
        if let Some(lines) = &mut self.lines {
            if let Some(line) = lines.next(self.began.elapsed(), phase, done_bytes, total_bytes) {
                say(&line);
            }
            return;
        }
        if self.phase != phase {
            self.phase = phase;
            self.bar.reset();
            self.bar.set_message(phase);
        }
        self.bar.set_length(total_bytes);
        self.bar.set_position(done_bytes);
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// Time since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }
}

/// Which lines are due in a pipe: one at each phase and one every so often, after a quiet start.
#[derive(Default)]
struct Lines {
    phase: &'static str,
    phase_began: Duration,
    /// The phase and the time of the last line.
    last: Option<(&'static str, Duration)>,
}

impl Lines {
    /// The line that is due now, `now` after the start.
    fn next(&mut self, now: Duration, phase: &'static str, done: u64, total: u64) -> Option<String> {
        if self.phase != phase {
            (self.phase, self.phase_began) = (phase, now);
        }
        let is_due = match self.last {
            None => now >= QUIET_TIME,
            Some((last_phase, at)) => last_phase != phase || now.saturating_sub(at) >= LINE_PERIOD,
        };
        if !is_due {
            return None;
        }
        self.last = Some((phase, now));
        Some(line(phase, now.saturating_sub(self.phase_began), done, total))
    }
}

/// `pages: 300.0 MiB of 1.2 GiB (24 %), 30.0 MiB/s, 31 s left`.
fn line(phase: &str, time: Duration, done: u64, total: u64) -> String {
    if total == 0 {
        return format!("{phase} ...");
    }
    let share = percent(done.min(total), total);
    let mut line = format!("{phase}: {} of {} ({share})", format_bytes(done), format_bytes(total));
    let rate = done as f64 / time.as_secs_f64();
    if done > 0 && rate.is_finite() {
        let left_s = total.saturating_sub(done) as f64 / rate;
        line.push_str(&format!(", {}/s, {left_s:.0} s left", format_bytes(rate as u64)));
    }
    line
}

/// Progress of a check or of a measurement of structure.
pub(crate) struct Bar(ByteProgress);

impl Bar {
    pub(crate) fn new() -> Self {
        Self(ByteProgress::new())
    }

    pub(crate) fn finish(&self) {
        self.0.finish();
        if stderr().is_terminal() && self.0.elapsed() > Duration::from_secs(60) {
            say(&format!("read in {:.0} s", self.0.elapsed().as_secs_f64()));
        }
    }
}

impl Progress for Bar {
    fn advance(&mut self, phase: Phase, bytes_done: u64, bytes_total: u64) {
        let phase = match phase {
            Phase::Map => "map",
            Phase::Pass => "pages",
            Phase::Match => "matching",
            Phase::SecondPass => "second pass",
        };
        self.0.advance(phase, bytes_done, bytes_total);
    }

    fn notice(&mut self, text: &str) {
        say(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_gets_a_line_for_each_phase_and_one_every_ten_seconds_after_a_quiet_start() {
        let mut lines = Lines::default();
        let ms = Duration::from_millis;
        let mut next = |at, phase, done, total| lines.next(ms(at), phase, done, total);
        assert_eq!(next(0, "map", 0, 0), None);
        assert_eq!(next(500, "pages", 0, 100 << 20), None);
        assert_eq!(
            next(2500, "pages", 20 << 20, 100 << 20).as_deref(),
            Some("pages: 20.0 MiB of 100.0 MiB (20 %), 10.0 MiB/s, 8 s left")
        );
        assert_eq!(next(9000, "pages", 30 << 20, 100 << 20), None);
        assert!(next(12_500, "pages", 60 << 20, 100 << 20).is_some());
        assert_eq!(next(12_600, "second pass", 0, 0).as_deref(), Some("second pass ..."));
        assert_eq!(next(12_700, "second pass", 0, 10), None);
    }
}
