//! The arguments of `fathom structure` and `fathom decode`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::results::ResultsArguments;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StructureModeWord {
    /// Only pages above the leaves, about one in a hundred: order and number of the leaves
    Limited,
    /// As limited, and every hundredth leaf of trees with 10,000 leaves or more; all of smaller ones
    Sampled,
    /// Every page
    Detailed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StructureFormat {
    /// Tables and strip maps for a terminal
    Text,
    /// One row per level, the published columns first
    Csv,
    /// All values, strip maps as page numbers
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct StructureArguments {
    /// SQLite database, PostgreSQL data directory (stopped or running), base backup (its directory or tar files), URL of a server on this machine or one relation file, SQL Server data file or backup
    pub(crate) target: Option<PathBuf>,
    /// Further data files of the same SQL Server database, or stripes of the same backup
    pub(crate) more: Vec<PathBuf>,
    /// Only this table with its indexes, e.g. orders or public.orders
    #[arg(long, value_name = "TABLE")]
    pub(crate) table: Option<String>,
    /// What to read
    #[arg(long, value_enum, default_value_t = StructureModeWord::Detailed)]
    pub(crate) mode: StructureModeWord,
    /// Include system tables
    #[arg(long)]
    pub(crate) system: bool,
    /// Worker threads [default: one per CPU]
    #[arg(short = 'j', long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// Maximum read rate, e.g. 50MB/s or 50MiB/s
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_read_rate: Option<String>,
    /// Use buffered I/O instead of direct I/O
    #[arg(long)]
    pub(crate) buffered: bool,
    /// Points kept of each strip map [default: 4096]
    #[arg(long, value_name = "N", conflicts_with = "whole_maps")]
    pub(crate) map_points: Option<usize>,
    /// Keep complete strip maps: the page of every leaf
    #[arg(long)]
    pub(crate) whole_maps: bool,
    #[command(flatten)]
    pub(crate) results: ResultsArguments,
    /// Print only, store nothing in the results directory
    #[arg(long)]
    pub(crate) no_store: bool,
    /// List the stored structures; measure nothing
    #[arg(long, conflicts_with_all = ["target", "show"])]
    pub(crate) list: bool,
    /// Show a stored structure [default: the latest]; measure nothing
    #[arg(long, value_name = "NUMBER", num_args = 0..=1, conflicts_with = "target")]
    pub(crate) show: Option<Option<i64>>,
    /// Write a page with the result as well; the file must not exist
    #[arg(long, value_name = "FILE", conflicts_with = "list")]
    pub(crate) html: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t = StructureFormat::Text)]
    pub(crate) format: StructureFormat,
    /// The same as --format json
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DecodeArguments {
    /// FILE:PAGE, DATABASE:FILE:PAGE as in SQL Server (5:1:1520544), or by number alone: sqlite:PAGE,
    /// postgres:PAGE, postgres:fsm:PAGE, postgres:vm:PAGE, innodb:PAGE, innodb:system:PAGE, sqlserver:FILE:PAGE
    pub(crate) page: OsString,
    /// Bytes per page where no file is given [default: sqlite 4096, postgres 8192, innodb 16384]
    #[arg(long, value_name = "BYTES")]
    pub(crate) page_size: Option<u32>,
    /// sqlite:PAGE in a file with auto-vacuum, which has pointer maps
    #[arg(long)]
    pub(crate) auto_vacuum: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
