//! Arguments of `fathom expand`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct ExpandArguments {
    /// Source: sample (orders, lines, products, documents), a SQLite file, or a database as
    /// postgres://user@host/database; opened for reading only
    pub(crate) source: PathBuf,
    /// Destination, which must not exist: a file, or, for a source on PostgreSQL, a database on the same server; for the
    /// sample on PostgreSQL postgres://user@host/database
    pub(crate) destination: PathBuf,
    /// Size of all files together, e.g. 500M, 2G: at most 5 % more; at least the size of the source
    #[arg(short, long, value_name = "SIZE")]
    pub(crate) size: String,
    /// Number of files: DESTINATION.1, DESTINATION.2, ...; each is a database with all tables
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) files: u32,
    /// PostgreSQL: an empty directory on the server's machine, owned by its user, for a tablespace; repeat to distribute
    /// tables and indexes by size, each as a whole
    #[arg(long, value_name = "DIR", conflicts_with = "files")]
    pub(crate) directory: Vec<PathBuf>,
    /// Seed of the sample, and of the suffixes that make text keys of copies unique
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
