//! `fathom import`: results of other tools as studies, marked as imported.

mod naming;
mod prepared;
mod shown;
mod sources;

use anyhow::bail;
use results::model::Level;
use results::store::Store;

use crate::arguments::ImportArguments;
use crate::cli::stored;
use crate::cli::terminal::{say, told};
use crate::exit_status::ExitStatus;
use prepared::{Prepared, Stored, prepare};

pub(crate) fn run(arguments: &ImportArguments) -> anyhow::Result<ExitStatus> {
    let set = levels(&arguments.set)?;
    let (groups, mut errors) = sources::groups(arguments)?;
    if arguments.name.is_some() && groups.len() > 1 {
        bail!(
            "--name names one study, these files make {}\nhint: import them one after the other",
            groups.len()
        );
    }
    let now = jiff::Timestamp::now().to_string();
    let mut prepared = Vec::new();
    for group in groups {
        match prepare(group, arguments, &set, &now) {
            Ok(study) => prepared.push(study),
            Err(error) => errors.push(error),
        }
    }
    let mut done = Vec::new();
    if arguments.dry_run {
        done.extend(prepared.into_iter().map(|study| (study, Stored::No)));
    } else if !prepared.is_empty() {
        let mut store = stored::writable(&arguments.results.results)?;
        for study in prepared {
            match put(&mut store, &study, &now) {
                Ok(stored) => done.push((study, stored)),
                Err(error) => errors.push(error),
            }
        }
        store.discard_if_empty()?;
    }
    shown::print_all(&done, arguments.json)?;
    for error in &errors {
        say(&format!("error: {}", told(error)));
    }
    let is_doubted = done.iter().any(|(study, _)| study.matrix.runs.iter().any(|(_, doubt)| doubt.is_some()));
    Ok(match (errors.is_empty(), is_doubted) {
        (false, _) => ExitStatus::Stopped,
        (true, true) => ExitStatus::Findings,
        (true, false) => ExitStatus::Clean,
    })
}

/// Stores a study, unless its name is taken by another kind of study.
fn put(store: &mut Store, prepared: &Prepared, now: &str) -> anyhow::Result<Stored> {
    if let Some(known) = store.find_study(&prepared.study.key)? {
        return Ok(Stored::Known(known));
    }
    naming::require_free(store, &prepared.study)?;
    let Prepared { study, origin, matrix } = prepared;
    let (id, is_new) = store.import_study(study, origin, &matrix.cells, &matrix.runs, now)?;
    Ok(if is_new { Stored::New(id) } else { Stored::Known(id) })
}

/// `factor=value`, as the levels of a spec are written.
fn levels(set: &[String]) -> anyhow::Result<Vec<(String, Level)>> {
    let mut levels: Vec<(String, Level)> = Vec::new();
    for text in set {
        let pair = text.split_once('=').map(|(name, value)| (name.trim(), value.trim()));
        let Some((name, value)) = pair.filter(|(name, value)| !name.is_empty() && !value.is_empty()) else {
            bail!("\"{text}\" in --set is not a level\nhint: write factor=value");
        };
        if levels.iter().any(|(known, _)| known == name) {
            bail!("--set has \"{name}\" twice");
        }
        levels.push((name.to_owned(), import::table::level_of(value)));
    }
    Ok(levels)
}
