//! A sample a second on a thread of its own, and the series that follow from the samples.
//!
//! A probe reads running totals and states; it keeps nothing between two samples but open descriptors and
//! connections. Rates are differences of two samples over the time that really lay between them, so a late sample
//! makes no peak, and the first and last parts of a second are counted at their own length. A sample that did not
//! succeed leaves a hole with its time; the next difference spans the hole.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use disk::counters::thread_cpu_ns;
use results::model::Event;
use results::observations::{Observations, SamplerRecord, Series, SeriesKind};

use super::{RunningSampler, Sampler, Window};

/// Time between two samples of every series, so that all have the same clock.
pub const PERIOD: Duration = Duration::from_secs(1);

/// How long the start of a run waits for the first sample; a server that does not answer must not hold the run.
const FIRST_SAMPLE_WAIT_MAX: Duration = Duration::from_secs(10);

/// How long the end of a run waits for the last sample.
const LAST_SAMPLE_WAIT_MAX: Duration = Duration::from_secs(10);

/// A last part of a second shorter than this share of the period is counted with the second before it: totals that
/// move in steps of 10 ms say nothing about so short a time.
const LAST_PART_MIN: f64 = 0.25;

/// Something to sample once a second.
pub trait Probe: Send + 'static {
    /// What one sample reads.
    type Reading: Send + 'static;

    /// Name of the sampler in the record of the run.
    fn name(&self) -> String;

    /// Takes one sample.
    ///
    /// # Errors
    /// Why there is nothing to see now; the next sample is tried all the same.
    fn sample(&mut self) -> Result<Self::Reading, String>;

    /// Makes series and marks of all samples.
    fn series(self, samples: &Samples<Self::Reading>) -> SampledSeries;
}

/// What a probe makes of its samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SampledSeries {
    /// Series on the run's clock.
    pub series: Vec<Series>,
    /// Marks on the run's clock.
    pub events: Vec<Event>,
    /// What could not be seen although the samples succeeded.
    pub problem: Option<String>,
}

/// All samples of a run in the order of their time; a failed one has no reading.
#[derive(Clone, Debug, PartialEq)]
pub struct Samples<R> {
    /// Nanoseconds since the barrier, and what was read.
    pub samples: Vec<(i64, Option<R>)>,
}

/// Name, unit and source of a series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Naming {
    /// Name from docs/lab/metrics.md.
    pub name: String,
    /// Unit.
    pub unit: &'static str,
    /// Where it was had.
    pub source: String,
}

/// Names a series.
pub fn series(name: impl Into<String>, unit: &'static str, source: impl Into<String>) -> Naming {
    Naming { name: name.into(), unit, source: source.into() }
}

impl<R> Samples<R> {
    /// A state at each sample; `None` when no sample saw it.
    pub fn gauge(&self, naming: Naming, value: impl Fn(&R) -> Option<f64>) -> Option<Series> {
        let points =
            self.samples.iter().map(|(at_ns, reading)| (*at_ns, reading.as_ref().and_then(&value))).collect();
        build(naming, SeriesKind::Gauge, points)
    }

    /// A running total as an amount per second; one value less than samples. A total that went back (the server was
    /// started again) leaves a hole.
    pub fn rate(&self, naming: Naming, total: impl Fn(&R) -> Option<f64>) -> Option<Series> {
        let points = self.between(|earlier, later, elapsed_s| {
            let amount = total(later)? - total(earlier)?;
            (amount >= 0.0).then(|| amount / elapsed_s)
        });
        build(naming, SeriesKind::Rate, points)
    }

    /// What one running total grew while another grew by one: ms per write. A hole where the other stood still.
    pub fn ratio(
        &self,
        naming: Naming,
        numerator: impl Fn(&R) -> Option<f64>,
        denominator: impl Fn(&R) -> Option<f64>,
    ) -> Option<Series> {
        let points = self.between(|earlier, later, _| {
            let by = denominator(later)? - denominator(earlier)?;
            let amount = numerator(later)? - numerator(earlier)?;
            (by > 0.0 && amount >= 0.0).then(|| amount / by)
        });
        build(naming, SeriesKind::Gauge, points)
    }

