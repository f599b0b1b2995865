//! The records: plain data, one type per notion of the vocabulary.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::histogram::LatencyHistogram;
use crate::imported::Imported;
use crate::observations::Observations;
use crate::scripts::ScriptRecord;

/// One value that a factor takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Level {
    /// true or false.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// A decimal number.
    Float(f64),
    /// A word.
    Text(String),
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean(value) => write!(f, "{value}"),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value}"),
            Self::Text(value) => f.write_str(value),
        }
    }
}

impl Level {
    /// The level as a number, when it is one.
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Self::Integer(value) => Some(*value as f64),
            Self::Float(value) => Some(*value),
            _ => None,
        }
    }
}

/// A parameter that varies over a study, with its levels in the order of the spec.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Factor {
    /// Name of the parameter, e.g. `batch_size`.
    pub name: String,
    /// Its levels; never empty.
    pub levels: Vec<Level>,
}

/// Full scale as published, or the miniature that runs in minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// As published.
    Full,
    /// Small enough for two cores and minutes.
    Miniature,
}

/// A result that the spec expects, and where it may be claimed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expectation {
    /// The claim in words, as in the spec.
    pub claim: String,
    /// A comparison that can be computed, e.g. `elapsed_s[batch_size=10] < elapsed_s[batch_size=1]`; `None` when only words exist.
    pub check: Option<String>,
    /// Scale at which the claim may be asserted; `None` means both.
    pub scope: Option<Scale>,
    /// Versions or conditions outside which the claim need not hold.
    pub valid_for: Option<String>,
    /// Condition that the machine must meet, e.g. `durable_commit`.
    pub requires: Option<String>,
}

/// Identity of a study: what makes two invocations "the same command".
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StudyKey(pub String);

/// What a study compares. Empty where its spec leaves that to fathom.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Design {
    /// The number that answers the question, by its name in docs/lab/metrics.md; `None` for elapsed time, or rows per
    /// second where runs are bound by time.
    pub metric: Option<String>,
    /// Which way it improves, where the spec says so; else its name tells.
    pub is_smaller_better: Option<bool>,
    /// Other numbers that are shown beside it, not tested.
    pub secondary: Vec<String>,
    /// Which cells are compared: `reference`, `previous`, `previous(FACTOR)`, `each-level-of(FACTOR)` or
    /// `pairs(FACTOR: LEVEL, LEVEL)`; empty for `reference`.
    pub against: Vec<String>,
    /// Where the study may end after each block, as soon as its comparisons are decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub looks: Option<Looks>,
}

/// The results are looked at after each block from one on: the level of a verdict is then that of the look at which the
/// study ended, so that the chance of a false one is held over all looks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Looks {
    /// Blocks before the first look.
    pub blocks_min: u32,
    /// Blocks after which the study ends in any case.
    pub blocks_max: u32,
    /// The largest relative difference that counts as none; a study ends where all that is not shown to differ is shown to
    /// lie within. `None` goes on until a difference is shown, or to the end.
    pub margin: Option<f64>,
}

/// One invocation of an experiment on one target: a matrix of cells, run in blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Study {
    /// SHA-256 (hex) over the resolved spec, the target and the seed: the same command finds it again.
    pub key: StudyKey,
    /// Name of the experiment, e.g. `populate-batch`.
    pub experiment: String,
    /// One line.
    pub title: String,
    /// The question that the experiment answers.
    pub question: String,
    /// Full or miniature.
    pub scale: Scale,
    /// Name of the engine under test; [`Self::engine_id`] has it typed.
    pub engine: String,
    /// The resolved spec as TOML, as run (overrides applied, no password).
    pub spec_toml: String,
    /// Seed of the plan and of the keys.
    pub seed: u64,
    /// Factors in the order of the spec.
    pub factors: Vec<Factor>,
    /// All parameters that do not vary, by name.
    pub fixed: Vec<(String, Level)>,
    /// Planned repetitions (blocks).
    pub repetitions: u32,
    /// Claims of the spec.
    pub expectations: Vec<Expectation>,
    /// What is compared.
    #[serde(default)]
    pub design: Design,
    /// Where its runs are from, when another tool measured them; `None` for what fathom measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
    /// RFC 3339, UTC.
    pub created_at: String,
    /// Version of fathom that made it.
    pub fathom_version: String,
}

impl Study {
    /// Is the workload the user's own? Its work is counted in transactions, and the user named its factors, whatever
    /// parameters of other workloads are called the same.
    pub fn is_own_workload(&self) -> bool {
        let is_own = |level: &Level| matches!(level, Level::Text(word) if word == "own");
        self.fixed.iter().any(|(name, level)| name == "workload" && is_own(level))
    }
}

