//! Stopping a check and going on from there.
//!
//! Claims are handed out in the order of the file, and those under way are finished when a check is stopped: what was
//! seen is everything before one offset. The map is made anew by the next call; only what the pass learned is kept.

use std::path::Path;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use results::EngineId;
use results::check::CheckReport;
use results::object::Affected;
use serde::de::DeserializeOwned;

use check::findings::Findings;
use check::matching::sums::Difference;
use check::options::Options;
use check::stopped;
use check::stopped::NotResumed;

use crate::causes::{Explained, Loss};
use crate::map::Use;
use crate::map::chain::{OpenChain, Run};
use crate::map::ends::Ends;
use crate::matching::collect::Named;
use crate::run::context::{Context, PageSet};
use crate::run::state::{SecondPassState, State, StoppedCheck};
use crate::run::worker::Worker;
use crate::source::anchor::Anchor;
use crate::versions::Doubts;

/// Version of what a stopped check keeps, and of how sums are made.
const STATE_VERSION: u32 = 3;

/// Numbers that tell whether a database is still the one whose check was stopped.
pub(crate) fn identity(anchor: &Anchor, level: results::check::CheckLevel) -> Vec<u64> {
    let header = &anchor.header;
    let (frames, salt) = anchor.log.map_or((0, (0, 0)), |log| (log.committed_count, log.salt));
    let words = [
        header.change_counter,
        header.version_valid_for,
        header.schema_cookie,
        anchor.page_count,
        salt.0,
        salt.1,
    ];
    let numbers = [level as u64, u64::from(header.page_size_bytes), anchor.file_bytes, frames];
    words.into_iter().map(u64::from).chain(numbers).collect()
}

/// What the pass learned, ready to be kept. `worker` is the sum of all workers, before anything else was reported. Fails
/// when ends of long values cannot be read back from their temporary file.
pub(crate) fn stopped(
    anchor: &Anchor,
    worker: &Worker<'_>,
    next_offset_bytes: u64,
    bytes_read: u64,
) -> std::io::Result<StoppedCheck> {
    let context = worker.context;
    let ends = context.ends.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut open, mut runs) = ends.as_ref().map_or(Ok(Default::default()), Ends::all)?;
    open.extend(&worker.chains.open);
    runs.extend(&worker.chains.runs);
    let sums = worker.differences.iter().chain([&worker.chains.expected_entries]);
    let pages = || 0..=context.page_count as usize;
    let state = State {
        bytes_read,
        counts: [worker.row_count, worker.entry_count, worker.unreadable_count],
        damaged_pages: stretches(pages().filter(|page| context.damaged_pages.contains(*page))),
        affected_pages: stretches(pages().filter(|page| context.affected_pages.contains(*page))),
        losses: stored_losses(context),
        record_counts: worker.record_counts.clone(),
        damaged_objects: stretches(
            (0..context.plans.trees.len()).filter(|tree| context.damaged_trees.contains(*tree)),
        ),
        claimed_pages: stretches(pages().filter(|page| context.map.use_of(*page as u32) == Use::Overflow)),
        open_chains: open.into_iter().map(OpenChain::to_numbers).collect(),
        runs: runs.into_iter().map(|run| [run.first, run.length, run.next]).collect(),
        sums: sums.map(Difference::to_stored).collect(),
        is_cut: context.is_cut.load(Ordering::Relaxed),
        unevaluated: worker
            .unevaluated
            .iter()
            .map(|(tree, (count, reason))| (*tree as u64, *count, reason.clone()))
            .collect(),
        doubts: worker.doubts.to_stored(),
        second_pass: SecondPassState::default(),
    };
    let identity = identity(anchor, context.level);
    Ok(envelope(identity, context.seed, next_offset_bytes, &worker.findings, state))
}

/// A stopped check with the state of a database, or of pages that are judged one by one.
pub(crate) fn envelope<S>(
    identity: Vec<u64>,
    seed: u64,
    next_offset_bytes: u64,
    findings: &Findings,
    state: S,
) -> stopped::StoppedCheck<S> {
    stopped::StoppedCheck {
        engine: EngineId::Sqlite,
        version: STATE_VERSION,
        identity,
        seed,
        next_file: String::new(),
        next_offset_bytes,
        findings: findings.to_stored(),
        state,
    }
}

/// The same check, stopped in its second pass: `stopped` is from the end of the first.
pub(crate) fn stopped_in_second_pass(
    stopped: StoppedCheck,
    context: &Context<'_>,
    named: &Named,
) -> StoppedCheck {
    let pages = 0..=context.page_count as usize;
    let state = State {
        damaged_pages: stretches(pages.clone().filter(|page| context.damaged_pages.contains(*page))),
        affected_pages: stretches(pages.filter(|page| context.affected_pages.contains(*page))),
        second_pass: SecondPassState {
            done_count: named.done_count as u64,
            findings: named.findings.to_stored(),
            doubts: named.doubts.to_stored(),
            explained: named
                .explained
                .iter()
                .map(|((page, rule), affected)| {
                    (u64::from(*page), rule.clone(), affected.row_count, affected.entry_count)
                })
                .collect(),
        },
        ..stopped.state
    };
    StoppedCheck { state, ..stopped }
}

/// What the second pass of a stopped check had named; nothing when there is no such check.
pub(crate) fn named(context: &Context<'_>, stopped: Option<&StoppedCheck>) -> Named {
    // More than are listed, until those about one row are put together.
    let most = context.findings_per_rule_max.saturating_mul(crate::causes::rows::KEPT_FACTOR);
    let before = stopped.map(|stopped| stopped.state.second_pass.clone()).unwrap_or_default();
    Named {
        findings: Findings::from_stored(&crate::RULES, most, before.findings),
        doubts: Doubts::from_stored(&before.doubts),
        done_count: usize::try_from(before.done_count).unwrap_or(usize::MAX),
        object_count: 0,
        memory_bytes_max: 0,
        explained: explained(&before.explained),
        trouble: None,
        is_stopped: false,
    }
}

