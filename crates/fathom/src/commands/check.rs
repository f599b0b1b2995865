//! `fathom check`: are the pages intact?

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use anyhow::bail;
use check::engine::{LogEnd, Source};
use check::options::Options;
use check::progress::Progress;
use results::check::{CheckLevel, CheckReport};

use crate::arguments::{CheckArguments, LevelWord};
use crate::cli::page_file::PageFile;
use crate::cli::progress::Bar;
use crate::cli::quantities::{bytes, bytes_per_s, jobs, time_above_zero};
use crate::cli::stopping::{self, Ending};
use crate::cli::terminal::{fitted, print, print_json, say};
use crate::cli::{resume_file, stored_checks};
use crate::engines;
use crate::engines::local_server::LocalServer;
use crate::exit_status::ExitStatus;

/// Findings of one rule that are listed, if the user does not say.
const FINDINGS_PER_RULE_MAX: usize = 100;

pub(crate) fn run(arguments: &CheckArguments) -> anyhow::Result<ExitStatus> {
    if arguments.require.is_some() && arguments.level != LevelWord::Full {
        bail!("--require full needs --level full\nhint: leave --level out");
    }
    if let Some(path) = &arguments.resume {
        let targets: Vec<&Path> = [arguments.target.as_path()]
            .into_iter()
            .chain(arguments.more.iter().map(PathBuf::as_path))
            .collect();
        resume_file::admit(path, &targets)?;
    }
    let is_url = |target: &&str| target.contains("://");
    if arguments.checkpoint && arguments.target.to_str().filter(is_url).is_none() {
        bail!(
            "--checkpoint needs a server to connect to, not \"{}\"\nhint: name the server as {}; it must be on this machine",
            arguments.target.display(),
            engines::url_example()
        );
    }
    let page = PageFile::of(arguments.html.as_deref())?;
    let options = options(arguments)?;
    let mut bar = Bar::new();
    let report = match arguments.target.to_str().filter(is_url) {
        Some(url) => check_url(url, arguments.checkpoint, &options, &mut bar)?,
        None => check(&arguments.target, &arguments.more, &options, &mut bar)?,
    };
    bar.finish();
    let (target, results) = (&arguments.target, &arguments.results.results);
    let number = match arguments.no_store {
        true => None,
        false => stored_checks::store(&report, target, results),
    };
    if arguments.json {
        print_json(&report.to_json_lines())?;
    } else {
        let shown_max = arguments.max_findings.unwrap_or(report::findings::SHOWN_PER_OBJECT);
        print(&fitted(&report::findings::text_of(&report, engines::rules().of(&report), shown_max)))?;
    }
    if let Some(page) = page {
        page.write(&stored_checks::page(&report, target, number, results)?)?;
    }
    let missing = report.missing_for_full();
    let is_short = arguments.require.is_some() && !missing.is_empty();
    if is_short {
        say(&format!("not fully verified (--require full): {}", missing.join("; ")));
    }
    Ok(match report.exit_code() {
        1 => ExitStatus::Findings,
        0 if !is_short => ExitStatus::Clean,
        _ => ExitStatus::Stopped,
    })
}

/// Finds out what the target is, and checks it.
fn check(
    target: &Path,
    more: &[PathBuf],
    options: &Options,
    progress: &mut dyn Progress,
) -> anyhow::Result<CheckReport> {
    // One record of reads for both: a file that changes between them changed during the check.
    let _entered = disk::input::InputRecord::default().enter();
    let (probe, engine) = engines::recognise(target)?;
    require_each_once(target, more)?;
    let any_file = || engines::CHECKERS.iter().copied().find(|engine| engine.supports.raw_of_any_file);
    let Some(engine) = engine.or_else(|| any_file().filter(|_| options.is_raw)) else {
        if probe.is_empty() {
            bail!(
                "cannot check \"{}\": it is empty\nhint: SQLite treats an empty file as a database without tables; if it had tables, restore a backup",
                target.display()
            );
        }
        bail!(
            "\"{}\" is not recognised: it does not begin as a SQLite database and is not a relation file of a PostgreSQL data directory\nhint: an encrypted or compressed database looks like this as well: decompress it first; --raw checks the file page by page as a SQLite database with a damaged header",
            target.display()
        );
    };
    if !more.is_empty() && !engine.supports.several_files {
        let kind = if probe.is_directory { "a directory" } else { "a file" };
        bail!(
            "cannot check \"{}\" together with other files: it is {kind} of {}, and only the files of one SQL Server database or backup are checked together\nhint: check one after the other",
            target.display(),
            engine.id().title()
        );
    }
    if engine.supports.check {
        engine.supports.admit(engine.id(), options)?;
    }
    let paths: Vec<PathBuf> = std::iter::once(target.to_owned()).chain(more.iter().cloned()).collect();
    Ok((engine.check)(&Source::Files(&paths), options, progress)?)
}