/// One combination of levels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Index within the study, counted from 0 in the order of the spec (last factor fastest).
    pub index: u32,
    /// Factor name and level, in the order of the factors.
    pub levels: Vec<(String, Level)>,
}

impl Cell {
    /// `batch_size=10 connections=4`; `all` when the study has no factor.
    pub fn label(&self) -> String {
        if self.levels.is_empty() {
            return "all".to_owned();
        }
        self.levels.iter().map(|(name, level)| format!("{name}={level}")).collect::<Vec<_>>().join(" ")
    }
}

/// Which execution of which cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RunKey {
    /// Block (repetition), counted from 0.
    pub block_index: u32,
    /// Cell within the study.
    pub cell_index: u32,
    /// 0 for the first try, one more for each repetition of an invalid, interrupted or suspect run.
    pub attempt: u32,
}

/// What became of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// Started and not yet ended: seen only while it runs, or after a crash before the next start.
    Running,
    /// All gates passed; it counts.
    Valid,
    /// A gate failed; kept, never averaged.
    Invalid,
    /// fathom or the machine ended before the run did.
    Interrupted,
}

/// One execution of one cell, complete.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Which execution of which cell.
    pub key: RunKey,
    /// Position in the order in which the study really ran, counted from 0.
    pub position: u32,
    /// RFC 3339, UTC: release of the start barrier; empty where the files of an imported study do not say it.
    pub started_at: String,
    /// Valid or invalid (a complete run is never `Running`).
    pub state: RunState,
    /// From the release of the barrier to the end of the last client, in nanoseconds; 0 when no client started.
    pub elapsed_ns: u64,
    /// Every client, in the order of its index; also those that failed.
    pub clients: Vec<ClientRecord>,
    /// Scalar measurements.
    pub metrics: Vec<Metric>,
    /// Every gate, passed or not.
    pub gates: Vec<GateResult>,
    /// Cautions about this run's numbers.
    pub warnings: Vec<Warning>,
    /// Marks on the run's clock.
    pub events: Vec<Event>,
    /// Settings of the engine that differ from its defaults.
    pub settings: Vec<Setting>,
    /// What the run ran on: stored once per distinct content.
    pub environment: Environment,
    /// What was seen while it ran.
    #[serde(default)]
    pub observations: Observations,
    /// What each script did, of a workload of the user's own; empty for the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scripts: Vec<ScriptRecord>,
}

impl Run {
    /// Rows that the server acknowledged, over all clients.
    pub fn rows(&self) -> u64 {
        self.clients.iter().map(|client| client.rows).sum()
    }

    /// Transactions that the server acknowledged, over all clients.
    pub fn transactions(&self) -> u64 {
        self.clients.iter().map(|client| client.transactions).sum()
    }

    /// The text of the first event of a kind.
    pub fn event(&self, kind: &str) -> Option<&str> {
        self.events.iter().find(|event| event.kind == kind).map(|event| event.text.as_str())
    }

    /// Errors over all clients.
    pub fn errors(&self) -> u64 {
        self.clients.iter().map(|client| client.errors).sum()
    }

    /// End of the first client to finish, in nanoseconds since the barrier; `None` when none finished.
    pub fn first_client_end_ns(&self) -> Option<u64> {
        self.clients.iter().filter_map(|client| client.end_ns).min()
    }

    /// End of the last client to finish, in nanoseconds since the barrier; `None` when none finished.
    pub fn last_client_end_ns(&self) -> Option<u64> {
        self.clients.iter().filter_map(|client| client.end_ns).max()
    }

    /// Service times of all clients, added.
    pub fn service_time(&self) -> LatencyHistogram {
        let mut sum = LatencyHistogram::new();
        for client in &self.clients {
            sum.merge(&client.service_time);
        }
        sum
    }

    /// Response times of all clients, added; equal to the service times in a closed loop.
    pub fn response_time(&self) -> LatencyHistogram {
        let mut sum = LatencyHistogram::new();
        for client in &self.clients {
            sum.merge(client.response_time.as_ref().unwrap_or(&client.service_time));
        }
        sum
    }

    /// Value of the metric called `name`, when it was measured.
    pub fn metric(&self, name: &str) -> Option<f64> {
        self.metrics.iter().find(|metric| metric.name == name).map(|metric| metric.value)
    }
}

