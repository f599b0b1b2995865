//! What scripts did as a table: a row for each script of a run, followed by one for each of its statements.

use results::histogram::LatencyHistogram;
use results::model::StoredRun;
use results::scripts::{FailureCount, ScriptRecord, StatementRecord};
use results::store::StudyResults;

use super::frame::{Frame, Values};
use crate::summary::cell_label;

/// A script, or a statement of it.
struct Row<'a> {
    stored: &'a StoredRun,
    script: &'a ScriptRecord,
    statement: Option<&'a StatementRecord>,
}

impl Row<'_> {
    fn failures(&self) -> &[FailureCount] {
        self.statement.map_or(&self.script.failures, |statement| &statement.failures)
    }

    /// Of an empty histogram nothing is known.
    fn latency(&self) -> Option<&LatencyHistogram> {
        let latency = self.statement.map_or(&self.script.latency, |statement| &statement.latency);
        (latency.count() > 0).then_some(latency)
    }
}

pub(super) fn frame(results: &StudyResults, runs: &[StoredRun]) -> Frame {
    let rows: Vec<Row<'_>> = runs
        .iter()
        .flat_map(|stored| stored.run.scripts.iter().map(move |script| (stored, script)))
        .flat_map(|(stored, script)| {
            let statements = script.statements.iter().map(Some);
            std::iter::once(None).chain(statements).map(move |statement| Row { stored, script, statement })
        })
        .collect();
    let text = |get: &dyn Fn(&Row<'_>) -> Option<String>| Values::Text(rows.iter().map(get).collect());
    let integer = |get: &dyn Fn(&Row<'_>) -> Option<u64>| {
        Values::Integer(rows.iter().map(|row| get(row).and_then(|count| i64::try_from(count).ok())).collect())
    };
    let of_script = |get: fn(&ScriptRecord) -> u64| {
        integer(&move |row: &Row<'_>| row.statement.is_none().then(|| get(row.script)))
    };
    let mut frame = Frame::default();
    let mut push = |name: &str, values: Values| frame.push("", name, values);
    push("run_id", Values::Integer(rows.iter().map(|row| Some(row.stored.run_id)).collect()));
    push("cell", text(&|row| Some(cell_label(results, row.stored.run.key.cell_index))));
    push("counts", Values::Boolean(rows.iter().map(|row| Some(row.stored.counts())).collect()));
    push("script", text(&|row| Some(row.script.file.clone())));
    push("line", integer(&|row| row.statement.map(|statement| statement.line.into())));
    push("statement", text(&|row| row.statement.map(|statement| statement.text.clone())));
    push("weight", of_script(|script| script.weight.into()));
    push("transactions", of_script(|script| script.transactions));
    push("retried", of_script(|script| script.retried));
    push("retries", of_script(|script| script.retries));
    push("executions", integer(&|row| row.statement.map(|statement| statement.executions)));
    push("failed", integer(&|row| Some(row.failures().iter().map(|failure| failure.count).sum())));
    push("failures", text(&|row| Some(by_kind(row.failures())).filter(|words| !words.is_empty())));
    push("first_failure", text(&|row| row.statement.and_then(|statement| statement.first_failure.clone())));
    let mean = |row: &Row<'_>| row.latency().map(LatencyHistogram::mean_ns);
    push("latency_mean_ns", Values::Float(rows.iter().map(mean).collect()));
    type Figure = fn(&LatencyHistogram) -> u64;
    let figures: [(&str, Figure); 4] = [
        ("latency_p50_ns", |histogram| histogram.quantile_ns(0.5)),
        ("latency_p95_ns", |histogram| histogram.quantile_ns(0.95)),
        ("latency_p99_ns", |histogram| histogram.quantile_ns(0.99)),
        ("latency_max_ns", LatencyHistogram::max_ns),
    ];
    for (name, figure) in figures {
        push(name, integer(&|row| row.latency().map(figure)));
    }
    frame
}

/// `serialization=3 deadlock=1`.
fn by_kind(failures: &[FailureCount]) -> String {
    let words: Vec<String> =
        failures.iter().map(|failure| format!("{}={}", failure.kind.word(), failure.count)).collect();
    words.join(" ")
}
