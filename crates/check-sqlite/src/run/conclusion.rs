//! What comes after the pass: chains, pages without use, pointer maps and sums, then the report.

use std::time::Instant;

use results::check::{Accounting, CheckReport, Confidence, NotChecked, Skipped};

use check::advice;
use check::pass::Pass;
use check::progress::{Phase, Progress};
use check::stopped;

use crate::finding::Draft;
use crate::map::{chain, pointers, stray};
use crate::matching::collect;
use crate::matching::collect::Named;
use crate::run::context::Context;
use crate::run::pass::Passed;
use crate::run::prepared::Prepared;
use crate::run::resume;
use crate::run::resume::not_kept;
use crate::run::state::StoppedCheck;
use crate::source::anchor::Anchor;
use crate::source::reader::Brake;
use crate::{causes, rules};

/// What comes after the pass: how to read a second time, and what is kept when that is stopped.
pub(crate) struct Ending<'o> {
    pub(crate) reading: Pass<'o>,
    /// What earlier calls named.
    pub(crate) named: Named,
    /// Whether this call begins with the second pass, so that time must not be over before it has done anything.
    pub(crate) is_due: bool,
    /// The check as it was at the end of the pass, to be kept; `None` when nothing is to be kept.
    pub(crate) stopped: Option<StoppedCheck>,
}

/// Chains, pages without use, pointer maps and sums. Returns the pages that could not be judged.
pub(crate) fn after_pass(
    anchor: &Anchor,
    context: &Context<'_>,
    passed: &mut Passed<'_>,
    ending: Ending<'_>,
    report: &mut CheckReport,
    progress: &mut dyn Progress,
) -> Vec<Skipped> {
    progress.advance(Phase::Match, 0, 0);
    let not_linked = NotChecked::coverage(
        None,
        "links between pages, rows against index entries",
        "the check was stopped before all pages were read",
    );
    if passed.unreached_count > 0 {
        report.not_checked.push(not_linked);
        return Vec::new();
    }
    // As the pass does, what follows it gets some time in any case.
    let options = ending.reading.options;
    let deadline = ending.reading.deadline.zip(options.time_max);
    let deadline = deadline.map(|(deadline, time)| deadline.max(Instant::now() + time / 10));
    let brake = context.reader.brake.renewed(deadline);
    let (drafts, joined) = linked(context, passed, &brake);
    if brake.is_hit() {
        let kept = ending.stopped.as_ref().zip(options.resume_file.as_ref());
        let kept = kept.map(|(stopped, path)| not_kept(stopped.store(path), path));
        let reason = "stopped before links between pages were compared".to_owned();
        passed.trouble = passed.trouble.take().or(kept.flatten()).or(Some(reason));
        report.not_checked.push(not_linked);
        return Vec::new();
    }
    drafts.into_iter().for_each(|draft| passed.worker.report_at_once(draft));
    let strays = stray::report_strays(context, &mut passed.worker, &brake);
    report.not_checked.extend(strays.not_checked);
    progress.advance(Phase::SecondPass, 0, 0);
    let named = collect::second_pass(
        context,
        anchor,
        &passed.worker,
        ending.reading,
        ending.is_due,
        ending.named,
        progress,
    );
    if let Some(path) = &ending.reading.options.resume_file {
        let outcome = match ending.stopped.filter(|_| named.is_stopped) {
            Some(stopped) => resume::stopped_in_second_pass(stopped, context, &named).store(path),
            None => stopped::remove(path),
        };
        passed.trouble = not_kept(outcome, path).or(passed.trouble.take());
    }
    let missing = context.map.trouble().map(str::to_owned);
    passed.trouble = passed.trouble.take().or(missing).or(joined.trouble).or(named.trouble);
    causes::fold_key_order(&mut passed.worker.findings, &named.findings);
    let mut by_row = named.findings;
    causes::rows::fold_rows(context, &mut by_row);
    passed.worker.findings.merge(by_row);
    for ((page, rule), affected) in named.explained {
        passed.worker.findings.explain(&rule, u64::from(page), affected, &causes::explanation(affected));
    }
    passed.worker.doubts.merge(named.doubts);
    report.counters.second_pass_object_count = named.object_count;
    let sums = (passed.worker.differences.len() * report.counters.worker_count as usize * 64 * 32) as u64;
    report.counters.memory_bytes_max =
        context.map.memory_bytes() + sums + joined.memory_bytes.max(named.memory_bytes_max);
    report.counters.temporary_bytes = context.map.temporary_bytes() + joined.temporary_bytes;
    strays.skipped
}

