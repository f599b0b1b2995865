//! Errors with their place: of a script that cannot be parsed, and of a command that failed in a run.

use std::fmt;

/// A script that cannot be parsed: where, what is there, why, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError {
    /// File as the user wrote it, or the name of a built-in script.
    pub file: String,
    /// Line, counted from 1.
    pub line: u32,
    /// Column in characters, counted from 1.
    pub column: u32,
    /// The line of the script, at most 200 characters of it.
    pub text: String,
    /// Reason, in pgbench's words where it has some.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// Characters of a line that a message shows.
const SHOWN: usize = 200;

impl ScriptError {
    /// Makes the error at a place of a script; `text` is the whole line, of which the part around `column` is kept.
    pub(crate) fn new(file: &str, (line, column): (u32, u32), text: &str, message: String) -> Self {
        let text = text.chars().take(SHOWN).collect();
        Self { file: file.to_owned(), line, column, text, message, hint: None }
    }

    /// Adds what to do about it.
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.message)?;
        if !self.text.is_empty() {
            write!(f, "\n{}", self.text)?;
            let before = self.column as usize - 1;
            if before <= SHOWN {
                // Tabs stay tabs, so that the mark is below its character.
                let indent: String =
                    self.text.chars().map(|c| if c == '\t' { '\t' } else { ' ' }).take(before).collect();
                write!(f, "\n{indent}{}^ error found here", " ".repeat(before - indent.chars().count()))?;
            }
        }
        self.hint.iter().try_for_each(|hint| write!(f, "\nhint: {hint}"))
    }
}

impl std::error::Error for ScriptError {}

/// A command that failed while a client ran it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// File of the script.
    pub file: String,
    /// Line of the command, counted from 1.
    pub line: u32,
    /// Number of the command in its script, counted from 1, as pgbench counts.
    pub command: u32,
    /// Reason, in pgbench's words.
    pub message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: command {}: {}", self.file, self.line, self.command, self.message)
    }
}

impl std::error::Error for Failure {}
