//! The arguments of `fathom check` and `fathom corrupt`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::ResultsArguments;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LevelWord {
    /// Every byte can be read
    Read,
    /// Checksum, header and address of each page
    Page,
    /// The inside of pages, the links between them, every page owned once
    Structure,
    /// Rows and index entries matched both ways, keys in order and unique
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
    /// SQLite database; PostgreSQL data directory (stopped or running), base backup (directory or base.tar, packed or
    /// not), relation file, or postgres:// URL of a server on this machine; SQL
    /// Server data file or backup
    pub(crate) target: PathBuf,
    /// Further data files of the same SQL Server database, or stripes of the same backup
    pub(crate) more: Vec<PathBuf>,
    /// How much is proven
    #[arg(long, value_enum, default_value_t = LevelWord::Full)]
    pub(crate) level: LevelWord,
    /// Exit status 2 when something of the level was not verified, although no damage was found
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) require: Option<RequireWord>,
    /// Workers [default: one per processor]
    #[arg(short = 'j', long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// Reads at most this much per second, e.g. 50MB/s (10^6 bytes) or 50MiB/s (2^20 bytes)
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_read_rate: Option<String>,
    /// Memory for the tables of the check [default: 256MiB]
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_memory: Option<String>,
    /// Stops after this time; with --resume a later call goes on
    #[arg(long, value_name = "TIME")]
    pub(crate) max_time: Option<String>,
    /// File that keeps how far a stopped check came
    #[arg(long, value_name = "FILE")]
    pub(crate) resume: Option<PathBuf>,
    /// Findings of one rule that are listed; all are counted. The text shows 5 of each object unless this is given
    /// [default: 100]
    #[arg(long, value_name = "N")]
    pub(crate) max_findings: Option<usize>,
    /// Pages claimed at a time by a worker
    #[arg(long, value_name = "N")]
    pub(crate) page_batch: Option<usize>,
    /// Objects held at the same time
    #[arg(long, value_name = "N")]
    pub(crate) object_batch: Option<usize>,
    /// Reads through the page cache instead of past it
    #[arg(long)]
    pub(crate) buffered: bool,
    /// Asks the PostgreSQL server of a postgres:// URL for a CHECKPOINT first: more blocks are unchanged since then, and
    /// compared
    #[arg(long)]
    pub(crate) checkpoint: bool,
    /// Judges each page alone, without trusting header and schema
    #[arg(long)]
    pub(crate) raw: bool,
    /// Prints JSON lines: damaged objects, findings, what was not checked, one summary
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) results: ResultsArguments,
    /// Stores nothing in the results directory
    #[arg(long)]
    pub(crate) no_store: bool,
}

/// Engines whose files can be damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineWord {
    /// SQLite
    Sqlite,
    /// PostgreSQL
    #[value(alias = "postgresql")]
    Postgres,
    /// SQL Server
    #[value(alias = "mssql")]
    Sqlserver,
}

#[derive(Debug, Args)]
#[command(after_long_help = crate::commands::corrupt::classes(None))]
pub(crate) struct CorruptArguments {
    /// SQLite database, SQL Server data file or PostgreSQL data directory (shut down) to copy; without it the classes are listed
    pub(crate) file: Option<PathBuf>,
    /// Class of the damage
    #[arg(long, value_name = "CLASS")]
    pub(crate) class: Option<String>,
    /// Lists the classes of an engine, or of all
    #[arg(long, value_enum, value_name = "ENGINE", num_args = 0..=1, conflicts_with_all = ["file", "class"])]
    pub(crate) list: Option<Option<EngineWord>>,
    /// File or directory for the damaged copy; it must not exist
    #[arg(long, value_name = "FILE")]
    pub(crate) copy_to: Option<PathBuf>,
    /// Seed of the place
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}
