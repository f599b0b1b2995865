//! `fathom report`: tables and verdict of a stored study, or what a stored check said.

use std::io::{IsTerminal, stdout};

use anyhow::bail;
use report::summary::StudySummary;
use results::model::StoredRun;
use results::store::{Store, StudyId};

use super::page::{self, Form, Source};
use super::{checks, stored};
use crate::Verdict;
use crate::arguments::{ReportArguments, ReportFormat};
use crate::expectations;
use crate::terminal::print;

pub(crate) fn run(arguments: &ReportArguments) -> anyhow::Result<Verdict> {
    let store = Store::open_read_only(&arguments.results.results)?;
    let format = page::form_of(arguments.json, arguments.format, arguments.output.as_deref());
    if let Some(run_id) = arguments.run {
        let stored = store.run(run_id)?;
        match format {
            ReportFormat::Json => print(&format!("{}\n", serde_json::to_string_pretty(&stored)?))?,
            ReportFormat::Text => print(&report::text::run_detail(&stored, &belongs_to(&store, &stored)?))?,
            ReportFormat::Markdown => {
                print(&report::markdown::run_detail(&stored, &belongs_to(&store, &stored)?))?;
            }
            ReportFormat::Html | ReportFormat::Svg | ReportFormat::Png => bail!("{PAGES_ARE_OF_STUDIES}"),
        }
        return Ok(Verdict::Clean);
    }
    if let Some(check) = arguments.check {
        let stored = store.check(check)?;
        match format {
            ReportFormat::Json => print(&format!("{}\n", serde_json::to_string_pretty(&stored)?))?,
            ReportFormat::Text | ReportFormat::Markdown => print(&checks::detail(&stored))?,
            ReportFormat::Html | ReportFormat::Svg | ReportFormat::Png => bail!("{PAGES_ARE_OF_STUDIES}"),
        }
        return Ok(Verdict::Clean);
    }
    let study = stored::find(&store, arguments.study)?;
    let output = arguments.output.as_deref();
    if output.is_none() && format == ReportFormat::Html && stdout().is_terminal() {
        print(&format!("{}\n", page::write_default(&store, study.id)?.display()))?;
    } else {
        page::deliver(format, output, |format| render(&store, study.id, format))?;
    }
    Ok(Verdict::Clean)
}

/// Why one run or one check has no page.
const PAGES_ARE_OF_STUDIES: &str = "a page shows a study, not a single run or check\nhint: leave out --run or --check; the page shows all of them";

/// Study and configuration of a run.
fn belongs_to(store: &Store, run: &StoredRun) -> anyhow::Result<String> {
    let id = store.study_of_run(run.run_id)?;
    let study = store.study(id)?;
    let cells = store.cells(id)?;
    let cell = cells.iter().find(|cell| cell.index == run.run.key.cell_index);
    let label = cell.map_or_else(|| format!("cell {}", run.run.key.cell_index), |cell| cell.label());
    Ok(format!("study {}: {} on {}, {label}", id.0, study.experiment, study.engine))
}

/// One study in the wanted form.
pub(crate) fn render(store: &Store, study: StudyId, format: ReportFormat) -> anyhow::Result<String> {
    let summary = || summarise(store, study);
    Ok(match format {
        ReportFormat::Text => report::text::study(&summary()?),
        ReportFormat::Markdown => report::markdown::study(&summary()?),
        ReportFormat::Json => format!("{}\n", report::export::summary_json(&summary()?)),
        ReportFormat::Html => Source::read(store, study)?.render(Form::Html, false),
        // Pixels are made from it: `page::deliver`.
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
