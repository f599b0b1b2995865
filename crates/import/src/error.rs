//! Why a file could not be imported.

use std::fmt;

/// A file, the place in it, the reason, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ImportError {
    /// The file as the user named it.
    pub file: String,
    /// Line, counted from 1; absent where the reason is about the whole file.
    pub line: Option<u64>,
    /// The value and why it cannot be read, without a full stop.
    pub reason: String,
    /// One thing to do.
    pub hint: Option<String>,
}

impl ImportError {
    /// A reason about a whole file.
    pub fn new(file: &str, reason: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line: None, reason: reason.into(), hint: None }
    }

    /// The same at a line, counted from 1.
    #[must_use]
    pub fn at(self, line: u64) -> Self {
        Self { line: Some(line), ..self }
    }

    /// The same with one thing to do.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "could not import \"{}\"", self.file)?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        write!(f, ": {}", self.reason)?;
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}

/// A value as messages quote it: at most 60 characters, on one line.
pub(crate) fn quoted(value: &str) -> String {
    const CHARS_MAX: usize = 60;
    let mut short: String = value.chars().take(CHARS_MAX).collect();
    if short.len() < value.len() {
        short.push('…');
    }
    format!("{short:?}")
}
