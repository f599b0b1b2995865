//! `fathom run`: from an experiment to stored runs, tables and a verdict.

mod conducting;
mod dry_run;
mod max_rate;
mod resolving;
mod start;

use std::ffi::OsString;

use results::store::Store;

use crate::arguments::{ReportFormat, RunArguments};
use crate::cli::study::{render, summarise, write_default};
use crate::cli::terminal::{form, print, print_json, say, told};
use crate::cli::{permission, resumption};
use crate::exit_status::ExitStatus;
use crate::{scripts, targets};
use resolving::Changes;

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
    if arguments.max_rate.find_max_rate {
        return max_rate::run(arguments, &*choice, words);
    }
    let assignment = resolving::assignment(arguments, &*choice, &Changes::default())?;
    if !arguments.dry_run {
        permission::require(&assignment.resolved().commands, arguments.allow_commands)?;
    } else {
        return dry_run::run(&assignment, arguments);
    }
    let has_one_run = assignment.resolved().repetitions == 1 && assignment.resolved().repeat_until.is_none();
    let (study, outcome) = conducting::conduct(arguments, &*choice, assignment)?;
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
