//! `fathom structure`: how tables and indexes lie on their pages.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use check::engine::Source;
use check::progress::Progress;
use check::structure::Options;
use report::plain::one_line;
use results::store::{Store, StoredStructure, StructureOrigin};
use results::structure::{StructureMode, StructureReport};

use crate::arguments::{StructureArguments, StructureFormat, StructureModeWord};
use crate::cli::page_file::PageFile;
use crate::cli::progress::Bar;
use crate::cli::quantities::{bytes_per_s, jobs};
use crate::cli::stopping::{self, Ending};
use crate::cli::stored::{self, seconds};
use crate::cli::stored_checks::{is_within, place};
use crate::cli::terminal::{form as text_form, print, print_document, print_json, say};
use crate::engines;
use crate::engines::local_server::LocalServer;
use crate::exit_status::ExitStatus;

pub(crate) fn run(arguments: &StructureArguments) -> anyhow::Result<ExitStatus> {
    if arguments.list {
        return list(arguments);
    }
    let page = PageFile::of(arguments.html.as_deref())?;
    if let Some(number) = arguments.show {
        let store = Store::open_read_only(&arguments.results.results)?;
        let stored = store.structure(number)?;
        let shown = show(&stored.report, arguments);
        page.map_or(Ok(()), |page| page.write(&report::html::structure_page(&stored)))?;
        return shown;
    }
    let target = arguments.target.as_deref().context(
        "no database to measure\nhint: name a SQLite file, a PostgreSQL data directory or base backup, a file of SQL Server, a URL or a relation file",
    )?;
    let options = options(arguments)?;
    let mut bar = Bar::new();
    let report = measure(target, &arguments.more, &options, &mut bar)?;
    bar.finish();
    if report.objects.is_empty()
        && let Some(reason) = &report.unfinished
    {
        bail!("{reason}");
    }
    let number = match arguments.no_store {
        true => None,
        false => store(&report, target, &arguments.results.results),
    };
    let shown = show(&report, arguments);
    if let Some(page) = page {
        let stored = StoredStructure {
            id: number.unwrap_or_default(),
            run_id: None,
            stored_at: jiff::Timestamp::now().to_string(),
            fathom_version: env!("CARGO_PKG_VERSION").to_owned(),
            place: place(target),
            report,
        };
        page.write(&report::html::structure_page(&stored))?;
    }
    shown
}

/// Finds out what the target is, and measures it.
fn measure(
    target: &Path,
    more: &[PathBuf],
    options: &Options,
    progress: &mut dyn Progress,
) -> anyhow::Result<StructureReport> {
    if let Some(url) = target.to_str().filter(|target| target.contains("://")).filter(|_| more.is_empty()) {
        return measure_server(url, options, progress);
    }
    let (_, engine) = engines::recognise(target)?;
    let Some(engine) = engine else {
        bail!(
            "\"{}\" is not recognised: it does not begin as a SQLite database and is not a table or B-tree of PostgreSQL",
            target.display()
        );
    };
    if !more.is_empty() && !engine.supports.several_files {
        bail!(
            "cannot measure \"{}\" together with other files: only the data files of one SQL Server database are measured together\nhint: measure one after the other",
            target.display()
        );
    }
    let paths: Vec<PathBuf> = std::iter::once(target.to_owned()).chain(more.iter().cloned()).collect();
    Ok((engine.structure)(&Source::Files(&paths), options, progress)?)
}

/// Measures a running server by its address: its files must be on this machine, and are read as they are on it.
fn measure_server(
    url: &str,
    options: &Options,
    progress: &mut dyn Progress,
) -> anyhow::Result<StructureReport> {
    let local = LocalServer::ask(url, "measure structure")?;
    let paths = [local.directory.clone()];
    let mut report = (local.engine.structure)(&Source::Files(&paths), options, progress)?;
    report.facts.push(("directory".to_owned(), local.directory.to_string_lossy().into_owned()));
    report.target = local.name();
    Ok(report)
}