/// What one client did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientRecord {
    /// Counted from 0.
    pub client_index: u32,
    /// Nanoseconds from the release of the barrier to the client's first statement; `None` when it never started.
    pub start_ns: Option<u64>,
    /// Nanoseconds from the release of the barrier to its last answer; `None` when it did not finish.
    pub end_ns: Option<u64>,
    /// Rows acknowledged, without warm-up.
    pub rows: u64,
    /// Transactions acknowledged, without warm-up.
    pub transactions: u64,
    /// Rows acknowledged during warm-up.
    pub warm_up_rows: u64,
    /// Errors; the first one is in `error`.
    pub errors: u64,
    /// Transactions repeated after an answer that asks for it (serialisation failure, deadlock, busy).
    pub retries: u64,
    /// Transactions of an open loop whose intended start lay within the run but which the engine was too
    /// slow to begin before its end; 0 in a closed loop.
    #[serde(default)]
    pub arrivals_unserved: u64,
    /// Text of the first error.
    pub error: Option<String>,
    /// Service time per transaction: from sending to the answer. Empty when the loop ran on the server.
    #[serde(skip)]
    pub service_time: LatencyHistogram,
    /// Response time per transaction: from the intended start. `None` in a closed loop, where it equals the service time.
    #[serde(skip)]
    pub response_time: Option<LatencyHistogram>,
}

impl ClientRecord {
    /// A client that has not done anything yet.
    pub fn new(client_index: u32) -> Self {
        Self {
            client_index,
            start_ns: None,
            end_ns: None,
            rows: 0,
            transactions: 0,
            warm_up_rows: 0,
            errors: 0,
            retries: 0,
            arrivals_unserved: 0,
            error: None,
            service_time: LatencyHistogram::new(),
            response_time: None,
        }
    }

    /// Adds another part of the same client's work.
    ///
    /// Counts and histograms add; the start is the earliest, the end the latest. A client has finished when all of
    /// its parts have, so one part without an end leaves the sum without one. The first error is that of `self`,
    /// else that of `from`.
    pub fn merge(&mut self, from: &Self) {
        self.start_ns = [self.start_ns, from.start_ns].into_iter().flatten().min();
        self.end_ns = self.end_ns.zip(from.end_ns).map(|(left, right)| left.max(right));
        self.rows += from.rows;
        self.transactions += from.transactions;
        self.warm_up_rows += from.warm_up_rows;
        self.errors += from.errors;
        self.retries += from.retries;
        self.arrivals_unserved += from.arrivals_unserved;
        if self.error.is_none() {
            self.error.clone_from(&from.error);
        }
        self.merge_latencies(from);
    }

    /// Adds the latencies of another record; a closed loop's response times are its service times.
    pub fn merge_latencies(&mut self, from: &Self) {
        if self.response_time.is_some() || from.response_time.is_some() {
            let mut sum = self.response_time.take().unwrap_or_else(|| self.service_time.clone());
            sum.merge(from.response_time.as_ref().unwrap_or(&from.service_time));
            self.response_time = Some(sum);
        }
        self.service_time.merge(&from.service_time);
    }
}

/// Adds the client records of one part of a run (one process, one machine) to those of another.
///
/// Both are sorted by client index, and so is the result. A client in both is merged, one in a single part is taken
/// over: the order in which parts arrive changes nothing but which error counts as the first.
pub fn merge_clients(into: &mut Vec<ClientRecord>, from: Vec<ClientRecord>) {
    for part in from {
        match into.binary_search_by_key(&part.client_index, |client| client.client_index) {
            Ok(index) => into[index].merge(&part),
            Err(index) => into.insert(index, part),
        }
    }
}

/// One number with its unit and its source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// Name from docs/lab/metrics.md, with the unit last, e.g. `log_bytes`.
    pub name: String,
    /// Value in the unit.
    pub value: f64,
    /// Unit, e.g. `bytes`, `1`, `s`.
    pub unit: String,
    /// Where it was had, e.g. `pg_stat_wal.wal_sync`.
    pub source: String,
}

impl Metric {
    /// A number with its unit and its source.
    pub fn new(name: &str, value: f64, unit: &str, source: &str) -> Self {
        Self { name: name.to_owned(), value, unit: unit.to_owned(), source: source.to_owned() }
    }

    /// Metrics that name a thing in form of a number: only equality means anything. They are never averaged and never
    /// compared by size.
    pub const IDENTITIES: [&'static str; 2] = ["plan_hash", "finding_hash"];

    /// Is this the name of an identity, and no quantity?
    pub fn is_identity(name: &str) -> bool {
        Self::IDENTITIES.contains(&name)
    }
}

/// What became of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateOutcome {
    /// The rule held.
    Passed,
    /// The rule did not hold: the run does not count.
    Failed,
    /// The rule cannot be tested here; `found` says why.
    NotApplicable,
}

