//! Runs made up so that one thing is their limit: what the tests of reasons explain.
#![allow(clippy::unwrap_used)]

use results::model::{
    Cell, ClientRecord, Environment, Metric, Run, RunKey, RunState, Scale, StoredRun, Study, StudyKey,
};
use results::observations::{How, Observations, WaitProfile, WaitRow};
use results::store::StudyResults;

use super::{CellReason, cells};
use crate::catalogue::Catalogue;

/// The waits of the engines that tests make runs of.
pub(crate) fn catalogue() -> Catalogue {
    let engines = [&lab_sqlite::ENGINE, &lab_postgres::ENGINE];
    Catalogue::new(engines.into_iter().filter_map(|engine| engine.waits))
}

/// Ten seconds of four sessions.
pub(super) struct MadeUp {
    pub(super) engine: &'static str,
    pub(super) connections: u32,
    pub(super) on_cpu_s: f64,
    pub(super) run_delay_s: f64,
    /// Class, name, idle, seconds, seconds of them in front of a processor.
    pub(super) waits: Vec<(&'static str, &'static str, bool, f64, f64)>,
    pub(super) metrics: Vec<(&'static str, f64)>,
}

impl MadeUp {
    pub(super) fn postgres(waits: Vec<(&'static str, &'static str, bool, f64, f64)>) -> Self {
        Self {
            engine: "postgres",
            connections: 4,
            on_cpu_s: 1.0,
            run_delay_s: 0.5,
            waits,
            metrics: vec![("fathom_cpu_s", 1.0), ("server_cpu_s", 2.0), ("other_cpu_s", 1.0)],
        }
    }

    pub(super) fn with(mut self, metrics: &[(&'static str, f64)]) -> Self {
        self.metrics.retain(|(name, _)| metrics.iter().all(|(other, _)| other != name));
        self.metrics.extend(metrics);
        self
    }

    pub(super) fn run(&self) -> Run {
        let row = |(class, name, is_idle, wait_s, signal_s): &(&str, &str, bool, f64, f64)| WaitRow {
            class: (*class).to_owned(),
            name: (*name).to_owned(),
            is_idle: *is_idle,
            wait_s: *wait_s,
            resource_s: Some(wait_s - signal_s),
            signal_s: (self.engine != "sqlite").then_some(*signal_s),
            count: None,
            how: if self.engine == "sqlite" { How::Exact } else { How::Sampled { period_ns: 10_000_000 } },
        };
        let profile = WaitProfile {
            group: "clients".to_owned(),
            session_count: self.connections,
            session_s: 10.0 * f64::from(self.connections),
            on_cpu_s: Some(self.on_cpu_s),
            run_delay_s: Some(self.run_delay_s),
            rows: self.waits.iter().map(row).collect(),
        };
        let metric = |(name, value): &(&str, f64)| Metric {
            name: (*name).to_owned(),
            value: *value,
            unit: String::new(),
            source: "made up".to_owned(),
        };
        Run {
            key: RunKey { block_index: 0, cell_index: 0, attempt: 0 },
            position: 0,
            started_at: "2026-11-20T10:00:00Z".to_owned(),
            state: RunState::Valid,
            elapsed_ns: 10_000_000_000,
            clients: (0..self.connections).map(ClientRecord::new).collect(),
            metrics: self.metrics.iter().map(metric).collect(),
            gates: Vec::new(),
            warnings: Vec::new(),
            events: Vec::new(),
            settings: Vec::new(),
            environment: Environment {
                machine: serde_json::json!({"processors": {"online": [0, 1]}}),
                ..Environment::default()
            },
            observations: Observations { waits: vec![profile], ..Observations::default() },
            scripts: Vec::new(),
        }
    }

    pub(super) fn results(&self) -> StudyResults {
        study(self.engine, vec![self.run()])
    }

    pub(super) fn reason(&self) -> CellReason {
        let mut cells = cells(&self.results(), &catalogue());
        assert_eq!(cells.len(), 1);
        cells.remove(0)
    }
}

pub(super) fn study(engine: &str, runs: Vec<Run>) -> StudyResults {
    StudyResults {
        study: Study {
            key: StudyKey("0".to_owned()),
            experiment: "made-up".to_owned(),
            title: String::new(),
            question: String::new(),
            scale: Scale::Miniature,
            engine: engine.to_owned(),
            spec_toml: String::new(),
            seed: 0,
            factors: Vec::new(),
            fixed: Vec::new(),
            repetitions: 1,
            expectations: Vec::new(),
            design: results::model::Design::default(),
            imported: None,
            created_at: String::new(),
            fathom_version: String::new(),
        },
        cells: vec![Cell { index: 0, levels: Vec::new() }],
        runs: (1..)
            .zip(runs)
            .map(|(run_id, run)| StoredRun { run_id, run, superseded_by: None, suspect: None })
            .collect(),
        latencies: Vec::new(),
        scripts: Vec::new(),
        corrections: Vec::new(),
        ceilings: Vec::new(),
    }
}
