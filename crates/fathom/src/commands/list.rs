//! `fathom list`: experiments that come with fathom, or studies or checks that were made.

use disk::baseline::PUBLISHED_NAME;
use report::quantity::Quantity;
use results::model::{Scale, StoredRun};
use results::store::{Store, StoredCheck};
use results::wording::counted;

use crate::arguments::ListArguments;
use crate::cli::stored::seconds;
use crate::cli::terminal::{print, print_json};
use crate::cli::{marks, stored};
use crate::exit_status::ExitStatus;

pub(crate) fn run(arguments: &ListArguments) -> anyhow::Result<ExitStatus> {
    if let Some(study) = &arguments.runs {
        runs(arguments, study.as_deref())
    } else if arguments.checks {
        checks(arguments)
    } else if arguments.studies {
        studies(arguments)
    } else {
        experiments(arguments)
    }
}

fn experiments(arguments: &ListArguments) -> anyhow::Result<ExitStatus> {
    let mut rows = Vec::new();
    for shipped in lab::spec::shipped() {
        let experiment = lab::spec::Experiment::parse(shipped.name, shipped.text)
            .map_err(|error| anyhow::anyhow!("shipped experiment {}: {error}", shipped.name))?;
        rows.push((shipped, experiment));
    }
    if arguments.json {
        let list: Vec<_> = rows
            .iter()
            .map(|(shipped, experiment)| {
                serde_json::json!({
                    "name": shipped.name,
                    "published_as": shipped.published_as,
                    "kind": experiment.kind.word(),
                    "title": experiment.title,
                    "question": experiment.question,
                })
            })
            .collect();
        print_json(&format!("{}\n", serde_json::to_string_pretty(&list)?))?;
        return Ok(ExitStatus::Clean);
    }
    let width = rows.iter().map(|(shipped, _)| shipped.name.len()).max().unwrap_or(0);
    for (shipped, experiment) in &rows {
        print(&format!("{:width$}  {}\n", shipped.name, experiment.question))?;
    }
    print(&format!("\nfathom io PATH measures {PUBLISHED_NAME} as one table; it needs no database\n"))?;
    print(
        "fathom show NAME prints the spec, with --sql the statements; fathom run NAME --mini --dry-run prints what would run\n",
    )?;
    Ok(ExitStatus::Clean)
}

fn studies(arguments: &ListArguments) -> anyhow::Result<ExitStatus> {
    let store = Store::open_read_only(&arguments.results.results)?;
    let studies = store.studies()?;
    if arguments.json {
        print_json(&format!("{}\n", serde_json::to_string_pretty(&studies)?))?;
        return Ok(ExitStatus::Clean);
    }
    for stored in &studies {
        let study = &stored.study;
        let counting = store.runs(stored.id)?.iter().filter(|run| run.counts()).count();
        if let Some(imported) = &study.imported {
            print(&format!(
                "study {}  {}Z  {}, {}, {} that count\n",
                stored.id.0,
                seconds(&study.created_at),
                study.experiment,
                report::plain::one_line(&imported.words()),
                counted(counting as u64, "run")
            ))?;
            continue;
        }
        let scale = if study.scale == Scale::Miniature { "miniature" } else { "full" };
        print(&format!(
            "study {}  {}Z  {} on {} ({scale}), seed {}, {} that count\n",
            stored.id.0,
            seconds(&study.created_at),
            study.experiment,
            study.engine,
            study.seed,
            counted(counting as u64, "run")
        ))?;
    }
    if studies.is_empty() {
        print(&format!("no study in \"{}\"\n", store.path().display()))?;
    }
    let check_count = store.checks()?.len();
    if check_count > 0 {
        print(&format!("checks: {check_count} (fathom list --checks)\n"))?;
    }
    Ok(ExitStatus::Clean)
}

/// Prints all stored checks, one line each.
fn checks(arguments: &ListArguments) -> anyhow::Result<ExitStatus> {
    let store = Store::open_read_only(&arguments.results.results)?;
    let checks = store.checks()?;
    if arguments.json {
        print_json(&format!("{}\n", serde_json::to_string_pretty(&checks)?))?;
        return Ok(ExitStatus::Clean);
    }
    for check in &checks {
        print(&format!("{}\n", line(check)))?;
    }
    if checks.is_empty() {
        print(&format!("\"{}\" has no check\n", store.path().display()))?;
    } else {
        print("\nfathom report --check N prints one in full\n")?;
    }
    Ok(ExitStatus::Clean)
}

fn line(check: &StoredCheck) -> String {
    let report = &check.report;
    format!(
        "check {}  {}Z  {}, {}, level {}: {}",
        check.id,
        seconds(&check.stored_at),
        report::plain::one_line(&check.place),
        counted(report.accounting.page_count, "page"),
        report.level.name(),
        report.verdict().text
    )
}

/// All runs of a study, a line each, with every mark that they have or had.
fn runs(arguments: &ListArguments, study: Option<&str>) -> anyhow::Result<ExitStatus> {
    let store = Store::open_read_only(&arguments.results.results)?;
    let found = stored::find(&store, study)?;
    let results = stored::results(&store, found.id)?;
    let quantity = Quantity::of(&results.study);
    let mut json = Vec::new();
    for stored in &results.runs {
        let key = stored.run.key;
        let cell = results.cells.iter().find(|cell| cell.index == key.cell_index);
        let label = cell.map_or_else(|| format!("cell {}", key.cell_index), |cell| cell.label());
        let marks = store.marks(stored.run_id)?;
        if arguments.json {
            json.push(serde_json::json!({
                "run_id": stored.run_id,
                "block": key.block_index + 1,
                "attempt": key.attempt + 1,
                "configuration": label,
                "state": stored.run.state,
                "counts": stored.counts(),
                "superseded_by": stored.superseded_by,
                quantity.name(): stored.run.has_values().then(|| quantity.value(&stored.run)),
                "marks": marks,
            }));
            continue;
        }
        print(&format!(
            "run {}  block {}  {}  {}  {}\n",
            stored.run_id,
            key.block_index + 1,
            report::plain::one_line(&label),
            state(stored),
            marks::value(quantity, stored)
        ))?;
        for one in &marks {
            print(&format!("  {}\n", marks::mark_line(one)))?;
        }
    }
    if arguments.json {
        print_json(&format!("{}\n", serde_json::to_string_pretty(&json)?))?;
    } else if results.runs.is_empty() {
        print(&format!("study {} has no run\n", found.id.0))?;
    }
    Ok(ExitStatus::Clean)
}

/// `valid`, `invalid, repeated as run 7`, `valid, suspect`; `imported` of what fathom did not measure.
fn state(stored: &StoredRun) -> String {
    let word = stored.run.state_word();
    let suspect = if stored.suspect.is_some() { ", suspect" } else { "" };
    let again = stored.superseded_by.map_or_else(String::new, |run| format!(", repeated as run {run}"));
    format!("{word}{suspect}{again}")
}
