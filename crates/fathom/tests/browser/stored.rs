//! A results directory with known figures, and with names that want to be markup.

use std::path::{Path, PathBuf};
use std::process::Command;

use results::model::{
    Cell, ClientRecord, Environment, Event, Factor, GateOutcome, GateResult, Level, Metric, Run, RunKey,
    RunState, Scale, Setting, Study, StudyKey, Warning,
};
use results::observations::{
    How, Observations, SamplerRecord, Series, SeriesKind, WaitProfile, WaitRow, WaitingTask,
};
use results::scripts::ScriptRecord;
use results::store::{Store, StudyId};

/// Wants to run when it is taken for markup.
pub(crate) const HOSTILE: &str =
    "</script><img src=x onerror=\"window.taken=1\"><script>window.taken=1</script>";

/// Elapsed nanoseconds of a run: no two are equal.
pub(crate) fn elapsed_ns(block: u32, cell: u32) -> u64 {
    4_000_000_000 / u64::from(cell + 1) + 123_456_789 * u64::from(block) + u64::from(cell)
}

/// Value of the counter of transactions at a look.
pub(crate) fn transactions_at(second: i64) -> f64 {
    100.0 + 37.0 * second as f64
}

/// Stores a study of two factors and its runs; the last run of the first cell is invalid.
pub(crate) fn study(directory: &Path, repetitions: u32) {
    study_with(directory, repetitions, 0);
}

/// The same with so many more counters in each run.
pub(crate) fn study_with(directory: &Path, repetitions: u32, counters: u32) {
    begun(directory, repetitions, repetitions, counters);
}

/// A study of so many repetitions of which the first `made` have run.
pub(crate) fn begun(directory: &Path, repetitions: u32, made: u32, counters: u32) {
    let mut store = Store::open_or_create(directory).unwrap();
    let factor = |name: &str, levels: Vec<Level>| Factor { name: name.to_owned(), levels };
    let batches = [1, 10, 100].map(Level::Integer).to_vec();
    let connections = [1, 4].map(Level::Integer).to_vec();
    let study = Study {
        key: StudyKey("0badcafe".to_owned()),
        experiment: "made-up".to_owned(),
        title: format!("A page that nobody can break {HOSTILE}"),
        question: "Are the charts true?".to_owned(),
        scale: Scale::Miniature,
        engine: "postgres".to_owned(),
        spec_toml: format!("name = \"{HOSTILE}\"\n"),
        seed: 7,
        factors: vec![factor("connections", connections.clone()), factor("batch_size", batches.clone())],
        fixed: vec![("table".to_owned(), Level::Text(HOSTILE.to_owned()))],
        repetitions,
        expectations: Vec::new(),
        design: results::model::Design::default(),
        imported: None,
        created_at: "2026-11-20T10:00:00Z".to_owned(),
        fathom_version: "0.1.0".to_owned(),
    };
    let id = store.begin_study(&study).unwrap();
    let levels =
        connections.iter().flat_map(|one| batches.iter().map(move |other| (one.clone(), other.clone())));
    let cells: Vec<Cell> = (0..)
        .zip(levels)
        .map(|(index, (one, other))| Cell {
            index,
            levels: vec![("connections".to_owned(), one), ("batch_size".to_owned(), other)],
        })
        .collect();
    store.put_cells(id, &cells).unwrap();
    for block in 0..made {
        add_block_with(&mut store, id, block, repetitions, counters);
    }
}

/// Stores a study of a workload of the user's own: two types of keys, four runs each, with these scripts in each cell.
pub(crate) fn own_study(directory: &Path, scripts: impl Fn(u32) -> Vec<ScriptRecord>) {
    begun(directory, 1, 0, 0);
    let mut store = Store::open_or_create(directory).unwrap();
    let of_rows = store.studies().unwrap().pop().unwrap().study;
    let keys = ["bigint", "uuid"].map(|key| Level::Text(key.to_owned())).to_vec();
    let study = Study {
        key: StudyKey("0defaced".to_owned()),
        factors: vec![Factor { name: "key".to_owned(), levels: keys.clone() }],
        fixed: ["workload", "duration"]
            .into_iter()
            .zip(["own", "4s"])
            .map(|(name, value)| (name.to_owned(), Level::Text(value.to_owned())))
            .collect(),
        repetitions: 4,
        ..of_rows
    };
    let id = store.begin_study(&study).unwrap();
    let cell = |(index, key): (u32, Level)| Cell { index, levels: vec![("key".to_owned(), key)] };
    store.put_cells(id, &(0..).zip(keys).map(cell).collect::<Vec<_>>()).unwrap();
    for position in 0..8 {
        let key = RunKey { block_index: position / 2, cell_index: position % 2, attempt: 0 };
        let run_id = store.begin_run(id, key, position, "2026-11-20T10:00:01Z").unwrap();
        let run = Run { scripts: scripts(key.cell_index), ..run(key, position, true) };
        store.finish_run(run_id, &run).unwrap();
    }
}

/// Stores one run of each of the six cells; that of the first cell is invalid in the last block.
pub(crate) fn add_block(store: &mut Store, study: StudyId, block: u32, repetitions: u32) {
    add_block_with(store, study, block, repetitions, 0);
}

fn add_block_with(store: &mut Store, study: StudyId, block: u32, repetitions: u32, counters: u32) {
    for cell in 0..6 {
        let key = RunKey { block_index: block, cell_index: cell, attempt: 0 };
        let position = 6 * block + cell;
        let run_id = store.begin_run(study, key, position, "2026-11-20T10:00:01Z").unwrap();
        let is_valid = !(cell == 0 && block + 1 == repetitions);
        let mut run = run(key, position, is_valid);
        run.observations.series.extend((0..counters).map(|counter| made_up_series(counter, position)));
        store.finish_run(run_id, &run).unwrap();
    }
}

