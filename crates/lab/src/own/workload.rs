//! The resolved workload of one cell: texts with the levels of its factors in them.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// SQL with the name that messages call it by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SqlText {
    /// File as the user wrote it, or the name of a built-in script.
    pub file: String,
    /// The text, `{{name}}` replaced.
    pub text: String,
}

/// A script and how often it is chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeightedScript {
    /// The script.
    pub sql: SqlText,
    /// Probability of its choice, in proportion to the other weights; 0 is never.
    pub weight: u32,
}

/// How the rows come into the tables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Load {
    /// A script that is executed for slices of the rows. Each execution finds `:first_row` and `:last_row` (from 1,
    /// both included), `:row` (the first one) and `:rows` (the total) among its variables.
    Script {
        /// The script.
        sql: SqlText,
        /// Rows of all slices.
        rows: u64,
        /// Rows of one slice; the last one may be smaller.
        batch: u64,
        /// Clients that work on slices at the same time.
        connections: u32,
    },
    /// A CSV file.
    Copy {
        /// The file.
        path: PathBuf,
        /// SHA-256 of its content, in hexadecimal.
        sha256: String,
        /// Table.
        table: String,
        /// Columns in the order of the file; empty for all of the table.
        columns: Vec<String>,
        /// Does the first line name the columns?
        has_header: bool,
        /// Between two values.
        delimiter: char,
        /// Text that is NULL.
        null: String,
    },
    /// Made-up rows: a generator for each column.
    Columns {
        /// Table.
        table: String,
        /// Rows.
        rows: u64,
        /// Connections that load at the same time.
        connections: u32,
        /// Name of each column, and its generator as written.
        columns: Vec<(String, String)>,
    },
}

impl Load {
    /// Connections that load at the same time.
    pub fn connections(&self) -> u32 {
        match self {
            Self::Script { connections, .. } | Self::Columns { connections, .. } => *connections,
            Self::Copy { .. } => 1,
        }
    }
}

/// How statements and their values reach the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// Values are part of the text.
    #[default]
    Simple,
    /// Values are parameters; each execution is parsed.
    Extended,
    /// Values are parameters; each statement is parsed once.
    Prepared,
}

/// What becomes of a client when a statement fails for a reason that a retry does not help against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnError {
    /// The client ends, and the run is invalid.
    #[default]
    Abort,
    /// The transaction is counted as failed, and the client goes on.
    Continue,
    /// The transaction is tried again, up to `max_tries`, like one that the engine could not serialize.
    Retry,
}

/// What the user's own workload does in one cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OwnWorkload {
    /// Made once in an empty database.
    pub schema: Option<SqlText>,
    /// Rows that are there when a run begins.
    pub load: Option<Load>,
    /// What the clients do; at least one.
    pub scripts: Vec<WeightedScript>,
    /// Executed after each run; its rows become metrics.
    pub after: Option<SqlText>,
    /// Variables of all scripts: own factors and parameters with the level of this cell.
    pub definitions: Vec<(String, String)>,
    /// The variable `scale`.
    pub scale: u64,
    /// How statements reach the server.
    pub protocol: Protocol,
    /// Tries of a transaction that failed for a retryable reason; 0 is without limit.
    pub max_tries: u32,
    /// After other failures.
    pub on_error: OnError,
    /// Transactions that take longer are late; those of an open loop that would begin later than this are skipped.
    pub latency_limit: Option<Duration>,
    /// Is the time of each transaction kept with the results?
    #[serde(default)]
    pub transaction_log: bool,
}