fn options(arguments: &StructureArguments) -> anyhow::Result<Options> {
    let mut options = Options {
        mode: match arguments.mode {
            StructureModeWord::Limited => StructureMode::Limited,
            StructureModeWord::Sampled => StructureMode::Sampled,
            StructureModeWord::Detailed => StructureMode::Detailed,
        },
        table: arguments.table.clone(),
        with_system: arguments.system,
        worker_count: jobs(arguments.jobs)?,
        want_direct: !arguments.buffered,
        stop: Some(Arc::clone(&stopping::on_signals(Ending::WaitsFor("the blocks that are being read"))?)),
        ..Options::default()
    };
    if let Some(rate) = &arguments.max_read_rate {
        options.rate_bytes_per_s_max = Some(bytes_per_s(rate)?);
        if options.rate_bytes_per_s_max == Some(0) {
            bail!("--max-read-rate takes at least 1");
        }
    }
    if let Some(points) = arguments.map_points {
        options.strip_points_max = points;
    }
    if arguments.whole_maps {
        options.strip_points_max = usize::MAX;
    }
    Ok(options)
}

fn show(report: &StructureReport, arguments: &StructureArguments) -> anyhow::Result<ExitStatus> {
    match form(arguments) {
        StructureFormat::Json => print_json(&report::structure::json(report))?,
        StructureFormat::Csv => print_document(&report::structure::csv(report))?,
        StructureFormat::Text => print(&text_form(None).structure(report))?,
    }
    Ok(match report.exit_code() {
        0 => ExitStatus::Clean,
        1 => ExitStatus::Findings,
        _ => ExitStatus::Stopped,
    })
}

fn form(arguments: &StructureArguments) -> StructureFormat {
    if arguments.json { StructureFormat::Json } else { arguments.format }
}

/// Stores a structure. What prevents that is said, and changes neither the answer nor the exit status. Returns its number.
fn store(report: &StructureReport, target: &Path, directory: &Path) -> Option<i64> {
    let place = place(target);
    let stored = if is_within(directory, target) {
        Err("it is inside the measured directory, where nothing is written".to_owned())
    } else {
        let stored_at = jiff::Timestamp::now().to_string();
        let fathom_version = env!("CARGO_PKG_VERSION");
        let origin = StructureOrigin { run_id: None, stored_at: &stored_at, fathom_version, place: &place };
        stored::writable(directory)
            .and_then(|mut store| store.add_structure(report, &origin))
            .map_err(|error| error.to_string())
    };
    match &stored {
        Ok(id) => say(&format!("stored as structure {id} in \"{}\"", directory.display())),
        Err(reason) => say(&format!("the structure is not stored in \"{}\": {reason}", directory.display())),
    }
    stored.ok()
}

/// Prints all stored structures, one line each.
fn list(arguments: &StructureArguments) -> anyhow::Result<ExitStatus> {
    let store = Store::open_read_only(&arguments.results.results)?;
    let structures = store.structures()?;
    if form(arguments) == StructureFormat::Json {
        print_json(&format!("{}\n", serde_json::to_string_pretty(&structures)?))?;
        return Ok(ExitStatus::Clean);
    }
    for stored in &structures {
        print(&line(stored))?;
    }
    if structures.is_empty() {
        print(&format!("\"{}\" has no structure\n", store.path().display()))?;
    } else {
        print("\nfathom structure --show N prints one again\n")?;
    }
    Ok(ExitStatus::Clean)
}

fn line(stored: &StoredStructure) -> String {
    let run = stored.run_id.map_or_else(String::new, |run| format!(", after run {run}"));
    format!(
        "structure {}  {}Z  {} {}: {} tables and indexes{run}\n",
        stored.id,
        seconds(&stored.stored_at),
        one_line(&stored.place),
        stored.report.mode.name(),
        stored.report.objects.len()
    )
}
