//! Validity gates: the rules that a run must pass before any of its numbers counts.
//!
//! Pure: evidence in, one result per gate out, always all of them and always in the same order. A gate
//! that cannot be tested on this engine says so; it never passes in silence.

use results::model::{ClientRecord, GateOutcome, GateResult};
use results::observations::SamplerRecord;

use crate::engine::PostRunState;
use crate::observe::manual_checkpoint;
use crate::work::{Amount, LoopSide};

mod evidence;
mod scripts;

pub use evidence::{Evidence, Limits};
use evidence::{gate, nobody, not_applicable};

/// Tests every gate.
pub fn judge(evidence: &Evidence<'_>, limits: &Limits) -> Vec<GateResult> {
    [
        all_clients_started(evidence),
        all_clients_seen(evidence),
        all_clients_did_work(evidence),
        all_clients_finished(evidence),
        no_errors(evidence),
        engine_answers(evidence),
        rows_match(evidence),
        pages_as_designed(evidence),
        physical_work(evidence),
        start_skew(evidence, limits),
        client_cpu(evidence, limits),
        histogram_complete(evidence),
        samples_present(evidence, limits),
    ]
    .into_iter()
    .chain(scripts::judge(evidence, limits))
    .collect()
}

/// Did every gate pass, or not apply?
pub fn all_passed(gates: &[GateResult]) -> bool {
    gates.iter().all(|gate| gate.outcome != GateOutcome::Failed)
}

fn all_clients_started(evidence: &Evidence<'_>) -> GateResult {
    let missing = clients_where(evidence, |client| client.start_ns.is_none());
    let expected = format!("{} clients pass the barrier", evidence.work.connections);
    let records = evidence.clients.len();
    if records < evidence.work.connections as usize {
        return gate("all_clients_started", false, expected, format!("only {records} left a record"));
    }
    nobody("all_clients_started", expected, &prefixed("did not start", missing))
}

fn all_clients_seen(evidence: &Evidence<'_>) -> GateResult {
    let expected = format!("the engine sees {} clients", evidence.work.connections);
    match evidence.clients_seen {
        None => not_applicable("all_clients_seen", expected, "the engine does not list its clients"),
        Some(seen) => {
            gate("all_clients_seen", seen == evidence.work.connections, expected, format!("it sees {seen}"))
        }
    }
}

fn all_clients_did_work(evidence: &Evidence<'_>) -> GateResult {
    let idle = clients_where(evidence, |client| client.transactions == 0);
    let expected = "every client commits at least once".to_owned();
    nobody("all_clients_did_work", expected, &prefixed("did not commit", idle))
}

fn all_clients_finished(evidence: &Evidence<'_>) -> GateResult {
    let failed = clients_where(evidence, |client| client.end_ns.is_none() && client.errors > 0);
    let stopped = clients_where(evidence, |client| client.end_ns.is_none() && client.errors == 0);
    let mut offenders = prefixed("did not finish", failed);
    offenders.extend(prefixed("stopped because the run no longer counts", stopped));
    nobody(
        "all_clients_finished",
        format!("{} clients finish their share", evidence.work.connections),
        &offenders,
    )
}

fn no_errors(evidence: &Evidence<'_>) -> GateResult {
    // Many clients often meet the same error: it is errors once. Hints stay in the record of the client.
    let mut errors: Vec<(&str, Vec<String>)> = Vec::new();
    for client in evidence.clients.iter().filter(|client| client.errors > 0) {
        let text = client.error.as_deref().and_then(|error| error.lines().next());
        let (text, name) = (text.unwrap_or("error without text"), format!("client {}", client.client_index));
        match errors.iter_mut().find(|(known, _)| *known == text) {
            Some((_, names)) => names.push(name),
            None => errors.push((text, vec![name])),
        }
    }
    let errors: Vec<String> =
        errors.into_iter().map(|(text, names)| format!("{}: {text}", names.join(", "))).collect();
    nobody("no_errors", "no client meets an error".to_owned(), &errors)
}

fn engine_answers(evidence: &Evidence<'_>) -> GateResult {
    let silence: Vec<String> = evidence.post_run_state.as_ref().err().cloned().into_iter().collect();
    nobody("engine_answers", "the engine answers after the run".to_owned(), &silence)
}

