//! SQLite as a value.

use std::io;
use std::path::Path;

use results::check::CheckReport;
use results::structure::StructureReport;

use crate::{drill, is_database};

/// First bytes of a database.
// EVIDENCE: sqlite fileformat2 1.3.1
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
use crate::{RULES, decode};
use check::drill::{Drill, DrillClass, DrillError};
use check::engine::{Capabilities, Engine, EngineError, Match, Probe, Source};
use check::options::Options;
use check::progress::Progress;
use check::structure;

/// SQLite.
pub static ENGINE: Engine = Engine {
    rules: &RULES,
    supports: Capabilities {
        check: true,
        resume: true,
        live: false,
        raw: true,
        raw_of_any_file: true,
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
const PAGE_NAMES: &[&str] = &["sqlite:PAGE"];

/// By magic, and by the structure of pages where the first bytes are damaged.
fn recognise(probe: &Probe, strength: Match) -> io::Result<bool> {
    match strength {
        _ if probe.is_directory => Ok(false),
        Match::Magic => Ok(probe.start.starts_with(MAGIC)),
        Match::Pages => is_database(&probe.path),
        Match::Header | Match::Name | Match::Place => Ok(false),
    }
}

fn check(
    source: &Source<'_>,
    options: &Options,
    progress: &mut dyn Progress,
) -> Result<CheckReport, EngineError> {
    Ok(crate::run::check(source.path(), options, progress))
}

fn structure(
    source: &Source<'_>,
    options: &structure::Options,
    progress: &mut dyn Progress,
) -> Result<StructureReport, EngineError> {
    Ok(crate::structure(source.path(), options, progress))
}

fn drills() -> Vec<DrillClass> {
    drill::CLASSES.iter().map(|class| DrillClass { name: class.name, what: class.what }).collect()
}

fn damage(source: &Path, copy_to: &Path, class: &str, seed: u64) -> Result<Drill, DrillError> {
    drill::damage(source, copy_to, class, seed)
}
