//! The arguments of `fathom check` and `fathom corrupt`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use results::EngineId;

use super::results::ResultsArguments;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LevelWord {
    /// Every byte can be read
    Read,
    /// Checksum, header and page number of each page
    Page,
    /// Contents of pages, links between them, one use for every page
    Structure,
    /// Rows against index entries both ways, key order, unique keys, values
    Full,
}

/// What a check must have verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RequireWord {
    /// Everything that level full verifies
    Full,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// SQLite database; PostgreSQL data directory (stopped or running), base backup (directory or base.tar, compressed or
    /// not), relation file, or postgres:// URL of a server on this machine; SQL Server data file or backup
    pub(crate) target: PathBuf,
    /// Further data files of the same SQL Server database, or stripes of the same backup
    pub(crate) more: Vec<PathBuf>,
    /// Check level
    #[arg(long, value_enum, default_value_t = LevelWord::Full)]
    pub(crate) level: LevelWord,
    /// Exit with status 2 if something of the level was not verified, even if no damage was found
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) require: Option<RequireWord>,
    /// Worker threads [default: one per CPU]
    #[arg(short = 'j', long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// Maximum read rate, e.g. 50MB/s (10^6 bytes) or 50MiB/s (2^20 bytes)
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_read_rate: Option<String>,
    /// Memory limit for the tables of the check [default: 256MiB]
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_memory: Option<String>,
    /// Stop after this time; with --resume a later call resumes
    #[arg(long, value_name = "TIME")]
    pub(crate) max_time: Option<String>,
    /// File that stores the state of a stopped check
    #[arg(long, value_name = "FILE")]
    pub(crate) resume: Option<PathBuf>,
    /// Findings listed per rule; all are counted. The text shows 5 of each object unless this is given [default: 100]
    #[arg(long, value_name = "N")]
    pub(crate) max_findings: Option<usize>,
    /// Pages that a worker reads at a time
    #[arg(long, value_name = "N")]
    pub(crate) page_batch: Option<usize>,
    /// Objects compared at the same time
    #[arg(long, value_name = "N")]
    pub(crate) object_batch: Option<usize>,
    /// Use buffered I/O instead of direct I/O
    #[arg(long)]
    pub(crate) buffered: bool,
    /// Run CHECKPOINT on the PostgreSQL server of a postgres:// URL first, so that more blocks are unchanged since the
    /// last checkpoint and compared
    #[arg(long)]
    pub(crate) checkpoint: bool,
    /// Verify each page by itself, without trusting header and schema
    #[arg(long)]
    pub(crate) raw: bool,
    /// Print JSON lines: damaged objects, findings, what was not checked, one summary
    #[arg(long)]
    pub(crate) json: bool,
    /// Write a page with the result as well; the file must not exist
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) results: ResultsArguments,
    /// Store nothing in the results directory
    #[arg(long)]
    pub(crate) no_store: bool,
}

/// An engine whose files can be damaged, by its name or an alias.
fn drilled_engine(text: &str) -> Result<EngineId, String> {
    let drilled = || crate::engines::CHECKERS.iter().filter(|engine| !(engine.drills)().is_empty());
    let found = EngineId::typed(text).filter(|id| drilled().any(|engine| engine.id() == *id));
    found.ok_or_else(|| {
        let names: Vec<&str> = drilled().map(|engine| engine.id().name()).collect();
        format!("possible values: {}", names.join(", "))
    })
}

#[derive(Debug, Args)]
#[command(after_long_help = crate::engines::drill_classes(None))]
pub(crate) struct CorruptArguments {
    /// SQLite database, SQL Server data file or PostgreSQL data directory (shut down) to copy; without it the classes are listed
    pub(crate) file: Option<PathBuf>,
    /// Class of damage
    #[arg(long, value_name = "CLASS")]
    pub(crate) class: Option<String>,
    /// List the classes of an engine, or of all
    #[arg(long, value_parser = drilled_engine, value_name = "ENGINE", num_args = 0..=1, conflicts_with_all = ["file", "class"])]
    pub(crate) list: Option<Option<EngineId>>,
    /// File or directory for the damaged copy; it must not exist
    #[arg(long, value_name = "FILE")]
    pub(crate) copy_to: Option<PathBuf>,
    /// Seed that selects where the damage is made
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}
