//! The arguments of `fathom compare` and `fathom history`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::report::ReportFormat;
use super::results::ResultsArguments;

/// Percent beyond which a worsening is a regression, if the user does not say.
pub(crate) const DEFAULT_THRESHOLD: &str = "5%";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Better {
    /// Times, latencies, bytes written
    Smaller,
    /// Rates
    Larger,
}

/// A study is given by its number, by its experiment (the latest one), or `latest`. `~N` is the Nth before it, `@DATE` the
/// latest until that date, `/factor=level` some of its configurations, and the prefix `DIR:` another results directory.
#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// Baseline, e.g. 3, multi-file~1, nightly:multi-file@2026-11-01, 3/batch_size=1
    #[arg(value_name = "A")]
    pub(crate) baseline: String,
    /// Candidates; more than one give a table with the study as a factor and the best cases
    #[arg(value_name = "B", required = true, num_args = 1..)]
    pub(crate) candidates: Vec<String>,
    /// A metric, rows_per_s, or a latency such as service_time_p99_ms [default: what the study compares]
    #[arg(long, value_name = "NAME")]
    pub(crate) metric: Option<String>,
    /// Direction in which the metric improves [default: rates (..._per_s) larger, all others smaller]
    #[arg(long, value_enum, requires = "metric")]
    pub(crate) better: Option<Better>,
    /// Worsening, in percent of A, beyond which a significant difference is a regression
    #[arg(long, value_name = "PERCENT", default_value = DEFAULT_THRESHOLD)]
    pub(crate) threshold: String,
    /// Compare even if the work differs (experiment, scale, workload, rows, duration), without a verdict
    #[arg(long)]
    pub(crate) force: bool,
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

#[derive(Debug, Args)]
pub(crate) struct HistoryArguments {
    /// Name of the experiment [default: that of the latest study]
    pub(crate) experiment: Option<String>,
    /// A metric, rows_per_s, or a latency such as service_time_p99_ms [default: what the studies compare]
    #[arg(long, value_name = "NAME")]
    pub(crate) metric: Option<String>,
    /// Only configurations with these levels
    #[arg(long, value_name = "NAME=VALUE[,NAME=VALUE]")]
    pub(crate) only: Option<String>,
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
