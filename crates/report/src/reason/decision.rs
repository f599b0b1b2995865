//! What limits a configuration: decided here, once, for the reasons, the charts, the ceilings and the answer.

use crate::summary::CeilingLine;
use results::observations::Limit;

use super::evidence::{Evidence, Part};

/// Share of the active time that one limit needs to be named.
pub(super) const NAMED_FROM: f64 = 0.5;

/// Share of the session time in which sessions wait for their client before that is the answer.
pub(super) const CLIENT_FROM: f64 = 0.5;

/// Share of the CPUs that is busy, from 0 to 1, from which they are said to be.
pub(super) const PROCESSORS_FROM: f64 = 0.85;

/// Share of the elapsed time that log flushes need to be the limit where no wait was recorded.
const FLUSHES_FROM: f64 = 0.6;

/// Share of the elapsed time for which a device must be busy to be the limit where no wait was recorded.
const DEVICE_FROM: f64 = 0.9;

/// Share of a device's bytes that must be the run's own before its utilisation says anything about the run.
const OWN_BYTES_FROM: f64 = 0.5;

/// What the limit, or that there is none, was decided on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Basis {
    /// An open loop whose offered rate was served: the rate is what it took so long for, no limit was reached.
    ServedRate,
    /// Sessions that wait for their client.
    IdleSessions,
    /// What the sessions' active time went to.
    Waits,
    /// A device that reached its measured maximum, where waits name nothing.
    DeviceMaximum,
    /// CPU time and device counters of the run itself, where no wait was recorded.
    Counters,
}

/// The limit of a configuration and its basis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decision {
    /// `None`: no limit was reached, or none is known.
    pub(super) limit: Option<Limit>,
    pub(super) basis: Basis,
}

/// Decides. `ceilings` are the lines of this configuration.
pub(super) fn decide(evidence: &Evidence, parts: &[Part], ceilings: &[&CeilingLine]) -> Decision {
    let decided = |limit, basis| Decision { limit, basis };
    if evidence.offered_rate.is_some_and(|rate| rate.is_served) {
        return decided(None, Basis::ServedRate);
    }
    if evidence.client_idle_share().is_some_and(|idle| idle >= CLIENT_FROM) {
        // Where no CPU is free, a client that is late is waiting for one.
        let is_full = evidence.processors_busy().is_some_and(|share| share >= PROCESSORS_FROM);
        return decided(Some(if is_full { Limit::Cpu } else { Limit::Client }), Basis::IdleSessions);
    }
    let of_waits = parts.first().filter(|part| part.share >= NAMED_FROM && part.limit != Limit::Other);
    if let Some(part) = of_waits {
        return decided(Some(part.limit), Basis::Waits);
    }
    if let Some(line) = ceilings.iter().find(|line| line.is_at_maximum()) {
        return decided(Some(line.device_limit()), Basis::DeviceMaximum);
    }
    if evidence.session_s > 0.0 {
        return decided(None, Basis::Waits);
    }
    decided(by_counters(evidence), Basis::Counters)
}

/// The limit that the run's own CPU time and device counters show, where no wait was recorded. How busy others keep the
/// machine says nothing about the run.
fn by_counters(evidence: &Evidence) -> Option<Limit> {
    if evidence.own_cpu_share().is_some_and(|share| share >= PROCESSORS_FROM) {
        return Some(Limit::Cpu);
    }
    let elapsed_s = evidence.elapsed_mean_s();
    if evidence.mean("log_flush_s").is_some_and(|flush_s| flush_s / elapsed_s >= FLUSHES_FROM) {
        return Some(Limit::Log);
    }
    let (device, share) = evidence.busiest_device()?;
    let is_own = evidence.own_share_of_bytes(&device).is_some_and(|share| share >= OWN_BYTES_FROM);
    (share >= DEVICE_FROM && is_own).then_some(Limit::DataDevice)
}
