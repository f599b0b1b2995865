//! Why a data directory or a backup cannot be opened.

use std::io;
use std::path::PathBuf;

/// Why the data directory cannot be opened at all.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A directory or file could not be read.
    #[error("could not read \"{path}\": {source}")]
    Read {
        /// What was read.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A tar file could not be unpacked or walked.
    #[error("could not read backup \"{path}\": {source}")]
    Archive {
        /// The tar file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A tar file has more members than there is memory for.
    #[error(
        "cannot check backup \"{}\": its {member_count} members need {needed_mib} MiB of memory, more than the {} bytes of --max-memory\nhint: run it with --max-memory {}MiB, or extract the backup and check the directory",
        path.display(), bytes_max, needed_mib + 1
    )]
    Memory {
        /// The tar file.
        path: PathBuf,
        /// How many members it has.
        member_count: u64,
        /// The memory that may be used, bytes.
        bytes_max: u64,
        /// The memory that all tar files up to this one need.
        needed_mib: u64,
    },
    /// There is no data directory here.
    #[error(
        "\"{0}\" is neither a PostgreSQL data directory nor a base backup: it has no PG_VERSION, global/pg_control or \
         base.tar"
    )]
    NotACluster(PathBuf),
    /// A major that the formats are not known of.
    #[error("cannot check PostgreSQL {0}: majors 14 to 18 are supported")]
    Major(u32),
}
