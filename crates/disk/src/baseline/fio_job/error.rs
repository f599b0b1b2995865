//! Why a job file cannot be read.

use std::fmt;

/// Why a job file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FioJobError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: String,
    /// One thing to do about it.
    pub hint: Option<String>,
}

impl fmt::Display for FioJobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot use line {} of the job file: {}", self.line, self.problem)?;
        self.hint.iter().try_for_each(|hint| write!(f, "\nhint: {hint}"))
    }
}

impl std::error::Error for FioJobError {}
