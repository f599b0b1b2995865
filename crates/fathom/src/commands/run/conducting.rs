//! The conducting of studies: targets started once, studies one after the other, targets stopped whatever happened.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lab::assignment::Assignment;
use lab::ceilings::{CeilingPlaces, CeilingTime};
use lab::engine::{Layout, Provider, Target, TaskTarget};
use lab::laboratory::{Laboratory, Notice, StudyOutcome, is_complete};
use lab::run::Leftovers;
use lab::task::Task;
use results::store::{Store, StudyId};
use results::wording::counted;

use super::{dry_run, start};
use crate::arguments::{CeilingWord, RunArguments};
use crate::cli::notify::{Event, Notifier};
use crate::cli::stopping::{self, Ending};
use crate::cli::stored;
use crate::cli::terminal::{StudyDisplay, say, told};
use crate::targets::default_base;
use crate::tasks::Tasks;

/// Seeds tried by `--again` before giving up.
const SEEDS_MAX: u64 = 100_000;

/// Conducts one study, and tells who wants to know.
pub(super) fn conduct(
    arguments: &RunArguments,
    choice: &dyn Provider,
    assignment: Assignment,
) -> anyhow::Result<(StudyId, StudyOutcome)> {
    let experiment = assignment.resolved().name.clone();
    let message = |(study, outcome): &(StudyId, StudyOutcome)| {
        format!(
            "study {} ended{}: {} made, {} invalid, {} missing",
            study.0,
            if outcome.stopped { " early, stopped by the user" } else { "" },
            counted(outcome.ran as u64, "run"),
            outcome.invalid,
            counted(outcome.unfilled as u64, "place")
        )
    };
    with_conductor(arguments, choice, &experiment, message, |store, conductor| {
        let assignment = if arguments.again { unused_seed(store, assignment)? } else { assignment };
        conductor.conduct(store, &assignment, Announcement::Preview)
    })
}

/// Has `work` done with a conductor, whose targets are stopped at its end; `message` is shown meanwhile.
pub(super) fn with_conductor<T>(
    arguments: &RunArguments,
    choice: &dyn Provider,
    experiment: &str,
    message: impl Fn(&T) -> String,
    work: impl FnOnce(&mut Store, &mut Conductor<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let notifier = Notifier::new(&arguments.notify);
    let done = conduct_untold(arguments, choice, &notifier, work);
    match &done {
        Ok(found) => notifier.tell(Event::Finished, experiment, &message(found)),
        Err(error) => {
            notifier.tell(Event::Failed, experiment, &format!("could not continue: {}", told(error)))
        }
    }
    done
}

fn conduct_untold<T>(
    arguments: &RunArguments,
    choice: &dyn Provider,
    notifier: &Notifier,
    work: impl FnOnce(&mut Store, &mut Conductor<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let base = default_base(&arguments.results.results)?;
    let mut store = stored::writable(&arguments.results.results)?;
    let mut conductor =
        Conductor { arguments, choice, notifier, base, targets: Vec::new(), stop: None, said: Vec::new() };
    let done = work(&mut store, &mut conductor);
    let stopped = conductor.stop();
    if done.is_err()
        && let Err(error) = store.discard_if_empty()
    {
        tracing::debug!("could not remove the empty results file: {error}");
    }
    let done = done?;
    stopped?;
    Ok(done)
}

/// What is said before a study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Announcement {
    /// What it will show and take; one that cannot decide is refused, a long one is confirmed.
    Preview,
    /// Nothing: it is part of something that was announced as a whole.
    None,
}

/// Targets that are started for the first study that needs them.
pub(super) struct Conductor<'a> {
    arguments: &'a RunArguments,
    choice: &'a dyn Provider,
    notifier: &'a Notifier,
    base: PathBuf,
    targets: Vec<Box<dyn Target>>,
    stop: Option<Arc<AtomicBool>>,
    /// What the targets do in their own way, as far as it was said.
    said: Vec<String>,
}

