//! What is known about a run, the limits that it is held against, and the result of one gate.

use std::time::Duration;

use results::model::{ClientRecord, GateOutcome, GateResult};
use results::observations::SamplerRecord;
use results::scripts::ScriptRecord;

use crate::client::WorkerUsage;
use crate::engine::PostRunState;
use crate::work::Work;

/// Limits that a spec may move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Largest share of the elapsed time between the first and the last client's start.
    pub start_skew_fraction: f64,
    /// Skew that is always allowed, whatever the elapsed time.
    pub start_skew_floor: Duration,
    /// Largest share of a core that a client thread may use before it counts as the bottleneck.
    pub client_cpu_fraction: f64,
    /// Smallest share of the samples that each sampler should have had.
    pub samples_present_fraction: f64,
    /// Smallest share of the transactions that the latency limit of a workload of the user's own should hold for.
    pub within_limit_fraction: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            start_skew_fraction: 0.02,
            start_skew_floor: Duration::from_millis(50),
            client_cpu_fraction: 0.9,
            samples_present_fraction: 0.95,
            within_limit_fraction: 0.0,
        }
    }
}

/// What is known about a run when it has ended.
#[derive(Clone, Debug)]
pub struct Evidence<'a> {
    /// What was asked.
    pub work: &'a Work,
    /// One record per client.
    pub clients: &'a [ClientRecord],
    /// One per worker thread.
    pub workers: &'a [WorkerUsage],
    /// Clients that the engine saw at the barrier; `None` where it cannot tell.
    pub clients_seen: Option<u32>,
    /// From the barrier to the last client's end, in nanoseconds.
    pub elapsed_ns: u64,
    /// What the engine holds afterwards, or why it did not answer.
    pub post_run_state: &'a Result<PostRunState, String>,
    /// Bytes of log (or, where the engine does not tell, of all writes) in the measured part, with their source.
    pub written: Option<(u64, &'a str)>,
    /// Does the engine run on the clients' own threads?
    pub is_embedded: bool,
    /// What looked at the run.
    pub samplers: &'a [SamplerRecord],
    /// What each script did, of a workload of the user's own.
    pub scripts: &'a [ScriptRecord],
}

pub(super) fn gate(name: &str, passed: bool, expected: String, found: String) -> GateResult {
    let outcome = if passed { GateOutcome::Passed } else { GateOutcome::Failed };
    GateResult { gate: name.to_owned(), outcome, expected, found }
}

/// A gate that fails when there is anybody (or anything) at fault.
pub(super) fn nobody(name: &str, expected: String, offenders: &[String]) -> GateResult {
    let found = if offenders.is_empty() { "yes".to_owned() } else { offenders.join("; ") };
    gate(name, offenders.is_empty(), expected, found)
}

pub(super) fn not_applicable(name: &str, expected: String, why: &str) -> GateResult {
    GateResult { gate: name.to_owned(), outcome: GateOutcome::NotApplicable, expected, found: why.to_owned() }
}
