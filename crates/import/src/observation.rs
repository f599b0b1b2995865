//! What a reader took from files: observations, each of which becomes a run.

use results::model::{ClientRecord, Level, Metric, Warning};
use results::observations::Observations;

use crate::Format;

/// Where something stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The file as the user named it.
    pub file: String,
    /// Line, counted from 1.
    pub line: Option<u64>,
}

/// One measurement by another tool: the run that is made of it.
#[derive(Clone, Debug, Default)]
pub struct Observation {
    /// Where it was read.
    pub place: Place,
    /// Factor and level, in the order of the factors.
    pub levels: Vec<(String, Level)>,
    /// When it started, in microseconds since 1970 (UTC), where the tool says so.
    pub started_us: Option<i64>,
    /// How long it took; absent where the tool does not say.
    pub elapsed_ns: Option<u64>,
    /// Clients with their counts and latencies; empty where there are none.
    pub clients: Vec<ClientRecord>,
    /// Numbers with unit and source.
    pub metrics: Vec<Metric>,
    /// Waits and values over time.
    pub observations: Observations,
    /// Cautions about its numbers.
    pub warnings: Vec<Warning>,
    /// Reasons not to trust it: with one, the run is stored and marked as suspect.
    pub doubts: Vec<String>,
    /// Texts that belong to it: name and text.
    pub labels: Vec<(String, String)>,
}

impl Observation {
    /// Adds a number, unless it is not finite.
    pub(crate) fn put(&mut self, name: &str, value: f64, unit: &str, source: &str) {
        if value.is_finite() {
            self.metrics.push(Metric::new(name, value, unit, source));
        }
    }

    /// Adds a caution.
    pub(crate) fn warn(&mut self, code: &str, text: String) {
        self.warnings.push(Warning { code: code.to_owned(), text });
    }
}

/// What all files of one study hold.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The format that was recognised or asked for.
    pub format: Format,
    /// The tool that measured, e.g. `pgbench`; absent where the file does not say.
    pub tool: Option<String>,
    /// Its version, as it prints it.
    pub tool_version: Option<String>,
    /// What was measured: the id of an engine where it is one of fathom's, else a word.
    pub engine: String,
    /// The measurements, in the order of the files.
    pub observations: Vec<Observation>,
    /// The number that answers the question, by name; absent for elapsed time.
    pub metric: Option<String>,
    /// Is a smaller value of it better? Absent where its name tells.
    pub is_smaller_better: Option<bool>,
    /// How each column or value was taken, to be said before anything is written.
    pub choices: Vec<Choice>,
    /// The arithmetic of the files: what was compared and how it came out.
    pub identities: Vec<crate::identities::Identity>,
}

/// How a column or a value was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Name as in the file.
    pub name: String,
    /// `factor`, `metric raw_iops (1/s)`, `label`, `not imported`.
    pub taken_as: String,
}
