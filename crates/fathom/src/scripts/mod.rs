//! `fathom run my.sql`: scripts of the command line as the text of a spec, which goes the way of every spec.

mod files;
mod options;
mod spec;
mod words;

use anyhow::bail;
use script::BUILTINS;

use crate::arguments::RunArguments;
use crate::cli::terminal::print;

pub(crate) use options::overrides;

/// What errors call a spec that was made from the command line.
const SOURCE: &str = "command line";

/// Name and text of the spec that the scripts of the command line come to; `None` where it names an experiment.
///
/// # Errors
/// Scripts beside an experiment, a file that cannot be read, an option that has no meaning.
pub(crate) fn spec_text(arguments: &RunArguments) -> anyhow::Result<Option<(String, String)>> {
    let scripts = words::scripts(arguments)?;
    if scripts.is_empty() {
        options::refuse_without_scripts(arguments)?;
        return Ok(None);
    }
    let overrides = overrides(arguments)?;
    let text = spec::text(&scripts, &arguments.scripts, &overrides)?;
    Ok(Some((SOURCE.to_owned(), text)))
}

/// The experiment of the command line; with scripts there is none.
///
/// # Errors
/// None or several.
pub(crate) fn experiment(arguments: &RunArguments) -> anyhow::Result<&str> {
    match arguments.experiment.as_slice() {
        [experiment] => Ok(experiment),
        [] => bail!(
            "there is nothing to run\nhint: name an experiment, a spec or a script; `fathom list` lists experiments"
        ),
        [first, second, ..] => bail!(
            "\"{first}\" and \"{second}\" are two experiments\nhint: run one after the other; several scripts (.sql) run together"
        ),
    }
}

/// Are scripts named in place of an experiment?
pub(crate) fn is_without_spec(arguments: &RunArguments) -> bool {
    let options = &arguments.scripts;
    !options.builtin.is_empty()
        || !options.file.is_empty()
        || arguments.experiment.iter().any(|word| words::is_script(word))
}

/// Is the list of built-in scripts asked for?
pub(crate) fn wants_list(arguments: &RunArguments) -> bool {
    arguments.scripts.builtin.iter().any(|name| name == "list")
}

/// Prints the built-in scripts, one line each.
pub(crate) fn print_list() -> std::io::Result<()> {
    let width = BUILTINS.iter().map(|builtin| builtin.name.len()).max().unwrap_or(0);
    for builtin in &BUILTINS {
        let words = builtin.description.trim_matches(['<', '>']).trim_start_matches("builtin: ");
        print(&format!("{:width$}  {words}\n", builtin.name))?;
    }
    Ok(())
}
