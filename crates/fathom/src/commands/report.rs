//! `fathom report`: tables and verdict of a stored study; a stored run, check or structure.

use std::path::PathBuf;

use anyhow::bail;
use report::summary::StudySummary;
use results::model::StoredRun;
use results::store::{Store, StudyId};

use super::page::{self, Delivery, Form, Source};
use super::{checks, mark, stored};
use crate::Verdict;
use crate::arguments::{ReportArguments, ReportFormat};
use crate::expectations;
use crate::terminal::form;

pub(crate) fn run(arguments: &ReportArguments) -> anyhow::Result<Verdict> {
    let store = Store::open_read_only(&arguments.results.results)?;
    let text = form(arguments.output.as_deref());
    let (word, number) = match (arguments.run, arguments.check, arguments.structure) {
        (Some(run), ..) => ("run", run),
        (_, Some(check), _) => ("check", check),
        (.., Some(structure)) => ("structure", structure),
        _ => {
            let study = stored::find(&store, arguments.study.as_deref())?;
            delivery(arguments, page::default_path(&store, study.id))
                .deliver(|format| render(&store, study.id, format, text))?;
            return Ok(Verdict::Clean);
        }
    };
    let page = store.path().with_file_name(format!("{word}-{number}.html"));
    delivery(arguments, page).deliver(|format| match word {
        "run" => one_run(&store, number, format, text),
        "check" => one_check(&store, number, format),
        _ => one_structure(&store, number, format, text),
    })?;
    Ok(Verdict::Clean)
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
            let marks: Vec<String> = store.marks(run)?.iter().map(mark::mark_line).collect();
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
        ReportFormat::Text | ReportFormat::Markdown => checks::detail(&stored),
        ReportFormat::Html => report::html::check(&checks::of_place(store, check)?),
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

/// One study in the wanted form; `text` lays text out.
pub(crate) fn render(
    store: &Store,
    study: StudyId,
    format: ReportFormat,
    text: report::text::Form,
) -> anyhow::Result<String> {
    let summary = || summarise(store, study);
    Ok(match format {
        ReportFormat::Text => text.study(&summary()?),
        ReportFormat::Markdown => report::markdown::study(&summary()?),
        ReportFormat::Json => format!("{}\n", report::export::summary_json(&summary()?)),
        ReportFormat::Html => Source::read(store, study)?.render(Form::Html, false),
        // Pixels are made from it: `Delivery::deliver`.
        ReportFormat::Svg | ReportFormat::Png => Source::read(store, study)?.render(Form::Svg, false),
    })
}

/// Every number of one study.
pub(crate) fn summarise(store: &Store, study: StudyId) -> anyhow::Result<StudySummary> {
    let results = stored::results(store, study)?;
    let mut summary = report::summary::summarise(&results, &expectations::evaluate(&results));
    let mut stretches = Vec::new();
    // One run after the other: all series of a long study need not fit into memory.
    for stored in results.runs.iter().filter(|stored| stored.counts()) {
        let found = report::stretches::of_run(&store.run(stored.run_id)?.run);
        stretches.extend(found.map(|found| (stored.run.key.cell_index, found)));
    }
    summary.stretches = report::stretches::cells(&results, &stretches);
    Ok(summary)
}