fn rows_match(evidence: &Evidence<'_>) -> GateResult {
    if evidence.work.own.is_some() {
        return scripts::transactions_accounted(evidence);
    }
    let acknowledged: u64 = evidence.clients.iter().map(|client| client.rows + client.warm_up_rows).sum();
    let measured: u64 = evidence.clients.iter().map(|client| client.rows).sum();
    let expected = match evidence.work.amount {
        Amount::Rows(rows) => {
            format!("{rows} rows acknowledged, the same number in the table (with warm-up)")
        }
        Amount::Time(_) => format!("{acknowledged} rows in the table"),
    };
    let asked = match evidence.work.amount {
        Amount::Rows(rows) => rows,
        Amount::Time(_) => measured,
    };
    match evidence.post_run_state {
        Err(_) => gate("rows_match", false, expected, "the engine does not answer".to_owned()),
        Ok(PostRunState { rows: None, .. }) => {
            if measured == asked {
                not_applicable("rows_match", expected, "the workload leaves no rows to count")
            } else {
                gate("rows_match", false, expected, format!("{measured} acknowledged"))
            }
        }
        Ok(PostRunState { rows: Some(rows), .. }) => gate(
            "rows_match",
            *rows == acknowledged && measured == asked,
            expected,
            format!("{measured} acknowledged in the run, {acknowledged} with warm-up, {rows} in the table"),
        ),
    }
}

fn pages_as_designed(evidence: &Evidence<'_>) -> GateResult {
    let name = "pages_as_designed";
    match evidence.post_run_state {
        Ok(PostRunState {
            rows: Some(rows),
            table_pages: Some(pages),
            rows_per_page: Some(per_page),
            ..
        }) => {
            let expected = rows.div_ceil(*per_page);
            gate(
                name,
                *pages == expected,
                format!("{expected} pages for {rows} rows ({per_page} per page)"),
                format!("{pages} pages"),
            )
        }
        _ => not_applicable(
            name,
            "rows per page as the workload is designed".to_owned(),
            "this workload or engine has no fixed number of pages",
        ),
    }
}

fn physical_work(evidence: &Evidence<'_>) -> GateResult {
    let name = "physical_work";
    if evidence.work.own.is_some() {
        return scripts::physical_work(evidence);
    }
    let rows_all: u64 = evidence.clients.iter().map(|client| client.rows + client.warm_up_rows).sum();
    let rows: u64 = evidence.clients.iter().map(|client| client.rows).sum();
    let payload = match evidence.post_run_state {
        Ok(PostRunState { payload_bytes: Some(bytes), .. }) if rows_all > 0 => {
            (u128::from(*bytes) * u128::from(rows) / u128::from(rows_all)) as u64
        }
        _ => 0,
    };
    let expected = format!("at least {payload} bytes written: the payload of the rows");
    if payload == 0 {
        return not_applicable(name, expected, "the workload writes no rows");
    }
    match evidence.written {
        None => not_applicable(name, expected, "the engine does not report what it wrote"),
        Some((bytes, source)) => gate(name, bytes >= payload, expected, format!("{bytes} bytes ({source})")),
    }
}

fn start_skew(evidence: &Evidence<'_>, limits: &Limits) -> GateResult {
    let starts = || evidence.clients.iter().filter_map(|client| client.start_ns);
    let skew_ns = starts().max().unwrap_or(0) - starts().min().unwrap_or(0);
    let allowed_ns = (limits.start_skew_fraction * evidence.elapsed_ns as f64)
        .max(limits.start_skew_floor.as_nanos() as f64);
    gate(
        "start_skew",
        skew_ns as f64 <= allowed_ns,
        format!("all clients start within {:.1} ms", allowed_ns / 1e6),
        format!("{:.1} ms between the first and the last", skew_ns as f64 / 1e6),
    )
}

