//! The arguments of `fathom io`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::results::ResultsArguments;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum IoEngine {
    /// io_uring where the kernel allows it, else threads
    Auto,
    /// io_uring or an error
    IoUring,
    /// One thread per transfer in flight, pread and pwrite
    Psync,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum IoFormat {
    /// Tables for a terminal
    Text,
    /// One row per pattern, the published columns first
    Csv,
    /// All values
    Json,
}

/// Parameters have fio's names; without any, the published 15 rows are measured.
#[derive(Debug, Args)]
pub(crate) struct IoArguments {
    /// Directory (a file is created in it and removed), existing file or block device (only read)
    pub(crate) path: Option<PathBuf>,
    /// Eight rows in about a minute
    #[arg(short, long)]
    pub(crate) mini: bool,
    /// Read the matrix from a fio job file
    #[arg(long, value_name = "FILE")]
    pub(crate) job: Option<PathBuf>,
    /// Transfer sizes, e.g. 8k,64k
    #[arg(long, value_name = "SIZE[,SIZE]")]
    pub(crate) bs: Option<String>,
    /// read, randread, write, randwrite, rw, randrw
    #[arg(long, value_name = "MODE[,MODE]")]
    pub(crate) rw: Option<String>,
    /// Share of reads in rw and randrw, in percent
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub(crate) rwmixread: Option<u8>,
    /// Share of random transfers, in percent
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub(crate) percentage_random: Option<u8>,
    /// Queue depth of each job
    #[arg(long, value_name = "N[,N]")]
    pub(crate) iodepth: Option<String>,
    /// Concurrent jobs
    #[arg(long, value_name = "N[,N]")]
    pub(crate) numjobs: Option<String>,
    /// Size of the created file, or of the part of a file or device to use [default: 1g, miniature 512m]
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<String>,
    /// Time of each row [default: 5s; flushes 2s]
    #[arg(long, value_name = "TIME")]
    pub(crate) runtime: Option<String>,
    /// Time of each row before it is measured [default: 0.5s]
    #[arg(long, value_name = "TIME")]
    pub(crate) ramp_time: Option<String>,
    /// Seed of the random offsets
    #[arg(long, value_name = "N")]
    pub(crate) randseed: Option<u64>,
    /// I/O engine
    #[arg(long, value_enum, default_value_t = IoEngine::Auto)]
    pub(crate) ioengine: IoEngine,
    /// Use buffered I/O instead of direct I/O
    #[arg(long)]
    pub(crate) buffered: bool,
    /// Maximum rate of link or device per second, e.g. 600m: rows above it are flagged
    #[arg(long, value_name = "SIZE")]
    pub(crate) known_rate: Option<String>,
    /// Measure durable appends as well, as a WAL does; needs a directory
    #[arg(long)]
    pub(crate) flushes: bool,
    /// Measure durable appends only; CSV has the table of appends instead of that of transfers
    #[arg(long)]
    pub(crate) only_flushes: bool,
    /// Allow write patterns to destroy the contents of this file or device; repeat its path
    #[arg(long, value_name = "NAME")]
    pub(crate) destroy_contents: Option<String>,
    #[command(flatten)]
    pub(crate) results: ResultsArguments,
    /// Print only, store nothing in the results directory
    #[arg(long)]
    pub(crate) no_store: bool,
    /// List the stored baselines; measure nothing
    #[arg(long, conflicts_with_all = ["path", "job", "show"])]
    pub(crate) list: bool,
    /// Show a stored baseline [default: the latest]; measure nothing
    #[arg(long, value_name = "NUMBER", num_args = 0..=1, conflicts_with_all = ["path", "job"])]
    pub(crate) show: Option<Option<i64>>,
    /// Write a page with the result as well; the file must not exist
    #[arg(long, value_name = "FILE", conflicts_with = "list")]
    pub(crate) html: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t = IoFormat::Text)]
    pub(crate) format: IoFormat,
    /// The same as --format json
    #[arg(long)]
    pub(crate) json: bool,
}
