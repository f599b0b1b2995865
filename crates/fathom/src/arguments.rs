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

pub(crate) use check::{CheckArguments, CorruptArguments, EngineWord, LevelWord};
pub(crate) use compare::{Better, CompareArguments, HistoryArguments};
pub(crate) use expand::ExpandArguments;
pub(crate) use io::{IoArguments, IoEngine, IoFormat};
pub(crate) use serve::ServeArguments;
pub(crate) use structure::{DecodeArguments, StructureArguments, StructureFormat, StructureModeWord};

/// What runs without `--target`.
pub(crate) const DEFAULT_TARGET: &str = results::EngineId::Sqlite.name();

/// A laboratory for the storage under a database.
///
/// Measures what devices and databases do over a matrix of configurations, keeps every run with its
/// clients, its gates and its environment, and tells an effect from noise.
///
/// Exit status: 0 done; 1 done, but some run was invalid, some page is damaged or a regression was shown; 2 could not
/// finish.
#[derive(Debug, Parser)]
#[command(name = "fathom", version, max_term_width = 100, propagate_version = true)]
pub(crate) struct Arguments {
    /// Says more on standard error; twice for everything.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Runs the main job on embedded SQLite in less than a minute: two published experiments in miniature
    Demo(DemoArguments),
    /// Runs an experiment, or goes on with one that was interrupted
    Run(Box<RunArguments>),
    /// Lists the experiments that come with fathom, or the studies or checks in a results directory
    List(ListArguments),
    /// Prints the spec of an experiment, or a stored check
    Show(ShowArguments),
    /// Prints the tables and the verdict of a stored study, or a stored check
    Report(ReportArguments),
    /// Shows the pages of all studies to a browser, for reading only, and fresh while an experiment runs
    Serve(ServeArguments),
    /// Compares two studies or configurations; exit status 1 on a regression
    Compare(CompareArguments),
    /// Draws one figure over all studies of an experiment and marks where it changed for good
    History(HistoryArguments),
    /// Writes a stored study for other tools
    Export(ExportArguments),
    /// Marks a run as suspect: it no longer counts, and the same `run` command makes it again
    Mark(MarkArguments),
    /// Measures what a device can do: the published I/O matrix, with latencies and the time of flushes
    Io(Box<IoArguments>),
    /// Checks whether the pages of a database are intact; never writes to what it checks
    Check(CheckArguments),
    /// Measures how tables and indexes lie on their pages: fragmentation, fill and records of each level
    Structure(StructureArguments),
    /// Tells what a page is, by its number and by its bytes: maps, roots, links, free lists
    Decode(DecodeArguments),
    /// Grows the sample schema or a database to a wanted size: rows copied with shifted keys, into new files or a new database
    Expand(ExpandArguments),
    /// Makes one damage of a named class in a copy, to practise detection and restore
    Corrupt(CorruptArguments),
    /// Shows what the sessions of a running PostgreSQL wait for, live; changes nothing in it
    Waits(WaitsArguments),
    /// Lists servers: processors, memory, how far they may use them, how durable they are; one row each
    Inventory(InventoryArguments),
    /// Explains a parameter, a metric, a gate, a wait, a rule of the checker or an experiment
    Explain(ExplainArguments),
    /// Prints a completion script for a shell
    Completions {
        /// Shell to complete for
        shell: clap_complete::Shell,
    },
    /// Prints the manual page
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
    /// What to test: sqlite, postgres (own cluster from installed binaries), noop, or a postgres:// URL
    #[arg(short, long, value_name = "TARGET", default_value = DEFAULT_TARGET)]
    pub(crate) target: String,
    /// Directory with PostgreSQL server binaries; repeat it to compare servers side by side
    #[arg(long, value_name = "DIR")]
    pub(crate) pg_bin: Vec<PathBuf>,
    /// Port (socket name) of the managed PostgreSQL [default: the first unused one]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) pg_port: Option<u16>,
    /// Runs the miniature: minutes on two cores
    #[arg(short, long)]
    pub(crate) mini: bool,
    /// Sets a parameter; several values make it a factor (e.g. connections=1,4,16)
    #[arg(short, long, value_name = "NAME=VALUE[,VALUE]")]
    pub(crate) set: Vec<String>,
    /// Connections, each with its loop; the same as --set connections=N
    #[arg(short = 'c', long, value_name = "N[,N]")]
    pub(crate) clients: Option<String>,
    /// Worker threads that drive the connections; the same as --set jobs=N
    #[arg(short = 'j', long, value_name = "N")]
    pub(crate) jobs: Option<String>,
    /// Bounds each run by time, e.g. 30 (seconds) or 5m; the same as --set duration=TIME
    #[arg(short = 'T', long, value_name = "TIME")]
    pub(crate) time: Option<String>,
    /// Open loop at this many transactions per second; the same as --set rate=N
    #[arg(short = 'R', long, value_name = "N[,N]")]
    pub(crate) rate: Option<String>,
    /// Repetitions (blocks) of every cell
    #[arg(long, value_name = "N")]
    pub(crate) repetitions: Option<u32>,
    /// Adds blocks until every cell's 95 % interval is this narrow (half width in percent of the mean)
    #[arg(long, value_name = "PERCENT")]
    pub(crate) repeat_until: Option<f64>,
    /// Cap for --repeat-until
    #[arg(long, value_name = "N", default_value_t = 30, requires = "repeat_until")]
    pub(crate) repeat_max: u32,
    /// Seed of the order of runs, of keys and of arrival times
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Directory for data; repeat it for several (on PostgreSQL one tablespace each)
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Vec<PathBuf>,
    /// Directory for the log, used where `placement` puts it apart
    #[arg(long, value_name = "DIR")]
    pub(crate) log: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) results: ResultsArguments,
    /// Prints what would run, in which order, how long it may take and how much space it needs
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Starts although the directories have less free space than the study is estimated to need
    #[arg(long)]
    pub(crate) ignore_space: bool,
    /// Makes a new study although the same one exists already
    #[arg(long)]
    pub(crate) again: bool,
    /// Leaves the managed server's or SQLite's directory, or the external database, behind
    #[arg(long)]
    pub(crate) keep: bool,
    /// When to measure what the devices alone give for the patterns of the runs (kept for a day)
    #[arg(long, value_enum, default_value_t = CeilingWord::Before)]
    pub(crate) ceilings: CeilingWord,
    /// Command that prints CSV with a time column while a run goes on; its columns become series of the run. Those that
    /// the spec names under `samplers` run beside it, if --allow-commands is given
    #[arg(long, value_name = "COMMAND")]
    pub(crate) sampler: Vec<String>,
    /// Runs the commands that the spec names (`samplers`, settings such as archive_command); `fathom show` lists them
    #[arg(long)]
    pub(crate) allow_commands: bool,
    #[command(flatten)]
    pub(crate) notify: NotifyArguments,
    /// Prints the result as JSON
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

