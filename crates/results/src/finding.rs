//! A broken rule at its place, and how often each rule was found broken.

use serde::{Deserialize, Serialize};

/// How sure a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// The same bytes were read twice and violate the rule.
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

/// A violated rule, located.
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
    /// The text of the rule: `invariant` in JSON, which version 0.1 wrote as `promise`.
    #[serde(alias = "promise")]
    pub invariant: String,
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_text_of_the_rule_is_written_as_invariant_and_read_by_its_earlier_name_as_well() {
        let earlier = r#"{"file":"a.db","page":2,"slot":null,"offset_bytes":null,"rule":"r","engine":"sqlite","object":null,
            "promise":"p","expected":"e","found":"f","confidence":"certain","next_step":"n"}"#;
        let finding: Finding = serde_json::from_str(earlier).unwrap();
        assert_eq!(finding.invariant, "p");
        let written = serde_json::to_value(&finding).unwrap();
        assert_eq!((written["invariant"].as_str(), written.get("promise")), (Some("p"), None));
        assert_eq!(serde_json::from_value::<Finding>(written).unwrap(), finding);
    }
}
