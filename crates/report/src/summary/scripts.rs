//! What the scripts of a workload of the user's own did, per cell: transactions, latencies and failures of each script and of
//! each statement.

use results::histogram::LatencyHistogram;
use results::scripts::{CellScripts, FailureCount, ScriptRecord, StatementRecord};
use results::store::StudyResults;
use serde::Serialize;

use super::levels::cell_label;

/// The scripts of one cell over its counting runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellScriptsSummary {
    /// Index within the study.
    pub cell_index: u32,
    /// Label of the cell.
    pub label: String,
    /// Counting runs that are added here.
    pub runs: u64,
    /// Its scripts, in the order of the workload.
    pub scripts: Vec<ScriptSummary>,
}

/// One script in numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScriptSummary {
    /// Name of its file, or of the built-in script.
    pub file: String,
    /// Its weight.
    pub weight: u32,
    /// Its transactions, of 100 that ended; absent when none ended.
    pub share_percent: Option<f64>,
    /// Transactions that ended without a failure.
    pub transactions: u64,
    /// The same per second of elapsed time; absent when no time passed.
    pub transactions_per_s: Option<f64>,
    /// Transactions that failed in the end.
    pub failed: u64,
    /// Those by kind.
    pub failures: Vec<FailureCount>,
    /// Transactions that were tried more than once.
    pub retried: u64,
    /// Tries after the first ones.
    pub retries: u64,
    /// Time of a transaction that did not fail; absent without one.
    pub latency: Option<Times>,
    /// Its statements, in the order of the script.
    pub statements: Vec<StatementSummary>,
}

/// One statement in numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StatementSummary {
    /// Line of the script, counted from 1.
    pub line: u32,
    /// Its text.
    pub text: String,
    /// Executions, also those that failed.
    pub executions: u64,
    /// Executions that failed.
    pub failed: u64,
    /// Those by kind.
    pub failures: Vec<FailureCount>,
    /// The engine's words of the first failure.
    pub first_failure: Option<String>,
    /// Its time, of 100 of the time of the script's transactions; absent when it never ran.
    pub time_percent: Option<f64>,
    /// Time of an execution; absent without one.
    pub latency: Option<Times>,
}

/// Latencies in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Times {
    /// Arithmetic mean.
    pub mean_ms: f64,
    /// Median.
    pub p50_ms: f64,
    /// 95th percentile.
    pub p95_ms: f64,
    /// 99th percentile.
    pub p99_ms: f64,
    /// Largest.
    pub max_ms: f64,
}

impl Times {
    /// Reads them off a histogram; `None` of an empty one.
    fn of(histogram: &LatencyHistogram) -> Option<Self> {
        let at = |quantile| histogram.quantile_ns(quantile) as f64 / 1e6;
        (histogram.count() > 0).then(|| Self {
            mean_ms: histogram.mean_ns() / 1e6,
            p50_ms: at(0.5),
            p95_ms: at(0.95),
            p99_ms: at(0.99),
            max_ms: histogram.max_ns() as f64 / 1e6,
        })
    }
}

impl CellScriptsSummary {
    /// Sums up what the scripts of a cell did, or those of one run.
    pub(crate) fn of(cell: &CellScripts, label: String) -> Self {
        let ended: u64 = cell.scripts.iter().map(|script| script.transactions + script.failed()).sum();
        let elapsed_s = cell.elapsed_ns as f64 / 1e9;
        let scripts = cell.scripts.iter().map(|script| ScriptSummary::of(script, ended, elapsed_s));
        Self { cell_index: cell.cell_index, label, runs: cell.runs, scripts: scripts.collect() }
    }
}

impl ScriptSummary {
    fn of(script: &ScriptRecord, ended: u64, elapsed_s: f64) -> Self {
        let failed = script.failed();
        let statements_ns: f64 = script.statements.iter().map(|statement| total_ns(&statement.latency)).sum();
        // What failed in the end is in the times of statements alone.
        let whole_ns = total_ns(&script.latency).max(statements_ns);
        let statements = script.statements.iter().map(|statement| StatementSummary::of(statement, whole_ns));
        Self {
            file: script.file.clone(),
            weight: script.weight,
            share_percent: (ended > 0).then(|| 100.0 * (script.transactions + failed) as f64 / ended as f64),
            transactions: script.transactions,
            transactions_per_s: (elapsed_s > 0.0).then(|| script.transactions as f64 / elapsed_s),
            failed,
            failures: script.failures.clone(),
            retried: script.retried,
            retries: script.retries,
            latency: Times::of(&script.latency),
            statements: statements.collect(),
        }
    }
}

impl StatementSummary {
    fn of(statement: &StatementRecord, whole_ns: f64) -> Self {
        let own_ns = total_ns(&statement.latency);
        Self {
            line: statement.line,
            text: statement.text.clone(),
            executions: statement.executions,
            failed: statement.failed(),
            failures: statement.failures.clone(),
            first_failure: statement.first_failure.clone(),
            time_percent: (own_ns > 0.0).then(|| 100.0 * own_ns / whole_ns),
            latency: Times::of(&statement.latency),
        }
    }
}

fn total_ns(histogram: &LatencyHistogram) -> f64 {
    if histogram.count() == 0 { 0.0 } else { histogram.mean_ns() * histogram.count() as f64 }
}

/// The scripts of every cell that has some, in the order of the cells.
pub(super) fn scripts(results: &StudyResults) -> Vec<CellScriptsSummary> {
    let of_cell = |cell: &CellScripts| CellScriptsSummary::of(cell, cell_label(results, cell.cell_index));
    results.scripts.iter().map(of_cell).collect()
}
