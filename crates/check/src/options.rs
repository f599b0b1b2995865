//! What the user asks of a check.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use disk::backend::{Backend, BackendError, BackendOptions};
use results::check::CheckLevel;

/// How deep, how fast and how long to check.
#[derive(Debug, Clone)]
pub struct Options {
    /// How deep.
    pub level: CheckLevel,
    /// Workers of the pass, at least 1.
    pub worker_count: usize,
    /// Bytes per second that all workers together may read; no limit without.
    pub rate_bytes_per_s_max: Option<u64>,
    /// Memory for tables of the check, in bytes. Beyond it pages are read again instead of being kept.
    pub memory_bytes_max: u64,
    /// Stops at the next claim after this time; no limit without.
    pub time_max: Option<Duration>,
    /// Where a check that was stopped keeps how far it came, and from where the next one goes on.
    pub resume_file: Option<PathBuf>,
    /// Findings of one rule that are listed; all are counted.
    pub findings_per_rule_max: usize,
    /// Pages of one claim; without, as many as make 1 MiB.
    pub page_batch: Option<usize>,
    /// Objects whose sums are held at the same time; without, all of them.
    pub object_batch: Option<usize>,
    /// Whether to read past the page cache where that is possible.
    pub want_direct: bool,
    /// Whether to judge each page alone, without trusting header and schema.
    pub is_raw: bool,
    /// Key of the sums. Drawn anew for each check, so that no pattern in the data can cancel.
    pub seed: u64,
    /// Ends the check early when set.
    pub stop: Option<Arc<AtomicBool>>,
    /// Where workers get their queues from; the best that the kernel has, without. Tests put faults in between.
    pub queues: Option<Queues>,
}

/// Makes the queue of a worker.
pub type MakeQueue = dyn Fn(&BackendOptions) -> Result<Box<dyn Backend>, BackendError> + Send + Sync;

/// A maker of queues that can be kept among the options.
#[derive(Clone)]
pub struct Queues(pub Arc<MakeQueue>);

impl std::fmt::Debug for Queues {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Queues")
    }
}

impl Default for Options {
    /// A full check with one worker, 256 MiB, 100 findings of each rule, direct reads, and a key from the system.
    fn default() -> Self {
        Self {
            level: CheckLevel::Full,
            worker_count: 1,
            rate_bytes_per_s_max: None,
            memory_bytes_max: 256 << 20,
            time_max: None,
            resume_file: None,
            findings_per_rule_max: 100,
            page_batch: None,
            object_batch: None,
            want_direct: true,
            is_raw: false,
            seed: random_seed(),
            stop: None,
            queues: None,
        }
    }
}

/// A key that differs between checks. The standard library seeds its hash maps from the system; one number of it is
/// enough here.
fn random_seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id())
}
