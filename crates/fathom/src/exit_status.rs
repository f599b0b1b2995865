//! How a command ended, and the exit status that says so.

use std::process::ExitCode;

/// How a command ended, when it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// Done, nothing found.
    Clean,
    /// Done, but a run was invalid, damage was found or a regression was shown.
    Findings,
    /// Could not finish, or was stopped by the user; the same command resumes.
    Stopped,
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(match status {
            ExitStatus::Clean => 0,
            ExitStatus::Findings => 1,
            ExitStatus::Stopped => 2,
        })
    }
}
