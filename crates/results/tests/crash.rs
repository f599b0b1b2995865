//! The results file after its writer was killed, and in a directory that may not be written.
//!
//! The test program starts itself as the other process: `ROLE` tells it what to be.

#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use results::histogram::LatencyHistogram;
use results::model::{
    Cell, ClientRecord, Environment, Level, Metric, Run, RunKey, RunState, Scale, Study, StudyKey,
};
use results::scripts::{ScriptRecord, StatementRecord};
use results::store::{RESULTS_FILE, Store, StoreError};

const ROLE: &str = "FATHOM_TEST_ROLE";
const DIRECTORY: &str = "FATHOM_TEST_DIRECTORY";
const CLIENTS: u32 = 24;

/// Does nothing in an ordinary test run; started again by the tests below it plays the other process.
#[test]
fn other_process() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let directory = std::env::var_os(DIRECTORY).unwrap();
    let directory = Path::new(&directory);
    match role.as_str() {
        "writer" => write_runs(directory),
        "stranger" => meet_a_closed_door(directory),
        other => panic!("no such role: {other}"),
    }
}

fn itself(program: &Path, role: &str, directory: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(["--exact", "other_process", "--nocapture", "--test-threads=1"]);
    command.env(ROLE, role).env(DIRECTORY, directory);
    command
}

fn study() -> Study {
    Study {
        key: StudyKey("crash".to_owned()),
        experiment: "crash".to_owned(),
        title: String::new(),
        question: String::new(),
        scale: Scale::Miniature,
        engine: "noop".to_owned(),
        spec_toml: String::new(),
        seed: 1,
        factors: Vec::new(),
        fixed: Vec::new(),
        repetitions: 1,
        expectations: Vec::new(),
        design: results::model::Design::default(),
        imported: None,
        created_at: "2026-11-20T10:00:00Z".to_owned(),
        fathom_version: "0.1.0".to_owned(),
    }
}

/// A run whose content follows from its block, so that a reader can tell a whole one.
fn run(block_index: u32) -> Run {
    let client = |client_index: u32| {
        let mut client = ClientRecord::new(client_index);
        client.rows = u64::from(block_index * CLIENTS + client_index);
        (1..2_000_u64)
            .for_each(|step| client.service_time.record(step * 37_000 * u64::from(client_index + 1)));
        client
    };
    Run {
        key: RunKey { block_index, cell_index: 0, attempt: 0 },
        position: block_index,
        started_at: "2026-11-20T10:00:00Z".to_owned(),
        state: RunState::Valid,
        elapsed_ns: u64::from(block_index) + 1,
        clients: (0..CLIENTS).map(client).collect(),
        metrics: vec![Metric::new("block", f64::from(block_index), "1", "test")],
        gates: Vec::new(),
        warnings: Vec::new(),
        events: Vec::new(),
        settings: Vec::new(),
        observations: Default::default(),
        scripts: vec![script(block_index)],
        environment: Environment { machine: serde_json::json!(block_index), ..Environment::default() },
    }
}

/// A script with forty statements whose counts follow from the block.
fn script(block_index: u32) -> ScriptRecord {
    let mut latency = LatencyHistogram::new();
    (1..500_u64).for_each(|step| latency.record(step * 41_000));
    let statement = |line| StatementRecord {
        line,
        text: format!("SELECT {line}"),
        executions: u64::from(block_index + line),
        failures: Vec::new(),
        first_failure: None,
        latency: latency.clone(),
    };
    ScriptRecord {
        file: "mixed.sql".to_owned(),
        weight: 1,
        transactions: u64::from(block_index),
        failures: Vec::new(),
        retried: 0,
        retries: 0,
        statements: (1..=40).map(statement).collect(),
        latency,
    }
}

/// Resumes where the file ends and writes runs until somebody ends the process.
fn write_runs(directory: &Path) {
    let mut store = Store::open_or_create(directory).unwrap();
    let id = store.begin_study(&study()).unwrap();
    store.put_cells(id, &[Cell { index: 0, levels: vec![("a".to_owned(), Level::Integer(1))] }]).unwrap();
    store.close_interrupted(id).unwrap();
    let next = store.runs(id).unwrap().iter().map(|stored| stored.run.key.block_index + 1).max().unwrap_or(0);
    let mut out = std::io::stdout();
    for block_index in next.. {
        let run = run(block_index);
        let run_id = store.begin_run(id, run.key, run.position, &run.started_at).unwrap();
        writeln!(out, "\nfinishing {run_id}").unwrap();
        store.finish_run(run_id, &run).unwrap();
        writeln!(out, "finished {run_id}").unwrap();
    }
}

