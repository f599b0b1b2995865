//! The command line as the user types it; `commands` turns it into work.
//!
//! Help, completions and the man page come from these definitions.

mod check;
mod compare;
mod expand;
mod import;
mod io;
mod max_rate;
mod report;
mod results;
mod run;
mod scripts;
mod serve;
mod settings;
mod structure;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use check::{CheckArguments, CorruptArguments, LevelWord};
pub(crate) use compare::{Better, CompareArguments, DEFAULT_THRESHOLD, HistoryArguments};
pub(crate) use expand::ExpandArguments;
pub(crate) use import::{ImportArguments, ImportFormat, ImportUnit};
pub(crate) use io::{IoArguments, IoEngine, IoFormat};
pub(crate) use report::{ExportArguments, ExportFormat, ReportArguments, ReportFormat};
pub(crate) use results::ResultsArguments;
pub(crate) use run::{CeilingWord, DEFAULT_TARGET, NotifyArguments, RunArguments};
pub(crate) use scripts::ScriptArguments;
pub(crate) use serve::ServeArguments;
pub(crate) use settings::settings;
pub(crate) use structure::{DecodeArguments, StructureArguments, StructureFormat, StructureModeWord};

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
    /// Print the spec of an experiment or its SQL, or a stored check
    Show(ShowArguments),
    /// Print the tables and the verdict of a stored study, run, check or structure
    Report(ReportArguments),
    /// Serve the pages of all studies to a browser, read-only, live while an experiment runs
    Serve(ServeArguments),
    /// Compare two studies or configurations; exit status 1 on a regression
    Compare(CompareArguments),
    /// Show one value over all studies of an experiment, with change points
    History(HistoryArguments),
    /// Import results of other tools (CSV tables, pgbench, fio, HammerDB, HdrHistogram) as a study, marked as imported
    Import(Box<ImportArguments>),
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

#[derive(Debug, Args)]
pub(crate) struct DemoArguments {
    #[command(flatten)]
    pub(crate) results: ResultsArguments,
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
    /// Print the SQL that a run executes instead: schema, load, sessions, transactions
    #[arg(long, conflicts_with = "check")]
    pub(crate) sql: bool,
    /// Engine whose SQL to print, by name or URL
    #[arg(short, long, value_name = "TARGET", default_value = DEFAULT_TARGET, requires = "sql")]
    pub(crate) target: String,
    /// Print the SQL of the miniature
    #[arg(short, long, requires = "sql")]
    pub(crate) mini: bool,
    /// Print the SQL with another value of a parameter or factor
    #[arg(short, long, value_name = "NAME=VALUE", requires = "sql")]
    pub(crate) set: Vec<String>,
    #[command(flatten)]
    pub(crate) results: ResultsArguments,
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
