//! Why files cannot be checked.

use std::path::PathBuf;

/// Why a check could not be done at all.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// A file could not be opened or read.
    #[error("could not read \"{path}\": {source}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A file is none of SQL Server's.
    #[error(
        "cannot check \"{path}\": it is neither a SQL Server data file nor a backup{start}\nhint: inspect its first bytes: a failed download is often a web page",
        path = path.display()
    )]
    NotSqlServer {
        /// The file.
        path: PathBuf,
        /// What it begins with, in words.
        start: String,
    },
    /// Files of different kinds were named together.
    #[error(
        "cannot check \"{path}\" together with the first file: data files and backups cannot be checked together\nhint: give the data files of one database, or the stripes of one backup",
        path = path.display()
    )]
    Mixed {
        /// The file.
        path: PathBuf,
    },
    /// Two data files say that they have the same place in their database.
    #[error(
        "cannot check \"{path}\" together with the files before it: one of them is also file {number} of its database\nhint: name the data files of one database, each once",
        path = path.display()
    )]
    SameNumber {
        /// The file.
        path: PathBuf,
        /// Its number.
        number: u16,
    },
    /// The allocation maps take more memory than the check may use.
    #[error(
        "cannot check \"{path}\": the allocation maps of {page_count} pages take more than {bytes_max} bytes of memory, half of --max-memory\nhint: run it again with --max-memory {needed_mib}MiB",
        path = path.display(),
        needed_mib = (page_count.saturating_mul(4) >> 20).max(bytes_max >> 19).saturating_add(1)
    )]
    Memory {
        /// The first file.
        path: PathBuf,
        /// Pages that the files have.
        page_count: u64,
        /// What the maps may take.
        bytes_max: u64,
    },
    /// The files could not be scanned.
    #[error(transparent)]
    Scan(#[from] disk::scan::ScanError),
}
