//! Studies with numbers chosen by hand.

use report::catalogue::Catalogue;
use report::summary::{ExpectationOutcome, StudySummary};
use results::histogram::LatencyHistogram;
use results::model::{
    Cell, ClientRecord, Environment, Event, Factor, GateOutcome, GateResult, Level, Mark, Metric, Run,
    RunKey, RunState, Scale, Setting, StoredRun, Study, StudyKey, Warning,
};
use results::store::{CellLatency, CorrectedRun, Correction, StudyResults};

/// A summary with the waits of the engines that the made-up runs name.
pub(crate) fn summarise(results: &StudyResults, expectations: &[ExpectationOutcome]) -> StudySummary {
    let engines = [&lab_sqlite::ENGINE, &lab_postgres::ENGINE];
    let catalogue = Catalogue::new(engines.into_iter().filter_map(|engine| engine.waits));
    report::summary::summarise(results, &catalogue, expectations)
}

pub(crate) fn factor<L: Into<LevelOf>>(name: &str, levels: impl IntoIterator<Item = L>) -> Factor {
    Factor { name: name.to_owned(), levels: levels.into_iter().map(|level| level.into().0).collect() }
}

/// A level from a literal.
pub(crate) struct LevelOf(pub(crate) Level);

impl From<i64> for LevelOf {
    fn from(value: i64) -> Self {
        Self(Level::Integer(value))
    }
}

impl From<&str> for LevelOf {
    fn from(value: &str) -> Self {
        Self(Level::Text(value.to_owned()))
    }
}

/// All combinations of the levels, the last factor fastest; no run yet.
pub(crate) fn study(experiment: &str, factors: Vec<Factor>, repetitions: u32) -> StudyResults {
    let mut levels: Vec<Vec<(String, Level)>> = vec![Vec::new()];
    for factor in &factors {
        let extended = levels.iter().flat_map(|cell| {
            factor.levels.iter().map(move |level| {
                let mut cell = cell.clone();
                cell.push((factor.name.clone(), level.clone()));
                cell
            })
        });
        levels = extended.collect();
    }
    StudyResults {
        study: Study {
            key: StudyKey("5f0c".to_owned()),
            experiment: experiment.to_owned(),
            title: "A made-up study".to_owned(),
            question: "What would the table look like?".to_owned(),
            scale: Scale::Miniature,
            engine: "sqlite".to_owned(),
            spec_toml: String::new(),
            seed: 18_446_744_073_709_551_615,
            factors,
            fixed: vec![
                ("rows_total".to_owned(), Level::Integer(2000)),
                ("jobs".to_owned(), Level::Integer(2)),
            ],
            repetitions,
            expectations: Vec::new(),
            design: results::model::Design::default(),
            imported: None,
            created_at: "2026-11-20T10:00:00Z".to_owned(),
            fathom_version: "0.1.0".to_owned(),
        },
        cells: (0..).zip(levels).map(|(index, levels)| Cell { index, levels }).collect(),
        runs: Vec::new(),
        latencies: Vec::new(),
        scripts: Vec::new(),
        corrections: Vec::new(),
        ceilings: Vec::new(),
    }
}

pub(crate) fn client(client_index: u32, rows: u64, end_ns: u64) -> ClientRecord {
    let mut client = ClientRecord::new(client_index);
    client.start_ns = Some(40_000 + 5_000 * u64::from(client_index));
    client.end_ns = Some(end_ns);
    client.rows = rows;
    client.transactions = rows / 10;
    client
}

