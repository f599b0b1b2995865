//! JSON: the summary as one object, the runs as one object per line.

use results::histogram::LatencyHistogram;
use results::imported::Imported;
use results::model::StoredRun;
use results::scripts::ScriptRecord;
use results::store::StudyResults;
use serde::Serialize;
use serde_json::{Value, json};

use crate::summary::Levels;

/// One line: the study and the cell in words, then the stored run as it is.
#[derive(Serialize)]
struct Line<'a> {
    study_key: &'a str,
    experiment: &'a str,
    engine: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    imported: Option<&'a Imported>,
    levels: Levels,
    counts: bool,
    #[serde(flatten)]
    stored: &'a StoredRun,
    /// One element per client, in the order of `run.clients`; `null` without histograms.
    client_latencies: Vec<Value>,
    /// One element per script, in the order of `run.scripts`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    script_latencies: Vec<Value>,
}

pub(super) fn lines(results: &StudyResults, runs: &[StoredRun]) -> String {
    let mut text = String::new();
    for stored in runs {
        let cell = results.cells.iter().find(|cell| cell.index == stored.run.key.cell_index);
        let line = Line {
            study_key: &results.study.key.0,
            experiment: &results.study.experiment,
            engine: &results.study.engine,
            imported: results.study.imported.as_ref(),
            levels: Levels(cell.map(|cell| cell.levels.clone()).unwrap_or_default()),
            counts: stored.counts(),
            stored,
            client_latencies: stored
                .run
                .clients
                .iter()
                .map(|client| {
                    json!({
                        "service_time": latency(Some(&client.service_time)),
                        "response_time": latency(client.response_time.as_ref()),
                    })
                })
                .collect(),
            script_latencies: stored.run.scripts.iter().map(of_script).collect(),
        };
        text.push_str(&serde_json::to_string(&line).expect("the records of the model serialise to JSON"));
        text.push('\n');
    }
    crate::plain::json(&text).into_owned()
}

/// Of the transactions of a script, and of each of its statements in their order.
fn of_script(script: &ScriptRecord) -> Value {
    let statements = script.statements.iter().map(|statement| latency(Some(&statement.latency)));
    json!({
        "transaction": latency(Some(&script.latency)),
        "statements": statements.collect::<Vec<_>>(),
    })
}

/// One of the view models.
pub(super) fn object(view: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(view).expect("the view models serialise to JSON") + "\n";
    crate::plain::json(&text).into_owned()
}

fn latency(histogram: Option<&LatencyHistogram>) -> Value {
    let Some(histogram) = histogram.filter(|histogram| histogram.count() > 0) else { return Value::Null };
    json!({
        "count": histogram.count(),
        "mean_ns": histogram.mean_ns(),
        "p50_ns": histogram.quantile_ns(0.5),
        "p90_ns": histogram.quantile_ns(0.9),
        "p95_ns": histogram.quantile_ns(0.95),
        "p99_ns": histogram.quantile_ns(0.99),
        "max_ns": histogram.max_ns(),
    })
}
