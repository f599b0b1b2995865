//! `fathom report` and `fathom export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::results::ResultsArguments;

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
    /// The same as PNG, 1920 x 1080, with the fonts of this machine (in builds with the feature `png`)
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
    /// One row per script of each run, and per statement of it
    ScriptsCsv,
    /// One JSON object per run, clients included
    Jsonl,
    /// Go benchmark text, which benchstat reads
    Gobench,
    /// One line per transaction of one run, as `pgbench --log` writes it (of studies with `transaction_log = true`)
    PgbenchLog,
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
    /// Number of a run, for --format pgbench-log [default: the only run that counts]
    #[arg(long, value_name = "N")]
    pub(crate) run: Option<i64>,
    /// File to write; it must not exist [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}
