//! SQL Server as a value.

use std::io;
use std::path::Path;

use results::check::CheckReport;
use results::structure::StructureReport;

use std::path::PathBuf;

use crate::{RULES, decode};
use crate::{drill, source};
use check::drill::{Drill, DrillClass, DrillError};
use check::engine::{Capabilities, Engine, EngineError, Match, Probe, Source};
use check::options::Options;
use check::progress::Progress;
use check::structure;

/// SQL Server.
pub static ENGINE: Engine = Engine {
    rules: &RULES,
    supports: Capabilities {
        check: true,
        resume: false,
        live: false,
        raw: true,
        raw_of_any_file: false,
        object_batch: true,
        several_files: true,
    },
    recognise,
    check,
    structure,
    page: decode::by_number,
    page_names: PAGE_NAMES,
    page_of_file: decode::of_file,
    drills,
    damage,
};

/// How pages are named by their number.
const PAGE_NAMES: &[&str] = &["DATABASE:FILE:PAGE as SQL Server does", "sqlserver:FILE:PAGE"];

/// By the magic of a backup, by pages at fixed places, and by the name.
fn recognise(probe: &Probe, strength: Match) -> io::Result<bool> {
    match strength {
        _ if probe.is_directory => Ok(false),
        Match::Header => Ok(source::recognise(&probe.path)?.is_some()),
        Match::Name => Ok(!probe.is_empty() && probe.has_extension(&["mdf", "ndf"])),
        Match::Magic | Match::Pages | Match::Place => Ok(false),
    }
}

fn check(
    source: &Source<'_>,
    options: &Options,
    progress: &mut dyn Progress,
) -> Result<CheckReport, EngineError> {
    crate::check(&files(source), options, progress).map_err(EngineError::of)
}

fn structure(
    source: &Source<'_>,
    options: &structure::Options,
    progress: &mut dyn Progress,
) -> Result<StructureReport, EngineError> {
    crate::structure(&files(source), options, progress).map_err(EngineError::of)
}

fn files(source: &Source<'_>) -> Vec<PathBuf> {
    match source {
        Source::Files(files) => files.to_vec(),
        Source::Server { directory, .. } => vec![directory.to_path_buf()],
    }
}

fn drills() -> Vec<DrillClass> {
    drill::CLASSES.iter().map(|class| DrillClass { name: class.name, what: class.what }).collect()
}

fn damage(source: &Path, copy_to: &Path, class: &str, seed: u64) -> Result<Drill, DrillError> {
    drill::damage(source, copy_to, class, seed)
}
