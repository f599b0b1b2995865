//! What each gate says of made-up evidence.

#![allow(clippy::unwrap_used)]

use super::*;

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
