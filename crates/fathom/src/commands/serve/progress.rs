//! How far a study is: what a page asks for while an experiment runs.

use jiff::Timestamp;
use results::model::{RunState, StoredRun};
use results::store::StudyResults;
use serde_json::json;

/// Runs that ended, runs planned, whether one is under way, the time that is left, and a stamp that changes with every
/// news.
///
/// The time left is that of the runs so far, pauses included, for those that are missing: an estimate, and absent before
/// the first has ended.
pub(super) fn state(results: &StudyResults, now: Timestamp) -> String {
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
    let marks = results.runs.iter().filter(|stored| stored.suspect.is_some()).count();
    json!({
        "ended": ended.len(),
        "planned": places,
        "counting": counting,
        "running": is_running,
        "eta_s": eta_s,
        "stamp": format!("{}-{}-{marks}", results.runs.len(), ended.len()),
    })
    .to_string()
}
