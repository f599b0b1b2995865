//! What can go wrong between a results directory and its reader or writer.

use std::io;
use std::path::PathBuf;

use crate::model::RunKey;
use crate::store::id::{IoTableId, StudyId};

/// Why the store refused; each message names the file, the reason and one thing to do.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process writes to the directory.
    #[error(
        "results directory \"{directory}\" is in use by {}\nhint: let it finish or write to another directory",
        holder_text(*.holder_pid)
    )]
    InUse {
        /// The results directory.
        directory: PathBuf,
        /// Process that holds the lock, when the lock file names one.
        holder_pid: Option<u32>,
    },
    /// The file was written by a newer fathom.
    #[error(
        "results file \"{path}\" has version {found}, this fathom reads up to {supported}\nhint: use a newer fathom"
    )]
    NewerVersion {
        /// The results file.
        path: PathBuf,
        /// Version in the file.
        found: i64,
        /// Newest version this fathom reads.
        supported: i64,
    },
    /// The file is something else.
    #[error("file \"{path}\" is not a fathom results file: {reason}\nhint: choose another results directory")]
    NotAResultsFile {
        /// The file.
        path: PathBuf,
        /// What was found instead.
        reason: String,
    },
    /// There is no results file to read.
    #[error(
        "results directory \"{directory}\" has no results.db\nhint: run an experiment with this directory first"
    )]
    NoResults {
        /// The results directory.
        directory: PathBuf,
    },
    /// The directory or the file cannot be written.
    #[error(
        "cannot write to results directory \"{directory}\": {reason}\nhint: choose a directory that this user may write"
    )]
    NotWritable {
        /// The results directory.
        directory: PathBuf,
        /// What the operating system or SQLite said.
        reason: String,
    },
    /// The device is full: nothing of the transaction was kept, everything before it was.
    #[error(
        "no space left for results file \"{path}\": the runs stored before are kept, this one is not\n\
         hint: free space and start the same command again"
    )]
    Full {
        /// The results file.
        path: PathBuf,
    },
    /// The device or a limit of this process refused to write.
    #[error(
        "could not write results file \"{path}\": {source}: the runs stored before are kept, this one is not\n\
         hint: see the kernel's messages (dmesg) about the device, and the limit of file sizes (ulimit -f); then start the \
         same command again"
    )]
    NotWritten {
        /// The results file.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// The operating system refused a file operation.
    #[error("could not open \"{path}\": {source}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// SQLite refused a statement.
    #[error("could not use results file \"{path}\": {source}")]
    Sqlite {
        /// The results file.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// A stored value cannot be read back.
    #[error("results file \"{path}\" holds a {what} that cannot be read: {reason}")]
    Damaged {
        /// The results file.
        path: PathBuf,
        /// Kind of value and where it is.
        what: String,
        /// Why.
        reason: String,
    },
    /// There is no such study.
    #[error("results file \"{path}\" has no study {}\nhint: list the studies first", .id.0)]
    NoSuchStudy {
        /// The results file.
        path: PathBuf,
        /// The study asked for.
        id: StudyId,
    },
    /// There is no such check.
    #[error("results file \"{path}\" has no check {id}\nhint: list the checks first")]
    NoSuchCheck {
        /// The results file.
        path: PathBuf,
        /// The check asked for.
        id: i64,
    },
    /// There is no such run.
    #[error("results file \"{path}\" has no run {run_id}\nhint: list the runs first")]
    NoSuchRun {
        /// The results file.
        path: PathBuf,
        /// The run asked for.
        run_id: i64,
    },
    /// There is no such baseline.
    #[error("results file \"{path}\" has no baseline{}", no_io_table_text(*.id))]
    NoSuchIoTable {
        /// The results file.
        path: PathBuf,
        /// The baseline asked for; absent when any would have done.
        id: Option<IoTableId>,
    },
    /// There is no such structure.
    #[error("results file \"{path}\" has no structure{}\nhint: `fathom structure --list` lists them", of_number(*.id))]
    NoSuchStructure {
        /// The results file.
        path: PathBuf,
        /// The structure asked for; absent when any would have done.
        id: Option<i64>,
    },
    /// The run was begun before.
    #[error(
        "run of block {}, cell {}, attempt {} exists already in results file \"{path}\"",
        .key.block_index, .key.cell_index, .key.attempt
    )]
    RunExists {
        /// The results file.
        path: PathBuf,
        /// The run.
        key: RunKey,
    },
    /// What was handed in contradicts what is stored, or the order of calls.
    #[error("cannot store {what} in results file \"{path}\": {reason}")]
    Conflict {
        /// The results file.
        path: PathBuf,
        /// What was handed in.
        what: String,
        /// The contradiction.
        reason: String,
    },
}

fn no_io_table_text(id: Option<IoTableId>) -> String {
    match id {
        Some(IoTableId(number)) => format!(" {number}\nhint: list the baselines first"),
        None => "\nhint: measure one with `fathom io`".to_owned(),
    }
}

fn holder_text(holder_pid: Option<u32>) -> String {
    match holder_pid {
        Some(pid) => format!("process {pid}"),
        None => "another process".to_owned(),
    }
}

/// ` 7`, or nothing when any would have done.
fn of_number(id: Option<i64>) -> String {
    id.map_or_else(String::new, |id| format!(" {id}"))
}
