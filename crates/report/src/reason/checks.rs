//! Counters that agree or disagree with a limit, each with its figures.

use results::observations::Limit;

use super::decision::PROCESSORS_FROM;
use super::evidence::Evidence;

/// Share of the elapsed time from which log flushes agree that the log is the limit.
const FLUSHES_FROM: f64 = 0.4;

/// Share of the elapsed time from which a device agrees that it is the limit.
const DEVICE_FROM: f64 = 0.7;

/// Time in front of a processor, in percent of the active time, that is worth a word where waits may hide it.
const DELAY_FROM_PERCENT: f64 = 10.0;

/// Up to here a share above 1 is what clocks that are read one after the other differ by.
const MEASURING_ERROR_MAX: f64 = 1.02;

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
            checks.extend(delay_inside_waits(evidence));
        }
        Limit::DataDevice => {
            checks.extend(device(evidence, DEVICE_FROM));
            checks.extend(device_time(evidence));
            checks.extend(processors_are_free(evidence));
            checks.extend(delay_inside_waits(evidence));
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

/// Flush latency times flushes against the elapsed time.
fn flushes(evidence: &Evidence) -> Option<Check> {
    let count = evidence.mean("log_flushes").filter(|count| *count > 0.0)?;
    let elapsed_s = evidence.elapsed_mean_s();
    let flushes = counted(count, "log flush", "log flushes");
    if let Some(flush_s) = evidence.mean("log_flush_s").filter(|seconds| *seconds > 0.0) {
        let share = flush_s / elapsed_s;
        let text = format!(
            "{flushes} of {:.3} ms took {flush_s:.3} s of {elapsed_s:.3} s elapsed ({})",
            1e3 * flush_s / count,
            of_elapsed(share)
        );
        return Some(check(share >= FLUSHES_FROM, text));
    }
    let latency_s = evidence.mean("sync_latency_s")?;
    let share = count * latency_s / elapsed_s;
    let text = format!(
        "{flushes} at {:.3} ms, measured before the run, would take {:.3} s of {elapsed_s:.3} s elapsed ({})",
        1e3 * latency_s,
        count * latency_s,
        of_elapsed(share)
    );
    Some(check(share >= FLUSHES_FROM, text))
}

/// A share of the elapsed time. Above all of it several were under way at once, and a percentage would only puzzle.
pub(super) fn of_elapsed(share: f64) -> String {
    if share <= MEASURING_ERROR_MAX {
        format!("{:.1} %", 100.0 * share.min(1.0))
    } else {
        format!("{share:.2} times the elapsed time: several at once")
    }
}

/// `1 flush`, `2.5 flushes`, `1200 flushes`: a mean over runs need not be whole.
pub(super) fn counted(count: f64, one: &str, many: &str) -> String {
    let is_whole = (count - count.round()).abs() < 0.05 || count >= 10.0;
    let figure = if is_whole { format!("{count:.0}") } else { format!("{count:.1}") };
    format!("{figure} {}", if figure == "1" { one } else { many })
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
            Some(format!("{} of {each_ms:.3} ms", counted(count, word.trim_end_matches('s'), word)))
        })
        .collect();
    (!said.is_empty()).then(|| check(share >= DEVICE_FROM, format!("it did {}", said.join(" and "))))
}

fn processors_are_free(evidence: &Evidence) -> Option<Check> {
    let share = evidence.processors_busy()?;
    Some(check(share < PROCESSORS_FROM, processors(evidence, share)))
}

/// `2 CPUs were busy for 95.0 % of the time, 1.20 of them with other processes`.
fn processors(evidence: &Evidence, share: f64) -> String {
    let count = evidence.processor_count.unwrap_or(0);
    let subject = if count == 1 { "1 CPU was".to_owned() } else { format!("{count} CPUs were") };
    let mut text = format!("{subject} busy for {:.1} % of the time", 100.0 * share);
    // A noisy neighbour is no reason of the configuration's own; one that leaves room needs no word.
    if share >= PROCESSORS_FROM
        && let Some(others) = evidence.processors_of_others()
    {
        text.push_str(&format!(", {others:.2} of them with other processes"));
    }
    text
}

fn processors_are_busy(evidence: &Evidence) -> Option<Check> {
    let share = evidence.processors_busy()?;
    let mut text = processors(evidence, share);
    let count = evidence.processor_count.unwrap_or(0);
    // Fewer sessions than processors cannot keep them all busy, and are limited by one processor's speed all the same.
    let is_few = evidence.connections < count;
    if is_few {
        let connections = counted(evidence.connections as f64, "connection", "connections");
        let cpus = counted(evidence.connections as f64, "CPU", "CPUs");
        text.push_str(&format!(", and {connections} can use at most {cpus}"));
    }
    Some(check(share >= PROCESSORS_FROM || is_few, text))
}

/// Where waits are not split, sessions that were ready again before they got a processor count as waiting.
fn delay_inside_waits(evidence: &Evidence) -> Option<Check> {
    let (delay_s, percent) = evidence.delay_inside_waits()?;
    (percent >= DELAY_FROM_PERCENT).then(|| {
        let text = format!(
            "sessions were runnable without a CPU for {delay_s:.3} s ({percent:.1} % of their active time), partly inside these waits"
        );
        check(false, text)
    })
}

fn lock_counters(evidence: &Evidence) -> Vec<Check> {
    let mut checks = Vec::new();
    if let (Some(count), Some(seconds)) = (evidence.mean("busy_waits"), evidence.mean("busy_wait_s"))
        && count > 0.0
    {
        let elapsed_s = evidence.connections.max(1) as f64 * evidence.elapsed_mean_s();
        // Clients that were done early do not sleep for the rest of the run.
        let session_s = Some(evidence.session_mean_s()).filter(|seconds| *seconds > 0.0).unwrap_or(elapsed_s);
        let share = (seconds / session_s).min(1.0);
        let text = format!(
            "{} before another try took {seconds:.3} s of {session_s:.3} s that connections were at work ({:.1} %)",
            counted(count, "sleep", "sleeps"),
            100.0 * share
        );
        checks.push(check(share >= 0.3, text));
    }
    if let Some(retries) = evidence.mean("retries").filter(|retries| *retries > 0.0) {
        let word = counted(retries, "transaction was", "transactions were");
        checks.push(check(true, format!("{word} tried again")));
    }
    checks
}

fn one_connection(evidence: &Evidence) -> Option<Check> {
    (evidence.connections == 1)
        .then(|| check(false, "1 connection has no other session of this run to wait for".to_owned()))
}

fn client(evidence: &Evidence) -> Option<Check> {
    let elapsed_s = evidence.elapsed_mean_s();
    let cpus = evidence.mean("client_cpu_s")? / elapsed_s;
    let busy = evidence.processors_busy();
    let busy = busy.map_or(String::new(), |share| format!("; {}", processors(evidence, share)));
    // A client that needs no processor makes its session wait by distance or by a rate, which no counter here shows.
    Some(check(cpus >= 0.5, format!("the clients' threads used {cpus:.2} CPUs{busy}")))
}
