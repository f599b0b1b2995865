//! Why a target could not do what it was asked.

use std::path::PathBuf;

/// Why a target could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// Nothing to do about it in this run; the text names object, value and reason.
    #[error("{text}{}", hint.as_ref().map(|hint| format!("\nhint: {hint}")).unwrap_or_default())]
    Refused {
        /// Object, value, reason.
        text: String,
        /// One thing to do.
        hint: Option<String>,
    },
    /// The engine went away or answered with an error.
    #[error("{context}: {reason}")]
    Engine {
        /// What was being done to which object.
        context: String,
        /// What the engine said.
        reason: String,
    },
    /// A file or process could not be handled.
    #[error("could not {action} \"{}\": {source}", path.display())]
    Io {
        /// Verb phrase, e.g. `create directory`.
        action: &'static str,
        /// The object.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
}

impl TargetError {
    /// An error with a hint.
    pub fn refused(text: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Refused { text: text.into(), hint: Some(hint.into()) }
    }

    /// An error of the engine.
    pub fn engine(context: impl Into<String>, reason: impl std::fmt::Display) -> Self {
        Self::Engine { context: context.into(), reason: reason.to_string() }
    }
}