fn client_cpu(evidence: &Evidence<'_>, limits: &Limits) -> GateResult {
    let name = "client_cpu";
    let expected =
        format!("no client thread uses more than {:.0} % of a core", 100.0 * limits.client_cpu_fraction);
    if evidence.is_embedded {
        return not_applicable(name, expected, "the engine runs on the clients' threads");
    }
    if evidence.elapsed_ns == 0 {
        return not_applicable(
            name,
            expected,
            "no client finished: there is no elapsed time to compare with",
        );
    }
    let share = evidence
        .workers
        .iter()
        .map(|worker| worker.cpu_ns as f64 / evidence.elapsed_ns as f64)
        .fold(0.0, f64::max);
    gate(
        name,
        share <= limits.client_cpu_fraction,
        expected,
        format!("{:.0} % in the busiest", 100.0 * share),
    )
}

fn histogram_complete(evidence: &Evidence<'_>) -> GateResult {
    let name = "histogram_complete";
    let expected = "every transaction has its latency in the histogram".to_owned();
    if evidence.work.loop_side == LoopSide::Server {
        return not_applicable(name, expected, "the loop runs on the server: no latency per transaction");
    }
    let lost = clients_where(evidence, |client| client.service_time.count() != client.transactions);
    nobody(name, expected, &prefixed("some latencies are missing", lost))
}

fn clients_where(evidence: &Evidence<'_>, is_meant: impl Fn(&ClientRecord) -> bool) -> Vec<String> {
    evidence
        .clients
        .iter()
        .filter(|client| is_meant(client))
        .map(|client| format!("client {}", client.client_index))
        .collect()
}

/// Says once what all of these did or did not do; nothing when there are none.
fn prefixed(what: &str, names: Vec<String>) -> Vec<String> {
    if names.is_empty() { Vec::new() } else { vec![format!("{what}: {}", names.join(", "))] }
}

/// Looks more frequent than this are samples of an estimate, not a series: each stands for the time that it really
/// covers, so that fewer of them make the estimate coarser, not wrong.
const SERIES_PERIOD_NS_MIN: u64 = 500_000_000;
/// Smallest share of the samples of an estimate, unless a study asks for less of all samplers.
const ESTIMATE_FRACTION: f64 = 0.5;

/// Were the counters sampled every second? One sample may always be missing, since short runs have few. A sampler that
/// is not able to take any sample is named, and no reason to throw the run away.
fn samples_present(evidence: &Evidence<'_>, limits: &Limits) -> GateResult {
    let (series_fraction, estimate_fraction) =
        (limits.samples_present_fraction, limits.samples_present_fraction.min(ESTIMATE_FRACTION));
    let expected = format!(
        "{:.0} % of the samples of each series, or all but one, and {:.0} % of those of an estimate",
        100.0 * series_fraction,
        100.0 * estimate_fraction
    );
    let able: Vec<&SamplerRecord> = evidence.samplers.iter().filter(|sampler| is_able(sampler)).collect();
    if able.is_empty() {
        return not_applicable("samples_present", expected, "no sampler took a sample");
    }
    let wanted_fraction = |sampler: &SamplerRecord| {
        let is_series = sampler.period_ns >= SERIES_PERIOD_NS_MIN;
        if is_series { series_fraction } else { estimate_fraction }
    };
    let short: Vec<String> = able
        .iter()
        .filter(|sampler| is_short(sampler, wanted_fraction(sampler)))
        .map(|sampler| format!("{}: {} of {}", sampler.name, sampler.samples_taken, sampler.samples_expected))
        .collect();
    nobody("samples_present", expected, &short)
}

/// Did a sampler that was able to sample have too small a share of its samples to be as sure as it would be? What the gate
/// lets pass of an estimate is a caution all the same.
pub fn has_missed_samples(sampler: &SamplerRecord, limits: &Limits) -> bool {
    is_able(sampler) && is_short(sampler, limits.samples_present_fraction)
}

fn is_able(sampler: &SamplerRecord) -> bool {
    // The run's own checkpoints are work, not samples: a slow one leaves out those that were due meanwhile.
    let is_look = sampler.name != manual_checkpoint::SAMPLER;
    is_look && (sampler.problem.is_none() || sampler.samples_taken > 0)
}

fn is_short(sampler: &SamplerRecord, wanted_fraction: f64) -> bool {
    let missing = sampler.samples_expected.saturating_sub(sampler.samples_taken);
    missing > 1 && (sampler.samples_taken as f64) < wanted_fraction * sampler.samples_expected as f64
}

#[cfg(test)]
mod tests;
