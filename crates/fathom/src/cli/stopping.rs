//! Signals that ask fathom to end: SIGINT, SIGTERM, and SIGHUP unless it is ignored (`nohup`).
//!
//! The first one sets a flag that the work asks for. Where the work has not ended two seconds later, a line on standard
//! error says what it waits for; a command that has nothing to put in order ends then. A second SIGINT or SIGTERM ends
//! fathom at once. A second SIGHUP does not: a terminal that closes sends several.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;

use super::terminal::say;

/// Time from the signal to the line that says what is waited for.
const SILENCE_MAX: Duration = Duration::from_millis(1500);

/// Time between two such lines.
const REPEAT: Duration = Duration::from_secs(30);

/// What is left to do after the first signal.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ending {
    /// Nothing has to be put in order: fathom ends, whatever is under way.
    Leaves,
    /// Work that has to end, as the object of "waiting for".
    WaitsFor(&'static str),
}

/// A flag that the first signal sets, to end in order.
pub(crate) fn on_signals(ending: Ending) -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let mut signals = vec![SIGINT, SIGTERM];
    for signal in signals.clone() {
        signal_hook::flag::register_conditional_shutdown(signal, 2, Arc::clone(&stop))
            .context("could not watch for Ctrl-C")?;
    }
    if !is_hangup_ignored() {
        signals.push(SIGHUP);
    }
    for signal in &signals {
        signal_hook::flag::register(*signal, Arc::clone(&stop)).context("could not watch for Ctrl-C")?;
    }
    let mut arrivals = Signals::new(&signals).context("could not watch for Ctrl-C")?;
    std::thread::Builder::new()
        .name("fathom-stopping".to_owned())
        .spawn(move || {
            if arrivals.forever().next().is_some() {
                tell(ending);
            }
        })
        .context("could not watch for Ctrl-C")?;
    Ok(stop)
}

/// Makes a write beyond the limit of file sizes (`ulimit -f`) an error of that write; by default it ends the process.
// EVIDENCE: setrlimit(2): a process that catches or ignores SIGXFSZ gets EFBIG
pub(crate) fn survive_limits() {
    let unused = Arc::new(AtomicBool::new(false));
    if let Err(error) = signal_hook::flag::register(SIGXFSZ, unused) {
        tracing::debug!(%error, "could not catch SIGXFSZ");
    }
}

/// Runs until the process ends.
fn tell(ending: Ending) {
    std::thread::sleep(SILENCE_MAX);
    match ending {
        Ending::Leaves => {
            say("stopped; a transfer in flight is left out");
            std::process::exit(2);
        }
        Ending::WaitsFor(what) => loop {
            say(&format!(
                "stopping: waiting for {what}; a second Ctrl-C or SIGTERM stops fathom immediately"
            ));
            std::thread::sleep(REPEAT);
        },
    }
}

/// Did whoever started this process ask for SIGHUP to be ignored?
// EVIDENCE: proc_pid_status(5): SigIgn is a mask in hexadecimal digits, bit 0 is signal 1
fn is_hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & (1 << (SIGHUP - 1)) != 0)
}