/// The worker of a check that was stopped; marks in the context what it had marked.
pub(crate) fn restored<'a>(context: &'a Context<'a>, stopped: StoppedCheck) -> Worker<'a> {
    let mut worker = Worker::new(context);
    let most = context.findings_per_rule_max;
    worker.findings = Findings::from_stored(&crate::RULES, most, stopped.findings);
    let stopped = stopped.state;
    [worker.row_count, worker.entry_count, worker.unreadable_count] = stopped.counts;
    mark(&context.damaged_pages, &stopped.damaged_pages);
    mark(&context.affected_pages, &stopped.affected_pages);
    mark(&context.damaged_trees, &stopped.damaged_objects);
    restore_losses(context, &stopped.losses);
    for (count, before) in worker.record_counts.iter_mut().zip(&stopped.record_counts) {
        *count = *before;
    }
    for page in numbers(&stopped.claimed_pages, context.page_count as usize) {
        // A page that the map has given another use meanwhile cannot be: the database is the same.
        let _ = context.map.claim(page as u32, Use::Overflow);
    }
    worker.chains.open = stopped.open_chains.iter().map(OpenChain::from_numbers).collect();
    let run = |run: &[u32; 3]| Run { first: run[0], length: run[1], next: run[2] };
    worker.chains.runs = stopped.runs.iter().map(run).collect();
    if let Some((entries, pairs)) = stopped.sums.split_last() {
        worker.chains.expected_entries = Difference::from_stored(entries);
        for (difference, stored) in worker.differences.iter_mut().zip(pairs) {
            *difference = Difference::from_stored(stored);
        }
    }
    for (tree, count, reason) in stopped.unevaluated {
        worker.unevaluated.insert(usize::try_from(tree).unwrap_or(usize::MAX), (count, reason));
    }
    worker.doubts = Doubts::from_stored(&stopped.doubts);
    context.is_cut.fetch_or(stopped.is_cut, Ordering::Relaxed);
    worker
}

fn mark(set: &PageSet, stretches: &[(u64, u64)]) {
    numbers(stretches, usize::MAX).for_each(|number| set.insert(number));
}

fn numbers(stretches: &[(u64, u64)], most: usize) -> impl Iterator<Item = usize> {
    let stretch = move |(first, count): &(u64, u64)| {
        let first = usize::try_from(*first).unwrap_or(usize::MAX);
        let count = usize::try_from(*count).unwrap_or(0);
        first..first.saturating_add(count).min(most.saturating_add(1))
    };
    stretches.iter().flat_map(stretch)
}

/// Ascending numbers as first number and count of each stretch.
fn stretches(numbers: impl Iterator<Item = usize>) -> Vec<(u64, u64)> {
    let mut stretches: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        let number = number as u64;
        match stretches.last_mut() {
            Some((first, count)) if *first + *count == number => *count += 1,
            _ => stretches.push((number, 1)),
        }
    }
    stretches
}

fn stored_losses(context: &Context<'_>) -> Vec<(u64, u64, String, i64, i64)> {
    let losses = context.losses().all().into_iter();
    losses
        .map(|loss| {
            (loss.tree as u64, u64::from(loss.page), loss.rule.to_owned(), loss.rowids.0, loss.rowids.1)
        })
        .collect()
}

fn restore_losses(context: &Context<'_>, stored: &[(u64, u64, String, i64, i64)]) {
    for (tree, page, rule, first, last) in stored {
        let Some(rule) = crate::RULES.iter().find(|known| known.id == rule) else { continue };
        context.add_loss(Loss {
            tree: usize::try_from(*tree).unwrap_or(usize::MAX),
            page: u32::try_from(*page).unwrap_or(u32::MAX),
            rule: rule.id,
            rowids: (*first, *last),
        });
    }
}

/// What findings explained in earlier calls.
fn explained(stored: &[(u64, String, u64, u64)]) -> Explained {
    let entry = |(page, rule, row_count, entry_count): &(u64, String, u64, u64)| {
        let affected = Affected { row_count: *row_count, entry_count: *entry_count };
        ((u32::try_from(*page).unwrap_or(u32::MAX), rule.clone()), affected)
    };
    stored.iter().map(entry).collect()
}

pub(crate) fn not_kept(outcome: std::io::Result<()>, path: &Path) -> Option<String> {
    let error = outcome.err()?;
    Some(format!("could not store the state of the check in \"{}\": {error}", path.display()))
}

/// The check that was stopped and goes on now.
pub(crate) fn stopped_check<S: DeserializeOwned>(
    identity: &[u64],
    options: &Options,
    report: &mut CheckReport,
) -> Option<stopped::StoppedCheck<S>> {
    let path = options.resume_file.as_ref().filter(|path| path.exists())?;
    match stopped::StoppedCheck::load(path, EngineId::Sqlite, STATE_VERSION, identity) {
        Ok(stopped) => {
            let fact = format!("byte {}", stopped.next_offset_bytes);
            report.facts.push(("continues from".to_owned(), fact));
            Some(stopped)
        }
        Err(error) => {
            let reason = match error {
                NotResumed::Differs => {
                    "the database or the level differs from those of the stopped check".to_owned()
                }
                NotResumed::Read(_) | NotResumed::OtherVersion => error.to_string(),
            };
            report.facts.push(("starts over".to_owned(), reason));
            None
        }
    }
}
