//! What the store keeps and gives back.

#![allow(clippy::unwrap_used)]

use std::fs;

use tempfile::TempDir;

use super::*;
use crate::model::{
    ClientRecord, Design, Environment, Event, Expectation, Factor, GateOutcome, GateResult, Level, Metric,
    Run, Scale, Setting, StudyKey, Warning,
};
use crate::observations::{
    How, Observations, SamplerRecord, Series, SeriesKind, WaitProfile, WaitRow, WaitingTask,
};

mod files;

const BEGUN_AT: &str = "2026-11-20T10:00:00Z";

pub(super) fn study(key: &str) -> Study {
    Study {
        key: StudyKey(key.to_owned()),
        experiment: "populate-batch".to_owned(),
        title: "Rows per transaction".to_owned(),
        question: "What does a larger batch save?".to_owned(),
        scale: Scale::Miniature,
        engine: "sqlite".to_owned(),
        spec_toml: "id = \"populate-batch\"\n".to_owned(),
        seed: u64::MAX,
        factors: vec![Factor {
            name: "batch_size".to_owned(),
            levels: vec![Level::Integer(1), Level::Float(0.1)],
        }],
        fixed: vec![
            ("durable".to_owned(), Level::Boolean(true)),
            ("key".to_owned(), Level::Text("random".into())),
        ],
        repetitions: 3,
        expectations: vec![Expectation {
            claim: "larger is faster".to_owned(),
            check: None,
            scope: Some(Scale::Full),
            valid_for: None,
            requires: Some("durable_commit".to_owned()),
        }],
        design: Design::default(),
        imported: None,
        created_at: BEGUN_AT.to_owned(),
        fathom_version: "0.1.0".to_owned(),
    }
}

/// Makes a results file as an earlier version had it.
pub(super) fn file_of_version(directory: &Path, version: i64) -> Store {
    let path = directory.join(RESULTS_FILE);
    let connection = Connection::open(&path).unwrap();
    connection.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
    open::MIGRATIONS[..version as usize].iter().for_each(|sql| connection.execute_batch(sql).unwrap());
    connection.pragma_update(None, "user_version", version).unwrap();
    Store { connection, path, redaction: None, _lock: None }
}

pub(super) fn cells() -> Vec<Cell> {
    let cell = |index, level| Cell { index, levels: vec![("batch_size".to_owned(), level)] };
    vec![cell(0, Level::Integer(1)), cell(1, Level::Float(0.1))]
}

pub(super) fn key(block_index: u32, cell_index: u32, attempt: u32) -> RunKey {
    RunKey { block_index, cell_index, attempt }
}

fn client(client_index: u32) -> ClientRecord {
    let mut client = ClientRecord::new(client_index);
    client.start_ns = Some(1_000);
    client.end_ns = Some(2_000_000_000 + u64::from(client_index));
    client.rows = 500;
    client.transactions = 50;
    client.warm_up_rows = 10;
    client.retries = 2;
    client.arrivals_unserved = 3;
    for latency in 1..=50_u64 {
        client.service_time.record(latency * 100_000);
    }
    client
}

pub(super) fn run(key: RunKey, state: RunState) -> Run {
    let mut open_loop = client(1);
    open_loop.response_time = Some(open_loop.service_time.clone());
    open_loop.errors = 1;
    open_loop.error = Some("disk\u{0}I/O error \u{1b}[31m".to_owned());
    let outcome = if state == RunState::Valid { GateOutcome::Passed } else { GateOutcome::Failed };
    Run {
        key,
        position: key.block_index,
        started_at: "2026-11-20T10:00:01Z".to_owned(),
        state,
        elapsed_ns: 2_000_000_001,
        clients: vec![client(0), open_loop],
        metrics: vec![Metric::new("log_bytes", 0.1 + 0.2, "bytes", "shim")],
        gates: vec![GateResult {
            gate: "all_clients_finished".to_owned(),
            outcome,
            expected: "2 clients".to_owned(),
            found: "client 1 did not finish".to_owned(),
        }],
        warnings: vec![Warning {
            code: "roles_share_device".to_owned(),
            text: "data and log share vda".to_owned(),
        }],
        events: vec![Event { at_ns: -5, kind: "warm_up_end".to_owned(), text: String::new() }],
        settings: vec![Setting {
            name: "synchronous".to_owned(),
            value: "FULL".to_owned(),
            source: "pragma".to_owned(),
        }],
        observations: observations(),
        scripts: Vec::new(),
        environment: Environment {
            machine: serde_json::json!({"cpu": "made up", "memory_bytes": 1}),
            layout: serde_json::json!([{"role": "data 1"}]),
            engine: serde_json::json!({"version": "3.50"}),
        },
    }
}

