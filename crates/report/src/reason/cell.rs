//! Why one configuration took as long as it did, as data.

use serde::Serialize;

use super::offered::OfferedRate;
use results::observations::Limit;

/// Why one configuration took as long as it did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellReason {
    /// Index within the study.
    pub cell_index: u32,
    /// `batch_size=10 connections=4`.
    pub label: String,
    /// What limits it; `None`: not explained, or an offered rate that was served.
    pub limit: Option<Limit>,
    /// What an open loop offered and achieved; absent in a closed loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offered_rate: Option<OfferedRate>,
    /// Wait type with the most time, as `class:name`; `None` when no wait was seen.
    pub dominant_wait: Option<String>,
    /// Its share of the sessions' active time, in percent.
    pub dominant_percent: Option<f64>,
    /// The reason in words, each sentence with its figures; never empty.
    pub sentences: Vec<String>,
}

impl CellReason {
    /// All sentences behind the label of the cell.
    pub fn paragraph(&self) -> String {
        format!("{}: {}", self.label, self.sentences.join(" "))
    }
}
