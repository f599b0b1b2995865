//! docs/lab/parameters.md is written from the table of parameters and the shipped experiments.

use std::fmt::Write;

use lab::spec::{Experiment, Parameter, ParameterType, parameters, shipped};

const DOCUMENT: &str = "docs/lab/parameters.md";
/// Set to 1, the test rewrites the document.
const UPDATE: &str = "FATHOM_UPDATE";

#[test]
fn the_document_of_the_parameters_says_what_the_table_says() {
    let wanted = document();
    if std::env::var_os(UPDATE).is_some_and(|value| value == "1") {
        std::fs::write(crate::root().join(DOCUMENT), &wanted).unwrap();
    }
    let found = std::fs::read_to_string(crate::root().join(DOCUMENT)).unwrap_or_default();
    let differing = wanted.lines().zip(found.lines()).position(|(wanted, found)| wanted != found);
    assert!(
        found == wanted,
        "{DOCUMENT} is out of date{}\nhint: run `{UPDATE}=1 cargo test -p house` and look at the difference",
        differing.map_or(String::new(), |index| format!(" from line {} on", index + 1))
    );
}

fn document() -> String {
    let mut text = String::from(
        "# Parameters and experiments\n\
         \n\
         Written by a test from the table in `crates/lab/src/spec/parameters.rs` and the specs in `experiments/`; change\n\
         those, then run `FATHOM_UPDATE=1 cargo test -p house`.\n\
         \n\
         ## Parameters\n\
         \n\
         Every one may be given in `[parameters]` of a spec, with `--set NAME=VALUE`, or, with several values, as a\n\
         factor: in `[factors]` or with `--set NAME=VALUE,VALUE`. Settings of one engine stand in `[engine.sqlite]` or\n\
         `[engine.postgres]`; one with a list there is a factor on that engine and does not exist on the others.\n\
         \n\
         Beside the parameters a spec may name commands to watch its runs with, each printing CSV with a time column:\n\
         `samplers = [\"command\"]` above the first table. They make no other study of it, and run only\n\
         with `--allow-commands`, as settings that are commands do (`archive_command`).\n\
         \n\
         A spec with `[workload]` has names of its own beside those of [own-workload.md](own-workload.md).\n",
    );
    parameters().iter().for_each(|parameter| add_parameter(&mut text, parameter));
    text.push_str("\n## Experiments\n\nWhat `fathom list` shows; `fathom show NAME` prints a spec with its reasons.\n\n");
    text.push_str("| name | question | factors, full scale | repetitions |\n|---|---|---|---|\n");
    for one in shipped() {
        let experiment = Experiment::parse(one.name, one.text).unwrap();
        let factors = factors(one.text);
        writeln!(
            text,
            "| `{}` | {} | {factors} | {} |",
            experiment.name,
            experiment.question,
            value_of(one.text, "repetitions")
        )
        .unwrap();
    }
    text
}

fn add_parameter(text: &mut String, parameter: &Parameter) {
    writeln!(text, "\n### `{}`\n\n{}\n", parameter.name, parameter.doc).unwrap();
    let unit = if parameter.unit.is_empty() { String::new() } else { format!(" ({})", parameter.unit) };
    writeln!(text, "- takes: {}{unit}", parameter.kind.describe()).unwrap();
    let default = match parameter.default {
        None => "not set".to_owned(),
        Some("") => "empty".to_owned(),
        Some(default) => format!("`{default}`"),
    };
    writeln!(text, "- default: {default}").unwrap();
    if !parameter.aliases.is_empty() {
        let aliases: Vec<String> = parameter.aliases.iter().map(|alias| format!("`{alias}`")).collect();
        writeln!(text, "- also understood: {}", aliases.join(", ")).unwrap();
    }
    if let ParameterType::Word(words) = parameter.kind {
        for (word, meaning) in words {
            writeln!(text, "- `{word}`: {meaning}").unwrap();
        }
    }
}

/// The lines of `[factors]` as the spec writes them, and the lists among the settings of engines.
fn factors(spec: &str) -> String {
    let of_table = |header: &str, prefix: &str| -> Vec<String> {
        let lines = spec.lines().skip_while(|line| line.trim() != header).skip(1);
        lines
            .take_while(|line| !line.starts_with('['))
            .filter(|line| line.contains('=') && (prefix.is_empty() || line.contains("= [")))
            .map(|line| format!("`{prefix}{}`", line.trim()))
            .collect()
    };
    let mut all = of_table("[factors]", "");
    for engine in ["postgres", "sqlite"] {
        all.extend(of_table(&format!("[engine.{engine}]"), &format!("{engine}.")));
    }
    if all.is_empty() { "none".to_owned() } else { all.join(", ") }
}

/// The value of a top-level key as the spec writes it.
fn value_of<'a>(spec: &'a str, key: &str) -> &'a str {
    spec.lines()
        .take_while(|line| !line.starts_with('['))
        .find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix('='))
        .map_or("", str::trim)
}
