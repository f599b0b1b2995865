//! What the caches of a study's runs were, for the head of its report: a figure of reads says little without it.

use results::model::{CACHE_STATES, Event, StoredRun};
use serde::Serialize;

/// Stands for runs that did not look, beside others that did.
const NOT_LOOKED_AT: &str = "not verified";

/// How many counting runs had their caches in one state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CacheCount {
    /// `cold, verified`, `lukewarm`, `warm`, or `not verified`.
    pub state: String,
    /// Runs that count.
    pub run_count: usize,
}

/// Counts the states of the counting runs, the emptiest caches first; empty when no run looked.
pub(crate) fn counts(runs: &[StoredRun]) -> Vec<CacheCount> {
    let of_run =
        |stored: &StoredRun| stored.run.event(Event::CACHE_STATE).unwrap_or(NOT_LOOKED_AT).to_owned();
    let states: Vec<String> = runs.iter().filter(|stored| stored.counts()).map(of_run).collect();
    let mut counts: Vec<CacheCount> = Vec::new();
    for state in states {
        match counts.iter_mut().find(|count| count.state == state) {
            Some(count) => count.run_count += 1,
            None => counts.push(CacheCount { state, run_count: 1 }),
        }
    }
    let place = |count: &CacheCount| CACHE_STATES.iter().position(|state| *state == count.state);
    counts.sort_by_key(|count| place(count).unwrap_or(CACHE_STATES.len()));
    if counts.iter().all(|count| count.state == NOT_LOOKED_AT) { Vec::new() } else { counts }
}

/// The states in words: the state alone when all runs agree, else each with its number of runs; `None` without any.
pub(crate) fn words(counts: &[CacheCount]) -> Option<String> {
    match counts {
        [] => None,
        [only] => Some(only.state.clone()),
        several => {
            let one = |count: &CacheCount| format!("{} in {}", count.state, count.run_count);
            let runs: usize = several.iter().map(|count| count.run_count).sum();
            let each: Vec<String> = several.iter().map(one).collect();
            Some(format!("{} of {runs} runs", each.join("; ")))
        }
    }
}
