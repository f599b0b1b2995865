//! Everything stored, for other programs: one row or one object per run, whatever became of it.
//!
//! Nothing is averaged or left out here; the column `counts` tells which runs enter means. Texts are as stored in
//! JSON and Parquet; in CSV hidden characters are written out, and none is a formula.

mod frame;
mod go_benchmark;
mod json;
#[cfg(feature = "parquet")]
mod parquet;
mod scripts;

use results::model::StoredRun;
use results::store::StudyResults;

use crate::comparison::{ComparisonSummary, StudiesSummary};
use crate::history::History;
use crate::summary::StudySummary;

pub use frame::{Column, Frame, Values};
#[cfg(feature = "parquet")]
pub use parquet::ParquetError;

/// All runs of a study as a wide table: identity, levels, state, derived numbers, every metric.
pub fn runs(results: &StudyResults) -> Frame {
    frame::runs(results)
}

/// All clients of the runs as a table; latencies where the runs were read with their histograms.
pub fn clients(runs: &[StoredRun]) -> Frame {
    frame::clients(runs)
}

/// All scripts of the runs as a table, and each of their statements; latencies where the runs were read with their
/// histograms.
pub fn scripts(results: &StudyResults, runs: &[StoredRun]) -> Frame {
    scripts::frame(results, runs)
}

/// `scripts.csv`: header and one line per run, script and statement.
pub fn scripts_csv(results: &StudyResults, runs: &[StoredRun]) -> String {
    scripts(results, runs).to_csv()
}

/// `runs.csv`: header and one line per run (RFC 4180).
pub fn runs_csv(results: &StudyResults) -> String {
    runs(results).to_csv()
}

/// `clients.csv`: header and one line per client and run.
pub fn clients_csv(runs: &[StoredRun]) -> String {
    clients(runs).to_csv()
}

/// JSON lines: one object per run with its clients, gates, metrics, settings and environment.
pub fn json_lines(results: &StudyResults, runs: &[StoredRun]) -> String {
    json::lines(results, runs)
}

/// A comparison as one JSON object, for `--json`.
pub fn comparison_json(summary: &ComparisonSummary) -> String {
    json::object(summary)
}

/// Several studies as one JSON object, for `--json`.
pub fn studies_json(summary: &StudiesSummary) -> String {
    json::object(summary)
}

/// A history as one JSON object, for `--json`.
pub fn history_json(history: &History) -> String {
    json::object(history)
}

/// The whole summary as one JSON object, for `--json`.
pub fn summary_json(summary: &StudySummary) -> String {
    json::object(summary)
}

/// The text form of Go benchmarks, which benchstat reads: one line per counting run.
pub fn go_benchmark(results: &StudyResults) -> String {
    go_benchmark::text(results)
}

/// `runs.parquet`: the columns of [`runs`], without compression.
///
/// # Errors
/// The Parquet writer refuses; memory is the only thing it writes to.
#[cfg(feature = "parquet")]
pub fn runs_parquet(results: &StudyResults) -> Result<Vec<u8>, ParquetError> {
    parquet::bytes(&runs(results))
}

/// `clients.parquet`: the columns of [`clients`], without compression.
///
/// # Errors
/// As [`runs_parquet`].
#[cfg(feature = "parquet")]
pub fn clients_parquet(runs: &[StoredRun]) -> Result<Vec<u8>, ParquetError> {
    parquet::bytes(&clients(runs))
}
