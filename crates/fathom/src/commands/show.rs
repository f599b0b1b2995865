//! `fathom show`: the spec of an experiment, as it can be saved, changed and run; or a stored check.

use anyhow::Context;
use lab::spec::Experiment;
use results::store::Store;

use crate::arguments::ShowArguments;
use crate::cli::permission;
use crate::cli::terminal::{print_document, print_json, say};
use crate::exit_status::ExitStatus;

pub(crate) fn run(arguments: &ShowArguments) -> anyhow::Result<ExitStatus> {
    if let Some(id) = arguments.check {
        let stored = Store::open_read_only(&arguments.results.results)?.check(id)?;
        print_json(&stored.report.to_json_lines())?;
        return Ok(ExitStatus::Clean);
    }
    let (name, text) = spec_text(arguments.experiment.as_deref().unwrap_or_default())?;
    print_document(&text)?;
    // A spec with a mistake is shown all the same; what runs it says what is wrong.
    if let Ok(experiment) = Experiment::parse(&name, &text) {
        for line in permission::lines(&experiment.commands()) {
            say(&format!("note: runs a command (needs --allow-commands): {line}"));
        }
    }
    Ok(ExitStatus::Clean)
}

/// Name for messages and text of a spec: a path when it looks like one, else a shipped experiment.
pub(crate) fn spec_text(experiment: &str) -> anyhow::Result<(String, String)> {
    // Not quoted: a URL may hold a password.
    if experiment.contains("://") {
        anyhow::bail!(
            "a URL is not an experiment\nhint: give an experiment, and the server with --target URL"
        );
    }
    if experiment.ends_with(".toml") || experiment.contains('/') {
        let text = disk::regular::read_to_string(experiment)
            .with_context(|| format!("could not read spec \"{experiment}\""))?;
        return Ok((experiment.to_owned(), text));
    }
    let shipped = lab::spec::find(experiment).map_err(|error| anyhow::anyhow!("{error}"))?;
    Ok((format!("{}.toml", shipped.name), shipped.text.to_owned()))
}
