//! `fathom show`: the spec of an experiment, as it can be saved, changed and run; the SQL of its runs; or a stored check.

mod spec;
mod sql;

use lab::assignment::Assignment;
use lab::spec::{Experiment, Request};
use results::model::Scale;
use results::store::Store;
use results::wording::counted;

use crate::arguments::ShowArguments;
use crate::cli::permission;
use crate::cli::preview::{Preview, own_workload, sync_latency_ns};
use crate::cli::terminal::{print_document, print_json, say};
use crate::engines::DRIVERS;
use crate::exit_status::ExitStatus;
use crate::targets::default_base;
pub(crate) use spec::{files_of, spec_text};

/// Seed of the study that is previewed; it plays no part in what is printed.
const SEED: u64 = 1;

pub(crate) fn run(arguments: &ShowArguments) -> anyhow::Result<ExitStatus> {
    if let Some(id) = arguments.check {
        let stored = Store::open_read_only(&arguments.results.results)?.check(id)?;
        print_json(&stored.report.to_json_lines())?;
        return Ok(ExitStatus::Clean);
    }
    let experiment = arguments.experiment.as_deref().unwrap_or_default();
    let (name, text) = spec_text(experiment)?;
    let read = Experiment::parse_with(&name, &text, files_of(experiment).as_ref());
    if arguments.sql {
        return sql::run(&read.map_err(|error| anyhow::anyhow!("{error}"))?, arguments);
    }
    print_document(&text)?;
    // A spec with a mistake is shown all the same; what runs it says what is wrong.
    if let Ok(experiment) = read {
        for line in permission::lines(&experiment.commands()) {
            say(&format!("note: runs a command (needs --allow-commands): {line}"));
        }
        previews(&experiment, arguments)?;
    }
    Ok(ExitStatus::Clean)
}

/// Says what the experiment can show and takes at each scale, on the first engine that can run it.
fn previews(experiment: &Experiment, arguments: &ShowArguments) -> anyhow::Result<()> {
    let results = &arguments.results.results;
    let store = Store::open_read_only(results).ok();
    let base = default_base(results)?;
    for scale in experiment.scales() {
        let on = |engine| experiment.resolve(&Request::plain(scale, engine)).ok();
        let Some(resolved) = DRIVERS.iter().find_map(|driver| on(driver.engine)) else { continue };
        let name = match scale {
            Scale::Full => "full scale",
            Scale::Miniature => "miniature (--mini)",
        };
        let count = resolved.cells().len() as u64 * u64::from(resolved.repetitions);
        say(&format!("{name} on {}: {}", resolved.engine, counted(count, "run")));
        own_workload::lines(&resolved).iter().for_each(|line| say(&format!("  {line}")));
        let latency = sync_latency_ns(&resolved.layout, &base);
        let assignment = Assignment::new(resolved, Vec::new(), "", SEED);
        let preview = Preview::of(&assignment, store.as_ref(), latency)?;
        preview.lines().iter().for_each(|line| say(&format!("  {line}")));
    }
    Ok(())
}
