//! A stored study in every form: numbers, text, the page, the picture for a slide.

use std::path::PathBuf;

use report::html::Page;
use report::summary::StudySummary;
use results::io::IoTable;
use results::model::{RunState, StoredRun};
use results::store::{Store, StoreError, StoredStructure, StudyId, StudyResults};

use super::delivery::replace;
use super::stored;
use crate::arguments::ReportFormat;
use crate::{engines, expectations};

/// Which picture of a study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The whole page.
    Html,
    /// One picture for a slide.
    Svg,
}

/// Everything that a page is made from.
pub(crate) struct Source {
    results: StudyResults,
    runs: Vec<StoredRun>,
    baselines: Vec<IoTable>,
    structures: Vec<StoredStructure>,
}

impl Source {
    /// Reads a study with all its series.
    pub(crate) fn read(store: &Store, study: StudyId) -> anyhow::Result<Self> {
        let results = stored::results(store, study)?;
        let read = |known: &StoredRun| {
            let mut run = store.run(known.run_id)?;
            if known.run.state == RunState::Interrupted {
                stored::interrupt(&mut run);
            }
            Ok::<_, StoreError>(run)
        };
        let runs: Result<Vec<StoredRun>, _> = results.runs.iter().map(read).collect();
        let runs = runs?;
        let baselines = store.io_tables()?.into_iter().map(|stored| stored.table);
        let baselines = baselines.filter(|table| is_of_study(table, &results)).collect();
        // Others have pages of their own.
        let mut structures = store.structures()?;
        let is_own = |run_id: i64| runs.iter().any(|run| run.run_id == run_id);
        structures.retain(|stored| stored.run_id.is_some_and(is_own));
        Ok(Self { runs, baselines, structures, results })
    }

    /// Draws it.
    pub(crate) fn render(&self, form: Form, is_live: bool) -> String {
        let mut summary = summary_of(&self.results);
        let counting = self.runs.iter().filter(|stored| stored.counts());
        let stretches: Vec<_> = counting
            .filter_map(|stored| Some((stored.run.key.cell_index, report::stretches::of_run(&stored.run)?)))
            .collect();
        summary.stretches = report::stretches::cells(&self.results, &stretches);
        let page = Page {
            summary: &summary,
            results: &self.results,
            runs: &self.runs,
            baselines: &self.baselines,
            structures: &self.structures,
            is_live,
        };
        match form {
            Form::Html => report::html::page(&page),
            Form::Svg => report::html::svg(&page),
        }
    }
}

/// Was a baseline measured on a device that the runs or the ceilings of a study used?
fn is_of_study(table: &IoTable, results: &StudyResults) -> bool {
    let is_of_ceiling = results
        .ceilings
        .iter()
        .any(|ceiling| !table.device_identity.is_empty() && ceiling.device == table.device_identity);
    let is_of_run = |run: &StoredRun| {
        let roles = run.run.environment.layout.as_array().map_or(&[][..], Vec::as_slice);
        let devices = roles.iter().filter_map(|role| role.pointer("/storage/block_devices")?.as_array());
        let mut names = devices.flatten().filter_map(|device| device["name"].as_str());
        names.any(|name| table.device.as_deref() == Some(name))
    };
    is_of_ceiling || results.runs.iter().any(is_of_run)
}

/// Place of the page beside the results: `study-3.html`.
pub(crate) fn default_path(store: &Store, study: StudyId) -> PathBuf {
    store.path().with_file_name(format!("study-{}.html", study.0))
}

/// Writes the page of a study beside its results, over an older one of the same study; returns its place.
pub(crate) fn write_default(store: &Store, study: StudyId) -> anyhow::Result<PathBuf> {
    let path = default_path(store, study);
    replace(&path, Source::read(store, study)?.render(Form::Html, false).as_bytes())?;
    Ok(path)
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

/// Every number of a study but those of its series.
pub(crate) fn summary_of(results: &StudyResults) -> StudySummary {
    report::summary::summarise(results, &engines::waits(), &expectations::evaluate(results))
}

/// Every number of one study.
pub(crate) fn summarise(store: &Store, study: StudyId) -> anyhow::Result<StudySummary> {
    let results = stored::results(store, study)?;
    let mut summary = summary_of(&results);
    let mut stretches = Vec::new();
    // One run after the other: all series of a long study need not fit into memory.
    for stored in results.runs.iter().filter(|stored| stored.counts()) {
        let found = report::stretches::of_run(&store.run(stored.run_id)?.run);
        stretches.extend(found.map(|found| (stored.run.key.cell_index, found)));
    }
    summary.stretches = report::stretches::cells(&results, &stretches);
    Ok(summary)
}
