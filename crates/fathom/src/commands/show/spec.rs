//! The text of a spec, and the files that it may name.

use std::path::Path;

use anyhow::Context;
use lab::spec::{Files, FilesBeside, NoFiles};

/// The files that a spec may name: those from its directory on, none for a shipped experiment.
pub(crate) fn files_of(experiment: &str) -> Box<dyn Files> {
    match is_path(experiment) {
        true => Box::new(FilesBeside::spec(Path::new(experiment))),
        false => Box::new(NoFiles),
    }
}

fn is_path(experiment: &str) -> bool {
    experiment.ends_with(".toml") || experiment.contains('/')
}

/// Name for messages and text of a spec: a path when it looks like one, else a shipped experiment.
pub(crate) fn spec_text(experiment: &str) -> anyhow::Result<(String, String)> {
    // Not quoted: a URL may hold a password.
    if experiment.contains("://") {
        anyhow::bail!(
            "a URL is not an experiment\nhint: give an experiment, and the server with --target URL"
        );
    }
    if is_path(experiment) {
        let text = disk::regular::read_to_string(experiment)
            .with_context(|| format!("could not read spec \"{experiment}\""))?;
        return Ok((experiment.to_owned(), text));
    }
    let shipped = lab::spec::find(experiment).map_err(|error| anyhow::anyhow!("{error}"))?;
    Ok((format!("{}.toml", shipped.name), shipped.text.to_owned()))
}
