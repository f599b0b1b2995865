//! Where an imported study is from: files, tool, and what their arithmetic came to.

use serde::{Deserialize, Serialize};

/// Marks a study whose runs another tool measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Imported {
    /// Format of the files, as `fathom import --format` names it.
    pub format: String,
    /// The tool that measured, where the files say so.
    pub tool: Option<String>,
    /// Its version, where the files say so.
    pub tool_version: Option<String>,
    /// The files, in the order in which they were read.
    pub files: Vec<ImportedFile>,
    /// RFC 3339, UTC.
    pub imported_at: String,
    /// Name of a column or value, and what it was taken as.
    pub columns: Vec<(String, String)>,
    /// Identities between the columns, with the number of rows that hold.
    pub identities: Vec<String>,
    /// Rows that contradict an identity: file, line and reason.
    pub contradictions: Vec<String>,
}

/// One file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedFile {
    /// As the user named it.
    pub path: String,
    /// Its length.
    pub bytes: u64,
    /// Of its content, in hex.
    pub sha256: String,
}

impl Imported {
    /// The tool with its version, else the format: `pgbench 15.18`, `a csv table`.
    pub fn tool_words(&self) -> String {
        match (&self.tool, &self.tool_version) {
            (Some(tool), Some(version)) => format!("{tool} {version}"),
            (Some(tool), None) => tool.clone(),
            _ if self.format == "csv" => "a CSV table".to_owned(),
            _ => self.format.clone(),
        }
    }

    /// What stands beside the engine wherever a study is shown: `imported from pgbench 15.18`.
    pub fn mark(&self) -> String {
        format!("imported from {}", self.tool_words())
    }

    /// The files in a few words: `pgbench_log.8847 (sha256 0a1b2c3d4e5f) and 1 more`.
    pub fn file_words(&self) -> String {
        const HASH_CHARS: usize = 12;
        let Some(first) = self.files.first() else { return "no file".to_owned() };
        let hash = first.sha256.get(..HASH_CHARS).unwrap_or(&first.sha256);
        let more = match self.files.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("{} (sha256 {hash}){more}", first.path)
    }

    /// `imported from pgbench 15.18: pgbench_log.8847 (sha256 ...), 2026-11-20`.
    pub fn words(&self) -> String {
        let day = self.imported_at.get(..10).unwrap_or(&self.imported_at);
        format!("imported from {}: {}, on {day}", self.tool_words(), self.file_words())
    }
}
