//! PostgreSQL as a value.

use std::io;
use std::path::Path;

use check::drill::{Drill, DrillClass, DrillError};
use check::engine::{Capabilities, Engine, EngineError, Match, Probe, Source};
use check::options::Options;
use check::progress::Progress;
use check::structure;
use formats::postgres::file_name::FileName;
use results::check::CheckReport;
use results::structure::StructureReport;

use crate::{RULES, decode, drill, is_archive_name};

/// PostgreSQL.
pub static ENGINE: Engine = Engine {
    rules: &RULES,
    supports: Capabilities {
        check: true,
        resume: true,
        live: true,
        raw: true,
        raw_of_any_file: false,
        object_batch: true,
        several_files: false,
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
const PAGE_NAMES: &[&str] = &["postgres:BLOCK", "postgres:fsm:BLOCK", "postgres:vm:BLOCK"];

/// A directory by what is in it; a tar file by its name; a relation file by its first block, or by its name and place.
fn recognise(probe: &Probe, strength: Match) -> io::Result<bool> {
    let is_archive = !probe.is_directory && is_archive_name(&probe.path);
    Ok(match strength {
        Match::Header if probe.is_directory => PARTS.iter().any(|part| probe.path.join(part).exists()),
        // The name, before pages of other engines are looked for in what it packs.
        Match::Header => is_archive,
        Match::Place => probe.is_directory || is_relation(probe),
        Match::Magic | Match::Pages | Match::Name => false,
    })
}

/// What only a data directory or a base backup has.
const PARTS: [&str; 5] = ["PG_VERSION", "global/pg_control", "backup_label", "backup_manifest", "base.tar"];

/// Whether a file may be one of a relation: by its name, or by its first block.
fn is_relation(probe: &Probe) -> bool {
    let name = probe.path.file_name().and_then(|name| name.to_str()).and_then(FileName::parse);
    name.is_some() || decode::is_block(&probe.start)
}

fn check(
    source: &Source<'_>,
    options: &Options,
    progress: &mut dyn Progress,
) -> Result<CheckReport, EngineError> {
    let path = source.path();
    match source {
        Source::Server { log_end, .. } => crate::check_running(path, log_end, options, progress),
        Source::Files(_) if path.is_dir() || is_archive_name(path) => {
            crate::check_cluster(path, options, progress)
        }
        Source::Files(_) => crate::check_file(path, options, progress),
    }
    .map_err(EngineError::of)
}

fn structure(
    source: &Source<'_>,
    options: &structure::Options,
    progress: &mut dyn Progress,
) -> Result<StructureReport, EngineError> {
    let path = source.path();
    let is_file = matches!(source, Source::Files(_)) && !path.is_dir() && !is_archive_name(path);
    if is_file {
        crate::structure_file(path, options, progress)
    } else {
        crate::structure_cluster(path, options, progress)
    }
    .map_err(EngineError::of)
}

fn drills() -> Vec<DrillClass> {
    drill::CLASSES.iter().map(|class| DrillClass { name: class.name, what: class.what }).collect()
}

fn damage(source: &Path, copy_to: &Path, class: &str, seed: u64) -> Result<Drill, DrillError> {
    drill::damage(source, copy_to, class, seed)
}
