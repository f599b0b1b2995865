//! A thread that takes samples at fixed moments until it is stopped.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use disk::counters::thread_cpu_ns;

/// How long the end of a run waits for the last sample; a server that does not answer must not hold it.
const LAST_SAMPLE_WAIT_MAX: Duration = Duration::from_secs(10);

/// Nice value of a thread that misses its samples.
const PRIORITY: i32 = -10;

/// Samples of which one may be missed before the thread hurries: at 2 % there is room until a run wants 95 % of them.
const SAMPLES_PER_MISS: u32 = 50;

/// Something that samples with a period on a thread of its own.
pub(super) struct Watched<L> {
    stop: Sender<()>,
    outcome: Receiver<Ended<L>>,
}

/// How the looking ended.
pub(super) struct Ended<L> {
    /// What looked, with all that it saw.
    pub(super) probe: L,
    /// Processor time of its thread.
    pub(super) cpu_ns: u64,
    /// When and why it ended before it was asked to.
    pub(super) error: Option<String>,
}

impl<L: Send + 'static> Watched<L> {
    /// Begins: the first sample is made after `first_after`, the others follow with the period.
    pub(super) fn spawn(
        name: &str,
        period: Duration,
        first_after: Duration,
        probe: L,
        sample: fn(&mut L) -> Result<(), String>,
    ) -> Self {
        let (stop, stopped) = mpsc::channel();
        let (done, outcome) = mpsc::channel();
        let body = move || {
            let ended = watch(probe, sample, period, first_after, &stopped);
            // Nobody listens any more when the run gave up waiting.
            let _ = done.send(ended);
        };
        // Without a thread the channel is closed, and that is what the record says.
        let _ = std::thread::Builder::new().name(format!("fathom-{name}")).spawn(body);
        Self { stop, outcome }
    }

    /// Ends; `None` when the last sample did not come back in time.
    pub(super) fn end(&self) -> Option<Ended<L>> {
        self.end_within(LAST_SAMPLE_WAIT_MAX)
    }

    fn end_within(&self, time: Duration) -> Option<Ended<L>> {
        let _ = self.stop.send(());
        self.outcome.recv_timeout(time).ok()
    }
}

/// Samples fixed moments; one that is missed because the machine had no processor for it is left out, not made up
/// for: several samples at once would count one moment several times.
fn watch<L>(
    mut probe: L,
    sample: fn(&mut L) -> Result<(), String>,
    period: Duration,
    first_after: Duration,
    stopped: &Receiver<()>,
) -> Ended<L> {
    let mut boost = PriorityBoost::default();
    let cpu_before_ns = thread_cpu_ns();
    let began = Instant::now() + first_after;
    let mut tick: u32 = 0;
    let error = loop {
        let until = (began + period * tick).saturating_duration_since(Instant::now());
        match stopped.recv_timeout(until) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => {
                // Later than the measured part and so not counted: it tells whether the server was there to the end.
                break sample(&mut probe).err();
            }
        }
        if let Err(reason) = sample(&mut probe) {
            break Some(reason);
        }
        let next = (began.elapsed().as_nanos() / period.as_nanos()) as u32 + 1;
        if boost.is_due(next.saturating_sub(tick + 1)) {
            hurry();
        }
        tick = next;
    };
    Ended { probe, cpu_ns: thread_cpu_ns() - cpu_before_ns, error }
}

/// Samples made and missed, and whether it is time to hurry.
#[derive(Debug, Default)]
struct PriorityBoost {
    samples: u32,
    missed: u32,
    hurries: bool,
}

impl PriorityBoost {
    /// Takes in a sample and those that were missed after it; says once that too many are.
    fn is_due(&mut self, missed: u32) -> bool {
        self.samples += 1;
        self.missed = self.missed.saturating_add(missed);
        let is_due = !self.hurries && self.missed > 1 + self.samples / SAMPLES_PER_MISS;
        self.hurries |= is_due;
        is_due
    }
}

/// Asks for a processor before others. Not from the beginning: a thread that takes the processor the moment it wakes
/// interrupts sessions that hold a latch, and all that wait for this one wait for the sample as well. That cost 2 to 12 %
/// of throughput with both of two processors saturated, where waiting one's turn costs nothing that can be seen. Only
/// where samples are missed are they worth more. Not everybody may hurry; then they are missed, and counted as missed.
fn hurry() {
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), PRIORITY);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const PERIOD: Duration = Duration::from_millis(2);

    #[test]
    fn a_thread_hurries_once_and_only_when_more_than_two_percent_are_missed() {
        let mut boost = PriorityBoost::default();
        assert!((0..500).all(|sample| !boost.is_due(u32::from(sample % 60 == 59))), "one in sixty");
        assert!(!boost.is_due(0));
        assert!(boost.is_due(10) && !boost.is_due(10), "said once");
        assert!(!PriorityBoost::default().is_due(1), "one miss is none");
    }

    #[test]
    fn samples_that_are_missed_are_left_out_and_not_made_up_for() {
        let begun = Instant::now();
        // The second sample takes as long as five periods.
        let sample = |samples: &mut Vec<Duration>| {
            samples.push(Duration::ZERO);
            if samples.len() == 2 {
                let slow = Instant::now();
                while slow.elapsed() < PERIOD * 5 {
                    std::hint::spin_loop();
                }
            }
            if samples.len() == 10 { Err("enough".to_owned()) } else { Ok(()) }
        };
        let watched = Watched::spawn("test", PERIOD, Duration::ZERO, Vec::new(), sample);
        let ended = watched.outcome.recv().unwrap();
        assert_eq!((ended.probe.len(), ended.error.as_deref()), (10, Some("enough")));
        assert!(begun.elapsed() >= PERIOD * (9 + 4), "{:?}", begun.elapsed());
    }

    #[test]
    fn a_sample_that_hangs_does_not_hold_the_run() {
        let (release, held) = mpsc::channel::<()>();
        let (tell, samples) = mpsc::channel();
        let sample = |probe: &mut (Receiver<()>, Sender<()>)| {
            let _ = probe.1.send(());
            let _ = probe.0.recv();
            Ok(())
        };
        let watched = Watched::spawn("test", PERIOD, Duration::ZERO, (held, tell), sample);
        samples.recv().unwrap();
        assert!(watched.end_within(PERIOD).is_none());
        drop(release);
    }
}
