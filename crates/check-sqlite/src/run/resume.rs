//! Stopping a check and going on from there.
//!
//! Claims are handed out in the order of the file, and those under way are finished when a check is stopped: what was
//! seen is everything before one offset. The map is made anew by the next call; only what the pass learned is kept.

use std::path::Path;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use results::check::{CheckReport, StoppedCheck};
use results::object::Affected;

use check::findings::{Findings, Lists};
use check::options::Options;
use check::sums::Difference;

use crate::causes::{Explained, Loss};
use crate::map::Use;
use crate::map::chain::{OpenChain, Run};
use crate::map::ends::Ends;
use crate::matching::collect::Named;
use crate::run::context::{Context, PageSet};
use crate::run::worker::Worker;
use crate::source::anchor::Anchor;
use crate::versions::Doubts;

/// What a stopped check is called that knew the header and the schema.
pub(crate) const ENGINE: &str = "sqlite";

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
    let Lists { findings, rule_counts, object_counts, .. } = worker.findings.clone().into_lists();
    let sums = worker.differences.iter().chain([&worker.chains.expected_entries]);
    let pages = || 0..=context.page_count as usize;
    Ok(StoppedCheck {
        engine: ENGINE.to_owned(),
        identity: identity(anchor, context.level),
        seed: context.key,
        next_offset_bytes,
        bytes_read,
        counts: [worker.row_count, worker.entry_count, worker.unreadable_count],
        findings,
        rule_counts,
        object_counts,
        damaged_pages: stretches(pages().filter(|page| context.damaged_pages.contains(*page))),
        affected_pages: stretches(pages().filter(|page| context.affected_pages.contains(*page))),
        losses: stored_losses(context),
        record_counts: worker.record_counts.clone(),
        explained: Vec::new(),
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
        second_pass_doubts: Vec::new(),
        second_pass_done_count: 0,
        second_pass_findings: Vec::new(),
        second_pass_rule_counts: Vec::new(),
        second_pass_object_counts: Vec::new(),
        raw_counts: Vec::new(),
    })
}

/// The same check, stopped in its second pass: `stopped` is from the end of the first.
pub(crate) fn stopped_in_second_pass(
    stopped: StoppedCheck,
    context: &Context<'_>,
    named: &Named,
) -> StoppedCheck {
    let Lists { findings, rule_counts, object_counts, .. } = named.findings.clone().into_lists();
    let pages = 0..=context.page_count as usize;
    StoppedCheck {
        damaged_pages: stretches(pages.clone().filter(|page| context.damaged_pages.contains(*page))),
        affected_pages: stretches(pages.filter(|page| context.affected_pages.contains(*page))),
        explained: named
            .explained
            .iter()
            .map(|((page, rule), affected)| {
                (u64::from(*page), rule.clone(), affected.row_count, affected.entry_count)
            })
            .collect(),
        second_pass_done_count: named.done_count as u64,
        second_pass_findings: findings,
        second_pass_rule_counts: rule_counts,
        second_pass_object_counts: object_counts,
        second_pass_doubts: named.doubts.to_stored(),
        ..stopped
    }
}

/// What the second pass of a stopped check had named; nothing when there is no such check.
pub(crate) fn named(context: &Context<'_>, stopped: Option<&StoppedCheck>) -> Named {
    // More than are listed, until those about one row are put together.
    let most = context.findings_per_rule_max.saturating_mul(crate::causes::rows::KEPT_FACTOR);
    let findings = stopped.map_or(Findings::new(&crate::RULES, most), |stopped| {
        Findings::from_lists(
            most,
            Lists {
                rules: &crate::RULES,
                findings: stopped.second_pass_findings.clone(),
                rule_counts: stopped.second_pass_rule_counts.clone(),
                object_counts: stopped.second_pass_object_counts.clone(),
            },
        )
    });
    let done_count = stopped.map_or(0, |stopped| stopped.second_pass_done_count);
    let doubts = stopped.map(|stopped| Doubts::from_stored(&stopped.second_pass_doubts)).unwrap_or_default();
    Named {
        findings,
        doubts,
        done_count: usize::try_from(done_count).unwrap_or(usize::MAX),
        object_count: 0,
        memory_bytes_max: 0,
        explained: stopped.map(explained).unwrap_or_default(),
        trouble: None,
        is_stopped: false,
    }
}

/// The worker of a check that was stopped; marks in the context what it had marked.
pub(crate) fn restored<'a>(context: &'a Context<'a>, stopped: StoppedCheck) -> Worker<'a> {
    let mut worker = Worker::new(context);
    let most = context.findings_per_rule_max;
    worker.findings = Findings::from_lists(
        most,
        Lists {
            rules: &crate::RULES,
            findings: stopped.findings,
            rule_counts: stopped.rule_counts,
            object_counts: stopped.object_counts,
        },
    );
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

/// The check that was stopped, when there is one for this database as it is; else the reason to begin anew.
pub(crate) fn load(path: &Path, engine: &str, identity: &[u64]) -> Result<StoppedCheck, String> {
    let stopped = StoppedCheck::load(path).map_err(|error| error.to_string())?;
    if stopped.engine != engine || stopped.identity != identity {
        return Err("the database or the level differs from those of the stopped check".to_owned());
    }
    Ok(stopped)
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
fn explained(stopped: &StoppedCheck) -> Explained {
    let entry = |(page, rule, row_count, entry_count): &(u64, String, u64, u64)| {
        let affected = Affected { row_count: *row_count, entry_count: *entry_count };
        ((u32::try_from(*page).unwrap_or(u32::MAX), rule.clone()), affected)
    };
    stopped.explained.iter().map(entry).collect()
}

/// Removes what was kept of a check that has come to its end.
pub(crate) fn forget(path: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

pub(crate) fn not_kept(outcome: std::io::Result<()>, path: &Path) -> Option<String> {
    let error = outcome.err()?;
    Some(format!("could not store the state of the check in \"{}\": {error}", path.display()))
}

/// The check that was stopped and goes on now.
pub(crate) fn stopped_check(
    engine: &str,
    identity: &[u64],
    options: &Options,
    report: &mut CheckReport,
) -> Option<StoppedCheck> {
    let path = options.resume_file.as_ref().filter(|path| path.exists())?;
    match load(path, engine, identity) {
        Ok(stopped) => {
            let fact = format!("byte {}", stopped.next_offset_bytes);
            report.facts.push(("continues from".to_owned(), fact));
            Some(stopped)
        }
        Err(reason) => {
            report.facts.push(("starts over".to_owned(), reason));
            None
        }
    }
}
