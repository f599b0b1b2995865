//! A page of a file: which engine wrote it, and what it holds.

use std::io;
use std::path::{Path, PathBuf};

use super::Decoded;
use crate::engine::{Engine, EngineError, Probe, ProbeError, recognise};
use crate::evidence::Watch;

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
    #[error("\"{}\" is not recognised as a data file of {engines}", path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
        /// The engines.
        engines: String,
    },
    /// It is not there, or no file.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// The engine could not describe it.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Describes a page of a file; reads that page, and what leads to it where that is short.
///
/// Pages count as their engine does: from 1 in SQLite, from 0 in the others; in PostgreSQL within the file named.
///
/// # Errors
/// When the file cannot be read, is of none of the engines, or ends before the page. Damage is no error.
pub fn file(engines: &[&'static Engine], path: &Path, page: u32) -> Result<Decoded, DecodeError> {
    let watch = Watch::begin();
    let decoded = decode(engines, path, page);
    // A page is not described by what could not be read, and a file that could not be read is of no known engine.
    match watch.reason(false) {
        Some(reason) => Err(DecodeError::Failed { reason }),
        None => decoded,
    }
}

fn decode(engines: &[&'static Engine], path: &Path, page: u32) -> Result<Decoded, DecodeError> {
    let probe = Probe::open(path)?;
    match recognise(engines, &probe)?.filter(|_| !probe.is_directory) {
        Some((engine, _)) => Ok((engine.page_of_file)(&probe, page)?),
        None => {
            let names: Vec<&str> = engines.iter().map(|engine| engine.id().title()).collect();
            Err(DecodeError::Unknown { path: path.to_path_buf(), engines: names.join(", ") })
        }
    }
}

/// The bytes of a page of a file.
///
/// # Errors
/// When the file cannot be read, or ends before the page.
pub fn page_bytes(probe: &Probe, page: u32, size: usize) -> Result<Vec<u8>, EngineError> {
    let path = || probe.path.clone();
    let failed = |source| EngineError::of(DecodeError::Read { path: path(), source });
    let file = disk::input::File::open(&probe.path).map_err(failed)?;
    let mut bytes = vec![0; size];
    let mut done = 0;
    while let Some(rest) = bytes.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, u64::from(page) * size as u64 + done as u64).map_err(failed)? {
            0 => break,
            count => done += count,
        }
    }
    if done == size {
        return Ok(bytes);
    }
    let page_count = probe.length_bytes / size.max(1) as u64;
    Err(EngineError::of(DecodeError::Beyond { path: path(), page, page_count }))
}
