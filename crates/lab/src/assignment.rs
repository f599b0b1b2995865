//! An assignment: an experiment made ready for certain targets, with its cells and its identity.

use std::sync::Arc;
use std::time::Duration;

use results::model::{Cell, Factor, Level, Study, StudyKey};
use sha2::{Digest, Sha256};
use stats::design::contrasts::{Contrasts, Pair};

use crate::observe::external::ExternalCommand;
use crate::own::OwnWorkload;
use crate::path_bytes;
use crate::spec::{Resolved, pairs};
use crate::work::Work;

/// Factor whose levels name the targets, when several servers are compared side by side.
pub const SERVER_FACTOR: &str = "server";

/// What is to be done on which targets.
#[derive(Clone, Debug)]
pub struct Assignment {
    resolved: Resolved,
    servers: Vec<String>,
    target_identity: String,
    seed: u64,
    /// How long nothing may move before a standstill is told; `None` never tells.
    pub no_progress: Option<Duration>,
    /// Commands that look at every run beside fathom's own samplers. They do not change what the study is.
    pub samplers: Vec<ExternalCommand>,
}

impl Assignment {
    /// Puts an experiment on targets.
    ///
    /// `servers` names the targets in their order; more than one makes them the last factor. `target_identity`
    /// says what else makes two studies different (an address without password, a directory); it is stored only
    /// inside the key.
    pub fn new(resolved: Resolved, servers: Vec<String>, target_identity: &str, seed: u64) -> Self {
        let target_identity = target_identity.to_owned();
        Self { resolved, servers, target_identity, seed, no_progress: None, samplers: Vec::new() }
    }

    /// The experiment.
    pub fn resolved(&self) -> &Resolved {
        &self.resolved
    }

    /// Seed of plan, keys and arrival times.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The same assignment with another seed: a study of its own.
    pub fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Factors of the experiment, and the servers when there are several.
    pub fn factors(&self) -> Vec<Factor> {
        let mut factors = self.resolved.factors.clone();
        if self.compares_servers() {
            let levels = self.servers.iter().cloned().map(Level::Text).collect();
            factors.push(Factor { name: SERVER_FACTOR.to_owned(), levels });
        }
        factors
    }

    /// All cells, the last factor fastest.
    pub fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for cell in self.resolved.cells() {
            for target_index in 0..self.targets_per_cell() {
                let mut levels = cell.levels.clone();
                if self.compares_servers() {
                    let server = self.servers[target_index].clone();
                    levels.push((SERVER_FACTOR.to_owned(), Level::Text(server)));
                }
                cells.push(Cell { index: cells.len() as u32, levels });
            }
        }
        cells
    }

    /// What a run of `cell`, one of `cells()`, does.
    pub fn work(&self, cell: &Cell, seed: u64) -> Work {
        let mut experiment_cell = cell.clone();
        experiment_cell.index = cell.index / self.targets_per_cell() as u32;
        self.resolved.work(&experiment_cell, seed)
    }

    /// Which of the targets `cell` runs on.
    pub fn target_index(&self, cell: &Cell) -> usize {
        cell.index as usize % self.targets_per_cell()
    }

    /// The pairs of cells that are compared, each with the contrast that asks for it.
    pub fn pairs(&self) -> Vec<(Contrasts, Pair)> {
        pairs(&self.resolved.design, &self.factors(), &self.cells())
    }

    /// The study as it is stored.
    ///
    /// Its key covers what decides the numbers: experiment, cells, work of each cell, directories, target and
    /// seed. It leaves out how often and with which limits, so that more repetitions go on with the same study.
    pub fn study(&self) -> Study {
        Study {
            key: self.key(),
            experiment: self.resolved.name.clone(),
            title: self.resolved.title.clone(),
            question: self.resolved.question.clone(),
            scale: self.resolved.scale,
            engine: self.resolved.engine.id.into(),
            spec_toml: self.resolved.spec_toml.clone(),
            seed: self.seed,
            factors: self.factors(),
            fixed: self.resolved.fixed.clone(),
            repetitions: self.resolved.repetitions,
            expectations: self.resolved.expectations.clone(),
            design: self.resolved.design.clone(),
            imported: None,
            created_at: jiff::Timestamp::now().to_string(),
            fathom_version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// Identity of the study.
    pub fn key(&self) -> StudyKey {
        let cells: Vec<(Cell, Work)> =
            self.cells().into_iter().map(|cell| (cell.clone(), self.work(&cell, 0))).collect();
        let layout = &self.resolved.layout;
        let own = own_digests(&cells);
        let cells: Vec<(Cell, Work)> =
            cells.into_iter().map(|(cell, work)| (cell, Work { own: None, ..work })).collect();
        let mut identity = serde_json::json!({
            "experiment": self.resolved.name,
            "engine": self.resolved.engine.id.name(),
            "target": self.target_identity,
            "seed": self.seed,
            "cells": cells,
            "data": layout.data.iter().map(|path| path_bytes::value(path)).collect::<Vec<_>>(),
            "log": layout.log.as_deref().map(path_bytes::value),
        });
        if own.iter().any(Option::is_some) {
            identity["own"] = serde_json::json!(own);
        }
        StudyKey(hexadecimal(identity.to_string().as_bytes()))
    }

    fn compares_servers(&self) -> bool {
        self.servers.len() > 1
    }

    fn targets_per_cell(&self) -> usize {
        self.servers.len().max(1)
    }
}

/// What identifies the own workload of each cell. Many cells share a workload, whose texts may be large: each is read once.
fn own_digests(cells: &[(Cell, Work)]) -> Vec<Option<String>> {
    let mut known: Vec<(Arc<OwnWorkload>, String)> = Vec::new();
    let mut last = 0;
    let mut digest = |own: &Arc<OwnWorkload>| {
        let is_same = |index: &usize| known.get(*index).is_some_and(|(other, _)| Arc::ptr_eq(other, own));
        let found = Some(last).filter(is_same).or_else(|| (0..known.len()).find(|index| is_same(index)));
        last = found.unwrap_or_else(|| {
            let text = serde_json::json!(**own).to_string();
            known.push((Arc::clone(own), hexadecimal(text.as_bytes())));
            known.len() - 1
        });
        known[last].1.clone()
    };
    cells.iter().map(|(_, work)| work.own.as_ref().map(&mut digest)).collect()
}

fn hexadecimal(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
