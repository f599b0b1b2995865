//! How far a study has come, how well its means are known, and what ends it early.

use std::collections::BTreeMap;

use results::measure::Measure;
use results::model::{Run, RunState};
use results::store::{Store, StoreError, StudyId};
use stats::compare::BlockedValue;

use super::decisions::Decisions;
use crate::assignment::Assignment;
use crate::schedule::Precision;

/// What the results file already has.
pub(super) struct StudyProgress {
    /// What the report compares.
    measure: Measure,
    /// Its value in the counting run, by block and cell; `None` where the run did not measure it.
    filled: BTreeMap<(u32, u32), Option<f64>>,
    positions: u32,
    cells: usize,
    decisions: Option<Decisions>,
}

impl StudyProgress {
    pub(super) fn read(store: &Store, study: StudyId, assignment: &Assignment) -> Result<Self, StoreError> {
        let runs = store.runs(study)?;
        let mut progress = Self::new(Measure::of_study(&assignment.study()), assignment.cells().len());
        progress.positions = runs.iter().map(|stored| stored.run.position + 1).max().unwrap_or(0);
        progress.decisions = Decisions::of(assignment, &progress.measure);
        for stored in runs.iter().filter(|stored| stored.counts()) {
            match progress.measure.is_latency() {
                // Histograms are read run by run.
                true => progress.add(&store.run(stored.run_id)?.run),
                false => progress.add(&stored.run),
            }
        }
        Ok(progress)
    }

    fn new(measure: Measure, cells: usize) -> Self {
        Self { measure, filled: BTreeMap::new(), positions: 0, cells, decisions: None }
    }

    pub(super) fn add(&mut self, run: &Run) {
        if run.state == RunState::Valid {
            self.filled.insert((run.key.block_index, run.key.cell_index), self.measure.value(run));
        }
    }

    pub(super) fn next_position(&mut self) -> u32 {
        self.positions += 1;
        self.positions - 1
    }

    pub(super) fn is_filled(&self, block_index: u32, cell_index: u32) -> bool {
        self.filled.contains_key(&(block_index, cell_index))
    }

    pub(super) fn filled(&self) -> usize {
        self.filled.len()
    }

    pub(super) fn filled_among(&self, blocks: u32, cells: usize) -> usize {
        let inside = |place: &&(u32, u32)| place.0 < blocks && (place.1 as usize) < cells;
        self.filled.keys().filter(inside).count()
    }

    /// How many comparisons the first blocks, so many, do not decide; `None` where the study does not wait for decisions.
    pub(super) fn undecided(&self, blocks: u32) -> Option<usize> {
        let decisions = self.decisions.as_ref()?;
        let values = |cell_index: u32| -> Vec<BlockedValue> {
            let of_cell =
                self.filled.iter().filter(|((block, cell), _)| *block < blocks && *cell == cell_index);
            of_cell
                .filter_map(|((block, _), value)| Some(BlockedValue { block: *block, value: (*value)? }))
                .collect()
        };
        Some(decisions.undecided(&(0..self.cells as u32).map(values).collect::<Vec<_>>(), blocks))
    }

    /// How well the mean of each cell is known.
    pub(super) fn precisions(&self, cells: usize) -> Vec<Precision> {
        (0..cells as u32)
            .map(|cell_index| {
                let values: Vec<f64> = self
                    .filled
                    .iter()
                    .filter(|((_, cell), _)| *cell == cell_index)
                    .filter_map(|(_, value)| *value)
                    .collect();
                let summary = stats::summary::Summary::of(&values).ok();
                let mean = summary.map_or(f64::NAN, |summary| summary.mean);
                let half_width = summary.and_then(|summary| summary.half_width_relative());
                Precision { mean, half_width: half_width.map(|fraction| fraction * mean) }
            })
            .collect()
    }
}

/// Widest half width among the cells in percent of the mean; `None` while a cell has no interval.
pub(super) fn widest_percent(precisions: &[Precision]) -> Option<f64> {
    let percents: Option<Vec<f64>> = precisions
        .iter()
        .map(|precision| precision.half_width.map(|half_width| 100.0 * half_width / precision.mean))
        .collect();
    percents?.into_iter().reduce(f64::max)
}

/// What the first client was told that found the device full. By the words of SQLite and of the operating system, which
/// PostgreSQL passes on.
pub(super) fn disk_full(run: &Run) -> Option<&str> {
    const SIGNS: [&str; 2] = ["disk is full", "No space left on device"];
    let errors = run.clients.iter().filter_map(|client| client.error.as_deref());
    let mut full = errors.filter(|error| SIGNS.iter().any(|sign| error.contains(sign)));
    full.next().map(|error| error.lines().next().unwrap_or(error))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use results::model::{ClientRecord, Environment, RunKey};

    use super::*;

    fn run(block_index: u32, elapsed_ns: u64, rows: u64) -> Run {
        let mut client = ClientRecord::new(0);
        client.rows = rows;
        Run {
            key: RunKey { block_index, cell_index: 0, attempt: 0 },
            position: block_index,
            started_at: "2026-11-20T10:00:00Z".to_owned(),
            state: RunState::Valid,
            elapsed_ns,
            metrics: Vec::new(),
            gates: Vec::new(),
            warnings: Vec::new(),
            events: Vec::new(),
            settings: Vec::new(),
            environment: Environment::default(),
            observations: Default::default(),
            scripts: Vec::new(),
            clients: vec![client],
        }
    }

    #[test]
    fn runs_of_one_length_are_as_well_known_as_their_rates() {
        let runs = [run(0, 1_000_000_000, 100), run(1, 1_000_000_000, 200), run(2, 1_000_000_001, 300)];
        let half_width_percent = |metric: &str| {
            let mut progress = StudyProgress::new(Measure::named(metric), 1);
            runs.iter().for_each(|run| progress.add(run));
            widest_percent(&progress.precisions(1)).unwrap()
        };
        assert!(half_width_percent("elapsed_s") < 1e-6);
        // Mean 200, sd 100: t(0.975, 2) * 100 / sqrt(3) / 200.
        assert!((half_width_percent("rows_per_s") - 124.21).abs() < 0.01);
    }

    #[test]
    fn a_full_disk_is_known_by_the_words_of_sqlite_and_of_the_operating_system() {
        let told = |error: &str| {
            let mut run = run(0, 1_000_000_000, 100);
            run.clients[0].error = Some(error.to_owned());
            disk_full(&run).map(str::to_owned)
        };
        assert_eq!(
            told("database or disk is full\nhint: free space"),
            Some("database or disk is full".to_owned())
        );
        let postgres = "could not extend file \"base/5/16384\": No space left on device (53100)";
        assert_eq!(told(postgres), Some(postgres.to_owned()));
        assert_eq!(told("terminating connection due to administrator command (57P01)"), None);
        assert_eq!(disk_full(&run(0, 1, 1)), None);
    }
}
