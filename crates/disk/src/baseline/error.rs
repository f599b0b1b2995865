//! Why a baseline could not be measured.

use std::io;
use std::path::PathBuf;

use super::pattern::Pattern;
use crate::backend::{BackendError, Operation};
use crate::space::SpaceError;

/// Why a baseline could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// There is nothing to do.
    #[error("cannot measure a matrix without rows or without time")]
    Nothing,
    /// A pattern is impossible.
    #[error(
        "cannot measure transfers of {} bytes, {} outstanding, {} jobs: {problem}",
        .pattern.transfer_bytes, .pattern.outstanding, .pattern.jobs
    )]
    Pattern {
        /// The pattern.
        pattern: Pattern,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The device cannot transfer so few bytes.
    #[error(
        "cannot transfer {transfer_bytes} bytes directly: the device takes multiples of {alignment_bytes} bytes"
    )]
    Unaligned {
        /// The bytes of a transfer.
        transfer_bytes: u64,
        /// What the device takes.
        alignment_bytes: u64,
    },
    /// The target does not hold one transfer for each job.
    #[error(
        "cannot measure \"{}\": its {size_bytes} bytes do not hold {jobs} transfers of {transfer_bytes} bytes side by side",
        .path.display()
    )]
    TooSmall {
        /// The target.
        path: PathBuf,
        /// Its size in use.
        size_bytes: u64,
        /// The bytes of a transfer.
        transfer_bytes: u64,
        /// The number of jobs.
        jobs: u32,
    },
    /// A matrix that writes was pointed at something that fathom did not make.
    #[error(
        "will not write to \"{}\": fathom did not make it\nhint: name a directory instead, or repeat the name with --destroy-contents to lose what is in it",
        .path.display()
    )]
    WouldDestroy {
        /// The file or device.
        path: PathBuf,
    },
    /// The target cannot be opened.
    #[error("could not open \"{}\": {source}", .path.display())]
    Open {
        /// The target.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The file could not be made.
    #[error("could not {action} file \"{}\": {source}", .path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// There is no room for the file.
    #[error(transparent)]
    Space(#[from] SpaceError),
    /// There is no queue of the kind or size asked for.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// A thread could not be started.
    #[error("could not start job {job_index}: {source}")]
    Job {
        /// Its number, from 0.
        job_index: u32,
        /// What the operating system said.
        source: io::Error,
    },
    /// A transfer ended with an error.
    #[error(
        "could not {} \"{}\" at byte {offset_bytes}: {source}", verb(*.operation), .path.display()
    )]
    Transfer {
        /// What was tried.
        operation: Operation,
        /// The target.
        path: PathBuf,
        /// Where.
        offset_bytes: u64,
        /// What the operating system said.
        source: io::Error,
    },
    /// A row that is needed had transfers that moved fewer bytes than asked for.
    #[error("could not measure \"{}\": {error}", .path.display())]
    Row {
        /// The target.
        path: PathBuf,
        /// What the row says.
        error: String,
    },
    /// The queue stopped working.
    #[error("could not go on: the queue failed: {source}")]
    Queue {
        /// What the operating system said.
        source: io::Error,
    },
}

pub(super) fn verb(operation: Operation) -> &'static str {
    match operation {
        Operation::Read => "read",
        Operation::Write => "write",
        Operation::FlushData => "flush",
    }
}
