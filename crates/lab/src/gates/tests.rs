//! What each gate says of made-up evidence.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use results::histogram::LatencyHistogram;
use results::scripts::{FailureCount, FailureKind, ScriptRecord, StatementRecord};

use super::*;
use crate::client::WorkerUsage;
use crate::own::OwnWorkload;
use crate::work::Work;

fn clean_clients() -> Vec<ClientRecord> {
    (0..2)
        .map(|index| {
            let mut client = ClientRecord::new(index);
            client.start_ns = Some(1_000);
            client.end_ns = Some(2_000_000_000);
            client.rows = 50;
            client.transactions = 5;
            (0..5).for_each(|_| client.service_time.record(1_000_000));
            client
        })
        .collect()
}

fn clean_post_run_state() -> Result<PostRunState, String> {
    Ok(PostRunState {
        rows: Some(100),
        table_pages: Some(100),
        rows_per_page: Some(1),
        payload_bytes: Some(410_000),
        ..PostRunState::default()
    })
}

fn failed(
    change: impl FnOnce(&mut Vec<ClientRecord>, &mut Result<PostRunState, String>, &mut Loose),
) -> Vec<String> {
    failed_within(&Limits::default(), change)
}

fn failed_within(
    limits: &Limits,
    change: impl FnOnce(&mut Vec<ClientRecord>, &mut Result<PostRunState, String>, &mut Loose),
) -> Vec<String> {
    let (mut clients, mut post_run_state) = (clean_clients(), clean_post_run_state());
    let samplers = vec![sampler(4, 4, None)];
    let mut loose = Loose { seen: Some(2), written: 420_000, cpu_ns: 1_000_000, samplers };
    change(&mut clients, &mut post_run_state, &mut loose);
    let work = Work::example();
    let gates = judge(
        &Evidence {
            work: &work,
            clients: &clients,
            workers: &[WorkerUsage { cpu_ns: loose.cpu_ns }],
            clients_seen: loose.seen,
            elapsed_ns: 2_000_000_000,
            post_run_state: &post_run_state,
            written: Some((loose.written, "log_bytes")),
            is_embedded: false,
            samplers: &loose.samplers,
            scripts: &[],
        },
        limits,
    );
    gates.into_iter().filter(|gate| gate.outcome == GateOutcome::Failed).map(|gate| gate.gate).collect()
}

struct Loose {
    seen: Option<u32>,
    written: u64,
    cpu_ns: u64,
    samplers: Vec<SamplerRecord>,
}

fn sampler(samples_taken: u64, samples_expected: u64, problem: Option<&str>) -> SamplerRecord {
    SamplerRecord {
        name: "machine".to_owned(),
        period_ns: 1_000_000_000,
        samples_expected,
        samples_taken,
        cpu_s: 0.0,
        problem: problem.map(str::to_owned),
    }
}

#[test]
fn a_run_with_too_few_samples_does_not_count_unless_the_sampler_took_none() {
    let gate = |samplers: Vec<SamplerRecord>| failed(|_, _, loose| loose.samplers = samplers);
    assert!(gate(vec![sampler(95, 100, None), sampler(2, 3, None)]).is_empty());
    assert_eq!(gate(vec![sampler(94, 100, None)]), ["samples_present"]);
    assert!(gate(vec![sampler(0, 100, Some("permission denied"))]).is_empty());
    let partly = Some("the server ended while it was sampled");
    assert_eq!(gate(vec![sampler(5, 100, partly)]), ["samples_present"]);
    let estimate = |taken| SamplerRecord { period_ns: 10_000_000, ..sampler(taken, 100, None) };
    assert!(gate(vec![estimate(60)]).is_empty());
    assert_eq!(gate(vec![estimate(40)]), ["samples_present"]);
    let none = Limits { samples_present_fraction: 0.0, ..Limits::default() };
    assert!(failed_within(&none, |_, _, loose| loose.samplers = vec![estimate(0)]).is_empty());
    let deed = SamplerRecord { name: manual_checkpoint::SAMPLER.to_owned(), ..sampler(5, 100, None) };
    assert!(gate(vec![deed]).is_empty(), "checkpoints that take long are no missing looks");
}

