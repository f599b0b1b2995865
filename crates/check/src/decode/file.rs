//! A page of a file: which engine wrote it, and what it holds.

use disk::input::File;
use std::io;
use std::path::{Path, PathBuf};

use formats::postgres::BLOCK_SIZE_DEFAULT;
use formats::postgres::file_name::{FileName, Fork};
use formats::sqlserver::PAGE_BYTES;

use super::{Decoded, innodb, postgres, sqlite, sqlserver};
use crate::evidence::Watch;
use crate::postgres::{Cluster, data_directory_of};
use crate::sqlite::OpenedError;
use crate::subject::{Subject, SubjectError, recognise};

/// Blocks of a full segment of PostgreSQL.
const SEGMENT_BLOCKS: u32 = 131_072;
/// Bytes of the start of a file that tell what it is.
const START_BYTES: usize = 8192;

/// Why a page of a file cannot be described.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// The file could not be read.
    #[error("could not read \"{}\": {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A read failed, of the file or of one beside it.
    #[error("{reason}")]
    Failed {
        /// File, place and reason, and a hint on a line of its own.
        reason: String,
    },
    /// The page is not there.
    #[error("could not read page {page} of \"{}\": the file ends at page {page_count}", path.display())]
    Beyond {
        /// The file.
        path: PathBuf,
        /// The page.
        page: u32,
        /// Pages that it has.
        page_count: u64,
    },
    /// It is of none of the engines.
    #[error("cannot tell what \"{}\" is: no data file of SQLite, PostgreSQL, SQL Server or InnoDB", path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
    },
    /// It is not there, or no file.
    #[error(transparent)]
    Subject(#[from] SubjectError),
    /// SQLite's file could not be opened.
    #[error(transparent)]
    Sqlite(#[from] OpenedError),
}

/// Describes a page of a file; reads that page, and of SQLite the log and the trunks of the free list.
///
/// Pages count as their engine does: from 1 in SQLite, from 0 in the others; in PostgreSQL within the file named.
///
/// # Errors
/// When the file cannot be read, is of no known engine, or ends before the page. Damage is no error.
pub fn file(path: &Path, page: u32) -> Result<Decoded, DecodeError> {
    let watch = Watch::begin();
    let decoded = decode(path, page);
    // A page is not described by what could not be read, and a file that could not be read is of no known engine.
    match watch.reason(false) {
        Some(reason) => Err(DecodeError::Failed { reason }),
        None => decoded,
    }
}

fn decode(path: &Path, page: u32) -> Result<Decoded, DecodeError> {
    let subject = recognise(path)?;
    let failed = |source| DecodeError::Read { path: path.to_path_buf(), source };
    let file = disk::input::File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    let start = read(&file, 0, START_BYTES).map_err(failed)?;
    if subject == Subject::Sqlite {
        return Ok(sqlite::page(path, page)?);
    }
    let page_of = |size: usize| -> Result<Vec<u8>, DecodeError> {
        let bytes = read(&file, u64::from(page) * size as u64, size).map_err(failed)?;
        if bytes.len() == size {
            return Ok(bytes);
        }
        let page_count = length / size as u64;
        Err(DecodeError::Beyond { path: path.to_path_buf(), page, page_count })
    };
    if sqlserver::is_first_page(&start) {
        return Ok(sqlserver::page(page, &page_of(PAGE_BYTES)?, &start));
    }
    if subject == Subject::Innodb
        && let Some(size) = formats::innodb::page_bytes(&start)
    {
        return Ok(innodb::page(page, &page_of(size as usize)?));
    }
    let name = path.file_name().and_then(|name| name.to_str()).and_then(FileName::parse);
    let cluster = path.canonicalize().ok().and_then(|path| Cluster::open(data_directory_of(&path)?).ok());
    let block_bytes = cluster.as_ref().map_or(BLOCK_SIZE_DEFAULT, |cluster| cluster.block_bytes);
    if !postgres::is_page(start.get(..block_bytes).unwrap_or(&start), block_bytes)
        && (name.is_none() || cluster.is_none())
    {
        return Err(DecodeError::Unknown { path: path.to_path_buf() });
    }
    let bytes = page_of(block_bytes)?;
    let segment_blocks = cluster.as_ref().map_or(SEGMENT_BLOCKS, |cluster| cluster.segment_blocks);
    let (fork, segment) = name.map_or((Fork::Main, 0), |name| (name.fork, name.segment));
    let block = segment.saturating_mul(segment_blocks).saturating_add(page);
    Ok(postgres::page(fork, block, &bytes, cluster.map(|cluster| cluster.checksums)))
}

/// Up to `length` bytes; fewer where the file ends.
fn read(file: &File, offset: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    let mut done = 0;
    while let Some(rest) = bytes.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, offset + done as u64)? {
            0 => break,
            count => done += count,
        }
    }
    bytes.truncate(done);
    Ok(bytes)
}
