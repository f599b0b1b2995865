//! A thread that looks at fixed moments until it is told to stop.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use disk::counters::thread_cpu_ns;

/// How long the end of a run waits for the last look; a server that does not answer must not hold it.
const LAST_LOOK_WAIT_MAX: Duration = Duration::from_secs(10);

/// Nice value of the thread.
const PRIORITY: i32 = -10;

/// Something that looks with a period on a thread of its own.
pub(super) struct Watched<L> {
    stop: Sender<()>,
    outcome: Receiver<Ended<L>>,
}

/// How the looking ended.
pub(super) struct Ended<L> {
    /// What looked, with all that it saw.
    pub(super) looker: L,
    /// Processor time of its thread.
    pub(super) cpu_ns: u64,
    /// When and why it ended before it was asked to.
    pub(super) error: Option<String>,
}

impl<L: Send + 'static> Watched<L> {
    /// Begins: the first look is made after `first_after`, the others follow with the period.
    pub(super) fn spawn(
        name: &str,
        period: Duration,
        first_after: Duration,
        looker: L,
        look: fn(&mut L) -> Result<(), String>,
    ) -> Self {
        let (stop, stopped) = mpsc::channel();
        let (done, outcome) = mpsc::channel();
        let body = move || {
            let ended = watch(looker, look, period, first_after, &stopped);
            // Nobody listens any more when the run gave up waiting.
            let _ = done.send(ended);
        };
        // Without a thread the channel is closed, and that is what the record says.
        let _ = std::thread::Builder::new().name(format!("fathom-{name}")).spawn(body);
        Self { stop, outcome }
    }

    /// Ends; `None` when the last look did not come back in time.
    pub(super) fn end(&self) -> Option<Ended<L>> {
        self.end_within(LAST_LOOK_WAIT_MAX)
    }

    fn end_within(&self, time: Duration) -> Option<Ended<L>> {
        let _ = self.stop.send(());
        self.outcome.recv_timeout(time).ok()
    }
}

/// Looks at fixed moments; one that is missed because the machine had no processor for it is left out, not made up
/// for: several looks at once would count one moment several times.
fn watch<L>(
    mut looker: L,
    look: fn(&mut L) -> Result<(), String>,
    period: Duration,
    first_after: Duration,
    stopped: &Receiver<()>,
) -> Ended<L> {
    hurry();
    let cpu_before_ns = thread_cpu_ns();
    let began = Instant::now() + first_after;
    let mut tick: u32 = 0;
    let error = loop {
        let until = (began + period * tick).saturating_duration_since(Instant::now());
        match stopped.recv_timeout(until) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => {
                // Later than the measured part and so not counted: it tells whether the server was there to the end.
                break look(&mut looker).err();
            }
        }
        if let Err(reason) = look(&mut looker) {
            break Some(reason);
        }
        tick = (began.elapsed().as_nanos() / period.as_nanos()) as u32 + 1;
    };
    Ended { looker, cpu_ns: thread_cpu_ns() - cpu_before_ns, error }
}

/// Asks for a processor before others, since with more busy sessions than processors a look would come late just when
/// there is most to see. Not everybody may; then looks are missed, and counted as missed.
fn hurry() {
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), PRIORITY);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const PERIOD: Duration = Duration::from_millis(2);

    #[test]
    fn looks_that_are_missed_are_left_out_and_not_made_up_for() {
        let begun = Instant::now();
        // The second look takes as long as five periods.
        let look = |looks: &mut Vec<Duration>| {
            looks.push(Duration::ZERO);
            if looks.len() == 2 {
                let slow = Instant::now();
                while slow.elapsed() < PERIOD * 5 {
                    std::hint::spin_loop();
                }
            }
            if looks.len() == 10 { Err("enough".to_owned()) } else { Ok(()) }
        };
        let watched = Watched::spawn("test", PERIOD, Duration::ZERO, Vec::new(), look);
        let ended = watched.outcome.recv().unwrap();
        assert_eq!((ended.looker.len(), ended.error.as_deref()), (10, Some("enough")));
        assert!(begun.elapsed() >= PERIOD * (9 + 4), "{:?}", begun.elapsed());
    }

    #[test]
    fn a_look_that_hangs_does_not_hold_the_run() {
        let (release, held) = mpsc::channel::<()>();
        let (tell, looks) = mpsc::channel();
        let look = |looker: &mut (Receiver<()>, Sender<()>)| {
            let _ = looker.1.send(());
            let _ = looker.0.recv();
            Ok(())
        };
        let watched = Watched::spawn("test", PERIOD, Duration::ZERO, (held, tell), look);
        looks.recv().unwrap();
        assert!(watched.end_within(PERIOD).is_none());
        drop(release);
    }
}
