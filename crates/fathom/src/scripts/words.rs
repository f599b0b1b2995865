//! Which words of the command line are scripts, and their weights.

use anyhow::bail;
use script::{BUILTINS, Builtin, parse_weighted};

use super::files;
use crate::arguments::RunArguments;

/// End of the names of scripts.
const EXTENSION: &str = ".sql";

/// A script and its weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Script {
    pub(super) what: What,
    pub(super) weight: u32,
}

/// What a script is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A file, as the user named it, and its text.
    File { path: String, text: String },
    /// One of pgbench's own.
    Builtin(&'static Builtin),
}

/// Is a word in the place of the experiment the name of a script, with a weight or without?
pub(super) fn is_script(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    lower.ends_with(EXTENSION) || lower.contains(".sql@")
}

/// All scripts of the command line: those in the place of the experiment, `--file`, `--builtin`, each in the order in which
/// they were typed.
///
/// # Errors
/// Scripts and an experiment, a weight or a file that cannot be read, an unknown built-in script, weights that are all 0.
pub(super) fn scripts(arguments: &RunArguments) -> anyhow::Result<Vec<Script>> {
    let options = &arguments.scripts;
    let is_of_scripts = !options.file.is_empty() || !options.builtin.is_empty();
    let experiment = arguments.experiment.iter().find(|word| !is_script(word));
    let script = arguments.experiment.iter().find(|word| is_script(word));
    if let Some(experiment) = experiment
        && (script.is_some() || is_of_scripts)
    {
        bail!(
            "\"{experiment}\" is not a script, and beside scripts there is no experiment\nhint: names of scripts end in .sql; other names take --file"
        );
    }
    let mut scripts = Vec::new();
    for word in arguments.experiment.iter().filter(|word| is_script(word)) {
        // A name that ends in .sql is a whole name, whatever is before that.
        let is_whole = word.to_ascii_lowercase().ends_with(EXTENSION);
        scripts.push(file(if is_whole { (word.as_str(), 1) } else { parse_weighted(word)? })?);
    }
    for word in &options.file {
        scripts.push(file(parse_weighted(word)?)?);
    }
    for word in &options.builtin {
        let (name, weight) = parse_weighted(word)?;
        scripts.push(Script { what: What::Builtin(builtin(name)?), weight });
    }
    if !scripts.is_empty() && scripts.iter().all(|script| script.weight == 0) {
        bail!(
            "the weights of all scripts are 0: there is nothing to execute\nhint: write FILE@WEIGHT with a weight above 0"
        );
    }
    Ok(scripts)
}

fn file((path, weight): (&str, u32)) -> anyhow::Result<Script> {
    Ok(Script { what: What::File { path: path.to_owned(), text: files::read(path)? }, weight })
}

fn builtin(name: &str) -> anyhow::Result<&'static Builtin> {
    let names = |found: &[&Builtin]| found.iter().map(|one| one.name).collect::<Vec<_>>().join(", ");
    match Builtin::find(name).as_slice() {
        [one] => Ok(one),
        [] => bail!("\"{name}\" is not a built-in script\nhint: use {}", names(&BUILTINS.each_ref())),
        several => bail!("\"{name}\" is several built-in scripts\nhint: write one of {}", names(several)),
    }
}