fn run(key: RunKey, position: u32, is_valid: bool) -> Run {
    let elapsed_ns = elapsed_ns(key.block_index, key.cell_index);
    let mut client = ClientRecord::new(0);
    (client.start_ns, client.end_ns) = (Some(1000), Some(elapsed_ns));
    (client.rows, client.transactions) = (600, 60);
    (1..=50).for_each(|place| client.service_time.record(1_500_000 + 100_000 * place));
    let metric = |name: &str, value: f64, unit: &str| Metric {
        name: name.to_owned(),
        value,
        unit: unit.to_owned(),
        source: HOSTILE.to_owned(),
    };
    Run {
        key,
        position,
        started_at: "2026-11-20T10:00:01Z".to_owned(),
        state: if is_valid { RunState::Valid } else { RunState::Invalid },
        elapsed_ns,
        clients: vec![client],
        metrics: vec![
            metric("log_flushes", 600.0 / f64::from(key.cell_index + 1), "1"),
            metric("log_bytes", 5e6, "bytes"),
        ],
        gates: vec![GateResult {
            gate: "all_clients_finished".to_owned(),
            outcome: if is_valid { GateOutcome::Passed } else { GateOutcome::Failed },
            expected: "1 client finishes".to_owned(),
            found: HOSTILE.to_owned(),
        }],
        warnings: vec![Warning { code: "roles_share_device".to_owned(), text: HOSTILE.to_owned() }],
        events: [("checkpoint_start", 1), ("checkpoint_end", 2), ("log_growth", 3)]
            .map(|(kind, second)| Event {
                at_ns: second * 500_000_000,
                kind: kind.to_owned(),
                text: HOSTILE.to_owned(),
            })
            .to_vec(),
        settings: vec![Setting {
            name: HOSTILE.to_owned(),
            value: HOSTILE.to_owned(),
            source: "command line".to_owned(),
        }],
        environment: Environment {
            machine: serde_json::json!({"host": HOSTILE, "cpu": {"model": "made up"}}),
            layout: serde_json::json!([]),
            engine: serde_json::json!({"version": "18"}),
        },
        observations: observations(),
        scripts: Vec::new(),
    }
}

fn observations() -> Observations {
    let seconds: Vec<i64> = (0..60).collect();
    let series = |name: &str, unit: &str, value: fn(i64) -> f64| Series {
        name: name.to_owned(),
        unit: unit.to_owned(),
        source: "made up".to_owned(),
        kind: SeriesKind::Rate,
        at_ns: seconds.iter().map(|second| (second + 1) * 60_000_000).collect(),
        values: seconds.iter().map(|second| Some(value(*second))).collect(),
    };
    let wait = |name: &str, wait_s: f64| WaitRow {
        class: "IO".to_owned(),
        name: name.to_owned(),
        is_idle: false,
        wait_s,
        resource_s: None,
        signal_s: None,
        count: None,
        how: How::Sampled { period_ns: 10_000_000 },
    };
    Observations {
        waits: vec![WaitProfile {
            group: "clients".to_owned(),
            session_count: 4,
            session_s: 10.0,
            on_cpu_s: None,
            run_delay_s: None,
            rows: vec![wait("WalSync", 6.0), wait(HOSTILE, 2.0)],
        }],
        tasks: vec![WaitingTask {
            at_ns: 1_000_000_000,
            session: "7".to_owned(),
            wait: "Lock:extend".to_owned(),
            resource: HOSTILE.to_owned(),
            page_class: None,
            waited_s: None,
            blocked_by: Vec::new(),
        }],
        series: vec![
            series("write_transactions_per_s", "1/s", transactions_at),
            series("log_bytes_per_s", "bytes/s", |second| 1e6 + 1e5 * (second % 7) as f64),
            series("checkpoint_pages_per_s", "1/s", |second| (second % 5) as f64),
            series(HOSTILE, "1", |second| second as f64),
        ],
        samplers: vec![SamplerRecord {
            name: "made_up".to_owned(),
            period_ns: 1_000_000_000,
            samples_expected: 60,
            samples_taken: 60,
            cpu_s: 0.01,
            problem: None,
        }],
        transactions: Vec::new(),
    }
}

/// A counter that never rests, looked at once a second, with digits that do not repeat.
fn made_up_series(counter: u32, position: u32) -> Series {
    let seconds = 0..60_u32;
    let value = |second: u32| {
        f64::from((second + 1) * (counter + 3) * (position + 7) % 9973) * 1.234_567_891 + f64::from(counter)
    };
    Series {
        name: format!("engine_counter_{counter}_per_s"),
        unit: "1/s".to_owned(),
        source: "made up".to_owned(),
        kind: SeriesKind::Rate,
        at_ns: seconds.clone().map(|second| i64::from(second + 1) * 60_000_000).collect(),
        values: seconds.map(|second| Some(value(second))).collect(),
    }
}

/// Output of the program on this directory.
pub(crate) fn fathom(directory: &Path, words: &[&str]) -> String {
    let done = Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(words)
        .arg("--results")
        .arg(directory)
        .output()
        .unwrap();
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// Writes the page of the directory's study as a user does; returns its place.
pub(crate) fn page(directory: &Path) -> PathBuf {
    let path = directory.join("page.html");
    fathom(directory, &["report", "-o", path.to_str().unwrap()]);
    path
}