fn observations() -> Observations {
    let sampled = How::Sampled { period_ns: 10_000_000 };
    let row = |name: &str, how| WaitRow {
        class: "IO".to_owned(),
        name: name.to_owned(),
        is_idle: false,
        wait_s: 0.1 + 0.2,
        resource_s: Some(0.25),
        signal_s: None,
        count: Some(3),
        how,
    };
    Observations {
        waits: vec![
            WaitProfile {
                group: "clients".to_owned(),
                session_count: 2,
                session_s: 4.0,
                on_cpu_s: Some(1.5),
                run_delay_s: None,
                rows: vec![row("WalSync", sampled), row("WalWrite", How::Exact)],
            },
            WaitProfile {
                group: "checkpointer".to_owned(),
                session_count: 1,
                session_s: 2.0,
                on_cpu_s: None,
                run_delay_s: Some(0.125),
                rows: Vec::new(),
            },
        ],
        tasks: vec![WaitingTask {
            at_ns: -1,
            session: "731".to_owned(),
            wait: "Lock:extend".to_owned(),
            resource: "extend fathom_rows".to_owned(),
            page_class: None,
            waited_s: Some(0.5),
            blocked_by: vec!["730".to_owned(), "\"odd\"".to_owned()],
        }],
        series: vec![Series {
            name: "log_bytes_per_s".to_owned(),
            unit: "bytes/s".to_owned(),
            source: "pg_current_wal_insert_lsn()".to_owned(),
            kind: SeriesKind::Rate,
            at_ns: vec![i64::MIN, 0, i64::MAX],
            values: vec![Some(0.1), None, Some(f64::MAX)],
        }],
        samplers: vec![SamplerRecord {
            name: "postgres_waits".to_owned(),
            period_ns: 10_000_000,
            samples_expected: 200,
            samples_taken: 199,
            cpu_s: 0.01,
            problem: Some("one look came late".to_owned()),
        }],
        transactions: Vec::new(),
    }
}

pub(super) fn store() -> (TempDir, Store, StudyId) {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open_or_create(directory.path()).unwrap();
    let id = store.begin_study(&study("k")).unwrap();
    store.put_cells(id, &cells()).unwrap();
    (directory, store, id)
}

pub(super) fn store_run(store: &mut Store, study: StudyId, run: &Run) -> i64 {
    let run_id = store.begin_run(study, run.key, run.position, BEGUN_AT).unwrap();
    store.finish_run(run_id, run).unwrap();
    run_id
}

fn count(store: &Store, table: &str) -> i64 {
    store.connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
}

#[test]
fn a_study_and_its_cells_read_back_as_they_were_written() {
    let (directory, store, id) = store();
    drop(store);
    let store = Store::open_read_only(directory.path()).unwrap();
    assert_eq!(store.study(id).unwrap(), study("k"));
    assert_eq!(store.cells(id).unwrap(), cells());
    assert_eq!(store.studies().unwrap(), [StoredStudy { id, study: study("k") }]);
    assert!(matches!(store.study(StudyId(9)), Err(StoreError::NoSuchStudy { .. })));
}

#[test]
fn a_run_reads_back_as_it_was_written_also_in_another_process() {
    let (directory, mut store, id) = store();
    let written = run(key(0, 0, 0), RunState::Valid);
    let run_id = store_run(&mut store, id, &written);
    let reader = Store::open_read_only(directory.path()).unwrap();
    let read = reader.run(run_id).unwrap();
    assert_eq!(read.run, written);
    assert!(read.counts());
    assert_eq!(reader.study_of_run(run_id).unwrap(), id);
    assert!(matches!(reader.run(99), Err(StoreError::NoSuchRun { run_id: 99, .. })));
}

#[test]
fn a_list_of_runs_has_everything_but_histograms_series_and_tasks() {
    let (_directory, mut store, id) = store();
    let mut written = run(key(0, 1, 0), RunState::Valid);
    store_run(&mut store, id, &written);
    for client in &mut written.clients {
        client.service_time = LatencyHistogram::new();
        client.response_time = None;
    }
    written.observations.series.clear();
    written.observations.tasks.clear();
    let runs = store.runs(id).unwrap();
    assert_eq!(runs.iter().map(|stored| &stored.run).collect::<Vec<_>>(), [&written]);
}

