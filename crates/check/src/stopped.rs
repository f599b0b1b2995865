//! A check that was stopped: what every engine keeps of it, so that `check --resume` goes on from there.
//!
//! The file is JSON. Its first part is the same for all engines; `state` is what one engine adds. Sums are kept, not
//! rows, so that its size does not grow with the rows.

use std::fs::OpenOptions;
use std::io::{self, BufWriter, IntoInnerError};
use std::path::Path;

use results::EngineId;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::findings::StoredFindings;

/// A check that was stopped, with the state that its engine adds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoppedCheck<State> {
    /// Engine of the checked files.
    pub engine: EngineId,
    /// Version of the state and of the way in which the engine makes sums: those of another version mean nothing to it.
    pub version: u32,
    /// Numbers that must be the same when the check resumes: level, options, sizes, counters of changes.
    pub identity: Vec<u64>,
    /// Key of the sums.
    pub seed: u64,
    /// The file at which the pass resumes, as reports name it; empty where the database is one file.
    pub next_file: String,
    /// Where in that file, in bytes.
    pub next_offset_bytes: u64,
    /// The findings so far.
    pub findings: StoredFindings,
    /// What the engine adds.
    pub state: State,
}

/// What identifies a stopped check, whatever its engine and version.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Header {
    /// Engine of the checked files.
    pub engine: EngineId,
    /// Version of the state; 0 in files without one.
    #[serde(default)]
    pub version: u32,
    /// Numbers that must be the same when the check resumes.
    pub identity: Vec<u64>,
}

/// Why a stopped check cannot be resumed.
#[derive(Debug, thiserror::Error)]
pub enum NotResumed {
    /// The file cannot be read, or is no stopped check.
    #[error(transparent)]
    Read(#[from] io::Error),
    /// Another version of fathom wrote it.
    #[error("another version of fathom wrote the stopped check")]
    OtherVersion,
    /// Files or options are not those of the stopped check.
    #[error("the files or the options differ from those of the stopped check")]
    Differs,
}

impl Header {
    /// Reads what identifies a stopped check.
    ///
    /// # Errors
    /// When the file cannot be read, or is no stopped check.
    pub fn load(path: &Path) -> io::Result<Self> {
        Ok(serde_json::from_slice(&disk::regular::read(path)?)?)
    }
}

impl<State: DeserializeOwned> StoppedCheck<State> {
    /// Reads a stopped check of an engine, if it is one of this version and of the same files and options.
    ///
    /// # Errors
    /// When the file cannot be read, or the check cannot be resumed.
    pub fn load(path: &Path, engine: EngineId, version: u32, identity: &[u64]) -> Result<Self, NotResumed> {
        let bytes = disk::regular::read(path)?;
        let header: Header = parsed(&bytes)?;
        if header.engine != engine {
            return Err(NotResumed::Differs);
        }
        if header.version != version {
            return Err(NotResumed::OtherVersion);
        }
        if header.identity != identity {
            return Err(NotResumed::Differs);
        }
        Ok(parsed(&bytes)?)
    }
}

impl<State: Serialize> StoppedCheck<State> {
    /// Writes the check to a file: whole or not at all, by way of a second name beside it.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn store(&self, path: &Path) -> io::Result<()> {
        let mut beside = path.as_os_str().to_owned();
        beside.push(".part");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        let mut writer = BufWriter::new(disk::regular::open_with(&mut options, beside.as_ref())?);
        serde_json::to_writer(&mut writer, self)?;
        writer.into_inner().map_err(IntoInnerError::into_error)?.sync_all()?;
        std::fs::rename(&beside, path)
    }
}

/// Removes what was kept of a check that has come to its end; nothing is done where nothing was kept.
///
/// # Errors
/// When the file cannot be removed.
pub fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn parsed<T: DeserializeOwned>(bytes: &[u8]) -> io::Result<T> {
    Ok(serde_json::from_slice(bytes)?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn stopped() -> StoppedCheck<Vec<(u32, u64)>> {
        StoppedCheck {
            engine: EngineId::Sqlite,
            version: 3,
            identity: vec![u64::MAX, 1],
            seed: u64::MAX - 1,
            next_file: "base/5/1259".to_owned(),
            next_offset_bytes: 8192,
            findings: StoredFindings::default(),
            state: vec![(7, u64::MAX)],
        }
    }

    #[test]
    fn a_stopped_check_reads_back_as_it_was_written_by_its_engine_version_and_identity_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state");
        let stopped = stopped();
        stopped.store(&path).unwrap();
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
        let load = |engine, version, identity: &[u64]| {
            StoppedCheck::<Vec<(u32, u64)>>::load(&path, engine, version, identity)
        };
        assert_eq!(load(EngineId::Sqlite, 3, &stopped.identity).unwrap(), stopped);
        assert!(matches!(load(EngineId::Sqlite, 4, &stopped.identity), Err(NotResumed::OtherVersion)));
        assert!(matches!(load(EngineId::Postgres, 3, &stopped.identity), Err(NotResumed::Differs)));
        assert!(matches!(load(EngineId::Sqlite, 3, &[u64::MAX]), Err(NotResumed::Differs)));
        remove(&path).unwrap();
        remove(&path).unwrap();
        assert!(matches!(load(EngineId::Sqlite, 3, &stopped.identity), Err(NotResumed::Read(_))));
    }

    #[test]
    fn a_file_of_another_version_has_a_header_whatever_its_state_is() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state");
        std::fs::write(&path, br#"{"engine":"postgres","identity":[1,2],"seed":3,"sums":[]}"#).unwrap();
        let header = Header::load(&path).unwrap();
        assert_eq!((header.engine, header.version), (EngineId::Postgres, 0));
        let loaded = StoppedCheck::<u64>::load(&path, EngineId::Postgres, 1, &[1, 2]);
        assert!(matches!(loaded, Err(NotResumed::OtherVersion)));
        for other in [&br#"{"engine":"sqlite"}"#[..], br#"{"engine":"other","identity":[]}"#, b"", b"{"] {
            std::fs::write(&path, other).unwrap();
            assert!(Header::load(&path).is_err());
        }
    }
}