    /// A value for each pair of samples that follow each other; at a failed sample a hole.
    pub fn between(&self, value: impl Fn(&R, &R, f64) -> Option<f64>) -> Vec<(i64, Option<f64>)> {
        let mut points = Vec::with_capacity(self.samples.len());
        let mut earlier: Option<(i64, &R)> = None;
        for (at_ns, reading) in &self.samples {
            if let Some((earlier_ns, earlier)) = earlier {
                let elapsed_s = (at_ns - earlier_ns) as f64 / 1e9;
                let later = reading.as_ref().filter(|_| elapsed_s > 0.0);
                points.push((*at_ns, later.and_then(|later| value(earlier, later, elapsed_s))));
            }
            if let Some(reading) = reading {
                earlier = Some((*at_ns, reading));
            }
        }
        points
    }

    /// The samples that succeeded.
    pub fn seen(&self) -> impl Iterator<Item = (i64, &R)> {
        self.samples.iter().filter_map(|(at_ns, reading)| Some((*at_ns, reading.as_ref()?)))
    }
}

/// A series of points; `None` when all are holes.
pub fn build(naming: Naming, kind: SeriesKind, points: Vec<(i64, Option<f64>)>) -> Option<Series> {
    if points.iter().all(|(_, value)| value.is_none()) {
        return None;
    }
    let (at_ns, values) = points.into_iter().unzip();
    let Naming { name, unit, source } = naming;
    Some(Series { name, unit: unit.to_owned(), source, kind, at_ns, values })
}

/// A probe that has not begun.
#[derive(Debug)]
pub struct SeriesSampler<P> {
    probe: P,
    period: Duration,
}

impl<P: Probe> SeriesSampler<P> {
    /// Takes one sample a second.
    pub fn new(probe: P) -> Self {
        Self { probe, period: PERIOD }
    }

    /// Samples with another period; for tests.
    #[cfg(test)]
    pub fn every(probe: P, period: Duration) -> Self {
        Self { probe, period }
    }
}

impl<P: Probe> Sampler for SeriesSampler<P> {
    /// Returns after a first sample, which opens what must be open; the next one is at the release of the barrier.
    fn start(self: Box<Self>) -> Box<dyn RunningSampler> {
        let Self { probe, period } = *self;
        let name = probe.name();
        let (sender, receiver) = mpsc::channel();
        let (ready, is_ready) = mpsc::channel();
        let (done, outcome) = mpsc::channel();
        let body = move || {
            let raw = watch(probe, period, &ready, &receiver);
            // Nobody listens any more when the run gave up waiting.
            let _ = done.send(raw);
        };
        let thread = std::thread::Builder::new().name(name.clone()).spawn(body).ok();
        let _ = is_ready.recv_timeout(FIRST_SAMPLE_WAIT_MAX);
        Box::new(Running { name, period, sender, thread, outcome, seen: None })
    }
}

/// Samples as the thread had them.
struct Raw<P: Probe> {
    probe: P,
    samples: Vec<(Instant, Option<P::Reading>)>,
    due: u64,
    cpu_ns: u64,
    first_error: Option<String>,
}

/// What the thread is told.
enum Word {
    /// The barrier was released.
    Released,
    /// The last client ended.
    Ended,
}