#[test]
fn a_run_that_only_began_is_listed_and_becomes_interrupted_at_the_next_start() {
    let (_directory, mut store, id) = store();
    store.begin_run(id, key(0, 0, 0), 0, BEGUN_AT).unwrap();
    let runs = store.runs(id).unwrap();
    assert_eq!((runs[0].run.state, runs[0].run.started_at.as_str()), (RunState::Running, BEGUN_AT));
    assert_eq!(store.close_interrupted(id).unwrap(), 1);
    assert_eq!(store.close_interrupted(id).unwrap(), 0);
    assert_eq!(store.runs(id).unwrap()[0].run.state, RunState::Interrupted);
    assert_eq!(store.next_attempt(id, 0, 0).unwrap(), 1);
    assert_eq!(store.next_attempt(id, 1, 0).unwrap(), 0);
}

#[test]
fn settings_and_environment_are_stored_once_per_distinct_content() {
    let (_directory, mut store, id) = store();
    store_run(&mut store, id, &run(key(0, 0, 0), RunState::Valid));
    let documents = count(&store, "document");
    store_run(&mut store, id, &run(key(1, 0, 0), RunState::Valid));
    assert_eq!(count(&store, "document"), documents);
    let mut other = run(key(2, 0, 0), RunState::Valid);
    other.settings[0].value = "OFF".to_owned();
    store_run(&mut store, id, &other);
    assert_eq!(count(&store, "document"), documents + 1);
}

#[test]
fn the_same_key_finds_the_same_study_and_other_cells_are_refused() {
    let (_directory, mut store, id) = store();
    let mut renamed = study("k");
    renamed.title = "another title".to_owned();
    assert_eq!(store.begin_study(&renamed).unwrap(), id);
    assert_eq!(store.study(id).unwrap().title, "Rows per transaction");
    assert_eq!(store.find_study(&StudyKey("other".to_owned())).unwrap(), None);
    store.put_cells(id, &cells()).unwrap();
    let mut changed = cells();
    changed[1].levels[0].1 = Level::Integer(7);
    let refusal = store.put_cells(id, &changed).unwrap_err().to_string();
    assert!(refusal.contains("cell 1 (batch_size=7)") && refusal.contains("batch_size=0.1"), "{refusal}");
}

#[test]
fn the_latest_study_is_the_one_that_ran_last() {
    let (_directory, mut store, first) = store();
    let second = store.begin_study(&study("second")).unwrap();
    assert_eq!(store.latest_study().unwrap().unwrap().id, second);
    store_run(&mut store, first, &run(key(0, 0, 0), RunState::Invalid));
    assert_eq!(store.latest_study().unwrap().unwrap().id, first);
}

#[test]
fn calls_out_of_order_are_refused_with_the_run_named() {
    let (_directory, mut store, id) = store();
    let finished = run(key(0, 0, 0), RunState::Valid);
    let run_id = store_run(&mut store, id, &finished);
    assert!(matches!(store.begin_run(id, finished.key, 0, BEGUN_AT), Err(StoreError::RunExists { .. })));
    let text = store.begin_run(id, key(0, 17, 0), 0, BEGUN_AT).unwrap_err().to_string();
    assert!(text.contains("cell 17"), "{text}");
    let text = store.finish_run(run_id, &finished).unwrap_err().to_string();
    assert!(text.contains("ended before as valid"), "{text}");
    let begun = store.begin_run(id, key(1, 0, 0), 0, BEGUN_AT).unwrap();
    assert!(store.finish_run(begun, &finished).unwrap_err().to_string().contains("it was begun as"));
    assert!(store.finish_run(begun, &run(key(1, 0, 0), RunState::Running)).is_err());
    assert!(matches!(store.finish_run(99, &finished), Err(StoreError::NoSuchRun { .. })));
    assert!(matches!(store.mark_suspect(99, "why", BEGUN_AT), Err(StoreError::NoSuchRun { .. })));
    assert!(store.mark_suspect(run_id, "  ", BEGUN_AT).is_err());
}

#[test]
fn a_finished_run_can_neither_change_nor_vanish() {
    let (_directory, mut store, id) = store();
    let run_id = store_run(&mut store, id, &run(key(0, 0, 0), RunState::Valid));
    for sql in [
        "UPDATE run SET elapsed_ns = 1",
        "DELETE FROM run",
        "DELETE FROM study",
        "UPDATE client SET row_count = 1",
        "DELETE FROM client",
        "UPDATE metric SET value = 1",
        "DELETE FROM gate",
        "UPDATE wait SET wait_s = 1",
        "DELETE FROM wait_profile",
        "DELETE FROM waiting_task",
        "UPDATE series SET sample_count = 0",
        "DELETE FROM sampler",
    ] {
        assert!(store.connection.execute(sql, []).is_err(), "{sql}");
    }
    assert_eq!(store.run(run_id).unwrap().run, run(key(0, 0, 0), RunState::Valid));
}

