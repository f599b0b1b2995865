//! The index: a line for each study, computed once until something about the study changes.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use report::html::{Index, StudyLine, StudyState};
use results::model::Scale;
use results::store::{Store, StoredStudy, StudyId};

use super::progress::Progress;
use crate::cli::{baselines, stored, study};

/// Lines by study, each with the stamp of the study when it was computed.
#[derive(Debug, Default)]
pub(super) struct Lines(Mutex<HashMap<StudyId, (String, StudyLine)>>);

/// The page, and whether a study is running, so that it changes soon.
pub(super) struct IndexPage {
    pub(super) html: String,
    pub(super) is_running: bool,
}

impl Lines {
    /// Writes the index of a results file. The first request costs the summary of every study.
    pub(super) fn page(&self, store: &Store) -> anyhow::Result<IndexPage> {
        let stored = store.studies()?;
        let mut studies =
            stored.iter().map(|study| self.line(store, study)).collect::<anyhow::Result<Vec<_>>>()?;
        link(&mut studies, &stored);
        let checks = store.checks()?;
        let baselines: Vec<_> = store.io_tables()?.into_iter().map(baselines::stored).collect();
        let mut structures = store.structures()?;
        // Those of runs are on the page of their study.
        structures.retain(|stored| stored.run_id.is_none());
        let index =
            Index { studies: &studies, checks: &checks, baselines: &baselines, structures: &structures };
        let is_running = studies.iter().any(|line| line.state == StudyState::Running);
        Ok(IndexPage { html: report::html::index_page(&index), is_running })
    }

    fn line(&self, store: &Store, stored: &StoredStudy) -> anyhow::Result<StudyLine> {
        let has_writer = store.has_writer();
        let stamp = format!("{}-{}-{has_writer:?}", store.stamp(stored.id)?, stored.study.repetitions);
        let known = |lines: &HashMap<StudyId, (String, StudyLine)>| {
            lines.get(&stored.id).filter(|(at, _)| *at == stamp).map(|(_, line)| line.clone())
        };
        if let Some(line) = known(&self.0.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(line);
        }
        let line = computed(store, stored, has_writer)?;
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.insert(stored.id, (stamp, line.clone()));
        Ok(line)
    }
}

fn computed(store: &Store, stored: &StoredStudy, has_writer: Option<bool>) -> anyhow::Result<StudyLine> {
    let results = stored::results(store, stored.id)?;
    let progress = Progress::of(&results, has_writer, Timestamp::now());
    let summary = study::summary_of(&results);
    let lines = summary.conditions.environment.iter();
    let engine = lines.filter_map(|line| line.strip_prefix("engine: ")).next().unwrap_or(&summary.engine);
    let target = match &stored.study.imported {
        Some(imported) => format!("{engine} ({})", imported.mark()),
        None => engine.to_owned(),
    };
    let state = match (progress.is_running, progress.is_interrupted) {
        (true, _) => StudyState::Running,
        (_, true) => StudyState::Interrupted,
        // Between two runs of a study that goes on.
        _ if progress.done < progress.planned => StudyState::Running,
        _ => StudyState::Complete,
    };
    Ok(StudyLine {
        id: stored.id,
        title: stored.study.title.clone(),
        experiment: stored.study.experiment.clone(),
        target,
        is_miniature: stored.study.scale == Scale::Miniature,
        state,
        done: progress.done,
        planned: progress.planned,
        counting: progress.counting,
        // Imported tables have no times.
        duration_s: progress.duration_s.filter(|seconds| *seconds > 0.0),
        created_at: stored.study.created_at.clone(),
        verdict: report::outcome::phrase(&summary),
        previous: None,
        has_history: false,
    })
}

/// Finds for each study the one to compare it with, and whether its experiment has a history.
fn link(lines: &mut [StudyLine], stored: &[StoredStudy]) {
    for (place, one) in stored.iter().enumerate() {
        let is_same_work = |other: &StoredStudy| {
            let (one, other) = (&one.study, &other.study);
            one.experiment == other.experiment && one.engine == other.engine && one.scale == other.scale
        };
        lines[place].previous =
            stored[..place].iter().rev().find(|other| is_same_work(other)).map(|other| other.id);
        let of_experiment = stored.iter().filter(|other| other.study.experiment == one.study.experiment);
        lines[place].has_history = of_experiment.count() > 1;
    }
}
