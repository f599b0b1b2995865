//! How far a study is: what a page asks for while an experiment runs.

use std::collections::BTreeSet;

use jiff::Timestamp;
use results::model::{RunState, Scale, StoredRun};
use results::store::StudyResults;
use serde_json::json;

/// Runs that ended, runs planned, whether one is under way, whether the study was cut off and how it goes on, the time
/// that is left, and a stamp that changes with every news.
///
/// Cut off is a study that nobody writes to and that has places where no run has ended: its process was killed or
/// stopped. Whether somebody writes is `has_writer`; where that is not known, a study is called cut off when its last run
/// was interrupted.
///
/// The time left is that of the runs so far, pauses included, for those that are missing: an estimate, and absent before
/// the first has ended.
pub(super) fn state(results: &StudyResults, has_writer: Option<bool>, now: Timestamp) -> String {
    let has_ended = |stored: &&StoredRun| matches!(stored.run.state, RunState::Valid | RunState::Invalid);
    let ended: Vec<&StoredRun> = results.runs.iter().filter(has_ended).collect();
    let places = results.cells.len() * results.study.repetitions as usize;
    let counting = results.runs.iter().filter(|stored| stored.counts()).count();
    let missing = places.saturating_sub(counting);
    let is_running = results.runs.iter().any(|stored| stored.run.state == RunState::Running);
    let started = ended.iter().filter_map(|stored| stored.run.started_at.parse::<Timestamp>().ok()).min();
    let eta_s = started.filter(|_| is_running && missing > 0).map(|started| {
        let so_far_s = (now.as_second() - started.as_second()).max(0) as f64;
        (so_far_s / ended.len() as f64 * missing as f64).round()
    });
    let tried: BTreeSet<(u32, u32)> =
        ended.iter().map(|stored| (stored.run.key.block_index, stored.run.key.cell_index)).collect();
    let is_abandoned = match has_writer {
        Some(has_writer) => !has_writer,
        None => results.runs.last().is_some_and(|last| last.run.state == RunState::Interrupted),
    };
    let is_cut_off = !is_running && is_abandoned && tried.len() < places;
    let marks = results.runs.iter().filter(|stored| stored.suspect.is_some()).count();
    json!({
        "ended": ended.len(),
        "planned": places,
        "counting": counting,
        "running": is_running,
        "interrupted_at": is_cut_off.then(|| tried.len() + 1),
        "resume": is_cut_off.then(|| resume(results)),
        "eta_s": eta_s,
        "stamp": format!("{}-{}-{marks}-{is_running}", results.runs.len(), ended.len()),
    })
    .to_string()
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