/// A valid run of two clients that shared 2000 rows.
pub(crate) fn run(block_index: u32, cell_index: u32, elapsed_s: f64) -> Run {
    let elapsed_ns = (elapsed_s * 1e9).round() as u64;
    let metric = |name: &str, value: f64, unit: &str| Metric {
        name: name.to_owned(),
        value,
        unit: unit.to_owned(),
        source: "VFS shim".to_owned(),
    };
    Run {
        key: RunKey { block_index, cell_index, attempt: 0 },
        position: 0,
        started_at: format!("2026-11-20T10:{block_index:02}:{cell_index:02}Z"),
        state: RunState::Valid,
        elapsed_ns,
        clients: vec![client(0, 1000, elapsed_ns - elapsed_ns / 50), client(1, 1000, elapsed_ns)],
        metrics: vec![
            metric("log_bytes", 8_392_704.0, "bytes"),
            metric("log_flushes", 2000.0 / f64::from(1 + cell_index), "1"),
            metric("client_cpu_s", elapsed_s / 8.0, "s"),
        ],
        gates: vec![GateResult {
            gate: "all_clients_finished".to_owned(),
            outcome: GateOutcome::Passed,
            expected: "2 clients finish their share".to_owned(),
            found: "none at fault".to_owned(),
        }],
        warnings: vec![Warning {
            code: "roles_share_device".to_owned(),
            text: "data and log are on the same device (vda)".to_owned(),
        }],
        events: vec![Event { at_ns: -1_500_000_000, kind: "prepared".to_owned(), text: String::new() }],
        settings: vec![Setting {
            name: "synchronous".to_owned(),
            value: "FULL".to_owned(),
            source: "pragma".to_owned(),
        }],
        observations: Default::default(),
        scripts: Vec::new(),
        environment: Environment {
            machine: serde_json::json!({
                "cpu": {"model": "Made-up CPU", "threads": 2, "numa_nodes": 1},
                "kernel": "6.12.0", "memory_bytes": 4_294_967_296_u64, "governor": null,
            }),
            layout: serde_json::json!([storage("data 1"), storage("log")]),
            engine: serde_json::json!({"version": "3.50.4", "build": "2026-07-30 abcdef"}),
        },
    }
}

/// In the shape that the laboratory writes.
fn storage(role: &str) -> serde_json::Value {
    serde_json::json!({
        "role": role,
        "storage": {
            "directory": "/data/fathom",
            "mount": {"source": "/dev/vda", "file_system": "ext4", "mount_options": ["rw", "noatime"]},
            "block_devices": [{"name": "vda", "scheduler": "none", "rotational": false}],
        },
    })
}

impl Adding for StudyResults {
    fn add(&mut self, mut run: Run) -> i64 {
        let run_id = self.runs.len() as i64 + 1;
        run.position = self.runs.len() as u32;
        self.runs.push(StoredRun { run_id, run, superseded_by: None, suspect: None });
        run_id
    }
}

pub(crate) trait Adding {
    /// Adds a run at the next position and returns its number.
    fn add(&mut self, run: Run) -> i64;
}

/// Adds one valid run per cell and block; the elapsed time is `seconds[cell]` plus a small spread per block.
pub(crate) fn fill(results: &mut StudyResults, seconds: &[f64]) {
    const SPREAD: [f64; 5] = [0.0, 0.02, -0.015, 0.01, -0.005];
    for block_index in 0..results.study.repetitions {
        for (cell_index, cell_seconds) in seconds.iter().enumerate() {
            // A different order and another spread for each cell, as if by chance.
            let place = (cell_index * 7 + block_index as usize * 3) % SPREAD.len();
            let elapsed_s = cell_seconds * (1.0 + SPREAD[place]);
            results.add(run(block_index, cell_index as u32, elapsed_s));
        }
    }
}

pub(crate) fn latencies(milliseconds: impl IntoIterator<Item = u64>) -> LatencyHistogram {
    let mut histogram = LatencyHistogram::new();
    milliseconds.into_iter().for_each(|latency_ms| histogram.record(latency_ms * 1_000_000));
    histogram
}

/// Three batch sizes, five blocks; one run with a killed client was repeated, one doubted run was run again.
pub(crate) fn batch() -> StudyResults {
    let mut results = study("populate-batch", vec![factor("batch_size", [1_i64, 10, 100])], 5);
    fill(&mut results, &[4.0, 1.0, 0.5]);
    spoil(&mut results, 3);
    let again = Run { key: RunKey { block_index: 1, cell_index: 0, attempt: 1 }, ..run(1, 0, 4.05) };
    results.runs[3].superseded_by = Some(results.add(again));
    doubt(&mut results, 1);
    results.latencies = (0..3)
        .map(|cell_index| CellLatency {
            cell_index,
            service_time: latencies((1..=100).map(|step| step / (1 + u64::from(cell_index)) + 1)),
            response_time: None,
        })
        .collect();
    results
}

