//! Seeds of `results.db`: one study with runs of every state, a check, a structure, a ceiling and an I/O baseline.

use std::path::Path;

use results::ceiling::{CeilingPattern, StoredCeiling, SyncCall};
use results::histogram::LatencyHistogram;
use results::io::{IoRow, IoSyncRow, IoTable};
use results::model::{
    Cell, ClientRecord, Environment, Event, Expectation, Factor, GateOutcome, GateResult, Level, Metric, Run,
    RunKey, RunState, Scale, Setting, Study, StudyKey, Warning,
};
use results::observations::{
    How, Observations, SamplerRecord, Series, SeriesKind, WaitProfile, WaitRow, WaitingTask,
};
use results::scripts::transactions::{LoggedTransaction, Outcome};
use results::scripts::{FailureCount, FailureKind, ScriptRecord, StatementRecord};
use results::store::{RESULTS_FILE, Store, StoreError, StructureOrigin};
use rusqlite::Connection;

use crate::targets;

const STORED_AT: &str = "2026-11-20T10:00:00Z";
/// Small pages make a small file: libFuzzer truncates what is longer than the largest input.
const SHRINK: &str = "PRAGMA journal_mode = DELETE; PRAGMA page_size = 512; VACUUM;";
/// Versions of the file that are migrated, the newest first: each has one table less.
const OLDER: &[(&str, &str)] = &[
    ("version-5", "DROP TABLE redaction; PRAGMA user_version = 5;"),
    ("version-4", "DROP TABLE mark_withdrawal; PRAGMA user_version = 4;"),
];

/// Results files: as made, with contents, and of older versions; the last byte selects how they are opened.
pub(crate) fn results_files() -> Vec<(String, Vec<u8>)> {
    let place = tempfile::tempdir().expect("there is room for small files");
    let mut files = Vec::new();
    let mut keep = |name: &str, sql: &str| {
        let path = place.path().join(RESULTS_FILE);
        let shrunk = Connection::open(&path).and_then(|connection| connection.execute_batch(sql));
        shrunk.expect("SQLite changes the file");
        let bytes = std::fs::read(&path).unwrap_or_default();
        for choice in 0..2 {
            files.push((format!("{name}-{choice}"), [&bytes[..], &[choice]].concat()));
        }
    };
    drop(Store::open_or_create(place.path()).expect("a results file is made"));
    keep("empty", SHRINK);
    fill(place.path()).expect("contents are stored");
    keep("filled", SHRINK);
    for (name, sql) in OLDER {
        keep(name, sql);
    }
    files
}

fn fill(directory: &Path) -> Result<(), StoreError> {
    let mut store = Store::open_or_create(directory)?;
    let id = store.begin_study(&study())?;
    let cell = |index, level| Cell { index, levels: vec![("batch_size".to_owned(), level)] };
    store.put_cells(id, &[cell(0, Level::Integer(1)), cell(1, Level::Float(0.1))])?;
    let states = [RunState::Valid, RunState::Invalid, RunState::Valid];
    let mut last = 0;
    for (attempt, state) in (0..).zip(states) {
        let run = run(RunKey { block_index: 0, cell_index: attempt % 2, attempt: attempt / 2 }, state);
        last = store.begin_run(id, run.key, run.position, STORED_AT)?;
        store.finish_run(last, &run)?;
    }
    store.begin_run(id, RunKey { block_index: 1, cell_index: 0, attempt: 0 }, 3, STORED_AT)?;
    store.mark_suspect(last, "the device was busy", STORED_AT)?;
    store.add_ceiling(id, &ceiling())?;
    store.add_io_table(&io_table())?;
    let path = directory.join("a.db");
    let made = Connection::open(&path).and_then(|connection| {
        connection.execute_batch("PRAGMA page_size = 512; CREATE TABLE t (a, b); CREATE INDEX i ON t (b); INSERT INTO t VALUES (1, 2);")
    });
    made.expect("SQLite makes a database");
    let (check, structure) = targets::reports(&path);
    store.add_check(&check, "/a.db", STORED_AT, "0.1.0")?;
    let origin =
        StructureOrigin { run_id: Some(last), stored_at: STORED_AT, fathom_version: "0.1.0", place: "/a.db" };
    store.add_structure(&structure, &origin).map(|_| ())
}

fn study() -> Study {
    Study {
        key: StudyKey("k".to_owned()),
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
            ("key".to_owned(), Level::Text("x".to_owned())),
        ],
        repetitions: 2,
        expectations: vec![Expectation {
            claim: "larger is faster".to_owned(),
            check: Some("rows_per_s rises with batch_size".to_owned()),
            scope: Some(Scale::Full),
            valid_for: None,
            requires: Some("durable_commit".to_owned()),
        }],
        design: results::model::Design::default(),
        imported: None,
        created_at: STORED_AT.to_owned(),
        fathom_version: "0.1.0".to_owned(),
    }
}