fn watch<P: Probe>(
    mut probe: P,
    period: Duration,
    ready: &Sender<()>,
    receiver: &mpsc::Receiver<Word>,
) -> Raw<P> {
    let cpu_before_ns = thread_cpu_ns();
    let mut began = Instant::now();
    let mut samples = Vec::new();
    let mut first_error = None;
    let mut sample = |probe: &mut P, samples: &mut Vec<_>| {
        let reading = probe.sample().map_err(|error| first_error.get_or_insert(error).clone()).ok();
        samples.push((Instant::now(), reading));
    };
    sample(&mut probe, &mut samples);
    let _ = ready.send(());
    let mut tick: u32 = 1;
    loop {
        let until = (began + period * tick).saturating_duration_since(Instant::now());
        match receiver.recv_timeout(until) {
            Err(RecvTimeoutError::Timeout) => sample(&mut probe, &mut samples),
            Ok(Word::Released) => {
                // The samples before the barrier have made everything ready; the run begins with this one.
                began = Instant::now();
                samples.clear();
                sample(&mut probe, &mut samples);
            }
            Ok(Word::Ended) | Err(RecvTimeoutError::Disconnected) => break,
        }
        // A sample that took longer than a period leaves out what was due meanwhile.
        tick = (began.elapsed().as_nanos() / period.as_nanos()) as u32 + 1;
    }
    let due = (began.elapsed().as_nanos() / period.as_nanos()) as u64 + 2;
    sample(&mut probe, &mut samples);
    Raw { probe, samples, due, cpu_ns: thread_cpu_ns() - cpu_before_ns, first_error }
}

/// A probe at work.
struct Running<P: Probe> {
    name: String,
    period: Duration,
    sender: Sender<Word>,
    thread: Option<JoinHandle<()>>,
    outcome: mpsc::Receiver<Raw<P>>,
    seen: Option<Observations>,
}

impl<P: Probe> Running<P> {
    fn finish(&mut self, window: Window) -> (Observations, Vec<Event>) {
        let _ = self.sender.send(Word::Ended);
        let raw = self.outcome.recv_timeout(LAST_SAMPLE_WAIT_MAX);
        let record = |due: u64, taken: u64, cpu_s: f64, problem: Option<String>| SamplerRecord {
            name: self.name.clone(),
            period_ns: self.period.as_nanos() as u64,
            samples_expected: due,
            samples_taken: taken,
            cpu_s,
            problem,
        };
        let Ok(raw) = raw else {
            let due = (window.ended.duration_since(window.began).as_nanos() / self.period.as_nanos()) as u64;
            let problem = "the last sample did not come back in time".to_owned();
            let samplers = vec![record(due + 2, 0, 0.0, Some(problem))];
            return (Observations { samplers, ..Observations::default() }, Vec::new());
        };
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let taken = raw.samples.iter().filter(|(_, reading)| reading.is_some()).count() as u64;
        let samples =
            Samples { samples: without_short_end(on_clock(raw.samples, window.began), self.period) };
        let sampled = raw.probe.series(&samples);
        let problem = raw.first_error.or(sampled.problem);
        let samplers = vec![record(raw.due, taken, raw.cpu_ns as f64 / 1e9, problem)];
        (Observations { series: sampled.series, samplers, ..Observations::default() }, sampled.events)
    }
}

impl<P: Probe> RunningSampler for Running<P> {
    fn released(&mut self) {
        let _ = self.sender.send(Word::Released);
    }

    fn halt(&mut self, window: Window) -> Vec<Event> {
        let (seen, events) = self.finish(window);
        self.seen = Some(seen);
        events
    }

    fn stop(mut self: Box<Self>, window: Window) -> Observations {
        match self.seen.take() {
            Some(seen) => seen,
            None => self.finish(window).0,
        }
    }
}

fn on_clock<R>(samples: Vec<(Instant, R)>, zero: Instant) -> Vec<(i64, R)> {
    samples.into_iter().map(|(at, reading)| (nanoseconds_since(zero, at), reading)).collect()
}

/// Nanoseconds from `zero` to `at`; negative when it was before.
pub fn nanoseconds_since(zero: Instant, at: Instant) -> i64 {
    match at.checked_duration_since(zero) {
        Some(after) => after.as_nanos() as i64,
        None => -(zero.duration_since(at).as_nanos() as i64),
    }
}

/// Leaves out the sample before the last when the last follows it too soon to be counted by itself.
fn without_short_end<R>(mut samples: Vec<(i64, R)>, period: Duration) -> Vec<(i64, R)> {
    if let [.., _, (before_ns, _), (last_ns, _)] = samples.as_slice()
        && ((last_ns - before_ns) as f64) < LAST_PART_MIN * period.as_nanos() as f64
    {
        samples.remove(samples.len() - 2);
    }
    samples
}

#[cfg(test)]
mod tests;
