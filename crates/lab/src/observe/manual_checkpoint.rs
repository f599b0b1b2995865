//! Checkpoints that the experiment asks for while the clients work, at a fixed period.
//!
//! Not a sample but a deed; it shares the life of the samplers because it begins and ends with the measured part and
//! leaves marks on the same clock.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use disk::counters::thread_cpu_ns;
use results::model::Event;
use results::observations::{Observations, SamplerRecord};

use super::series::nanoseconds_since;
use super::{RunningSampler, Sampler, Window};

/// A checkpoint was asked for.
pub const MANUAL_CHECKPOINT: &str = "manual_checkpoint";

/// Name in the record of the run.
pub const SAMPLER: &str = "manual_checkpoints";

/// How long the end of a run waits for a checkpoint under way.
const END_WAIT_MAX: Duration = Duration::from_secs(120);

/// Asks the engine for a checkpoint and returns when it is done, with a word about it, or why it could not be had.
pub type Issue = Box<dyn FnMut() -> Result<String, String> + Send>;

/// Checkpoints that have not begun.
pub struct ManualCheckpoints {
    period: Duration,
    issue: Issue,
}

impl std::fmt::Debug for ManualCheckpoints {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ManualCheckpoints").field("period", &self.period).finish_non_exhaustive()
    }
}

impl ManualCheckpoints {
    /// Will call `issue` one period after the barrier and every period from then on. While a checkpoint takes longer
    /// than a period, those that fall due meanwhile are left out.
    pub fn new(period: Duration, issue: Issue) -> Self {
        assert!(period > Duration::ZERO, "the table of parameters allows no period of zero");
        Self { period, issue }
    }
}

/// One request.
struct Issued {
    at: Instant,
    took: Duration,
    outcome: Result<String, String>,
}

struct Raw {
    issued: Vec<Issued>,
    cpu_ns: u64,
}

impl Sampler for ManualCheckpoints {
    fn start(self: Box<Self>) -> Box<dyn RunningSampler> {
        let Self { period, issue } = *self;
        let (release, released) = mpsc::channel();
        let (stop, stopped) = mpsc::channel();
        let (done, outcome) = mpsc::channel();
        let body = move || {
            // The sender goes away without a word when the run never began.
            if released.recv().is_ok() {
                let _ = done.send(keep_issuing(period, issue, &stopped));
            }
        };
        let thread = std::thread::Builder::new().name(SAMPLER.to_owned()).spawn(body).ok();
        Box::new(Running { period, release, stop, thread, outcome, seen: None })
    }
}

fn keep_issuing(period: Duration, mut issue: Issue, stopped: &mpsc::Receiver<()>) -> Raw {
    let cpu_before_ns = thread_cpu_ns();
    let began = Instant::now();
    let mut issued = Vec::new();
    let mut tick: u32 = 1;
    loop {
        let until = (began + period * tick).saturating_duration_since(Instant::now());
        match stopped.recv_timeout(until) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
        }
        let at = Instant::now();
        let outcome = issue();
        issued.push(Issued { at, took: at.elapsed(), outcome });
        tick = (began.elapsed().as_nanos() / period.as_nanos()) as u32 + 1;
    }
    Raw { issued, cpu_ns: thread_cpu_ns() - cpu_before_ns }
}

struct Running {
    period: Duration,
    release: Sender<()>,
    stop: Sender<()>,
    thread: Option<JoinHandle<()>>,
    outcome: mpsc::Receiver<Raw>,
    seen: Option<SamplerRecord>,
}

impl RunningSampler for Running {
    fn released(&mut self) {
        let _ = self.release.send(());
    }

    fn halt(&mut self, window: Window) -> Vec<Event> {
        let _ = self.stop.send(());
        let elapsed_ns = window.ended.saturating_duration_since(window.began).as_nanos();
        let mut record = SamplerRecord {
            name: SAMPLER.to_owned(),
            period_ns: self.period.as_nanos() as u64,
            samples_expected: (elapsed_ns / self.period.as_nanos()) as u64,
            samples_taken: 0,
            cpu_s: 0.0,
            problem: None,
        };
        let Ok(raw) = self.outcome.recv_timeout(END_WAIT_MAX) else {
            record.problem = Some("a checkpoint had not ended long after the run".to_owned());
            self.seen = Some(record);
            return Vec::new();
        };
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        record.cpu_s = raw.cpu_ns as f64 / 1e9;
        record.samples_taken = raw.issued.iter().filter(|issued| issued.outcome.is_ok()).count() as u64;
        record.problem = raw.issued.iter().find_map(|issued| issued.outcome.clone().err());
        self.seen = Some(record);
        raw.issued.iter().map(|issued| mark(issued, window)).collect()
    }

    fn stop(mut self: Box<Self>, window: Window) -> Observations {
        if self.seen.is_none() {
            self.halt(window);
        }
        Observations { samplers: self.seen.into_iter().collect(), ..Observations::default() }
    }
}

fn mark(issued: &Issued, window: Window) -> Event {
    let took_s = issued.took.as_secs_f64();
    let text = match &issued.outcome {
        Ok(word) if word.is_empty() => format!("took {took_s:.3} s"),
        Ok(word) => format!("took {took_s:.3} s: {word}"),
        Err(reason) => format!("could not be had: {reason}"),
    };
    Event { at_ns: nanoseconds_since(window.began, issued.at), kind: MANUAL_CHECKPOINT.to_owned(), text }
}

/// How long the engine took to answer, as the mark of a request says; `None` for one that could not be had.
pub(super) fn took_ns(mark: &Event) -> Option<i64> {
    let seconds = mark.text.strip_prefix("took ")?.split(' ').next()?;
    Some((seconds.parse::<f64>().ok()? * 1e9) as i64)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn run(issue: Issue, count: usize) -> (Vec<Event>, SamplerRecord) {
        let (told, ticks) = mpsc::channel();
        let mut issue = issue;
        let counted: Issue = Box::new(move || {
            let outcome = issue();
            told.send(()).unwrap();
            outcome
        });
        let checkpoints = ManualCheckpoints::new(Duration::from_millis(3), counted);
        let mut running = Box::new(checkpoints).start();
        let began = Instant::now();
        running.released();
        (0..count).for_each(|_| ticks.recv().unwrap());
        let window = Window { began, ended: Instant::now() };
        let events = running.halt(window);
        (events, running.stop(window).samplers.remove(0))
    }

    #[test]
    fn each_checkpoint_issued_is_one_mark_and_the_first_comes_after_one_period() {
        let (events, record) = run(Box::new(|| Ok("12 pages".to_owned())), 3);
        assert!(events.len() >= 3);
        assert_eq!(record.samples_taken, events.len() as u64);
        assert!(events[0].at_ns >= 3_000_000 && events.is_sorted_by_key(|event| event.at_ns));
        assert!(events[0].text.ends_with(" s: 12 pages"), "{}", events[0].text);
        assert!(events.iter().all(|event| took_ns(event).is_some()));
        assert_eq!(record.problem, None);
    }

    #[test]
    fn a_checkpoint_that_is_refused_is_a_mark_with_the_reason_and_ends_nothing() {
        let (events, record) = run(Box::new(|| Err("permission denied".to_owned())), 2);
        assert_eq!(events[1].text, "could not be had: permission denied");
        assert_eq!(took_ns(&events[1]), None);
        assert_eq!((record.samples_taken, record.problem.as_deref()), (0, Some("permission denied")));
    }
}