fn run(key: RunKey, state: RunState) -> Run {
    let outcome = if state == RunState::Valid { GateOutcome::Passed } else { GateOutcome::Failed };
    let metric = |name: &str, value| Metric {
        name: name.to_owned(),
        value,
        unit: "bytes".to_owned(),
        source: "counter".to_owned(),
    };
    Run {
        key,
        position: key.cell_index,
        started_at: STORED_AT.to_owned(),
        state,
        elapsed_ns: 2_000_000_001,
        clients: vec![client(0), client(1)],
        metrics: vec![metric("log_bytes", 4096.0), metric("log_flushes", 2.0)],
        gates: vec![GateResult {
            gate: "all_clients_finished".to_owned(),
            outcome,
            expected: "2 clients".to_owned(),
            found: "1 client".to_owned(),
        }],
        warnings: vec![Warning { code: "roles_share_device".to_owned(), text: "data and log".to_owned() }],
        events: vec![Event { at_ns: -5, kind: "warm_up_end".to_owned(), text: String::new() }],
        settings: vec![Setting {
            name: "synchronous".to_owned(),
            value: "FULL".to_owned(),
            source: "pragma".to_owned(),
        }],
        environment: Environment::default(),
        observations: observations(),
        scripts: vec![script()],
    }
}

fn script() -> ScriptRecord {
    let mut latency = LatencyHistogram::new();
    latency.record(70_000);
    let failures = vec![FailureCount { kind: FailureKind::Deadlock, count: 2 }];
    let statement = StatementRecord {
        line: 3,
        text: "UPDATE t SET x = :x;".to_owned(),
        executions: 7,
        failures: failures.clone(),
        first_failure: Some("a.sql:3: deadlock detected".to_owned()),
        latency: latency.clone(),
    };
    ScriptRecord {
        file: "a.sql".to_owned(),
        weight: 3,
        transactions: 5,
        failures,
        retried: 1,
        retries: 2,
        latency,
        statements: vec![statement],
    }
}

fn logged() -> LoggedTransaction {
    LoggedTransaction {
        client: 0,
        script: 0,
        end_ns: 5,
        outcome: Outcome::Done(70_000),
        lag_ns: None,
        retries: 0,
    }
}

fn client(client_index: u32) -> ClientRecord {
    let mut latencies = LatencyHistogram::new();
    for latency in 1..=20_u64 {
        latencies.record(latency * latency * 10_000);
    }
    ClientRecord {
        start_ns: Some(1_000),
        end_ns: Some(2_000_000_000),
        rows: 500,
        transactions: 50,
        errors: u64::from(client_index),
        error: Some("disk I/O error".to_owned()),
        response_time: (client_index == 1).then(|| latencies.clone()),
        service_time: latencies,
        ..ClientRecord::new(client_index)
    }
}

fn observations() -> Observations {
    let sampled = How::Sampled { period_ns: 10_000_000 };
    Observations {
        waits: vec![WaitProfile {
            group: "clients".to_owned(),
            session_count: 2,
            session_s: 4.0,
            on_cpu_s: Some(1.5),
            run_delay_s: None,
            rows: vec![WaitRow {
                class: "IO".to_owned(),
                name: "WalSync".to_owned(),
                is_idle: false,
                wait_s: 0.3,
                resource_s: Some(0.25),
                signal_s: None,
                count: Some(3),
                how: sampled,
            }],
        }],
        tasks: vec![WaitingTask {
            at_ns: -1,
            session: "731".to_owned(),
            wait: "Lock:extend".to_owned(),
            resource: "extend fathom_rows".to_owned(),
            page_class: None,
            waited_s: Some(0.5),
            blocked_by: vec!["730".to_owned()],
        }],
        series: vec![Series {
            name: "log_bytes_per_s".to_owned(),
            unit: "bytes/s".to_owned(),
            source: "pg_current_wal_insert_lsn()".to_owned(),
            kind: SeriesKind::Rate,
            at_ns: vec![-5, 0, i64::MAX],
            values: vec![Some(0.1), None, Some(f64::MAX)],
        }],
        samplers: vec![SamplerRecord {
            name: "postgres_waits".to_owned(),
            period_ns: 10_000_000,
            samples_expected: 200,
            samples_taken: 199,
            cpu_s: 0.01,
            problem: None,
        }],
        transactions: vec![logged()],
    }
}

fn ceiling() -> StoredCeiling {
    StoredCeiling {
        role: "log".to_owned(),
        device: "vda 1000 - ext4".to_owned(),
        pattern: CeilingPattern::Appends { method: SyncCall::Fdatasync, size_bytes: 4096, fills_first: true },
        per_s: 1000.0,
        latency_ns_mean: 1e6,
        latency_ns_p99: 2_000_000,
        measured_unix_s: 1_700_000_000,
        flags: vec!["noisy machine".to_owned()],
    }
}

fn io_table() -> IoTable {
    IoTable {
        title: "direct I/O".to_owned(),
        rows: vec![IoRow { transfer_bytes: 8192, read_percent: 70, iops: 100.0, ..IoRow::default() }],
        sync_rows: vec![IoSyncRow {
            size_bytes: 4096,
            method: "fdatasync".to_owned(),
            ..IoSyncRow::default()
        }],
        ..IoTable::default()
    }
}
