//! `fathom run`: from an experiment to stored runs, tables and a verdict.

mod dry_run;
mod start;

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use lab::assignment::Assignment;
use lab::ceilings::{CeilingPlaces, CeilingTime};
use lab::engine::{Layout, Provider, Target, TaskTarget};
use lab::laboratory::{Laboratory, Notice, StudyOutcome, is_complete};
use lab::observe::external::ExternalCommand;
use lab::run::Leftovers;
use lab::schedule::{Decision, RepeatUntil};
use lab::spec::{Experiment, Request, Resolved, Wanted};
use lab::task::Task;
use results::model::Scale;
use results::store::{Store, StudyId};
use results::wording::counted;

use super::show;
use crate::arguments::{CeilingWord, ReportFormat, RunArguments};
use crate::cli::notify::{Event, Notifier};
use crate::cli::stopping::{self, Ending};
use crate::cli::study::{render, summarise, write_default};
use crate::cli::terminal::{StudyDisplay, form, print, print_json, say, told};
use crate::cli::{permission, resumption, stored};
use crate::exit_status::ExitStatus;
use crate::scripts;
use crate::targets::{self, default_base};
use crate::tasks::Tasks;

/// Seeds tried by `--again` before giving up.
const SEEDS_MAX: u64 = 100_000;

pub(crate) fn run(arguments: &RunArguments) -> anyhow::Result<ExitStatus> {
    run_as(arguments, &std::env::args_os().collect::<Vec<_>>())
}

/// As [`run`], where something else was typed than `words`.
pub(crate) fn run_as(arguments: &RunArguments, words: &[OsString]) -> anyhow::Result<ExitStatus> {
    if scripts::wants_list(arguments) {
        scripts::print_list()?;
        return Ok(ExitStatus::Clean);
    }
    let choice = targets::parse(arguments)?;
    let (resolved, samplers_of_spec) = resolve(arguments, &*choice)?;
    let no_progress =
        crate::cli::quantities::time_above_zero("--no-progress-after", &arguments.notify.no_progress_after)?;
    let mut assignment = Assignment::new(resolved, choice.servers(), &choice.identity(), arguments.seed);
    assignment.no_progress = Some(no_progress);
    assignment.samplers = samplers_of_spec;
    assignment.samplers.extend(samplers(arguments)?);
    if !arguments.dry_run {
        permission::require(&assignment.resolved().commands, arguments.allow_commands)?;
    } else {
        return dry_run::run(&assignment, arguments);
    }
    let has_one_run = assignment.resolved().repetitions == 1 && assignment.resolved().repeat_until.is_none();
    let (study, outcome) = conduct(arguments, &*choice, assignment)?;
    let store = Store::open_read_only(&arguments.results.results)?;
    if arguments.json {
        print_json(&render(&store, study, ReportFormat::Json, form(None))?)?;
    } else {
        print(&form(None).brief(&summarise(&store, study)?))?;
        print(&format!(
            "\nresults: {} (study {}); `fathom report` prints all values and the environment\n",
            store.path().display(),
            study.0
        ))?;
        if has_one_run && scripts::is_without_spec(arguments) {
            print("one run per configuration has no interval; --repetitions 6 makes six\n")?;
        }
        // The runs are stored: a page that cannot be written is said, and may be asked for again.
        match write_default(&store, study) {
            Ok(path) => print(&format!("page: {} (open it in a browser)\n", path.display()))?,
            Err(error) => say(&format!("the page was not written: {}", told(&error))),
        }
    }
    if outcome.stopped {
        let seed = store.study(study)?.seed;
        say("Interrupted. Completed runs are saved; this command resumes the study:");
        say(&format!("  {}", resumption::command(words.iter().cloned(), seed)));
        return Ok(ExitStatus::Stopped);
    }
    Ok(if outcome.invalid + outcome.unfilled > 0 { ExitStatus::Findings } else { ExitStatus::Clean })
}

/// Starts the targets, conducts the study, stops the targets whatever happened, tells who wants to know.
pub(crate) fn conduct(
    arguments: &RunArguments,
    choice: &dyn Provider,
    assignment: Assignment,
) -> anyhow::Result<(StudyId, StudyOutcome)> {
    let notifier = Notifier::new(&arguments.notify);
    let experiment = assignment.resolved().name.clone();
    let done = conduct_untold(arguments, choice, assignment, &notifier);
    match &done {
        Ok((study, outcome)) => {
            let message = format!(
                "study {} ended{}: {} made, {} invalid, {} missing",
                study.0,
                if outcome.stopped { " early, stopped by the user" } else { "" },
                counted(outcome.ran as u64, "run"),
                outcome.invalid,
                counted(outcome.unfilled as u64, "place")
            );
            notifier.tell(Event::Finished, &experiment, &message);
        }
        Err(error) => {
            notifier.tell(Event::Failed, &experiment, &format!("could not continue: {}", told(error)))
        }
    }
    done
}

fn conduct_untold(
    arguments: &RunArguments,
    choice: &dyn Provider,
    assignment: Assignment,
    notifier: &Notifier,
) -> anyhow::Result<(StudyId, StudyOutcome)> {
    let mut store = stored::writable(&arguments.results.results)?;
    let done = conduct_in(&mut store, arguments, choice, assignment, notifier);
    if done.is_err()
        && let Err(error) = store.discard_if_empty()
    {
        tracing::debug!("could not remove the empty results file: {error}");
    }
    done
}

