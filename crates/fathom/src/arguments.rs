//! The command line as the user types it; `commands` turns it into work.
//!
//! Help, completions and the man page come from these definitions.

mod check;
mod compare;
mod expand;
mod io;
mod serve;
mod structure;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use check::{CheckArguments, CorruptArguments, LevelWord};
pub(crate) use compare::{Better, CompareArguments, HistoryArguments};
pub(crate) use expand::ExpandArguments;
pub(crate) use io::{IoArguments, IoEngine, IoFormat};
pub(crate) use serve::ServeArguments;
pub(crate) use structure::{DecodeArguments, StructureArguments, StructureFormat, StructureModeWord};

/// What runs without `--target`.
pub(crate) const DEFAULT_TARGET: &str = results::EngineId::Sqlite.name();

/// Measures and verifies database storage.
///
/// Runs experiments over a matrix of configurations and reports differences with intervals; verifies the files of
/// SQLite, PostgreSQL and SQL Server; measures devices, waits and fragmentation.
///
/// Exit status: 0 done; 1 done, but a run was invalid, damage was found or a regression was shown; 2 could not finish.
#[derive(Debug, Parser)]
#[command(name = "fathom", version, max_term_width = 100, propagate_version = true)]
pub(crate) struct Arguments {
    /// Verbose output on standard error (-vv: debug)
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run two published experiments in miniature on embedded SQLite, in less than a minute
    Demo(DemoArguments),
    /// Run an experiment, or resume an interrupted one
    Run(Box<RunArguments>),
    /// List the shipped experiments, or the studies, runs or checks in a results directory
    List(ListArguments),
    /// Print the spec of an experiment, or a stored check
    Show(ShowArguments),
    /// Print the tables and the verdict of a stored study, run, check or structure
    Report(ReportArguments),
    /// Serve the pages of all studies to a browser, read-only, live while an experiment runs
    Serve(ServeArguments),
    /// Compare two studies or configurations; exit status 1 on a regression
    Compare(CompareArguments),
    /// Show one value over all studies of an experiment, with change points
    History(HistoryArguments),
    /// Export a stored study for other tools
    Export(ExportArguments),
    /// Mark a run as suspect: it no longer counts, and the same `run` command repeats it
    Mark(MarkArguments),
    /// Measure a device: IOPS, throughput and latency by pattern, and the time of flushes
    Io(Box<IoArguments>),
    /// Verify the files of a database; they are opened for reading only
    Check(CheckArguments),
    /// Measure fragmentation, fill and record counts of tables and indexes, by level
    Structure(StructureArguments),
    /// Describe a page by its number and by its bytes: maps, roots, links, free lists
    Decode(DecodeArguments),
    /// Grow the sample schema or a database to a given size: rows are copied with shifted keys into new files or a new database
    Expand(ExpandArguments),
    /// Damage a copy of a database, to practise detection and restore
    Corrupt(CorruptArguments),
    /// Show the waits of a running PostgreSQL server, live; changes nothing on it
    Waits(WaitsArguments),
    /// List servers, one row each: CPUs, memory, parallelism, durability
    Inventory(InventoryArguments),
    /// Explain a parameter, metric, gate, wait event, rule, experiment or term
    Explain(ExplainArguments),
    /// Print a completion script for a shell
    Completions {
        /// Shell to complete for
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
}

/// Where results are.
#[derive(Clone, Debug, Args)]
pub(crate) struct ResultsArguments {
    /// Results directory (one SQLite file holds everything)
    #[arg(long, value_name = "DIR", default_value = "fathom-results", env = "FATHOM_RESULTS")]
    pub(crate) results: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct DemoArguments {
    #[command(flatten)]
    pub(crate) results: ResultsArguments,
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// Name of an experiment (see `fathom list`) or path of a spec (.toml)
    pub(crate) experiment: String,
    /// What to test: sqlite, postgres (managed cluster from installed binaries), noop, or a postgres:// URL
    #[arg(short, long, value_name = "TARGET", default_value = DEFAULT_TARGET)]
    pub(crate) target: String,
    /// Directory with PostgreSQL server binaries; repeat to compare several servers
    #[arg(long, value_name = "DIR")]
    pub(crate) pg_bin: Vec<PathBuf>,
    /// Port (socket name) of the managed PostgreSQL [default: the first unused one]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) pg_port: Option<u16>,
    /// Run the miniature: minutes on two cores
    #[arg(short, long)]
    pub(crate) mini: bool,
    /// Set a parameter; several values make it a factor (e.g. connections=1,4,16)
    #[arg(short, long, value_name = "NAME=VALUE[,VALUE]")]
    pub(crate) set: Vec<String>,
    /// Connections, each with its loop; the same as --set connections=N
    #[arg(short = 'c', long, value_name = "N[,N]")]
    pub(crate) clients: Option<String>,
    /// Worker threads that drive the connections; the same as --set jobs=N
    #[arg(short = 'j', long, value_name = "N")]
    pub(crate) jobs: Option<String>,
    /// Duration of each run, e.g. 30 (seconds) or 5m; the same as --set duration=TIME
    #[arg(short = 'T', long, value_name = "TIME")]
    pub(crate) time: Option<String>,
    /// Open loop at this many transactions per second; the same as --set rate=N
    #[arg(short = 'R', long, value_name = "N[,N]")]
    pub(crate) rate: Option<String>,
    /// Repetitions (blocks) of every cell
    #[arg(long, value_name = "N")]
    pub(crate) repetitions: Option<u32>,
    /// Add blocks until the 95 % interval of every cell is this narrow (half width in percent of the mean)
    #[arg(long, value_name = "PERCENT")]
    pub(crate) repeat_until: Option<f64>,
    /// Maximum number of blocks with --repeat-until
    #[arg(long, value_name = "N", default_value_t = 30, requires = "repeat_until")]
    pub(crate) repeat_max: u32,
    /// Seed of the order of runs, of keys and of arrival times
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Directory for data; repeat for several (on PostgreSQL one tablespace each)
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Vec<PathBuf>,
    /// Directory for the log (PostgreSQL: WAL), used where `placement` separates it from the data
    #[arg(long, value_name = "DIR")]
    pub(crate) log: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) results: ResultsArguments,
    /// Print what would run, in which order, the estimated time and disk space
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Start even if the directories have less free space than estimated
    #[arg(long)]
    pub(crate) ignore_space: bool,
    /// Create a new study even if the same one exists
    #[arg(long)]
    pub(crate) again: bool,
    /// Keep the directory of the managed server or SQLite, or the external database
    #[arg(long)]
    pub(crate) keep: bool,
    /// When to measure the maximum of the devices alone for the access patterns of the runs (kept for a day)
    #[arg(long, value_enum, default_value_t = CeilingWord::Before)]
    pub(crate) ceilings: CeilingWord,
    /// Command that prints CSV with a time column during a run; its columns become series of the run. The `samplers` of
    /// the spec run as well if --allow-commands is given
    #[arg(long, value_name = "COMMAND")]
    pub(crate) sampler: Vec<String>,
    /// Run the commands in the spec (`samplers`, settings such as archive_command); `fathom show` lists them
    #[arg(long)]
    pub(crate) allow_commands: bool,
    #[command(flatten)]
    pub(crate) notify: NotifyArguments,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CeilingWord {
    /// Before the first run
    Before,
    /// After the last run
    After,
    /// Not at all
    Never,
}

/// Notifications: to whom, and when.
#[derive(Clone, Debug, Args)]
pub(crate) struct NotifyArguments {
    /// Command to run on finish, failure and stall; FATHOM_EVENT and FATHOM_MESSAGE are set
    #[arg(long, value_name = "COMMAND", env = "FATHOM_NOTIFY_COMMAND", hide_env_values = true)]
    pub(crate) notify_command: Option<String>,
    /// URL to which the same is posted as a JSON object
    #[arg(long, value_name = "URL", env = "FATHOM_NOTIFY_WEBHOOK", hide_env_values = true)]
    pub(crate) notify_webhook: Option<String>,
    /// Time without progress after which a stall is reported, e.g. 5m
    #[arg(long, value_name = "TIME", default_value = "5m")]
    pub(crate) no_progress_after: String,
}

#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// List the studies in the results directory instead
    #[arg(long)]
    pub(crate) studies: bool,
    /// List the checks in the results directory instead
    #[arg(long, conflicts_with = "studies")]
    pub(crate) checks: bool,
    /// List the runs of a study instead, with number, configuration, status and marks [default: the latest study]
    #[arg(long, value_name = "STUDY", num_args = 0..=1, conflicts_with_all = ["studies", "checks"])]
    pub(crate) runs: Option<Option<String>>,
    #[command(flatten)]
    pub(crate) results: ResultsArguments,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// Name of an experiment or path of a spec
    #[arg(required_unless_present = "check")]
    pub(crate) experiment: Option<String>,
    /// Print the findings and the accounting of a stored check as JSON lines instead
    #[arg(long, value_name = "N", conflicts_with = "experiment")]
    pub(crate) check: Option<i64>,
    #[command(flatten)]
    pub(crate) results: ResultsArguments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// Tables for a terminal
    Text,
    /// Tables for a document
    Markdown,
    /// All values, for programs
    Json,
    /// One page with charts, for a browser; makes no network requests
    Html,
    /// The main chart with the answer, for a slide
    Svg,
    /// The same as PNG, 1920 x 1080, with the fonts of this machine
    Png,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// Number of the study (see `fathom list --studies`), or its experiment: the latest one, ~N the Nth before it
    /// [default: the latest study]
    pub(crate) study: Option<String>,
    /// Show one run with its clients and gates instead
    #[arg(long, value_name = "N", conflicts_with = "study")]
    pub(crate) run: Option<i64>,
    /// Show one check instead, by its number in `fathom list --checks`
    #[arg(long, value_name = "N", conflicts_with_all = ["study", "run"])]
    pub(crate) check: Option<i64>,
    /// Show one structure instead, by its number in `fathom structure --list`
    #[arg(long, value_name = "N", conflicts_with_all = ["study", "run", "check"])]
    pub(crate) structure: Option<i64>,
    #[command(flatten)]
    pub(crate) results: ResultsArguments,
    /// Output format [default: by the extension of the output file, else text]
    #[arg(long, value_enum)]
    pub(crate) format: Option<ReportFormat>,
    /// File to write; it must not exist; - is standard output [default: standard output; a page is stored beside the results]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The same as --format json
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// One row per run
    Csv,
    /// One row per client of each run
    ClientsCsv,
    /// One JSON object per run, clients included
    Jsonl,
    /// Go benchmark text, which benchstat reads
    Gobench,
    /// Apache Parquet, one row per run (in builds with the feature `parquet`)
    Parquet,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// Number of the study, or its experiment: the latest one [default: the latest study]
    pub(crate) study: Option<String>,
    #[command(flatten)]
    pub(crate) results: ResultsArguments,
    /// Output format
    #[arg(long, value_enum, default_value_t = ExportFormat::Csv)]
    pub(crate) format: ExportFormat,
    /// File to write; it must not exist [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct MarkArguments {
    /// Number of the run, as in reports and `fathom list --runs STUDY`
    pub(crate) run: i64,
    /// Reason not to trust the run; all reasons are kept
    #[arg(long, value_name = "REASON", required_unless_present = "undo")]
    pub(crate) suspect: Option<String>,
    /// Remove all marks of the run: it counts again, unless another run replaced it
    #[arg(long, conflicts_with = "suspect")]
    pub(crate) undo: bool,
    #[command(flatten)]
    pub(crate) results: ResultsArguments,
}

#[derive(Debug, Args)]
pub(crate) struct WaitsArguments {
    /// Server, as postgres://user@host/database
    pub(crate) url: String,
    /// Time that one table covers
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub(crate) interval: String,
    /// Show one interval and exit
    #[arg(long)]
    pub(crate) once: bool,
    /// Sample over SQL even where shared memory is readable
    #[arg(long)]
    pub(crate) sql: bool,
    /// Print one JSON object per interval
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum InventoryFormat {
    /// A table for a terminal
    Text,
    /// One row per server
    Csv,
    /// All values
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct InventoryArguments {
    /// Servers, as postgres://user@host/database, in addition to this machine and embedded SQLite; or the files of one SQL
    /// Server database or backup
    pub(crate) urls: Vec<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t = InventoryFormat::Text)]
    pub(crate) format: InventoryFormat,
    /// The same as --format json
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    /// Name of a parameter, metric, gate, wait event, rule, experiment or term
    pub(crate) name: String,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Arguments;

    #[test]
    fn the_definitions_of_the_arguments_are_consistent() {
        Arguments::command().debug_assert();
    }
}
