//! What the runs ran on, what warned, and in which order they ran.

use results::model::{RunKey, RunState, StoredRun};
use results::store::StudyResults;
use serde::Serialize;
use serde_json::Value;

use super::cells::work;
use super::levels::cell_label;
use crate::quantity::elapsed_s;

/// One recorded fact with every value that it had over the runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fact {
    /// Path of the fact, e.g. `cpu.model` or `data 1.storage.scheduler`.
    pub name: String,
    /// Distinct values in the order in which they were seen; one when all runs agree.
    pub values: Vec<String>,
}

/// A caution with the number of runs that carry it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunWarning {
    /// Stable code.
    pub code: String,
    /// Sentence for people.
    pub text: String,
    /// Runs that carry it.
    pub run_count: usize,
}

/// One run in the order of the study.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunLine {
    /// Row number in the store.
    pub run_id: i64,
    /// Place in the order in which the study ran, from 0.
    pub position: u32,
    /// Which execution of which cell.
    pub key: RunKey,
    /// Label of the cell.
    pub label: String,
    /// What became of it.
    pub state: RunState,
    /// Did another tool measure it?
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_imported: bool,
    /// Does it enter means?
    pub counts: bool,
    /// Reason of the mark, when it has one.
    pub suspect: Option<String>,
    /// Run that took its place.
    pub superseded_by: Option<i64>,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// Elapsed seconds; `None` when it did not end.
    pub elapsed_s: Option<f64>,
    /// End of the first client, in seconds since the barrier.
    pub first_client_s: Option<f64>,
    /// End of the last client, in seconds since the barrier.
    pub last_client_s: Option<f64>,
    /// Rows acknowledged; transactions where the workload is the user's own.
    pub rows: u64,
    /// Errors met.
    pub errors: u64,
}

/// What the study ran on and in which order.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Record {
    /// Version of fathom that made the study.
    pub fathom_version: String,
    /// RFC 3339, UTC.
    pub created_at: String,
    /// Seed of the plan and of the keys; text in JSON, because it may not fit a double.
    pub seed: String,
    /// Planned repetitions.
    pub repetitions: u32,
    /// Processor, NUMA, memory, kernel, governor.
    pub machine: Vec<Fact>,
    /// Per role: directory, device, mount options, scheduler.
    pub layout: Vec<Fact>,
    /// Engine, version, build.
    pub engine: Vec<Fact>,
    /// Non-default settings.
    pub settings: Vec<Fact>,
    /// Cautions.
    pub warnings: Vec<RunWarning>,
    /// Runs that ended, and so can carry cautions.
    pub ended_run_count: usize,
    /// All runs in the order in which they ran.
    pub runs: Vec<RunLine>,
}

/// Collects the record from all runs.
pub(crate) fn record(results: &StudyResults) -> Record {
    let study = &results.study;
    let runs = &results.runs;
    let environment = |part: fn(&StoredRun) -> &Value| {
        let mut facts = Vec::new();
        runs.iter().for_each(|stored| add_facts(&mut facts, part(stored)));
        facts
    };
    let mut settings = Vec::new();
    for setting in runs.iter().flat_map(|stored| &stored.run.settings) {
        let source = if setting.source.is_empty() { String::new() } else { format!(" ({})", setting.source) };
        add_fact(&mut settings, setting.name.clone(), format!("{}{source}", setting.value));
    }
    Record {
        fathom_version: study.fathom_version.clone(),
        created_at: study.created_at.clone(),
        seed: study.seed.to_string(),
        repetitions: study.repetitions,
        machine: environment(|stored| &stored.run.environment.machine),
        layout: environment(|stored| &stored.run.environment.layout),
        engine: environment(|stored| &stored.run.environment.engine),
        settings,
        warnings: warnings(runs),
        ended_run_count: runs.iter().filter(|stored| has_ended(stored)).count(),
        runs: runs.iter().map(|stored| run_line(results, stored)).collect(),
    }
}

fn has_ended(stored: &StoredRun) -> bool {
    matches!(stored.run.state, RunState::Valid | RunState::Invalid)
}

fn run_line(results: &StudyResults, stored: &StoredRun) -> RunLine {
    let run = &stored.run;
    let seconds = |ns: u64| ns as f64 / 1e9;
    RunLine {
        run_id: stored.run_id,
        position: run.position,
        key: run.key,
        label: cell_label(results, run.key.cell_index),
        state: run.state,
        is_imported: run.is_imported(),
        counts: stored.counts(),
        suspect: stored.suspect.as_ref().map(|mark| mark.reason.clone()),
        superseded_by: stored.superseded_by,
        started_at: run.started_at.clone(),
        elapsed_s: (has_ended(stored) && !(run.is_imported() && run.elapsed_ns == 0)).then(|| elapsed_s(run)),
        first_client_s: run.first_client_end_ns().map(seconds),
        last_client_s: run.last_client_end_ns().map(seconds),
        rows: work(results, run),
        errors: run.errors(),
    }
}

fn warnings(runs: &[StoredRun]) -> Vec<RunWarning> {
    let mut warnings: Vec<RunWarning> = Vec::new();
    for warning in runs.iter().flat_map(|stored| &stored.run.warnings) {
        match warnings.iter_mut().find(|known| known.code == warning.code && known.text == warning.text) {
            Some(known) => known.run_count += 1,
            None => warnings.push(RunWarning {
                code: warning.code.clone(),
                text: warning.text.clone(),
                run_count: 1,
            }),
        }
    }
    warnings
}

fn add_fact(facts: &mut Vec<Fact>, name: String, value: String) {
    match facts.iter_mut().find(|fact| fact.name == name) {
        Some(fact) if fact.values.contains(&value) => {}
        Some(fact) => fact.values.push(value),
        None => facts.push(Fact { name, values: vec![value] }),
    }
}

/// Flattens a JSON value into facts named by their path; a member `role` or `name` names an element of a list.
///
/// A work list instead of recursion: the shape comes from a file.
fn add_facts(facts: &mut Vec<Fact>, value: &Value) {
    let mut waiting = vec![(String::new(), value)];
    while let Some((path, value)) = waiting.pop() {
        let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        match value {
            Value::Null => {}
            Value::Object(members) => {
                // The member that named this element of a list says nothing new.
                let says_more = |member: &Value| {
                    path.is_empty() || member.as_str().is_none_or(|text| !path.ends_with(text))
                };
                let members = members.iter().rev().filter(|(_, member)| says_more(member));
                waiting.extend(members.map(|(name, member)| (below(name), member)));
            }
            Value::Array(elements)
                if elements.iter().all(|element| !element.is_object() && !element.is_array()) =>
            {
                if !elements.is_empty() {
                    let words: Vec<String> = elements.iter().map(scalar).collect();
                    add_fact(facts, path, words.join(", "));
                }
            }
            Value::Array(elements) => {
                let named = elements.iter().enumerate().rev().map(|(index, element)| {
                    let name = ["role", "name"].iter().find_map(|member| element.get(member)?.as_str());
                    (below(&name.map_or_else(|| index.to_string(), str::to_owned)), element)
                });
                waiting.extend(named);
            }
            _ => add_fact(facts, path, scalar(value)),
        }
    }
}

fn scalar(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
