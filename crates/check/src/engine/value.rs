//! An engine, what is asked of it, and how it answers.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use results::EngineId;
use results::check::CheckReport;
use results::structure::StructureReport;

use crate::decode::Decoded;
use crate::drill::{Drill, DrillClass, DrillError};
use crate::engine::capabilities::Capabilities;
use crate::engine::log_end::LogEnd;
use crate::engine::probe::{Match, Probe};
use crate::options::Options;
use crate::progress::Progress;
use crate::rule::RuleSet;
use crate::structure;

/// An engine whose files are read.
#[derive(Clone, Copy)]
pub struct Engine {
    /// Its rules; their `engine` is its id.
    pub rules: &'static RuleSet,
    /// What it can do beyond the least.
    pub supports: Capabilities,
    /// Whether a file or directory is one of its own, at a strength of evidence. Called from the strongest down.
    pub recognise: fn(&Probe, Match) -> io::Result<bool>,
    /// Checks what a source names.
    pub check: fn(&Source<'_>, &Options, &mut dyn Progress) -> Result<CheckReport, EngineError>,
    /// Measures how tables and indexes lie on their pages.
    pub structure:
        fn(&Source<'_>, &structure::Options, &mut dyn Progress) -> Result<StructureReport, EngineError>,
    /// Describes a page by its number; `None` where the words name no page of this engine.
    pub page: fn(&[&str], PageShape) -> Option<Described>,
    /// How pages are named by their number, for hints: `sqlite:PAGE`.
    pub page_names: &'static [&'static str],
    /// Describes a page of a file.
    pub page_of_file: fn(&Probe, u32) -> Result<Decoded, EngineError>,
    /// The classes of damage that it can make in a copy.
    pub drills: fn() -> Vec<DrillClass>,
    /// Makes a damage of a class: the original, the copy, the class and the seed of the place.
    pub damage: fn(&Path, &Path, &str, u64) -> Result<Drill, DrillError>,
}

impl Engine {
    /// Its id.
    #[must_use]
    pub const fn id(&self) -> EngineId {
        self.rules.engine
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Engine({})", self.id())
    }
}

impl PartialEq for Engine {
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id()
    }
}

/// What is checked or measured.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// A file or directory, or several files of one database; never empty.
    Files(&'a [PathBuf]),
    /// The files of a server that runs.
    Server {
        /// Its data directory on this machine.
        directory: &'a Path,
        /// Where its log ends.
        log_end: &'a LogEnd,
    },
}

impl Source<'_> {
    /// The first path: the only one where an engine takes one.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Files(files) => files.first().map_or(Path::new(""), PathBuf::as_path),
            Self::Server { directory, .. } => directory,
        }
    }
}

/// What a page is, or why it is not known.
pub type Described = Result<Decoded, EngineError>;

/// The size and kind of pages that are named by their number alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageShape {
    /// Bytes of a page; the usual size of the engine without.
    pub page_bytes: Option<u32>,
    /// Whether the file has auto-vacuum.
    pub auto_vacuum: bool,
}

/// Why an engine could not do what was asked; the words are the engine's, with a hint on a line of its own where there is
/// one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EngineError(pub String);

impl EngineError {
    /// The text of an error.
    pub fn of(error: impl fmt::Display) -> Self {
        Self(error.to_string())
    }
}

/// A number that a user wrote.
pub fn number<T: std::str::FromStr>(word: &str) -> Result<T, EngineError> {
    word.parse().map_err(|_| EngineError(format!("\"{word}\" is not a valid page, file or database number")))
}
