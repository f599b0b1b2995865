//! What every reader of tables returns.

use crate::{Choice, Format, Reading};

/// The empty reading of a table.
pub(crate) fn reading(
    observations: Vec<crate::Observation>,
    metric: Option<String>,
    choices: Vec<Choice>,
) -> Reading {
    Reading {
        format: Format::Csv,
        tool: None,
        tool_version: None,
        engine: "table".to_owned(),
        observations,
        metric,
        is_smaller_better: None,
        choices,
        identities: Vec::new(),
    }
}