#[test]
fn a_valid_run_takes_the_place_of_earlier_attempts_and_an_invalid_one_does_not() {
    let (_directory, mut store, id) = store();
    let first = store_run(&mut store, id, &run(key(0, 0, 0), RunState::Invalid));
    let elsewhere = store_run(&mut store, id, &run(key(0, 1, 0), RunState::Invalid));
    let second = store_run(&mut store, id, &run(key(0, 0, 1), RunState::Invalid));
    assert_eq!(store.run(first).unwrap().superseded_by, None);
    let third = store_run(&mut store, id, &run(key(0, 0, 2), RunState::Valid));
    assert_eq!(store.run(first).unwrap().superseded_by, Some(third));
    assert_eq!(store.run(second).unwrap().superseded_by, Some(third));
    assert_eq!(store.run(elsewhere).unwrap().superseded_by, None);
    assert!(store.run(third).unwrap().counts());
}

#[test]
fn a_doubted_run_and_its_replacement_are_both_told_with_date_and_reason() {
    let (_directory, mut store, id) = store();
    let old = store_run(&mut store, id, &run(key(0, 0, 0), RunState::Valid));
    store.mark_suspect(old, "first thought", "2026-11-20T11:00:00Z").unwrap();
    store.mark_suspect(old, "backup was running", "2026-11-20T12:00:00Z").unwrap();
    assert!(!store.run(old).unwrap().counts());
    let open = store.corrections(id).unwrap();
    assert_eq!(
        (open.len(), &open[0].new, open[0].reason.as_str()),
        (1, &None, "first thought; backup was running")
    );

    let mut again = run(key(0, 0, 1), RunState::Valid);
    again.elapsed_ns = 1_000_000_000;
    let new = store_run(&mut store, id, &again);
    let interrupted = store.begin_run(id, key(1, 0, 0), 5, BEGUN_AT).unwrap();
    store.close_interrupted(id).unwrap();
    let corrections = store.corrections(id).unwrap();
    assert_eq!(corrections.len(), 1, "run {interrupted} measured nothing");
    let correction = &corrections[0];
    let replacement = correction.new.as_ref().unwrap();
    assert_eq!((correction.old.run_id, correction.old.elapsed_ns), (old, 2_000_000_001));
    assert_eq!((replacement.run_id, replacement.elapsed_ns, replacement.rows), (new, 1_000_000_000, 1000));
    assert_eq!(
        (correction.reason.as_str(), correction.at.as_str()),
        ("first thought; backup was running", "2026-11-20T12:00:00Z")
    );
}

#[test]
fn marks_are_kept_when_they_are_taken_back_and_the_run_counts_again() {
    let (_directory, mut store, id) = store();
    let run_id = store_run(&mut store, id, &run(key(0, 0, 0), RunState::Valid));
    store.mark_suspect(run_id, "first thought", "2026-11-20T11:00:00Z").unwrap();
    store.mark_suspect(run_id, "backup was running", "2026-11-20T12:00:00Z").unwrap();
    assert_eq!(store.withdraw_marks(run_id, "2026-11-20T13:00:00Z").unwrap(), 2);
    assert_eq!(store.withdraw_marks(run_id, "2026-11-20T14:00:00Z").unwrap(), 0);
    assert!(store.run(run_id).unwrap().counts() && store.cell_latencies(id).unwrap().len() == 1);
    assert_eq!(store.corrections(id).unwrap(), []);
    store.mark_suspect(run_id, "it was", "2026-11-20T15:00:00Z").unwrap();
    assert_eq!(store.run(run_id).unwrap().suspect.unwrap().reason, "it was");
    let marks = store.marks(run_id).unwrap();
    let told: Vec<_> = marks.iter().map(|mark| (mark.reason.as_str(), mark.withdrawn_at.is_some())).collect();
    assert_eq!(told, [("first thought", true), ("backup was running", true), ("it was", false)]);
    assert!(matches!(store.withdraw_marks(99, BEGUN_AT), Err(StoreError::NoSuchRun { .. })));
}

#[test]
fn a_repeated_invalid_run_is_corrected_with_its_failed_gate_as_reason() {
    let (_directory, mut store, id) = store();
    store_run(&mut store, id, &run(key(0, 0, 0), RunState::Invalid));
    assert_eq!(store.corrections(id).unwrap(), []);
    store_run(&mut store, id, &run(key(0, 0, 1), RunState::Valid));
    assert_eq!(store.corrections(id).unwrap()[0].reason, "all_clients_finished: client 1 did not finish");
}