impl Conductor<'_> {
    /// Conducts a study to its end, or until the user stops it.
    pub(super) fn conduct(
        &mut self,
        store: &mut Store,
        assignment: &Assignment,
        announcement: Announcement,
    ) -> anyhow::Result<(StudyId, StudyOutcome)> {
        let (arguments, choice, notifier) = (self.arguments, self.choice, self.notifier);
        let layout = assignment.resolved().layout.clone();
        // What is complete needs neither space nor a server.
        let is_complete = is_complete(store, assignment)?;
        if !is_complete && announcement == Announcement::Preview {
            start::require(assignment, store, &self.base, arguments)?;
        }
        let stop = self.stop_flag()?;
        if !is_complete && self.targets.is_empty() {
            let tasks: Arc<dyn Task> = Arc::new(Tasks { stop: Arc::clone(&stop) });
            for target in choice.start(&layout, &self.base)? {
                self.targets.push(Box::new(TaskTarget::new(target, Arc::clone(&tasks))));
            }
        }
        let experiment = assignment.resolved().name.clone();
        for note in dry_run::left_to_server(assignment.resolved()) {
            say(&format!("note: {note}"));
        }
        let mut display = StudyDisplay::new();
        let said = &mut self.said;
        let mut on_notice = |notice: &Notice<'_>| {
            // Once for all studies.
            if let Notice::Limited(limitation) = notice {
                if said.contains(&limitation.text) {
                    return;
                }
                said.push(limitation.text.clone());
            }
            display.notice(notice);
            if let Notice::NoProgress { cell, still_for } = notice {
                let message = format!("{}: no progress for {} s", cell.label(), still_for.as_secs());
                notifier.tell(Event::NoProgress, &experiment, &message);
            }
        };
        let conducted = Laboratory {
            store,
            // One that is complete asks for none.
            targets: &mut self.targets,
            ceilings: ceilings(arguments, choice, &layout, &self.base).filter(|_| !is_complete),
            leftovers: if arguments.keep { Leftovers::Leave } else { Leftovers::Remove },
            stop,
        }
        .conduct(assignment, &mut on_notice);
        display.finish();
        Ok(conducted?)
    }

    /// The flag that a signal sets.
    fn stop_flag(&mut self) -> anyhow::Result<Arc<AtomicBool>> {
        if let Some(stop) = &self.stop {
            return Ok(Arc::clone(stop));
        }
        let ending = Ending::WaitsFor("the current run and the shutdown of its engine");
        Ok(Arc::clone(self.stop.insert(stopping::on_signals(ending)?)))
    }

    fn stop(mut self) -> anyhow::Result<()> {
        let stopped = stop_targets(&mut self.targets, self.arguments.keep);
        remove_if_empty(&self.base);
        stopped
    }
}

/// Where ceilings are measured: only for engines whose directories are ours to write in.
fn ceilings(
    arguments: &RunArguments,
    choice: &dyn Provider,
    layout: &Layout,
    base: &Path,
) -> Option<(CeilingTime, CeilingPlaces)> {
    let time = match arguments.ceilings {
        CeilingWord::Before => CeilingTime::Before,
        CeilingWord::After => CeilingTime::After,
        CeilingWord::Never => return None,
    };
    let data = if layout.data.is_empty() { vec![base.to_owned()] } else { layout.data.clone() };
    let places = match choice.engine().has_layout {
        true => CeilingPlaces { data, log: layout.log.clone() },
        false => CeilingPlaces { data: data.into_iter().take(1).collect(), log: None },
    };
    choice.is_local().then_some((time, places))
}

/// The first seed from the given one on with which the study does not exist yet.
pub(super) fn unused_seed(store: &Store, assignment: Assignment) -> anyhow::Result<Assignment> {
    let mut assignment = assignment;
    for _ in 0..SEEDS_MAX {
        if store.find_study(&assignment.key())?.is_none() {
            return Ok(assignment);
        }
        let next = assignment.seed().wrapping_add(1);
        assignment = assignment.with_seed(next);
    }
    anyhow::bail!("could not find an unused seed for --again\nhint: choose one with --seed")
}

fn stop_targets(targets: &mut [Box<dyn Target>], keep: bool) -> anyhow::Result<()> {
    let mut first_error = None;
    for target in targets {
        let kept = target.residence().filter(|_| keep).map(|place| place.kept()).unwrap_or_default();
        let stopped = target.stop(keep);
        if stopped.is_ok() {
            kept.iter().for_each(|line| say(line));
        }
        if let Err(error) = stopped {
            tracing::warn!("could not stop or remove the {} target: {error}", target.engine());
            first_error.get_or_insert(error);
        }
    }
    first_error.map_or(Ok(()), |error| Err(error.into()))
}

/// Takes away the directory for managed engines when nothing was kept in it.
fn remove_if_empty(base: &Path) {
    // Not empty, or never made: both are fine.
    let _ = std::fs::remove_dir(base);
}