/// Each file is named once.
fn require_each_once(target: &Path, more: &[PathBuf]) -> anyhow::Result<()> {
    let mut seen: Vec<PathBuf> = Vec::new();
    for path in std::iter::once(target).chain(more.iter().map(PathBuf::as_path)) {
        let place = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if seen.contains(&place) {
            bail!("cannot check \"{}\" twice in one check\nhint: name each file once", path.display());
        }
        seen.push(place);
    }
    Ok(())
}

/// Checks a running server by its address: its files must be on this machine. With `is_checkpoint_wanted` after a CHECKPOINT.
fn check_url(
    url: &str,
    is_checkpoint_wanted: bool,
    options: &Options,
    progress: &mut dyn Progress,
) -> anyhow::Result<CheckReport> {
    let local = LocalServer::ask(url, "check")?;
    let name = local.name();
    let LocalServer { mut server, directory, engine } = local;
    if server.log_end().is_none() {
        say(&format!(
            "{} does not report the end of its WAL: block LSNs are not compared with it",
            server.server
        ));
    }
    if is_checkpoint_wanted {
        server.checkpoint()?;
    }
    let server = Mutex::new(server);
    let log_end = LogEnd::new(move || server.lock().ok()?.log_end());
    let source = Source::Server { directory: &directory, log_end: &log_end };
    let mut report = (engine.check)(&source, options, progress)?;
    report.facts.push(("directory".to_owned(), directory.to_string_lossy().into_owned()));
    report.target = name;
    Ok(report)
}

fn options(arguments: &CheckArguments) -> anyhow::Result<Options> {
    let mut options = Options {
        level: match arguments.level {
            LevelWord::Read => CheckLevel::Read,
            LevelWord::Page => CheckLevel::Page,
            LevelWord::Structure => CheckLevel::Structure,
            LevelWord::Full => CheckLevel::Full,
        },
        worker_count: jobs(arguments.jobs)?,
        page_batch: arguments.page_batch,
        object_batch: arguments.object_batch,
        findings_per_rule_max: arguments.max_findings.unwrap_or(FINDINGS_PER_RULE_MAX),
        want_direct: !arguments.buffered,
        is_raw: arguments.raw,
        resume_file: arguments.resume.clone(),
        stop: Some(Arc::clone(&stopping::on_signals(Ending::WaitsFor("the pages that are being verified"))?)),
        ..Options::default()
    };
    if let Some(rate) = &arguments.max_read_rate {
        options.rate_bytes_per_s_max = Some(bytes_per_s(rate)?);
    }
    let refused = [
        ("page-batch", options.page_batch == Some(0)),
        ("object-batch", options.object_batch == Some(0)),
        ("max-read-rate", options.rate_bytes_per_s_max == Some(0)),
    ];
    if let Some((name, _)) = refused.iter().find(|(_, is_zero)| *is_zero) {
        bail!("--{name} takes at least 1");
    }
    if let Some(memory) = &arguments.max_memory {
        options.memory_bytes_max = bytes(memory)?;
        if options.memory_bytes_max == 0 {
            bail!("--max-memory takes at least 1");
        }
    }
    if let Some(time) = &arguments.max_time {
        options.time_max = Some(time_above_zero("--max-time", time)?);
    }
    Ok(options)
}
