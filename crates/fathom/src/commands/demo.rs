//! `fathom demo`: the main job on embedded SQLite in less than a minute.

use std::ffi::{OsStr, OsString};

use clap::Parser;
use lab::engine::Installation;
use results::store::Store;

use crate::arguments::{Arguments, Command, DemoArguments, RunArguments};
use crate::cli::study::default_path;
use crate::cli::terminal::print;
use crate::engines::DRIVERS;
use crate::exit_status::ExitStatus;

/// What the demo runs, as a user would type it.
const RUNS: [&[&str]; 2] =
    [&["run", "populate-batch", "--mini", "--again"], &["run", "random-key", "--mini", "--again"]];

pub(crate) fn run(arguments: &DemoArguments) -> anyhow::Result<ExitStatus> {
    let mut verdict = ExitStatus::Clean;
    for words in RUNS {
        print(&format!("$ fathom {}\n\n", words.join(" ")))?;
        match super::run::run_as(&run_arguments(words, arguments)?, &typed(words, arguments))? {
            ExitStatus::Clean => {}
            ExitStatus::Findings => verdict = ExitStatus::Findings,
            ExitStatus::Stopped => return Ok(ExitStatus::Stopped),
        }
        print("\n")?;
    }
    let store = Store::open_read_only(&arguments.results.results)?;
    print("the pages, for a browser:\n")?;
    for stored in store.studies()?.iter().rev().take(RUNS.len()).rev() {
        print(&format!("  {}    {}\n", default_path(&store, stored.id).display(), stored.study.experiment))?;
    }
    print("next:\n")?;
    for hint in hints() {
        print(&format!("  {hint}\n"))?;
    }
    Ok(verdict)
}

/// A run of the demo as it would be typed by itself.
fn typed(words: &[&str], demo: &DemoArguments) -> Vec<OsString> {
    let results = demo.results.results.as_os_str();
    let line = ["fathom"].iter().chain(words).map(OsStr::new);
    line.chain([OsStr::new("--results"), results]).map(OsStr::to_owned).collect()
}

fn run_arguments(words: &[&str], demo: &DemoArguments) -> anyhow::Result<RunArguments> {
    let parsed = Arguments::try_parse_from(typed(words, demo))?;
    match parsed.command {
        Command::Run(arguments) => Ok(*arguments),
        other => anyhow::bail!("the demo's own command line is not a run but {other:?}"),
    }
}

fn hints() -> Vec<String> {
    let mut hints = Vec::new();
    for driver in DRIVERS {
        let engine = driver.engine;
        let command = format!("fathom run populate-batch --mini --target {engine}");
        match (driver.installation)() {
            Installation::BuiltIn => {}
            Installation::Installed { version } => hints.push(format!(
                "{command}    the same on {} {version}, which is installed here",
                engine.id.title()
            )),
            Installation::Missing { install } => hints.push(format!("{install}, then: {command}")),
        }
    }
    hints.push("fathom list                                            all experiments".to_owned());
    hints.push("fathom report                                          the tables again".to_owned());
    hints.push("fathom serve                                           all pages in a browser".to_owned());
    hints
}
