//! InnoDB as a value.

use std::io;
use std::path::Path;

use results::EngineId;
use results::check::CheckReport;
use results::structure::StructureReport;

use crate::decode;
use check::drill::{Drill, DrillError};
use check::engine::{Capabilities, Engine, EngineError, Match, Probe, Source};
use check::options::Options;
use check::progress::Progress;
use check::rule::RuleSet;
use check::structure;

/// InnoDB. Its pages are described, and nothing is checked.
pub static ENGINE: Engine = Engine {
    rules: &RULES,
    supports: Capabilities {
        check: false,
        resume: false,
        live: false,
        raw: false,
        raw_of_any_file: false,
        object_batch: false,
        several_files: false,
    },
    recognise,
    check,
    structure,
    page: decode::by_number,
    page_names: &["innodb:PAGE"],
    page_of_file: decode::of_file,
    drills: Vec::new,
    damage,
};

/// No rules yet.
static RULES: RuleSet = RuleSet {
    engine: EngineId::Innodb,
    page_word: "page",
    slot_word: "record",
    rebuild: "ALTER TABLE ... ENGINE=InnoDB",
    messages_word: "",
    tables: &[],
    is_of_one_database: |_| false,
    explains: |_, _| true,
};

/// By the first page of a tablespace.
fn recognise(probe: &Probe, strength: Match) -> io::Result<bool> {
    Ok(!probe.is_directory && strength == Match::Header && formats::innodb::is_first_page(&probe.start))
}

fn unsupported(source: &Source<'_>, what: &str) -> EngineError {
    let path = source.path().display();
    EngineError(format!(
        "cannot {what} \"{path}\": it is an InnoDB tablespace, and InnoDB is not supported yet\nhint: use innochecksum and CHECK TABLE; fathom decode shows single pages"
    ))
}

fn check(source: &Source<'_>, _: &Options, _: &mut dyn Progress) -> Result<CheckReport, EngineError> {
    Err(unsupported(source, "check"))
}

fn structure(
    source: &Source<'_>,
    _: &structure::Options,
    _: &mut dyn Progress,
) -> Result<StructureReport, EngineError> {
    Err(unsupported(source, "measure"))
}

fn damage(source: &Path, _: &Path, _: &str, _: u64) -> Result<Drill, DrillError> {
    let why = "InnoDB is not supported yet".to_owned();
    Err(DrillError::Source { path: source.to_owned(), why })
}
