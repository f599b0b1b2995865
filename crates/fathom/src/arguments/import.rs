//! The arguments of `fathom import`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::compare::Better;
use super::results::ResultsArguments;

/// Formats of files that can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportFormat {
    /// By the content of each file
    Auto,
    /// A table with a header
    Csv,
    /// pgbench --log, a line per transaction
    PgbenchLog,
    /// pgbench --log --aggregate-interval
    PgbenchAggregate,
    /// What pgbench prints
    PgbenchOutput,
    /// fio --output-format=json or json+
    Fio,
    /// HammerDB jobs as JSON: result, timing, tcount
    Hammerdb,
    /// An HdrHistogram log (.hlog)
    Hdrhistogram,
}

/// Units of the values of an HdrHistogram log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportUnit {
    /// Nanoseconds
    Ns,
    /// Microseconds
    Us,
    /// Milliseconds
    Ms,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArguments {
    /// Files. Every table is a study; the files of pgbench, fio, HammerDB or HdrHistogram are one study each
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Format of the files
    #[arg(long, value_enum, default_value_t = ImportFormat::Auto)]
    pub(crate) format: ImportFormat,
    /// Name of the study; studies of one name can be compared and have a history [default: the name of the file]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Column of a table whose values are levels of a factor; repeat the option for more [default: by names and values]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) factor: Vec<String>,
    /// Column of a table with numbers that were measured, or the metric of other files that is compared; the first one given is
    /// compared
    #[arg(long, value_name = "COLUMN[:UNIT]")]
    pub(crate) metric: Vec<String>,
    /// Direction in which the metric improves [default: rates larger, all others smaller]
    #[arg(long, value_enum)]
    pub(crate) better: Option<Better>,
    /// Level that all runs of the files have, e.g. --set shared_buffers=1GB; repeat the option for more
    #[arg(long, value_name = "FACTOR=VALUE")]
    pub(crate) set: Vec<String>,
    /// Unit of the values of an HdrHistogram log [default: ns]
    #[arg(long, value_enum, value_name = "UNIT")]
    pub(crate) unit: Option<ImportUnit>,
    /// Print what would be imported and store nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) results: ResultsArguments,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
