//! `fathom report`: tables and verdict of a stored study; a stored run, check or structure.

use std::path::PathBuf;

use anyhow::bail;
use results::model::StoredRun;
use results::store::Store;

use crate::arguments::{ReportArguments, ReportFormat};
use crate::cli::delivery::Delivery;
use crate::cli::study::{default_path, render};
use crate::cli::terminal::form;
use crate::cli::{marks, stored, stored_checks};
use crate::exit_status::ExitStatus;

pub(crate) fn run(arguments: &ReportArguments) -> anyhow::Result<ExitStatus> {
    let store = Store::open_read_only(&arguments.results.results)?;
    let text = form(arguments.output.as_deref());
    let (word, number) = match (arguments.run, arguments.check, arguments.structure) {
        (Some(run), ..) => ("run", run),
        (_, Some(check), _) => ("check", check),
        (.., Some(structure)) => ("structure", structure),
        _ => {
            let study = stored::find(&store, arguments.study.as_deref())?;
            delivery(arguments, default_path(&store, study.id))
                .deliver(|format| render(&store, study.id, format, text))?;
            return Ok(ExitStatus::Clean);
        }
    };
    let page = store.path().with_file_name(format!("{word}-{number}.html"));
    delivery(arguments, page).deliver(|format| match word {
        "run" => one_run(&store, number, format, text),
        "check" => one_check(&store, number, format),
        _ => one_structure(&store, number, format, text),
    })?;
    Ok(ExitStatus::Clean)
}

fn delivery(arguments: &ReportArguments, page: PathBuf) -> Delivery<'_> {
    Delivery { is_json: arguments.json, format: arguments.format, output: arguments.output.as_deref(), page }
}

fn one_run(
    store: &Store,
    run: i64,
    format: ReportFormat,
    text: report::text::Form,
) -> anyhow::Result<String> {
    let stored = store.run(run)?;
    Ok(match format {
        ReportFormat::Json => {
            let mut value = serde_json::to_value(&stored)?;
            value["marks"] = serde_json::to_value(store.marks(run)?)?;
            format!("{}\n", serde_json::to_string_pretty(&value)?)
        }
        ReportFormat::Text => {
            let marks: Vec<String> = store.marks(run)?.iter().map(marks::mark_line).collect();
            let marks = if marks.is_empty() {
                String::new()
            } else {
                format!("\nMarks\n=====\n{}\n", marks.join("\n"))
            };
            format!("{}{marks}", text.run_detail(&stored, &belongs_to(store, &stored)?))
        }
        ReportFormat::Markdown => report::markdown::run_detail(&stored, &belongs_to(store, &stored)?),
        ReportFormat::Html | ReportFormat::Svg | ReportFormat::Png => {
            bail!("a single run has no page\nhint: leave out --run; the page of its study shows it")
        }
    })
}

fn one_check(store: &Store, check: i64, format: ReportFormat) -> anyhow::Result<String> {
    let stored = store.check(check)?;
    Ok(match format {
        ReportFormat::Json => format!("{}\n", serde_json::to_string_pretty(&stored)?),
        ReportFormat::Text | ReportFormat::Markdown => stored_checks::detail(&stored),
        ReportFormat::Html => report::html::check(&stored_checks::of_place(store, check)?),
        ReportFormat::Svg | ReportFormat::Png => bail!("{NO_SLIDE}"),
    })
}

fn one_structure(
    store: &Store,
    structure: i64,
    format: ReportFormat,
    text: report::text::Form,
) -> anyhow::Result<String> {
    let stored = store.structure(Some(structure))?;
    Ok(match format {
        ReportFormat::Json => report::structure::json(&stored.report),
        ReportFormat::Text | ReportFormat::Markdown => text.structure(&stored.report),
        ReportFormat::Html => report::html::structure_page(&stored),
        ReportFormat::Svg | ReportFormat::Png => bail!("{NO_SLIDE}"),
    })
}

/// Why a check or a structure is no picture.
const NO_SLIDE: &str =
    "only a study, a comparison or a history has a slide\nhint: --format html writes a page";

/// Study and configuration of a run.
fn belongs_to(store: &Store, run: &StoredRun) -> anyhow::Result<String> {
    let id = store.study_of_run(run.run_id)?;
    let study = store.study(id)?;
    let cells = store.cells(id)?;
    let cell = cells.iter().find(|cell| cell.index == run.run.key.cell_index);
    let label = cell.map_or_else(|| format!("cell {}", run.run.key.cell_index), |cell| cell.label());
    Ok(format!("study {}: {} on {}, {label}", id.0, study.experiment, study.engine))
}