fn conduct_in(
    store: &mut Store,
    arguments: &RunArguments,
    choice: &dyn Provider,
    assignment: Assignment,
    notifier: &Notifier,
) -> anyhow::Result<(StudyId, StudyOutcome)> {
    let assignment = if arguments.again { unused_seed(store, assignment)? } else { assignment };
    let base = default_base(&arguments.results.results)?;
    let layout = assignment.resolved().layout.clone();
    // What is complete needs neither space nor a server.
    let is_complete = is_complete(store, &assignment)?;
    if !is_complete {
        start::require(&assignment, store, &base, arguments)?;
    }
    let stop = stopping::on_signals(Ending::WaitsFor("the current run and the shutdown of its engine"))?;
    let tasks: Arc<dyn Task> = Arc::new(Tasks { stop: Arc::clone(&stop) });
    let mut targets: Vec<Box<dyn Target>> = Vec::new();
    if !is_complete {
        for target in choice.start(&layout, &base)? {
            targets.push(Box::new(TaskTarget::new(target, Arc::clone(&tasks))));
        }
    }
    let experiment = assignment.resolved().name.clone();
    for note in dry_run::left_to_server(assignment.resolved()) {
        say(&format!("note: {note}"));
    }
    let mut display = StudyDisplay::new();
    let mut on_notice = |notice: &Notice<'_>| {
        display.notice(notice);
        if let Notice::NoProgress { cell, still_for } = notice {
            let message = format!("{}: no progress for {} s", cell.label(), still_for.as_secs());
            notifier.tell(Event::NoProgress, &experiment, &message);
        }
    };
    let conducted = Laboratory {
        store,
        targets: &mut targets,
        ceilings: ceilings(arguments, choice, &layout, &base).filter(|_| !is_complete),
        leftovers: if arguments.keep { Leftovers::Leave } else { Leftovers::Remove },
        stop: Arc::clone(&stop),
    }
    .conduct(&assignment, &mut on_notice);
    display.finish();
    let stopped = stop_targets(&mut targets, arguments.keep);
    remove_if_empty(&base);
    let done = conducted?;
    stopped?;
    Ok(done)
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

fn samplers(arguments: &RunArguments) -> anyhow::Result<Vec<ExternalCommand>> {
    let parse =
        |text: &String| ExternalCommand::parse(text).map_err(|reason| anyhow::anyhow!("--sampler: {reason}"));
    arguments.sampler.iter().map(parse).collect()
}

/// The experiment as it will run, and the samplers that its spec names.
fn resolve(
    arguments: &RunArguments,
    choice: &dyn Provider,
) -> anyhow::Result<(Resolved, Vec<ExternalCommand>)> {
    let experiment = experiment(arguments)?;
    let request = Request {
        scale: if arguments.mini { Scale::Miniature } else { experiment.scales()[0] },
        overrides: scripts::overrides(arguments)?,
        engine: choice.engine(),
        repetitions: arguments.repetitions,
        repeat_until: repeat_until(arguments)?,
        wanted: Wanted { metric: arguments.metric.clone(), against: arguments.against.clone() },
        layout: Layout { data: absolute(&arguments.data)?, log: absolute(arguments.log.as_slice())?.pop() },
        server_is_foreign: choice.is_foreign(),
    };
    let resolved = experiment.resolve(&request).map_err(|error| anyhow::anyhow!("{error}"))?;
    Ok((resolved, experiment.samplers))
}

/// The scripts of the command line as an experiment, or the experiment that it names.
fn experiment(arguments: &RunArguments) -> anyhow::Result<Experiment> {
    let read = match scripts::spec_text(arguments)? {
        Some((name, text)) => Experiment::parse(&name, &text),
        None => {
            let named = scripts::experiment(arguments)?;
            let (name, text) = show::spec_text(named)?;
            Experiment::parse_with(&name, &text, show::files_of(named).as_ref())
        }
    };
    read.map_err(|error| anyhow::anyhow!("{error}"))
}

fn repeat_until(arguments: &RunArguments) -> anyhow::Result<Option<RepeatUntil>> {
    let Some(words) = arguments.repeat_until else { return Ok(None) };
    if arguments.margin.is_some() && !words.is_decided {
        anyhow::bail!(
            "--margin has no meaning without decisions\nhint: write --repeat-until decision --margin 5"
        );
    }
    let decision = Decision { margin: arguments.margin.map(|percent| percent / 100.0) };
    Ok(Some(RepeatUntil {
        half_width_percent: words.half_width_percent,
        decision: words.is_decided.then_some(decision),
        blocks_max: arguments.repeat_max,
    }))
}

fn absolute(directories: &[std::path::PathBuf]) -> anyhow::Result<Vec<std::path::PathBuf>> {
    directories
        .iter()
        .map(|directory| {
            std::path::absolute(directory)
                .with_context(|| format!("could not use directory \"{}\"", directory.display()))
        })
        .collect()
}

/// The first seed from the given one on with which the study does not exist yet.
fn unused_seed(store: &Store, assignment: Assignment) -> anyhow::Result<Assignment> {
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
