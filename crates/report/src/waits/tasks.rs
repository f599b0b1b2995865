//! Samples of waiting tasks, added up by what they waited for.

use std::collections::BTreeMap;

use results::observations::WaitingTask;
use serde::Serialize;

/// What was waited for, over all samples of waiting tasks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskSummary {
    /// `class:name`.
    pub wait: String,
    /// What was waited for; empty where the engine does not say.
    pub resource: String,
    /// Class of the page, where it is one and known.
    pub page_class: Option<String>,
    /// Times that a session was seen waiting for it.
    pub sample_count: usize,
    /// Share of all samples, 0 to 100.
    pub percentage: f64,
    /// Most sessions that were seen waiting for it at one moment.
    pub sessions_max: usize,
    /// Longest wait that was seen, in seconds, where the engine tells.
    pub waited_s_max: Option<f64>,
    /// Sessions that others waited for, the most often first, at most [`BLOCKERS_MAX`].
    pub blockers: Vec<String>,
}

/// Blocking sessions that are named of one resource.
pub const BLOCKERS_MAX: usize = 3;

/// Adds samples of waiting tasks up by wait and resource, the most frequent first.
pub fn tasks(samples: &[WaitingTask]) -> Vec<TaskSummary> {
    let mut by_resource: BTreeMap<(&str, &str), Vec<&WaitingTask>> = BTreeMap::new();
    for task in samples {
        by_resource.entry((&task.wait, &task.resource)).or_default().push(task);
    }
    let mut list: Vec<TaskSummary> = by_resource
        .into_iter()
        .map(|((wait, resource), tasks)| {
            let mut at_once: BTreeMap<i64, usize> = BTreeMap::new();
            let mut blockers: BTreeMap<&str, usize> = BTreeMap::new();
            for task in &tasks {
                *at_once.entry(task.at_ns).or_default() += 1;
                task.blocked_by.iter().for_each(|session| *blockers.entry(session).or_default() += 1);
            }
            let mut blockers: Vec<(&str, usize)> = blockers.into_iter().collect();
            blockers.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
            TaskSummary {
                wait: wait.to_owned(),
                resource: resource.to_owned(),
                page_class: tasks.iter().find_map(|task| task.page_class.clone()),
                sample_count: tasks.len(),
                percentage: 100.0 * tasks.len() as f64 / samples.len() as f64,
                sessions_max: at_once.values().copied().max().unwrap_or(0),
                waited_s_max: tasks.iter().filter_map(|task| task.waited_s).reduce(f64::max),
                blockers: blockers
                    .iter()
                    .take(BLOCKERS_MAX)
                    .map(|(session, _)| (*session).to_owned())
                    .collect(),
            }
        })
        .collect();
    list.sort_by_key(|summary| std::cmp::Reverse(summary.sample_count));
    list
}