#[test]
fn samples_that_an_estimate_lost_are_a_caution_when_they_are_no_failure() {
    let fast = |taken| SamplerRecord { period_ns: 10_000_000, ..sampler(taken, 1000, None) };
    let lost = |taken| has_missed_samples(&fast(taken), &Limits::default());
    assert_eq!([lost(950), lost(949), lost(500)], [false, true, true]);
    assert!(failed(|_, _, loose| loose.samplers = vec![fast(500)]).is_empty());
    assert!(!has_missed_samples(&sampler(0, 100, Some("permission denied")), &Limits::default()));
}

#[test]
fn a_clean_run_passes_every_gate() {
    assert!(failed(|_, _, _| {}).is_empty());
}

#[test]
fn a_killed_client_is_named_and_its_neighbour_is_told_apart() {
    let work = Work::example();
    let mut clients = clean_clients();
    clients[1].errors = 1;
    clients[1].error = Some("server closed the connection".to_owned());
    clients[1].end_ns = None;
    clients[0].end_ns = None;
    let post_run_state = clean_post_run_state();
    let evidence = Evidence {
        scripts: &[],
        work: &work,
        clients: &clients,
        workers: &[],
        clients_seen: Some(2),
        elapsed_ns: 1,
        post_run_state: &post_run_state,
        written: None,
        is_embedded: false,
        samplers: &[],
    };
    let finished = all_clients_finished(&evidence);
    assert_eq!(finished.outcome, GateOutcome::Failed);
    assert_eq!(
        finished.found,
        "did not finish: client 1; stopped because the run no longer counts: client 0"
    );
    assert_eq!(no_errors(&evidence).found, "client 1: server closed the connection");
}

#[test]
fn without_an_elapsed_time_no_share_of_a_processor_is_told() {
    let (work, clients, post_run_state) = (Work::example(), clean_clients(), clean_post_run_state());
    let evidence = Evidence {
        scripts: &[],
        work: &work,
        clients: &clients,
        workers: &[WorkerUsage { cpu_ns: 1 }],
        clients_seen: Some(2),
        elapsed_ns: 0,
        post_run_state: &post_run_state,
        written: None,
        is_embedded: false,
        samplers: &[],
    };
    assert_eq!(client_cpu(&evidence, &Limits::default()).outcome, GateOutcome::NotApplicable);
}

#[test]
fn an_error_that_many_clients_meet_is_told_once_and_on_one_line() {
    let mut clients = clean_clients();
    for client in &mut clients {
        client.errors = 1;
        client.error = Some("database or disk is full\nhint: free space".to_owned());
    }
    let (work, post_run_state) = (Work::example(), clean_post_run_state());
    let evidence = Evidence {
        scripts: &[],
        work: &work,
        clients: &clients,
        workers: &[],
        clients_seen: Some(2),
        elapsed_ns: 1,
        post_run_state: &post_run_state,
        written: None,
        is_embedded: false,
        samplers: &[],
    };
    assert_eq!(no_errors(&evidence).found, "client 0, client 1: database or disk is full");
}

#[test]
fn each_broken_promise_fails_its_own_gate() {
    assert_eq!(failed(|clients, _, _| clients[0].start_ns = Some(900_000_000)), ["start_skew"]);
    assert_eq!(failed(|_, _, loose| loose.seen = Some(1)), ["all_clients_seen"]);
    assert_eq!(failed(|_, _, loose| loose.written = 1), ["physical_work"]);
    assert_eq!(failed(|_, _, loose| loose.cpu_ns = 1_900_000_000), ["client_cpu"]);
    assert_eq!(failed(|clients, _, _| clients[0].service_time.record(1)), ["histogram_complete"]);
    assert_eq!(
        failed(|_, post_run_state, _| post_run_state.as_mut().unwrap().table_pages = Some(7)),
        ["pages_as_designed"]
    );
    assert_eq!(
        failed(|_, post_run_state, _| post_run_state.as_mut().unwrap().rows = Some(99)),
        ["rows_match", "pages_as_designed"]
    );
    assert_eq!(
        failed(|_, post_run_state, _| *post_run_state = Err("gone".to_owned())),
        ["engine_answers", "rows_match"]
    );
}

#[test]
fn fewer_records_than_clients_fail_the_run() {
    assert!(failed(|clients, _, _| drop(clients.pop())).contains(&"all_clients_started".to_owned()));
}

