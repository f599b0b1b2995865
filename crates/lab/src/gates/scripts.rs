//! Gates of a workload of the user's own.

use results::model::GateResult;
use results::scripts::{FailureKind, ScriptRecord};

use super::evidence::{Evidence, Limits, gate, nobody, not_applicable};
use crate::work::Amount;

/// Smallest probability of the scripts' shares under their weights that is still taken for chance.
const P_MIN: f64 = 1e-6;
/// Smallest number of executions of a script that is expected, for the test of the shares to hold.
// EVIDENCE: Cochran 1954: the chi-squared approximation wants expected counts of at least 5
const EXPECTED_MIN: f64 = 5.0;

/// The gates that other workloads do not have; none for them.
pub(super) fn judge(evidence: &Evidence<'_>, limits: &Limits) -> Vec<GateResult> {
    if evidence.work.own.is_none() {
        return Vec::new();
    }
    vec![scripts_in_proportion(evidence), expectations_hold(evidence), within_limit(evidence, limits)]
}

/// Did every transaction that was asked for end, committed or counted as failed or skipped?
pub(super) fn transactions_accounted(evidence: &Evidence<'_>) -> GateResult {
    let name = "rows_match";
    let committed: u64 = evidence.clients.iter().map(|client| client.transactions).sum();
    let skipped: u64 = evidence.clients.iter().map(|client| client.arrivals_unserved).sum();
    let failed: u64 = evidence.scripts.iter().map(ScriptRecord::failed).sum();
    let of_scripts: u64 = evidence.scripts.iter().map(|script| script.transactions).sum();
    let found = format!("{committed} committed, {failed} failed, {skipped} skipped");
    let (asked, expected) = match evidence.work.amount {
        Amount::Rows(asked) => (asked, format!("{asked} transactions, each committed, failed or skipped")),
        Amount::Time(_) => {
            (committed + failed + skipped, "every transaction is counted for its script".to_owned())
        }
    };
    let is_all = committed + failed + skipped == asked && of_scripts == committed;
    gate(name, is_all, expected, found)
}

/// Did the work reach the engine? What was committed has to show in what it wrote, where the engine tells what it wrote
/// and the scripts write; scripts that only read write nothing.
pub(super) fn physical_work(evidence: &Evidence<'_>) -> GateResult {
    let name = "physical_work";
    let expected = "scripts that change rows write log".to_owned();
    let changes = evidence.scripts.iter().any(|script| {
        script.transactions > 0
            && script.statements.iter().any(|statement| statement.executions > 0 && writes(&statement.text))
    });
    match evidence.written {
        _ if !changes => not_applicable(name, expected, "no statement changes rows"),
        None => not_applicable(name, expected, "the engine does not report what it wrote"),
        Some((bytes, source)) => gate(name, bytes > 0, expected, format!("{bytes} bytes ({source})")),
    }
}

/// Does a statement begin with a word of one that changes rows? WITH and EXPLAIN ANALYZE may, and are not counted.
fn writes(text: &str) -> bool {
    let word: String = text.trim_start().chars().take_while(char::is_ascii_alphabetic).collect();
    ["insert", "update", "delete", "merge", "replace"].contains(&word.to_ascii_lowercase().as_str())
}

/// Were the scripts chosen in the proportions of their weights?
fn scripts_in_proportion(evidence: &Evidence<'_>) -> GateResult {
    let name = "scripts_in_proportion";
    let expected =
        format!("shares of the scripts follow their weights (chi-squared, p of at least {P_MIN:e})");
    let scripts: Vec<(f64, f64)> = evidence
        .scripts
        .iter()
        .map(|script| ((script.transactions + script.failed()) as f64, f64::from(script.weight)))
        .collect();
    let (all, weights) =
        scripts.iter().fold((0.0, 0.0), |(all, weights), (count, weight)| (all + count, weights + weight));
    let weighted: Vec<(f64, f64)> =
        scripts.into_iter().filter(|(count, weight)| *weight > 0.0 || *count > 0.0).collect();
    if weighted.len() < 2 {
        return not_applicable(name, expected, "one script is executed");
    }
    if let Some((count, _)) = weighted.iter().find(|(_, weight)| *weight == 0.0) {
        return gate(name, false, expected, format!("a script of weight 0 was executed {count} times"));
    }
    let smallest = weighted.iter().map(|(_, weight)| all * weight / weights).fold(f64::INFINITY, f64::min);
    if smallest < EXPECTED_MIN {
        return not_applicable(name, expected, "too few transactions for the smallest weight");
    }
    let statistic: f64 = weighted
        .iter()
        .map(|(count, weight)| {
            let wanted = all * weight / weights;
            (count - wanted).powi(2) / wanted
        })
        .sum();
    let p = stats::proportions::chi_squared_p(statistic, weighted.len() - 1);
    let shares: Vec<String> = evidence
        .scripts
        .iter()
        .map(|script| {
            let share = 100.0 * (script.transactions + script.failed()) as f64 / all;
            format!("{} {share:.1} % (weight {})", script.file, script.weight)
        })
        .collect();
    gate(name, p >= P_MIN, expected, format!("{}; p {p:.2e}", shares.join(", ")))
}

/// Did every statement do what its `-- expect:` clause says?
fn expectations_hold(evidence: &Evidence<'_>) -> GateResult {
    let name = "expectations_hold";
    let mut broken = Vec::new();
    for script in evidence.scripts {
        for statement in &script.statements {
            let failure = statement.failures.iter().find(|failure| failure.kind == FailureKind::Unexpected);
            if let Some(failure) = failure {
                let first = statement.first_failure.as_deref().unwrap_or_default();
                broken.push(format!("{} of {} executions: {first}", failure.count, statement.executions));
            }
        }
    }
    nobody(name, "every statement does what its expect clause says".to_owned(), &broken)
}

/// Did enough transactions end within the latency limit?
fn within_limit(evidence: &Evidence<'_>, limits: &Limits) -> GateResult {
    let name = "within_limit";
    let limit = evidence.work.own.as_ref().and_then(|own| own.latency_limit);
    let expected = format!(
        "{:.1} % of the transactions end within the latency limit",
        100.0 * limits.within_limit_fraction
    );
    let Some(limit) = limit else { return not_applicable(name, expected, "there is no latency limit") };
    if limits.within_limit_fraction <= 0.0 {
        return not_applicable(name, expected, "no share is asked for");
    }
    let limit_ns = limit.as_nanos() as u64;
    let within: u64 = evidence
        .clients
        .iter()
        .map(|client| client.response_time.as_ref().unwrap_or(&client.service_time).count_up_to(limit_ns))
        .sum();
    let all: u64 =
        evidence.clients.iter().map(|client| client.transactions + client.arrivals_unserved).sum::<u64>()
            + evidence.scripts.iter().map(ScriptRecord::failed).sum::<u64>();
    let share = if all > 0 { within as f64 / all as f64 } else { 0.0 };
    let found = format!("{:.2} % within {:.3} ms", 100.0 * share, limit_ns as f64 / 1e6);
    gate(name, share >= limits.within_limit_fraction, expected, found)
}