fn number_after(line: &str, word: &str) -> Option<i64> {
    line.strip_prefix(word)?.trim().parse().ok()
}

#[test]
fn a_killed_writer_leaves_only_whole_runs_and_at_most_one_that_says_running() {
    let directory = tempfile::tempdir().unwrap();
    let mut acknowledged = 0;
    let mut interrupted = 0;
    for kill in 0..12_u32 {
        let mut child = itself(&std::env::current_exe().unwrap(), "writer", directory.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        // Some kills strike before the file exists, the others at a moment within `finish_run` that moves on.
        let runs_begun = if kill < 2 { 0 } else { 1 + kill % 3 };
        for _ in 0..runs_begun {
            for line in lines.by_ref().take_while(|line| number_after(line, "finishing ").is_none()) {
                acknowledged = number_after(&line, "finished ").unwrap_or(acknowledged);
            }
        }
        let strike = Instant::now() + Duration::from_micros(u64::from(kill) * 700);
        while Instant::now() < strike {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let last = lines.filter_map(|line| number_after(&line, "finished ")).last();
        acknowledged = last.unwrap_or(acknowledged);
        interrupted += check_after_kill(directory.path(), acknowledged);
    }
    assert!(acknowledged > 0);
    println!("{interrupted} of 12 kills struck a run under way");
}

/// Checks every run of the file; returns the number of runs that were under way.
fn check_after_kill(directory: &Path, acknowledged: i64) -> usize {
    // Killed before the file had its name: the next start makes it.
    let mut store = Store::open_or_create(directory).unwrap();
    let Some(id) = store.find_study(&study().key).unwrap() else { return 0 };
    let runs = store.runs(id).unwrap();
    let running = runs.iter().filter(|stored| stored.run.state == RunState::Running).count();
    assert!(running <= 1, "{running} runs say running");
    for stored in &runs {
        let whole = store.run(stored.run_id).unwrap();
        match whole.run.state {
            RunState::Valid => assert_eq!(whole.run, run(whole.run.key.block_index)),
            _ => assert_eq!(
                (whole.run.clients.len(), whole.run.scripts.len(), whole.run.elapsed_ns),
                (0, 0, 0)
            ),
        }
    }
    let is_kept =
        |run_id| runs.iter().any(|stored| stored.run_id == run_id && stored.run.state == RunState::Valid);
    assert!(acknowledged == 0 || is_kept(acknowledged), "run {acknowledged} was acknowledged and is gone");
    assert_eq!(store.close_interrupted(id).unwrap(), running);
    running
}

#[test]
fn a_directory_that_may_not_be_written_can_be_read_and_says_so_to_a_writer() {
    let directory = tempfile::tempdir().unwrap();
    let results = directory.path().join("results with space & 100 %");
    let mut store = Store::open_or_create(&results).unwrap();
    store.begin_study(&study()).unwrap();
    drop(store);
    // Root may write everywhere, so the other process is nobody; it must reach its program and the results.
    let program = directory.path().join("program");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let permit =
        |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    permit(directory.path(), 0o755);
    permit(&program, 0o755);
    permit(&results.join(RESULTS_FILE), 0o444);
    permit(&results.join("lock"), 0o444);
    permit(&results, 0o555);
    let mut command = itself(&program, "stranger", &results);
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        command.uid(65_534).gid(65_534);
    }
    let output = command.output().unwrap();
    permit(&results, 0o755);
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

fn meet_a_closed_door(directory: &Path) {
    let error = Store::open_or_create(directory).unwrap_err();
    assert!(matches!(error, StoreError::NotWritable { .. }), "{error}");
    assert!(error.to_string().contains("hint: choose a directory that this user may write"), "{error}");
    let error = Store::open_or_create(&directory.join("below")).unwrap_err();
    assert!(matches!(error, StoreError::NotWritable { .. }), "{error}");
    let store = Store::open_read_only(directory).unwrap();
    assert_eq!(store.latest_study().unwrap().unwrap().study, study());
}
