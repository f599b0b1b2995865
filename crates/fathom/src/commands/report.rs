//! `fathom report`: tables and verdict of a stored study, or what a stored check said.

use report::summary::StudySummary;
use results::model::StoredRun;
use results::store::{Store, StudyId};

use super::{checks, stored};
use crate::Verdict;
use crate::arguments::{ReportArguments, ReportFormat};
use crate::expectations;
use crate::terminal::print;

pub(crate) fn run(arguments: &ReportArguments) -> anyhow::Result<Verdict> {
    let store = Store::open_read_only(&arguments.results.results)?;
    let format = if arguments.json { ReportFormat::Json } else { arguments.format };
    if let Some(run_id) = arguments.run {
        let stored = store.run(run_id)?;
        match format {
            ReportFormat::Json => print(&format!("{}\n", serde_json::to_string_pretty(&stored)?))?,
            ReportFormat::Text => print(&report::text::run_detail(&stored, &belongs_to(&store, &stored)?))?,
            ReportFormat::Markdown => {
                print(&report::markdown::run_detail(&stored, &belongs_to(&store, &stored)?))?;
            }
        }
        return Ok(Verdict::Clean);
    }
    if let Some(check) = arguments.check {
        let stored = store.check(check)?;
        match format {
            ReportFormat::Json => print(&format!("{}\n", serde_json::to_string_pretty(&stored)?))?,
            ReportFormat::Text | ReportFormat::Markdown => print(&checks::detail(&stored))?,
        }
        return Ok(Verdict::Clean);
    }
    let study = stored::find(&store, arguments.study)?;
    print_study(&store, study.id, format)?;
    Ok(Verdict::Clean)
}

/// Study and configuration of a run.
fn belongs_to(store: &Store, run: &StoredRun) -> anyhow::Result<String> {
    let id = store.study_of_run(run.run_id)?;
    let study = store.study(id)?;
    let cells = store.cells(id)?;
    let cell = cells.iter().find(|cell| cell.index == run.run.key.cell_index);
    let label = cell.map_or_else(|| format!("cell {}", run.run.key.cell_index), |cell| cell.label());
    Ok(format!("study {}: {} on {}, {label}", id.0, study.experiment, study.engine))
}

/// Prints one study in the wanted form.
pub(crate) fn print_study(store: &Store, study: StudyId, format: ReportFormat) -> anyhow::Result<()> {
    let summary = summarise(store, study)?;
    match format {
        ReportFormat::Text => print(&report::text::study(&summary))?,
        ReportFormat::Markdown => print(&report::markdown::study(&summary))?,
        ReportFormat::Json => print(&format!("{}\n", report::export::summary_json(&summary)))?,
    }
    Ok(())
}

/// Every number of one study.
pub(crate) fn summarise(store: &Store, study: StudyId) -> anyhow::Result<StudySummary> {
    let results = store.study_results(study)?;
    Ok(report::summary::summarise(&results, &expectations::evaluate(&results)))
}
