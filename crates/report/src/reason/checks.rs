//! Counters that agree or disagree with a limit, each with its figures.

use crate::catalogue::Limit;

use super::evidence::Evidence;

/// Share of the elapsed time from which log flushes agree that the log is the limit.
const FLUSHES_FROM: f64 = 0.4;

/// Share of the elapsed time from which a device agrees that it is the limit.
const DEVICE_FROM: f64 = 0.7;

/// Share of all processors from which they are said to be busy.
pub(super) const PROCESSORS_FROM: f64 = 0.85;

/// One counter's word.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Check {
    pub(super) agrees: bool,
    pub(super) text: String,
}

fn check(agrees: bool, text: String) -> Check {
    Check { agrees, text }
}

/// All counters that have something to say about a limit.
pub(super) fn checks(evidence: &Evidence, limit: Limit) -> Vec<Check> {
    let mut checks = Vec::new();
    match limit {
        Limit::Log => {
            checks.extend(flushes(evidence));
            checks.extend(device(evidence, FLUSHES_FROM));
            checks.extend(processors_are_free(evidence));
        }
        Limit::DataDevice => {
            checks.extend(device(evidence, DEVICE_FROM));
            checks.extend(device_time(evidence));
            checks.extend(processors_are_free(evidence));
        }
        Limit::Cpu => checks.extend(processors_are_busy(evidence)),
        Limit::Page | Limit::Space | Limit::Lock => {
            checks.extend(lock_counters(evidence));
            checks.extend(processors_are_free(evidence));
            checks.extend(one_connection(evidence));
        }
        Limit::Client => checks.extend(client(evidence)),
        Limit::Other => {}
    }
    checks
}

/// The limit that counters alone suggest, where no wait was recorded.
pub(super) fn from_counters(evidence: &Evidence) -> Option<Limit> {
    if evidence.processors_busy().is_some_and(|share| share >= PROCESSORS_FROM) {
        return Some(Limit::Cpu);
    }
    let flush_share = evidence.mean("log_flush_s").map(|seconds| seconds / evidence.elapsed_mean_s());
    if flush_share.is_some_and(|share| share >= 0.6) {
        return Some(Limit::Log);
    }
    let is_busy = evidence.busiest_device().is_some_and(|(_, share)| share >= 0.9);
    (is_busy && flush_share.is_some()).then_some(Limit::DataDevice)
}

/// Flush latency times flushes against the elapsed time.
fn flushes(evidence: &Evidence) -> Option<Check> {
    let count = evidence.mean("log_flushes").filter(|count| *count > 0.0)?;
    let elapsed_s = evidence.elapsed_mean_s();
    if let Some(flush_s) = evidence.mean("log_flush_s").filter(|seconds| *seconds > 0.0) {
        let share = flush_s / elapsed_s;
        let text = format!(
            "{count:.0} log flushes of {:.3} ms took {flush_s:.3} s of {elapsed_s:.3} s elapsed ({:.1} %)",
            1e3 * flush_s / count,
            100.0 * share
        );
        return Some(check(share >= FLUSHES_FROM, text));
    }
    let latency_s = evidence.mean("sync_latency_s")?;
    let share = count * latency_s / elapsed_s;
    let text = format!(
        "{count:.0} log flushes at the {:.3} ms tried before the run are {:.3} s of {elapsed_s:.3} s elapsed ({:.1} %)",
        1e3 * latency_s,
        count * latency_s,
        100.0 * share
    );
    Some(check(share >= FLUSHES_FROM, text))
}

fn device(evidence: &Evidence, from: f64) -> Option<Check> {
    let (device, share) = evidence.busiest_device()?;
    let text = format!("device {device} was busy for {:.1} % of the time", 100.0 * share);
    Some(check(share >= from, text))
}

/// How long the requests of the busiest device took; whether that is long only its ceiling could tell, so it agrees or
/// disagrees with the utilisation.
fn device_time(evidence: &Evidence) -> Option<Check> {
    let (device, share) = evidence.busiest_device()?;
    let per = |time: &str, count: &str| {
        let count = evidence.mean(&format!("{count}.{device}")).filter(|count| *count > 0.0)?;
        Some((count, 1e3 * evidence.mean(&format!("{time}.{device}"))? / count))
    };
    let (reads, writes) = (per("device_read_s", "device_reads"), per("device_write_s", "device_writes"));
    let said: Vec<String> = [("reads", reads), ("writes", writes)]
        .into_iter()
        .filter_map(|(word, figures)| {
            let (count, each_ms) = figures?;
            Some(format!("{count:.0} {word} of {each_ms:.3} ms"))
        })
        .collect();
    (!said.is_empty()).then(|| check(share >= DEVICE_FROM, format!("it did {}", said.join(" and "))))
}

fn processors_are_free(evidence: &Evidence) -> Option<Check> {
    let share = evidence.processors_busy()?;
    let is_free = share < PROCESSORS_FROM;
    let others = if is_free { String::new() } else { of_others(evidence) };
    Some(check(is_free, format!("the processors were busy for {:.1} %{others}", 100.0 * share)))
}

/// A noisy neighbour is no reason of the configuration's own.
fn of_others(evidence: &Evidence) -> String {
    let others = evidence.processors_of_others();
    others.map_or(String::new(), |others| format!(", {others:.2} of them with work of others"))
}

fn processors_are_busy(evidence: &Evidence) -> Option<Check> {
    let share = evidence.processors_busy()?;
    let count = evidence.processor_count.unwrap_or(0);
    let mut text = format!("{count} processors were busy for {:.1} %", 100.0 * share);
    text.push_str(&of_others(evidence));
    // Fewer sessions than processors cannot keep them all busy, and are limited by one processor's speed all the same.
    let is_few = evidence.connections < count;
    if is_few {
        text.push_str(&format!(", and {} connection(s) can use no more than as many", evidence.connections));
    }
    Some(check(share >= PROCESSORS_FROM || is_few, text))
}

fn lock_counters(evidence: &Evidence) -> Vec<Check> {
    let mut checks = Vec::new();
    if let (Some(count), Some(seconds)) = (evidence.mean("busy_waits"), evidence.mean("busy_wait_s"))
        && count > 0.0
    {
        let per_connection_s = seconds / evidence.connections.max(1) as f64;
        let share = per_connection_s / evidence.elapsed_mean_s();
        let text = format!(
            "{count:.0} sleeps before another try took {per_connection_s:.3} s of {:.3} s for each connection ({:.1} %)",
            evidence.elapsed_mean_s(),
            100.0 * share
        );
        checks.push(check(share >= 0.3, text));
    }
    if let Some(retries) = evidence.mean("retries").filter(|retries| *retries > 0.0) {
        checks.push(check(true, format!("{retries:.0} transactions were tried again")));
    }
    checks
}

fn one_connection(evidence: &Evidence) -> Option<Check> {
    (evidence.connections == 1)
        .then(|| check(false, "1 connection has nobody of this run to wait for".to_owned()))
}

fn client(evidence: &Evidence) -> Option<Check> {
    let elapsed_s = evidence.elapsed_mean_s();
    let cpus = evidence.mean("client_cpu_s")? / elapsed_s;
    let share = evidence.processors_busy();
    let busy =
        share.map_or(String::new(), |share| format!("; all processors were busy for {:.1} %", 100.0 * share));
    // A client that needs no processor makes its session wait by distance or by a rate, which no counter here shows.
    Some(check(cpus >= 0.5, format!("the clients' threads used {cpus:.2} processors{busy}")))
}
