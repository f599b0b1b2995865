//! How far a study is: what a page asks for while an experiment runs, and what the index shows.

use std::collections::BTreeSet;

use jiff::Timestamp;
use results::model::{RunState, Scale, StoredRun};
use results::store::StudyResults;
use serde_json::json;

/// How far a study is.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Progress {
    /// Attempts that ended, valid or not.
    pub(super) ended: usize,
    /// Places of the plan in which a run ended.
    pub(super) done: usize,
    /// Places of the plan: cells times repetitions.
    pub(super) planned: usize,
    /// Runs that enter means.
    pub(super) counting: usize,
    /// Is a run in progress?
    pub(super) is_running: bool,
    /// Are runs missing that no process makes?
    pub(super) is_interrupted: bool,
    /// From the start of the first run to the end of the last, in seconds.
    pub(super) duration_s: Option<f64>,
    /// Time left, in seconds.
    eta_s: Option<f64>,
    /// Changes with every news.
    stamp: String,
}

impl Progress {
    /// Reads it off the runs.
    ///
    /// Interrupted is a study that no process writes to and that has places where no run has ended: its process was killed
    /// or stopped. Where it is not known whether one writes (`has_writer`), a study is interrupted when its last run was.
    ///
    /// The time left is that of the runs so far, pauses included, for those that are missing: an estimate, and absent
    /// before the first has ended.
    pub(super) fn of(results: &StudyResults, has_writer: Option<bool>, now: Timestamp) -> Self {
        let has_ended = |stored: &&StoredRun| matches!(stored.run.state, RunState::Valid | RunState::Invalid);
        let ended: Vec<&StoredRun> = results.runs.iter().filter(has_ended).collect();
        // Nothing was planned for a study that was imported: it has the runs that were in its files.
        let planned = match results.study.imported {
            Some(_) => results.runs.len(),
            None => results.cells.len() * results.study.repetitions as usize,
        };
        let counting = results.runs.iter().filter(|stored| stored.counts()).count();
        let missing = planned.saturating_sub(counting);
        let is_running = results.runs.iter().any(|stored| stored.run.state == RunState::Running);
        let started_at = |stored: &&StoredRun| stored.run.started_at.parse::<Timestamp>().ok();
        let started = ended.iter().filter_map(started_at).min();
        let eta_s = started.filter(|_| is_running && missing > 0).map(|started| {
            let so_far_s = (now.as_second() - started.as_second()).max(0) as f64;
            (so_far_s / ended.len() as f64 * missing as f64).round()
        });
        let end_s = |stored: &&StoredRun| {
            let started = started_at(stored)?;
            Some(started.as_millisecond() as f64 / 1e3 + stored.run.elapsed_ns as f64 / 1e9)
        };
        let last_s = ended.iter().filter_map(end_s).reduce(f64::max);
        let duration_s =
            started.zip(last_s).map(|(first, last)| (last - first.as_millisecond() as f64 / 1e3).max(0.0));
        let tried: BTreeSet<(u32, u32)> =
            ended.iter().map(|stored| (stored.run.key.block_index, stored.run.key.cell_index)).collect();
        let is_abandoned = match has_writer {
            Some(has_writer) => !has_writer,
            None => results.runs.last().is_some_and(|last| last.run.state == RunState::Interrupted),
        };
        let marks = results.runs.iter().filter(|stored| stored.suspect.is_some()).count();
        Self {
            ended: ended.len(),
            done: tried.len(),
            planned,
            counting,
            is_running,
            is_interrupted: !is_running && is_abandoned && tried.len() < planned,
            duration_s,
            eta_s,
            stamp: format!("{}-{}-{marks}-{is_running}", results.runs.len(), ended.len()),
        }
    }

    /// What a page asks for, with the command that resumes an interrupted study.
    pub(super) fn json(&self, results: &StudyResults) -> String {
        json!({
            "ended": self.ended,
            "planned": self.planned,
            "counting": self.counting,
            "running": self.is_running,
            "interrupted_at": self.is_interrupted.then_some(self.done + 1),
            "resume": self.is_interrupted.then(|| resume(results)),
            "eta_s": self.eta_s,
            "stamp": self.stamp,
        })
        .to_string()
    }
}

/// The command that resumes a study, as far as the study knows it: parameters that were set on the command line are not
/// told apart from those of the spec.
fn resume(results: &StudyResults) -> String {
    let study = &results.study;
    let mini = if study.scale == Scale::Miniature { " --mini" } else { "" };
    let target = if study.engine == crate::arguments::DEFAULT_TARGET {
        String::new()
    } else {
        format!(" --target {}", study.engine)
    };
    format!("fathom run {}{mini}{target} --seed {}", study.experiment, study.seed)
}