/// Lets the runs say what their caches were, as `state` has it for each cell.
pub(crate) fn with_caches(
    mut results: StudyResults,
    state: impl Fn(u32) -> Option<&'static str>,
) -> StudyResults {
    for stored in &mut results.runs {
        if let Some(state) = state(stored.run.key.cell_index) {
            stored.run.events.push(Event {
                at_ns: 0,
                kind: Event::CACHE_STATE.to_owned(),
                text: state.to_owned(),
            });
        }
    }
    results
}

/// Turns a run into one whose client 1 was killed in the middle.
pub(crate) fn spoil(results: &mut StudyResults, index: usize) {
    let run = &mut results.runs[index].run;
    run.state = RunState::Invalid;
    run.clients[1].end_ns = None;
    run.clients[1].rows = 417;
    run.clients[1].errors = 1;
    run.clients[1].error = Some("server closed the connection unexpectedly".to_owned());
    run.gates[0].outcome = GateOutcome::Failed;
    run.gates[0].found = "client 1".to_owned();
    run.gates.push(GateResult {
        gate: "no_errors".to_owned(),
        outcome: GateOutcome::Failed,
        expected: "no client meets an error".to_owned(),
        found: "client 1: server closed the connection unexpectedly".to_owned(),
    });
}

/// Marks a run as suspect and runs it again, half as fast.
pub(crate) fn doubt(results: &mut StudyResults, index: usize) {
    let mut again = results.runs[index].run.clone();
    again.key.attempt = 1;
    again.elapsed_ns /= 2;
    again.clients.iter_mut().for_each(|client| client.end_ns = client.end_ns.map(|end_ns| end_ns / 2));
    let new_id = results.add(again);
    let mark =
        Mark { marked_at: "2026-11-20T12:00:00Z".to_owned(), reason: "a backup was running".to_owned() };
    results.runs[index].suspect = Some(mark.clone());
    results.runs[index].superseded_by = Some(new_id);
    let corrected = |stored: &StoredRun| CorrectedRun {
        run_id: stored.run_id,
        key: stored.run.key,
        state: stored.run.state,
        elapsed_ns: stored.run.elapsed_ns,
        rows: stored.run.rows(),
    };
    let new = results.runs.last().map(corrected);
    let old = corrected(&results.runs[index]);
    results.corrections.push(Correction { old, new, reason: mark.reason, at: mark.marked_at });
}

/// Two factors, three repetitions.
pub(crate) fn matrix() -> StudyResults {
    let factors = vec![factor("batch_size", [1_i64, 10]), factor("connections", [1_i64, 4, 16])];
    let mut results = study("populate-batch-x-connections", factors, 3);
    fill(&mut results, &[8.0, 4.0, 3.0, 1.0, 0.8, 0.9]);
    results
}

/// Two names for the same thing.
pub(crate) fn a_a() -> StudyResults {
    let mut results = study("a-a", vec![factor("label", ["A", "B"])], 5);
    fill(&mut results, &[1.0, 1.001]);
    results
}

/// Bound by time, open loop.
pub(crate) fn rates() -> StudyResults {
    let mut results = study("insert-rate", vec![factor("connections", [1_i64, 8])], 5);
    results.study.fixed = vec![("duration".to_owned(), Level::Text("10s".to_owned()))];
    fill(&mut results, &[10.0, 10.0]);
    for stored in results.runs.iter_mut().filter(|stored| stored.run.key.cell_index == 1) {
        stored.run.clients[0].rows += 2000 + 10 * u64::from(stored.run.key.block_index);
    }
    results.latencies = vec![CellLatency {
        cell_index: 1,
        service_time: latencies(1..=10),
        response_time: Some(latencies((1..=10).map(|step| step * step))),
    }];
    results
}
