//! The results directory: one SQLite file, one writer, each run committed when it ends, nothing overwritten.
//!
//! A run is begun (a row that says `running`), then finished in one transaction with everything it brought. Whatever
//! ends the process between the two leaves that row; the next start turns it into `interrupted`. What happens to a
//! run later (a mark, a run that takes its place) is added in tables of its own: triggers in the file refuse to
//! change or delete a finished run.

mod baselines;
mod ceilings;
mod checks;
mod corrections;
mod document;
mod error;
mod id;
mod imports;
mod lock;
mod marks;
mod observed;
mod open;
mod read;
mod redaction;
mod row;
mod scripts;
mod stamp;
mod structures;
mod write;

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use serde::{Deserialize, Serialize};

use crate::ceiling::StoredCeiling;
use crate::histogram::LatencyHistogram;
use crate::model::{Cell, RunKey, RunState, StoredRun, Study};
use crate::scripts::CellScripts;
use crate::store::lock::WriteLock;

pub use baselines::StoredIoTable;
pub use checks::StoredCheck;
pub use error::StoreError;
pub use id::{IoTableId, StudyId};
pub use imports::ImportedRun;
pub use marks::StoredMark;
pub use open::{APPLICATION_ID, RESULTS_FILE, SCHEMA_VERSION};
pub use redaction::Redaction;
pub use structures::{StoredStructure, StructureOrigin};

/// A study with its place in the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredStudy {
    /// Its row number.
    pub id: StudyId,
    /// The study.
    pub study: Study,
}

/// What one run of a correction measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CorrectedRun {
    /// Row number of the run.
    pub run_id: i64,
    /// Which execution of which cell.
    pub key: RunKey,
    /// What became of it.
    pub state: RunState,
    /// Elapsed time in nanoseconds.
    pub elapsed_ns: u64,
    /// Rows acknowledged, over all clients; transactions where scripts ran.
    pub rows: u64,
}

/// A result that was doubted or replaced, with what took its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Correction {
    /// The run that no longer counts.
    pub old: CorrectedRun,
    /// The run that counts instead; `None` while nobody has run it again.
    pub new: Option<CorrectedRun>,
    /// Why: the reason of the mark, or else the gates that failed, or `run again`.
    pub reason: String,
    /// RFC 3339, UTC: when it was marked, or else when its replacement started.
    pub at: String,
}

/// Latencies of all counting runs of one cell, added.
#[derive(Clone, Debug, PartialEq)]
pub struct CellLatency {
    /// The cell.
    pub cell_index: u32,
    /// Service times in nanoseconds; empty when the loop ran on the server.
    pub service_time: LatencyHistogram,
    /// Response times in nanoseconds, from the intended start; `None` when every client ran a closed loop.
    pub response_time: Option<LatencyHistogram>,
}

/// Everything that a report of one study is made from.
#[derive(Clone, Debug, PartialEq)]
pub struct StudyResults {
    /// The study.
    pub study: Study,
    /// Its cells in the order of their index.
    pub cells: Vec<Cell>,
    /// All its runs in the order in which they ran, without histograms, series and waiting tasks.
    pub runs: Vec<StoredRun>,
    /// Latencies of the counting runs, per cell that has any.
    pub latencies: Vec<CellLatency>,
    /// What the scripts of a workload of the user's own did in the counting runs, per cell that had any.
    pub scripts: Vec<CellScripts>,
    /// What was doubted or replaced.
    pub corrections: Vec<Correction>,
    /// What the devices alone gave for the patterns of the study.
    pub ceilings: Vec<StoredCeiling>,
}

/// An open results file.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
    redaction: Option<Redaction>,
    /// Held from before the file is opened until after it is closed; `None` when only reading.
    _lock: Option<WriteLock>,
}

impl Store {
    /// Opens `results.db` in `directory` for reading and writing; makes both when they are absent.
    ///
    /// Takes the directory's lock (`<directory>/lock`) for as long as the store lives; it vanishes with the process.
    /// An older file is brought up to date.
    ///
    /// # Errors
    /// In use by another process, not writable, no space, a newer version, or not a fathom results file. In none
    /// of these cases is an existing file changed.
    pub fn open_or_create(directory: &Path) -> Result<Self, StoreError> {
        std::fs::create_dir_all(directory).map_err(|error| StoreError::NotWritable {
            directory: directory.to_owned(),
            reason: error.to_string(),
        })?;
        let lock = WriteLock::take(directory)?;
        let (connection, redaction) = open::writable(directory)?;
        Ok(Self { connection, path: directory.join(RESULTS_FILE), redaction, _lock: Some(lock) })
    }

    /// Opens `results.db` in `directory` for reading, also while another process writes to it. An older file is read
    /// as it is: what its version had no table for is empty.
    ///
    /// # Errors
    /// No results file, a newer version, or not a fathom results file.
    pub fn open_read_only(directory: &Path) -> Result<Self, StoreError> {
        let connection = open::read_only(directory)?;
        Ok(Self { connection, path: directory.join(RESULTS_FILE), redaction: None, _lock: None })
    }

    /// Closes the file, and removes it when nothing was ever stored in it: what was refused before anything ran leaves
    /// no results behind. Only for the writer of the directory, whose lock is held to the end.
    ///
    /// # Errors
    /// The file could not be read or removed.
    pub fn discard_if_empty(self) -> Result<(), StoreError> {
        let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
        let is_empty = {
            let mut statement = self.connection.prepare(tables).map_err(self.sqlite())?;
            let names = statement.query_map([], |row| row.get::<_, String>(0)).map_err(self.sqlite())?;
            let names = names.collect::<Result<Vec<_>, _>>().map_err(self.sqlite())?;
            let has_rows = |name: &String| {
                let sql = format!("SELECT EXISTS (SELECT 1 FROM \"{name}\")");
                self.connection.query_row(&sql, [], |row| row.get::<_, bool>(0))
            };
            let filled = names.iter().map(has_rows).collect::<Result<Vec<_>, _>>().map_err(self.sqlite())?;
            !filled.contains(&true)
        };
        let Self { connection, path, _lock, .. } = self;
        drop(connection);
        if is_empty && _lock.is_some() {
            std::fs::remove_file(&path).map_err(|error| StoreError::NotWritable {
                directory: path.parent().unwrap_or(&path).to_owned(),
                reason: error.to_string(),
            })?;
        }
        Ok(())
    }

    /// What opening the file for writing removed from it: values of settings that older versions recorded.
    pub fn redaction(&self) -> Option<&Redaction> {
        self.redaction.as_ref()
    }

    /// Path of the results file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Is a process writing to this directory now, this one included? `None` when that cannot be learned.
    ///
    /// The kernel answers by the lock of the directory, which ends with its process: a row that says `running` while
    /// nobody writes is that of a process that is gone.
    pub fn has_writer(&self) -> Option<bool> {
        lock::is_held(self.path.parent()?)
    }

    fn sqlite(&self) -> impl Fn(rusqlite::Error) -> StoreError + '_ {
        |error| open::sqlite_error(&self.path, error)
    }
}

#[cfg(test)]
mod tests;