fn own_run(scripts: &[ScriptRecord], change: impl FnOnce(&mut OwnWorkload, &mut Limits)) -> Vec<GateResult> {
    let mut clients = clean_clients();
    clients[0].transactions = scripts.iter().map(|script| script.transactions).sum::<u64>() - 5;
    for _ in 5..clients[0].transactions {
        clients[0].service_time.record(1_000_000);
    }
    let (mut own, mut limits) = (OwnWorkload::default(), Limits::default());
    change(&mut own, &mut limits);
    let work = Work {
        own: Some(std::sync::Arc::new(own)),
        amount: Amount::Time(Duration::from_secs(2)),
        ..Work::example()
    };
    judge(
        &Evidence {
            work: &work,
            clients: &clients,
            workers: &[WorkerUsage { cpu_ns: 1_000_000 }],
            clients_seen: Some(2),
            elapsed_ns: 2_000_000_000,
            post_run_state: &Ok(PostRunState::default()),
            written: Some((0, "log_bytes")),
            is_embedded: false,
            samplers: &[sampler(4, 4, None)],
            scripts,
        },
        &limits,
    )
}

fn script(weight: u32, transactions: u64, text: &str) -> ScriptRecord {
    ScriptRecord {
        file: format!("{weight}.sql"),
        weight,
        transactions,
        failures: Vec::new(),
        retried: 0,
        retries: 0,
        latency: LatencyHistogram::new(),
        statements: vec![StatementRecord {
            line: 1,
            text: text.to_owned(),
            executions: transactions,
            failures: Vec::new(),
            first_failure: None,
            latency: LatencyHistogram::new(),
        }],
    }
}

fn failed_of(gates: &[GateResult]) -> Vec<&str> {
    gates.iter().filter(|gate| gate.outcome == GateOutcome::Failed).map(|gate| gate.gate.as_str()).collect()
}

#[test]
fn scripts_that_are_not_executed_in_their_proportions_fail_the_run() {
    let select = "SELECT 1;";
    assert!(failed_of(&own_run(&[script(9, 905, select), script(1, 95, select)], |_, _| {})).is_empty());
    let skewed = own_run(&[script(9, 700, select), script(1, 300, select)], |_, _| {});
    assert_eq!(failed_of(&skewed), ["scripts_in_proportion"]);
    let never = own_run(&[script(1, 700, select), script(0, 3, select)], |_, _| {});
    assert_eq!(failed_of(&never), ["scripts_in_proportion"]);
}

#[test]
fn scripts_that_change_rows_and_write_nothing_fail_the_run() {
    let gates = own_run(&[script(1, 700, "  UPDATE t SET x = 1;")], |_, _| {});
    assert_eq!(failed_of(&gates), ["physical_work"]);
    assert!(failed_of(&own_run(&[script(1, 700, "SELECT 1;")], |_, _| {})).is_empty());
}

#[test]
fn a_statement_that_does_not_do_what_it_is_expected_to_fails_the_run() {
    let mut broken = script(1, 700, "SELECT 1;");
    broken.statements[0].failures = vec![FailureCount { kind: FailureKind::Unexpected, count: 2 }];
    broken.statements[0].first_failure = Some("a.sql:1: expected rows = 1, got 0".to_owned());
    let gates = own_run(&[broken], |_, _| {});
    assert_eq!(failed_of(&gates), ["expectations_hold"]);
    let found = &gates.iter().find(|gate| gate.gate == "expectations_hold").unwrap().found;
    assert!(found.contains("2 of 700 executions: a.sql:1"), "{found}");
}

#[test]
fn the_share_within_the_latency_limit_is_a_gate_where_one_is_asked_for() {
    let run = |limit_us: u64, fraction: f64| {
        let gates = own_run(&[script(1, 700, "SELECT 1;")], |own, limits| {
            own.latency_limit = Some(Duration::from_micros(limit_us));
            limits.within_limit_fraction = fraction;
        });
        failed_of(&gates).contains(&"within_limit")
    };
    assert!(!run(2_000, 0.95) && run(500, 0.95) && !run(500, 0.0));
}

#[test]
fn a_transaction_that_no_script_counted_fails_the_run() {
    let mut lost = vec![script(1, 700, "SELECT 1;")];
    let gates = own_run(&lost, |_, _| {});
    assert!(failed_of(&gates).is_empty());
    lost[0].failures = vec![FailureCount { kind: FailureKind::Deadlock, count: 3 }];
    assert!(failed_of(&own_run(&lost, |_, _| {})).is_empty());
}