/// What is wrong with overflow chains and pointer maps. Not complete when the brake was hit.
fn linked(context: &Context<'_>, passed: &mut Passed<'_>, brake: &Brake) -> (Vec<Draft>, chain::Joined) {
    let mut drafts = Vec::new();
    let mut chains = std::mem::take(&mut passed.worker.chains);
    let joined = chains.finish(context, brake, |draft| drafts.push(draft));
    if context.geometry.auto_vacuum {
        pointers::check_pointer_maps(context, brake, &mut chains, |draft| drafts.push(draft));
    }
    drafts.retain(|draft| {
        let is_refuted = chain::is_refuted(context, brake, draft);
        if is_refuted {
            passed.worker.changed();
        }
        !is_refuted
    });
    (drafts, joined)
}

pub(crate) fn finish(
    context: &Context<'_>,
    passed: Passed<'_>,
    mut skipped: Vec<Skipped>,
    keeps: bool,
    prepared: &Prepared,
    report: &mut CheckReport,
) {
    let Passed { worker, unreached_count, bytes_read, trouble } = passed;
    for (tree, (count, reason)) in &worker.unevaluated {
        report.not_checked.push(NotChecked {
            object: Some(context.tree_name(*tree).to_owned()),
            what: format!("constraints, conditions and expressions of {count} rows"),
            why: format!("SQLite could not compute them: {reason}"),
            kind: results::check::GapKind::Coverage,
        });
    }
    let doubts = worker.doubts.not_checked(|tree| context.tree_name(tree));
    report.not_checked.extend(doubts);
    report.counters.row_count = worker.row_count;
    report.counters.entry_count = worker.entry_count;
    let page_count = u64::from(context.page_count);
    let unreadable_count = worker.unreadable_count;
    // A page that was not read and is accused by another page as well counts once.
    let judged_count = page_count.saturating_sub(unreadable_count + unreached_count);
    let damaged_count = context.damaged_pages.count().min(judged_count);
    let is_affected =
        |page: usize| context.affected_pages.contains(page) && !context.damaged_pages.contains(page);
    let affected_count = (1..=context.page_count as usize).filter(|page| is_affected(*page)).count() as u64;
    let affected_count = affected_count.min(judged_count - damaged_count);
    let rest = page_count.saturating_sub(damaged_count + affected_count + unreadable_count + unreached_count);
    let mut left = rest;
    for part in &mut skipped {
        part.page_count = part.page_count.min(left);
        left -= part.page_count;
    }
    report.accounting = Accounting {
        page_count,
        clean_count: left,
        damaged_count,
        affected_count,
        skipped,
        unreadable_count,
        unreached_count,
        bytes_expected: page_count * u64::from(context.geometry.page_size_bytes),
        bytes_read,
    };
    assert!(report.accounting.is_balanced(), "every page is in one class by the sums above");
    if worker.changed_count > 0 {
        report.unfinished = Some(format!("{} pages changed while they were read", worker.changed_count));
    } else if let Some(trouble) = trouble {
        report.unfinished = Some(trouble);
    } else if unreached_count > 0 {
        let next =
            if keeps { "the same command resumes there" } else { "with --resume FILE a later call resumes" };
        report.unfinished = Some(format!("stopped before {unreached_count} pages of {page_count}; {next}"));
    }
    report.coverage = causes::coverage::covered(context, prepared, &worker, unreached_count == 0, report);
    advice::conclude(report, worker.findings.into_lists(), &prepared.schema.sources());
    if worker.changed_count > 0 {
        // Rules about several pages may have met one of the pages as it was before.
        let is_about_several = |rule: &str| rule != rules::PAGE_LAYOUT.id && rule != rules::CELL_OVERLAP.id;
        let several = report.findings.iter_mut().filter(|finding| is_about_several(&finding.rule));
        several.for_each(|finding| finding.confidence = Confidence::Possible);
    }
}
