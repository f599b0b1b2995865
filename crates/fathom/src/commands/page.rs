//! The page of a study: read from the store, written beside it or where the user wants it.

use std::fs::{File, OpenOptions};
use std::io::{IsTerminal, Write, stdout};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use report::html::Page;
use results::io::IoTable;
use results::model::{RunState, StoredRun};
use results::store::{Store, StoreError, StoredCheck, StoredStructure, StudyId, StudyResults};

use super::{png, stored};
use crate::arguments::ReportFormat;
use crate::expectations;
use crate::terminal::write_out;

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
    checks: Vec<StoredCheck>,
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
        let baselines = store.io_tables()?.into_iter().map(|stored| stored.table).collect();
        let runs = runs?;
        // Structures of other studies belong to their pages.
        let mut structures = store.structures()?;
        structures
            .retain(|stored| stored.run_id.is_none_or(|run_id| runs.iter().any(|run| run.run_id == run_id)));
        Ok(Self { runs, baselines, checks: store.checks()?, structures, results })
    }

    /// Draws it.
    pub(crate) fn render(&self, form: Form, is_live: bool) -> String {
        let mut summary = report::summary::summarise(&self.results, &expectations::evaluate(&self.results));
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
            checks: &self.checks,
            structures: &self.structures,
            is_live,
        };
        match form {
            Form::Html => report::html::page(&page),
            Form::Svg => report::html::svg(&page),
        }
    }
}

/// Place of the page beside the results: `study-3.html`.
pub(crate) fn default_path(store: &Store, study: StudyId) -> PathBuf {
    store.path().with_file_name(format!("study-{}.html", study.0))
}

/// Writes the page of a study beside its results, over an older one of the same study; returns its place.
pub(crate) fn write_default(store: &Store, study: StudyId) -> anyhow::Result<PathBuf> {
    let path = default_path(store, study);
    let page = Source::read(store, study)?.render(Form::Html, false);
    // A reader never sees half a page: the name is given when all is written.
    let unfinished = path.with_extension("html.part");
    let mut file = File::create(&unfinished)
        .with_context(|| format!("could not create \"{}\"", unfinished.display()))?;
    write(&mut file, &unfinished, page.as_bytes())?;
    std::fs::rename(&unfinished, &path)
        .with_context(|| format!("could not create \"{}\"", path.display()))?;
    Ok(path)
}

/// The form that was asked for, or that the name of the output file stands for.
pub(crate) fn form_of(is_json: bool, format: Option<ReportFormat>, output: Option<&Path>) -> ReportFormat {
    let ending = output.and_then(|path| path.extension()?.to_str());
    match (is_json, format, ending) {
        (true, _, _) | (_, None, Some("json")) => ReportFormat::Json,
        (_, Some(format), _) => format,
        (_, None, Some("html" | "htm")) => ReportFormat::Html,
        (_, None, Some("svg")) => ReportFormat::Svg,
        (_, None, Some("png")) => ReportFormat::Png,
        (_, None, Some("md")) => ReportFormat::Markdown,
        _ => ReportFormat::Text,
    }
}

/// Writes a document to a file that must not exist yet, or to standard output; `render` is asked for text, and for the
/// SVG of what becomes pixels.
pub(crate) fn deliver(
    format: ReportFormat,
    output: Option<&Path>,
    render: impl FnOnce(ReportFormat) -> anyhow::Result<String>,
) -> anyhow::Result<()> {
    let bytes = match format {
        ReportFormat::Png if output.is_none() && stdout().is_terminal() => {
            bail!("a terminal shows no picture\nhint: name a file, as in `-o slide.png`")
        }
        ReportFormat::Png => png::from_svg(&render(ReportFormat::Svg)?)?,
        format => render(format)?.into_bytes(),
    };
    match output {
        Some(path) => write_new(path, &bytes),
        None => Ok(write_out(&bytes)?),
    }
}

/// Writes to a file that must not exist yet.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path).with_context(|| {
        format!("could not create file \"{}\" (hint: choose a name that is not taken)", path.display())
    })?;
    write(&mut file, path, bytes)
}

fn write(file: &mut File, path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    file.write_all(bytes).with_context(|| format!("could not write file \"{}\"", path.display()))
}