/// One rule that a run must pass to count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GateResult {
    /// Name from docs/lab/metrics.md, e.g. `all_clients_finished`.
    pub gate: String,
    /// Passed, failed or not applicable.
    pub outcome: GateOutcome,
    /// What was required.
    pub expected: String,
    /// What was found, or why the rule does not apply; names the client where one is at fault.
    pub found: String,
}

/// A caution about a measurement, shown beside the number it touches.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Warning {
    /// Stable code, e.g. `roles_share_device`.
    pub code: String,
    /// Sentence for people.
    pub text: String,
}

/// A mark on the run's clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Nanoseconds since the release of the barrier; negative before it.
    pub at_ns: i64,
    /// Kind, e.g. `warm_up_end`.
    pub kind: String,
    /// Detail for people; may be empty.
    pub text: String,
}

impl Event {
    /// Kind of the event that holds the plan of a run's look-ups as text.
    pub const PLAN: &'static str = "plan";
    /// Kind of the event that says what the caches of a run were: one of [`CACHE_STATES`].
    pub const CACHE_STATE: &'static str = "cache_state";
}

/// What the caches of a run can have been, in words, the emptiest first.
pub const CACHE_STATES: [&str; 3] = ["cold, verified", "lukewarm", "warm"];

/// A setting of the engine that differs from its default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// Name as the engine calls it.
    pub name: String,
    /// Value as the engine prints it, unit included.
    pub value: String,
    /// Where it was set, as the engine says it (`command line`, `pragma`); may be empty.
    pub source: String,
}

/// What a run ran on. Values are JSON objects so that a newer collector needs no new schema.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct Environment {
    /// Processor, NUMA, memory, kernel, governor.
    pub machine: serde_json::Value,
    /// Per role (`data 1`, `log`): directory, device, mount options, scheduler.
    pub layout: serde_json::Value,
    /// Engine, version, build id, compile options.
    pub engine: serde_json::Value,
}

/// A stored run together with its place in the history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredRun {
    /// Row number in the store: what `fathom mark` takes.
    pub run_id: i64,
    /// The run.
    pub run: Run,
    /// Run that took its place, when it was repeated.
    pub superseded_by: Option<i64>,
    /// Why somebody distrusts it (all reasons that stand), with the date of the newest; it no longer counts.
    pub suspect: Option<Mark>,
}

impl StoredRun {
    /// Does the run enter means and comparisons: valid, not suspect, not superseded?
    pub fn counts(&self) -> bool {
        self.run.state == RunState::Valid && self.suspect.is_none() && self.superseded_by.is_none()
    }
}

/// A mark that somebody put on a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// RFC 3339, UTC.
    pub marked_at: String,
    /// Why.
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;

    use super::*;

    fn clients() -> impl Strategy<Value = Vec<ClientRecord>> {
        let client = (
            0..6_u32,
            option::of(0..9_u64),
            option::of(9..99_u64),
            0..99_u64,
            vec(1_000..9_000_000_u64, 0..4),
        );
        let record = |(index, start_ns, end_ns, rows, latencies): (_, _, _, _, Vec<u64>)| {
            let mut client = ClientRecord { start_ns, end_ns, rows, ..ClientRecord::new(index) };
            latencies.iter().for_each(|&latency_ns| client.service_time.record(latency_ns));
            client.response_time = (rows % 2 == 0).then(|| client.service_time.clone());
            client
        };
        vec(client.prop_map(record), 0..6).prop_map(|mut clients| {
            clients.sort_by_key(|client| client.client_index);
            clients.dedup_by_key(|client| client.client_index);
            clients
        })
    }

    fn sum(parts: &[&[ClientRecord]]) -> Vec<ClientRecord> {
        let mut sum = Vec::new();
        parts.iter().for_each(|part| merge_clients(&mut sum, part.to_vec()));
        sum
    }

    proptest! {
        #[test]
        fn the_order_and_grouping_of_parts_changes_no_sum(a in clients(), b in clients(), c in clients()) {
            let whole = sum(&[&a, &b, &c]);
            prop_assert_eq!(&whole, &sum(&[&c, &a, &b]));
            prop_assert_eq!(&whole, &sum(&[&a, &sum(&[&b, &c])]));
            prop_assert!(whole.is_sorted_by_key(|client| client.client_index));
            let rows = |clients: &[ClientRecord]| clients.iter().map(|client| client.rows).sum::<u64>();
            prop_assert_eq!(rows(&whole), rows(&a) + rows(&b) + rows(&c));
        }
    }
}