/// Who is told, and when.
#[derive(Clone, Debug, Args)]
pub(crate) struct NotifyArguments {
    /// Command that is run on finish, failure and standstill; FATHOM_EVENT and FATHOM_MESSAGE tell what happened
    #[arg(long, value_name = "COMMAND", env = "FATHOM_NOTIFY_COMMAND", hide_env_values = true)]
    pub(crate) notify_command: Option<String>,
    /// URL that gets the same as a JSON object by POST
    #[arg(long, value_name = "URL", env = "FATHOM_NOTIFY_WEBHOOK", hide_env_values = true)]
    pub(crate) notify_webhook: Option<String>,
    /// Time without any progress after which a standstill is told, e.g. 5m
    #[arg(long, value_name = "TIME", default_value = "5m")]
    pub(crate) no_progress_after: String,
}

#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// Lists the studies in the results directory instead
    #[arg(long)]
    pub(crate) studies: bool,
    /// Lists the checks in the results directory instead
    #[arg(long, conflicts_with = "studies")]
    pub(crate) checks: bool,
    /// Lists the runs of a study instead, with their numbers, configurations, states and marks [default: the latest study]
    #[arg(long, value_name = "STUDY", num_args = 0..=1, conflicts_with_all = ["studies", "checks"])]
    pub(crate) runs: Option<Option<String>>,
    #[command(flatten)]
    pub(crate) results: ResultsArguments,
    /// Prints JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// Name of an experiment or path of a spec
    #[arg(required_unless_present = "check")]
    pub(crate) experiment: Option<String>,
    /// Prints the findings and the accounting of a stored check as JSON lines instead
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
    /// Every figure, for machines
    Json,
    /// One page with charts, for a browser; needs neither network nor server
    Html,
    /// The main chart with the answer, for a slide
    Svg,
    /// The same as pixels, 1920 x 1080, in the fonts of this machine
    Png,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// Number of the study (see `fathom list --studies`), or its experiment: the latest one, ~N the Nth before it
    /// [default: the latest of all]
    pub(crate) study: Option<String>,
    /// Shows one run with its clients and gates instead
    #[arg(long, value_name = "N", conflicts_with = "study")]
    pub(crate) run: Option<i64>,
    /// Shows one check instead, as `fathom list --checks` numbers it
    #[arg(long, value_name = "N", conflicts_with_all = ["study", "run"])]
    pub(crate) check: Option<i64>,
    /// Shows one structure instead, as `fathom structure --list` numbers it
    #[arg(long, value_name = "N", conflicts_with_all = ["study", "run", "check"])]
    pub(crate) structure: Option<i64>,
    #[command(flatten)]
    pub(crate) results: ResultsArguments,
    /// Form of the output [default: what the ending of the output file says, else text]
    #[arg(long, value_enum)]
    pub(crate) format: Option<ReportFormat>,
    /// File to write; it must not exist; - is standard output [default: standard output; a page goes beside the results]
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
    /// Number of the study, or its experiment: the latest one [default: the latest of all]
    pub(crate) study: Option<String>,
    #[command(flatten)]
    pub(crate) results: ResultsArguments,
    /// Form of the output
    #[arg(long, value_enum, default_value_t = ExportFormat::Csv)]
    pub(crate) format: ExportFormat,
    /// File to write; it must not exist [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct MarkArguments {
    /// Number of the run, as reports and `fathom list --runs STUDY` print it
    pub(crate) run: i64,
    /// Why the run is not to be trusted; every reason is kept
    #[arg(long, value_name = "REASON", required_unless_present = "undo")]
    pub(crate) suspect: Option<String>,
    /// Takes all marks of the run back: it counts again, unless another run took its place
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
    /// Shows one interval and ends
    #[arg(long)]
    pub(crate) once: bool,
    /// Asks over SQL also where the server's memory could be read
    #[arg(long)]
    pub(crate) sql: bool,
    /// Prints one JSON object per interval
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum InventoryFormat {
    /// A table for a terminal
    Text,
    /// One row per server
    Csv,
    /// Every figure
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct InventoryArguments {
    /// Servers, as postgres://user@host/database, beside this machine and embedded SQLite; or the files of one SQL Server
    /// database or backup
    pub(crate) urls: Vec<String>,
    /// Form of the output
    #[arg(long, value_enum, default_value_t = InventoryFormat::Text)]
    pub(crate) format: InventoryFormat,
    /// The same as --format json
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    /// Name of a parameter, metric, gate, wait, rule or experiment
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
