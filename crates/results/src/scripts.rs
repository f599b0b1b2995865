//! What the scripts of a workload of the user's own did: per script and per statement.

mod failure;
pub mod transactions;

pub use failure::FailureKind;

use serde::{Deserialize, Serialize};

use crate::histogram::LatencyHistogram;

/// How many transactions or statements failed for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureCount {
    /// The reason.
    pub kind: FailureKind,
    /// How many.
    pub count: u64,
}

/// One script in the measured part of a run, over all clients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScriptRecord {
    /// Name of its file, or of the built-in script.
    pub file: String,
    /// Its weight.
    pub weight: u32,
    /// Transactions that ended without a failure.
    pub transactions: u64,
    /// Transactions that failed in the end, by the kind of their last failure.
    pub failures: Vec<FailureCount>,
    /// Transactions that were tried more than once.
    pub retried: u64,
    /// Tries after the first ones.
    pub retries: u64,
    /// Time of a transaction that did not fail, with all its tries; from the intended start where there is a rate is not
    /// told apart here.
    #[serde(skip)]
    pub latency: LatencyHistogram,
    /// Its statements, in the order of the script.
    pub statements: Vec<StatementRecord>,
}

/// One statement of a script, over all clients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StatementRecord {
    /// Line of the script, counted from 1.
    pub line: u32,
    /// Its text, without comments before it.
    pub text: String,
    /// Executions, also those that failed.
    pub executions: u64,
    /// Executions that failed, by kind; `unexpected` where an `-- expect:` clause did not hold.
    pub failures: Vec<FailureCount>,
    /// The engine's words of the first failure.
    pub first_failure: Option<String>,
    /// Time of an execution; in a pipeline that of sending.
    #[serde(skip)]
    pub latency: LatencyHistogram,
}

/// What the scripts did in all counting runs of one cell.
#[derive(Clone, Debug, PartialEq)]
pub struct CellScripts {
    /// The cell.
    pub cell_index: u32,
    /// Counting runs that are added here.
    pub runs: u64,
    /// Their elapsed times, added, in nanoseconds.
    pub elapsed_ns: u64,
    /// Each script with its counts and latencies added, in the order of the workload.
    pub scripts: Vec<ScriptRecord>,
}

impl CellScripts {
    /// A cell without runs.
    pub fn new(cell_index: u32) -> Self {
        Self { cell_index, runs: 0, elapsed_ns: 0, scripts: Vec::new() }
    }

    /// Adds a run. A script that is not the one that other runs have in its place is kept beside them.
    pub fn add(&mut self, elapsed_ns: u64, scripts: Vec<ScriptRecord>) {
        self.runs += 1;
        self.elapsed_ns += elapsed_ns;
        let known = self.scripts.len();
        for (position, script) in scripts.into_iter().enumerate() {
            match self.scripts[..known].get_mut(position).filter(|mine| mine.is_same(&script)) {
                Some(mine) => mine.merge(&script),
                None => self.scripts.push(script),
            }
        }
    }
}

impl ScriptRecord {
    /// Is the other a record of the same script: file, weight, and lines of its statements?
    pub fn is_same(&self, other: &Self) -> bool {
        let lines =
            |script: &Self| script.statements.iter().map(|statement| statement.line).collect::<Vec<_>>();
        self.file == other.file && self.weight == other.weight && lines(self) == lines(other)
    }

    /// Transactions that failed in the end.
    pub fn failed(&self) -> u64 {
        total(&self.failures)
    }

    /// Adds what the same script did elsewhere.
    pub fn merge(&mut self, other: &Self) {
        self.transactions += other.transactions;
        self.retried += other.retried;
        self.retries += other.retries;
        add_all(&mut self.failures, &other.failures);
        self.latency.merge(&other.latency);
        for (mine, theirs) in self.statements.iter_mut().zip(&other.statements) {
            mine.merge(theirs);
        }
    }
}

impl StatementRecord {
    /// Executions that failed.
    pub fn failed(&self) -> u64 {
        total(&self.failures)
    }

    fn merge(&mut self, other: &Self) {
        self.executions += other.executions;
        add_all(&mut self.failures, &other.failures);
        if self.first_failure.is_none() {
            self.first_failure.clone_from(&other.first_failure);
        }
        self.latency.merge(&other.latency);
    }
}

/// Counts one more failure of a kind.
pub fn count_failure(failures: &mut Vec<FailureCount>, kind: FailureKind) {
    add_all(failures, &[FailureCount { kind, count: 1 }]);
}

fn add_all(failures: &mut Vec<FailureCount>, others: &[FailureCount]) {
    for other in others {
        match failures.iter_mut().find(|known| known.kind == other.kind) {
            Some(known) => known.count += other.count,
            None => failures.push(*other),
        }
    }
    failures.sort_by_key(|failure| failure.kind);
}

fn total(failures: &[FailureCount]) -> u64 {
    failures.iter().map(|failure| failure.count).sum()
}