#[test]
fn latencies_of_counting_runs_add_up_per_cell() {
    let (_directory, mut store, id) = store();
    store_run(&mut store, id, &run(key(0, 1, 0), RunState::Valid));
    store_run(&mut store, id, &run(key(1, 1, 0), RunState::Valid));
    store_run(&mut store, id, &run(key(2, 1, 0), RunState::Invalid));
    let doubted = store_run(&mut store, id, &run(key(3, 1, 0), RunState::Valid));
    store.mark_suspect(doubted, "why", BEGUN_AT).unwrap();
    let latencies = store.cell_latencies(id).unwrap();
    assert_eq!(latencies.len(), 1);
    assert_eq!((latencies[0].cell_index, latencies[0].service_time.count()), (1, 200));
    assert_eq!(latencies[0].response_time.as_ref().unwrap().count(), 200);
    let results = store.study_results(id).unwrap();
    assert_eq!((results.study, results.cells, results.runs.len()), (study("k"), cells(), 4));
    assert_eq!((results.latencies, results.corrections.len()), (latencies, 1));
}

#[test]
fn a_metric_that_is_not_a_number_stays_one() {
    let (_directory, mut store, id) = store();
    let mut written = run(key(0, 0, 0), RunState::Valid);
    written.metrics[0].value = f64::NAN;
    let run_id = store_run(&mut store, id, &written);
    assert!(store.run(run_id).unwrap().run.metrics[0].value.is_nan());
}

#[test]
fn a_damaged_histogram_is_named() {
    let (_directory, mut store, id) = store();
    let run_id = store_run(&mut store, id, &run(key(0, 0, 0), RunState::Valid));
    store.connection.execute_batch("DROP TRIGGER client_is_written_once").unwrap();
    store.connection.execute("UPDATE client SET service_time = x'00' WHERE client_index = 1", []).unwrap();
    let text = store.run(run_id).unwrap_err().to_string();
    assert!(text.contains("histogram of run 1, client 1") && text.contains("1 bytes"), "{text}");
}

#[test]
fn a_damaged_series_is_named() {
    let (_directory, mut store, id) = store();
    let run_id = store_run(&mut store, id, &run(key(0, 0, 0), RunState::Valid));
    store.connection.execute_batch("DROP TRIGGER series_is_written_once").unwrap();
    store.connection.execute_batch("PRAGMA ignore_check_constraints = on").unwrap();
    for (damage, reason) in [("x'00'", "1 bytes are no whole numbers"), ("x''", "3 times and 0 values")] {
        store.connection.execute(&format!("UPDATE series SET samples = {damage}"), []).unwrap();
        let text = store.run(run_id).unwrap_err().to_string();
        assert!(text.contains("series \"log_bytes_per_s\" of run 1") && text.contains(reason), "{text}");
        assert_eq!(store.runs(id).unwrap().len(), 1);
    }
}

#[test]
fn a_full_disk_keeps_the_runs_before_and_the_run_can_be_stored_when_there_is_space() {
    let (directory, mut store, id) = store();
    let kept = store_run(&mut store, id, &run(key(0, 0, 0), RunState::Valid));
    let begun = store.begin_run(id, key(1, 0, 0), 1, BEGUN_AT).unwrap();
    let pages: i64 = store.connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    let limit = |store: &Store, pages: i64| {
        store.connection.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(())).unwrap();
    };
    limit(&store, pages);
    let mut large = run(key(1, 0, 0), RunState::Valid);
    large.clients = (0..200).map(client).collect();
    let error = store.finish_run(begun, &large).unwrap_err();
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    assert!(
        error.to_string().contains("no space left") && error.to_string().contains("start the same command")
    );

    let reader = Store::open_read_only(directory.path()).unwrap();
    assert_eq!(reader.run(kept).unwrap().run, run(key(0, 0, 0), RunState::Valid));
    assert_eq!(reader.run(begun).unwrap().run.state, RunState::Running);
    assert_eq!(reader.run(begun).unwrap().run.clients, []);
    limit(&store, 1_000_000);
    store.finish_run(begun, &large).unwrap();
    assert_eq!(store.run(begun).unwrap().run, large);
}

#[test]
fn two_writers_are_kept_apart_and_the_holder_is_named() {
    let (directory, store, _) = store();
    let error = Store::open_or_create(directory.path()).unwrap_err();
    let holder = format!("is in use by process {}\nhint:", std::process::id());
    assert!(error.to_string().contains(&holder), "{error}");
    drop(store);
    Store::open_or_create(directory.path()).unwrap();
}
