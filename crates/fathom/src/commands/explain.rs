//! `fathom explain`: what a word in a spec or a table means.

use anyhow::bail;
use lab::spec::{Experiment, Parameter};

use crate::arguments::ExplainArguments;
use crate::cli::terminal::print;
use crate::engines;
use crate::exit_status::ExitStatus;

/// Definitions of metrics, gates and columns: one heading per word.
const METRICS: &str = include_str!("../../../../docs/lab/metrics.md");
/// Terms: one row of a table each.
const GLOSSARY: &str = include_str!("../../../../GLOSSARY.md");

/// Definitions of the columns of `fathom structure`, in the same form.
const STRUCTURE: &str = include_str!("../../../../docs/check/structure.md");

pub(crate) fn run(arguments: &ExplainArguments) -> anyhow::Result<ExitStatus> {
    let name = arguments.name.trim();
    if name.is_empty() {
        bail!("no name given\nhint: try `fathom explain batch_size`");
    }
    let mut found = Vec::new();
    found.extend(lab::spec::parameter(name).map(parameter_text));
    found.extend([METRICS, STRUCTURE].into_iter().filter_map(|document| metric_text(document, name)));
    found.extend(engines::waits().explain(name));
    found.extend(engines::rules().get(name).map(check::rule::explanation));
    found.extend(experiment_text(name)?);
    if found.is_empty() {
        found.extend(glossary_texts(name));
    }
    if found.is_empty() {
        bail!(
            "unknown name \"{name}\"{}",
            nearest(name).map_or(String::new(), |near| format!("\nhint: did you mean `{near}`?"))
        );
    }
    print(&format!("{}\n", found.join("\n\n")))?;
    Ok(ExitStatus::Clean)
}

fn parameter_text(parameter: &Parameter) -> String {
    // A time is written with its unit.
    let unit = match parameter.unit {
        "" | "time" => String::new(),
        unit => format!(", in {unit}"),
    };
    let default = parameter.default.map_or("not set".to_owned(), str::to_owned);
    format!(
        "parameter {}: {}\ntakes {}{unit}; default {default}",
        parameter.name,
        parameter.doc,
        parameter.kind.describe()
    )
}

/// The section of a document whose heading names the word.
fn metric_text(document: &str, name: &str) -> Option<String> {
    let mut lines = document.lines().skip_while(|line| !is_heading_of(line, name));
    let heading = lines.next()?;
    let body: Vec<&str> = lines.take_while(|line| !line.starts_with('#')).collect();
    Some(format!("{}\n{}", heading.trim_start_matches(['#', ' ']).replace('`', ""), body.join("\n").trim()))
}

fn is_heading_of(line: &str, name: &str) -> bool {
    line.starts_with("###") && line.split(['`', ',', '#']).any(|word| is_same(word, name))
}

/// In whatever case, and with a space, a dash or an underscore between the parts of a word.
fn is_same(one: &str, other: &str) -> bool {
    let plain = |text: &str| text.trim().to_lowercase().replace(['_', '-'], " ");
    !one.trim().is_empty() && plain(one) == plain(other)
}

/// The rows of the glossary that define a term: some mean one thing to an engine and another in an experiment.
fn glossary_texts(name: &str) -> impl Iterator<Item = String> {
    GLOSSARY.lines().filter_map(move |line| {
        let (words, meaning) = line.strip_prefix("| **")?.trim_end_matches(" |").split_once(" | ")?;
        let is_meant = words.split("**").flat_map(|part| part.split(',')).any(|word| is_same(word, name));
        is_meant.then(|| format!("{}: {meaning}", words.replace("**", "")))
    })
}

fn experiment_text(name: &str) -> anyhow::Result<Option<String>> {
    let Ok(shipped) = lab::spec::find(name) else { return Ok(None) };
    let experiment = Experiment::parse(shipped.name, shipped.text)
        .map_err(|error| anyhow::anyhow!("shipped experiment {name}: {error}"))?;
    Ok(Some(format!(
        "experiment {}: {}\n{}\n\n{}",
        experiment.name, experiment.title, experiment.question, experiment.comment
    )))
}

/// The known word that is nearest to what was typed.
fn nearest(name: &str) -> Option<&str> {
    let metrics = [METRICS, STRUCTURE]
        .into_iter()
        .flat_map(str::lines)
        .filter(|line| line.starts_with("###"))
        .flat_map(|line| line.split('`').skip(1).step_by(2));
    let parameters = lab::spec::parameters().iter().map(|parameter| parameter.name);
    let experiments = lab::spec::shipped().iter().map(|shipped| shipped.name);
    let catalogue = engines::waits();
    let waits = catalogue.names();
    let book = engines::rules();
    let rules = book.iter().map(|rule| rule.id);
    lab::spec::nearest(name, metrics.chain(parameters).chain(experiments).chain(rules).chain(waits))
}
