//! What is said and required before the first run of a study.

use std::path::Path;

use anyhow::bail;
use lab::assignment::Assignment;
use results::store::Store;

use super::dry_run;
use crate::arguments::RunArguments;
use crate::cli::permission;
use crate::cli::preview::{Preview, sync_latency_ns};
use crate::cli::terminal::say;

/// Says what the study will show and take; refuses one that cannot reach a verdict or does not fit on the disk. A study that
/// resumes was accepted before. What is long or large is confirmed on a terminal.
pub(super) fn require(
    assignment: &Assignment,
    store: &Store,
    base: &Path,
    arguments: &RunArguments,
) -> anyhow::Result<()> {
    // Beside the directory of managed engines: what lies in that one is theirs.
    let latency = sync_latency_ns(&assignment.resolved().layout, base.parent().unwrap_or(base));
    let preview = Preview::of(assignment, Some(store), latency)?;
    let resumes = store.find_study(&assignment.key())?.is_some();
    if !preview.design.can_decide() && !arguments.anyway && !resumes {
        bail!("{}", preview.design.refusal());
    }
    preview.lines().iter().for_each(|line| say(line));
    dry_run::require_space(assignment, &preview.estimate, base, arguments.ignore_space)?;
    match preview.excess().filter(|_| !arguments.yes && !resumes) {
        Some(excess) => confirm(&assignment.resolved().name, &excess),
        None => Ok(()),
    }
}

/// Asks whether a long or large study is meant. Without a terminal it starts: a script cannot answer, and what it started on
/// purpose must not wait.
fn confirm(experiment: &str, excess: &str) -> anyhow::Result<()> {
    if !permission::is_interactive() {
        say(&format!(
            "note: {experiment} takes {excess}; not asked, since there is no terminal (--yes: no note)"
        ));
        return Ok(());
    }
    if permission::is_confirmed(&format!("{experiment} takes {excess}. Start it?")) {
        return Ok(());
    }
    bail!(
        "{experiment} was not started: {excess} were not confirmed\nhint: --mini runs the miniature; --yes starts without the question"
    )
}
