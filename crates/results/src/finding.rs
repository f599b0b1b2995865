//! A broken rule at its place, and how often each rule was found broken.

use serde::{Deserialize, Serialize};

/// How sure a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// The same bytes were read twice and break the promise.
    Certain,
    /// True, but may follow from another finding in the same object.
    Consequence,
    /// What the page is for is not known; it may be in order.
    Possible,
}

impl Confidence {
    /// The name in texts.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Certain => "certain",
            Self::Consequence => "may follow from another finding",
            Self::Possible => "possible",
        }
    }
}

/// A broken promise, located.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Finding {
    /// The file concerned.
    pub file: String,
    /// The page in the file, counted as the engine does; absent when the file as a whole is concerned.
    pub page: Option<u64>,
    /// The cell, line pointer or entry in the page, counted from 0.
    pub slot: Option<u64>,
    /// The offset in the page, in bytes.
    pub offset_bytes: Option<u64>,
    /// The rule that was broken; `fathom explain RULE` tells more.
    pub rule: String,
    /// Name of the engine; [`Self::engine_id`] has it typed.
    pub engine: String,
    /// The table, index or list that the page belongs to, where that is known.
    pub object: Option<String>,
    /// What the format promises.
    pub promise: String,
    /// What should stand there.
    pub expected: String,
    /// What stands there.
    pub found: String,
    /// How sure this is.
    pub confidence: Confidence,
    /// What to do.
    pub next_step: String,
    /// The row concerned, as a person finds it: `id = 17, name = 'x'`; absent where no row is concerned or its key is
    /// not readable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<String>,
    /// Numbers of the messages that the engine's own checker has for the same fault: `8951` of DBCC CHECKDB; absent where
    /// no correspondence is documented.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<String>,
}

/// How often a rule was found broken, and how many of these findings are listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleCount {
    /// The rule.
    pub rule: String,
    /// Findings made.
    pub found_count: u64,
    /// Findings listed.
    pub listed_count: u64,
}
