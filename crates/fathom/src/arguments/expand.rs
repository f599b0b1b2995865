//! Arguments of `fathom expand`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct ExpandArguments {
    /// What is copied: sample (orders, lines, products, documents), a SQLite file, or a database as
    /// postgres://user@host/database; it is only read
    pub(crate) source: PathBuf,
    /// What is made, and must not exist: a file, or, for a source on PostgreSQL, a database on the same server; for the
    /// sample on PostgreSQL postgres://user@host/database
    pub(crate) destination: PathBuf,
    /// Bytes of all files together, e.g. 500M, 2G: at most 5 % more are made; no less than the source takes
    #[arg(short, long, value_name = "SIZE")]
    pub(crate) size: String,
    /// Files that share the copies: DESTINATION.1, DESTINATION.2, ...; each is a database with all tables
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) files: u32,
    /// PostgreSQL: a directory on the server's machine, empty and its user's own, for a tablespace; repeat it, and tables
    /// and indexes are shared out by size, each as a whole
    #[arg(long, value_name = "DIR", conflicts_with = "files")]
    pub(crate) directory: Vec<PathBuf>,
    /// Seed of the sample, and of what makes text keys of copies unique
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Prints JSON
    #[arg(long)]
    pub(crate) json: bool,
}
