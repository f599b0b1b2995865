//! Named, typed columns of equal length: what CSV and Parquet are written from.

use results::histogram::LatencyHistogram;
use results::model::{GateOutcome, Level, RunState, Scale, StoredRun};
use results::store::StudyResults;

use crate::plain::cell;
use crate::quantity::derived;
use crate::summary::cell_label;

/// The values of one column; `None` is an empty field.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Words.
    Text(Vec<Option<String>>),
    /// Whole numbers.
    Integer(Vec<Option<i64>>),
    /// Decimal numbers.
    Float(Vec<Option<f64>>),
    /// true or false.
    Boolean(Vec<Option<bool>>),
}

impl Values {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::Text(values) => values.len(),
            Self::Integer(values) => values.len(),
            Self::Float(values) => values.len(),
            Self::Boolean(values) => values.len(),
        }
    }

    /// Is there no value?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value at a row as CSV text; floats in the shortest form that reads back as the same number.
    fn text(&self, row: usize) -> String {
        fn show<T: ToString>(value: &Option<T>) -> String {
            value.as_ref().map(T::to_string).unwrap_or_default()
        }
        match self {
            Self::Text(values) => values[row].as_deref().map(cell).unwrap_or_default(),
            Self::Integer(values) => show(&values[row]),
            Self::Float(values) => show(&values[row]),
            Self::Boolean(values) => show(&values[row]),
        }
    }
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name in snake_case with the unit last; unique within a frame.
    pub name: String,
    /// One per row.
    pub values: Values,
}

/// A table; all columns have the same length.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Frame {
    /// In the order of the header.
    pub columns: Vec<Column>,
}

impl Frame {
    /// Number of rows.
    pub fn row_count(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }

    /// Writes header and rows as CSV (RFC 4180, LF); texts as [`cell`] has them.
    pub fn to_csv(&self) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let in_memory = "writing to memory succeeds";
        writer.write_record(self.columns.iter().map(|column| cell(&column.name))).expect(in_memory);
        for row in 0..self.row_count() {
            writer.write_record(self.columns.iter().map(|column| column.values.text(row))).expect(in_memory);
        }
        String::from_utf8(writer.into_inner().expect(in_memory)).expect("text in, text out")
    }

    /// Adds a column; a name that is taken gets `prefix` in front, and a number when that is taken too.
    pub(super) fn push(&mut self, prefix: &str, name: &str, values: Values) {
        let is_taken = |frame: &Self, name: &str| frame.columns.iter().any(|column| column.name == name);
        let mut unique = name.to_owned();
        if is_taken(self, &unique) {
            unique = format!("{prefix}{name}");
        }
        let mut number = 2;
        while is_taken(self, &unique) {
            unique = format!("{prefix}{name}_{number}");
            number += 1;
        }
        self.columns.push(Column { name: unique, values });
    }
}

pub(super) fn runs(results: &StudyResults) -> Frame {
    let mut frame = Frame::default();
    let study = &results.study;
    let runs = &results.runs;
    let text = |get: &dyn Fn(&StoredRun) -> Option<String>| Values::Text(runs.iter().map(get).collect());
    let integer = |get: &dyn Fn(&StoredRun) -> Option<i64>| Values::Integer(runs.iter().map(get).collect());
    let count = |get: &dyn Fn(&StoredRun) -> u64| integer(&|stored| i64::try_from(get(stored)).ok());
    let scale = match study.scale {
        Scale::Full => "full",
        Scale::Miniature => "miniature",
    };
    frame.push("", "run_id", integer(&|stored| Some(stored.run_id)));
    frame.push("", "study_key", text(&|_| Some(study.key.0.clone())));
    frame.push("", "experiment", text(&|_| Some(study.experiment.clone())));
    frame.push("", "engine", text(&|_| Some(study.target_words())));
    frame.push("", "scale", text(&|_| Some(scale.to_owned())));
    frame.push("", "cell_index", count(&|stored| stored.run.key.cell_index.into()));
    frame.push("", "cell", text(&|stored| Some(cell_label(results, stored.run.key.cell_index))));
    frame.push("", "block_index", count(&|stored| stored.run.key.block_index.into()));
    frame.push("", "attempt", count(&|stored| stored.run.key.attempt.into()));
    frame.push("", "position", count(&|stored| stored.run.position.into()));
    frame.push(
        "",
        "started_at",
        text(&|stored| Some(stored.run.started_at.clone()).filter(|at| !at.is_empty())),
    );
    frame.push("", "state", text(&|stored| Some(stored.run.state_word().to_owned())));
    frame.push("", "counts", Values::Boolean(runs.iter().map(|stored| Some(stored.counts())).collect()));
    frame.push("", "failed_gates", text(&|stored| failed_gates(stored)));
    frame.push("", "suspect_reason", text(&|stored| stored.suspect.as_ref().map(|mark| mark.reason.clone())));
    frame.push("", "suspect_at", text(&|stored| stored.suspect.as_ref().map(|mark| mark.marked_at.clone())));
    frame.push("", "superseded_by", integer(&|stored| stored.superseded_by));
    frame.push("", "clients", count(&|stored| stored.run.clients.len() as u64));
    // What a row is, only the user of scripts knows.
    let rows =
        |stored: &StoredRun| i64::try_from(stored.run.rows()).ok().filter(|_| stored.run.scripts.is_empty());
    frame.push("", "rows", integer(&rows));
    frame.push("", "transactions", count(&|stored| stored.run.transactions()));
    frame.push("", "errors", count(&|stored| stored.run.errors()));
    let ended_ns =
        |stored: &StoredRun| i64::try_from(stored.run.elapsed_ns).ok().filter(|_| has_ended(stored));
    frame.push("", "elapsed_ns", integer(&ended_ns));
    for name in ["elapsed_s", "rows_per_s", "transactions_per_s", "first_client_s", "last_client_s"] {
        let value = |stored: &StoredRun| derived(&stored.run).into_iter().find(|(other, ..)| *other == name);
        let values =
            runs.iter().map(|stored| value(stored).filter(|_| has_ended(stored)).map(|(_, value, _)| value));
        frame.push("", name, Values::Float(values.collect()));
    }
    for factor in &study.factors {
        let level = |stored: &StoredRun| {
            let cell = results.cells.iter().find(|cell| cell.index == stored.run.key.cell_index)?;
            cell.levels.iter().find(|(name, _)| *name == factor.name).map(|(_, level)| level.clone())
        };
        let levels: Vec<Option<Level>> = runs.iter().map(level).collect();
        frame.push("level_", &factor.name, level_values(&levels));
    }
    for name in metric_names(runs) {
        let values = runs.iter().map(|stored| stored.run.metric(&name));
        frame.push("metric_", &name, Values::Float(values.collect()));
    }
    frame
}

pub(super) fn clients(runs: &[StoredRun]) -> Frame {
    let all: Vec<_> = runs
        .iter()
        .flat_map(|stored| stored.run.clients.iter().map(|client| (stored.run_id, client)))
        .collect();
    let count = |value: u64| i64::try_from(value).ok();
    let seconds = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e9);
    let mut frame = Frame::default();
    let mut integers = |name: &str, values: Vec<Option<i64>>| frame.push("", name, Values::Integer(values));
    integers("run_id", all.iter().map(|(run_id, _)| Some(*run_id)).collect());
    integers("client_index", all.iter().map(|(_, client)| Some(client.client_index.into())).collect());
    integers("rows", all.iter().map(|(_, client)| count(client.rows)).collect());
    integers("transactions", all.iter().map(|(_, client)| count(client.transactions)).collect());
    integers("warm_up_rows", all.iter().map(|(_, client)| count(client.warm_up_rows)).collect());
    integers("errors", all.iter().map(|(_, client)| count(client.errors)).collect());
    integers("retries", all.iter().map(|(_, client)| count(client.retries)).collect());
    integers("arrivals_unserved", all.iter().map(|(_, client)| count(client.arrivals_unserved)).collect());
    let start_s = all.iter().map(|(_, client)| seconds(client.start_ns)).collect();
    frame.push("", "start_s", Values::Float(start_s));
    let end_s = all.iter().map(|(_, client)| seconds(client.end_ns)).collect();
    frame.push("", "end_s", Values::Float(end_s));
    let error = all.iter().map(|(_, client)| client.error.clone()).collect();
    frame.push("", "error", Values::Text(error));
    let service: Vec<_> = all.iter().map(|(_, client)| Some(&client.service_time)).collect();
    let response: Vec<_> = all.iter().map(|(_, client)| client.response_time.as_ref()).collect();
    for (kind, histograms) in [("service_time", service), ("response_time", response)] {
        for (figure, read) in latency_figures() {
            let value = |histogram: &Option<&LatencyHistogram>| {
                histogram
                    .filter(|histogram| histogram.count() > 0)
                    .and_then(|histogram| count(read(histogram)))
            };
            let values = histograms.iter().map(value).collect();
            frame.push("", &format!("{kind}_{figure}"), Values::Integer(values));
        }
    }
    frame
}

type Figure = fn(&LatencyHistogram) -> u64;

fn latency_figures() -> [(&'static str, Figure); 4] {
    [
        ("count", LatencyHistogram::count),
        ("p50_ns", |histogram| histogram.quantile_ns(0.5)),
        ("p99_ns", |histogram| histogram.quantile_ns(0.99)),
        ("max_ns", LatencyHistogram::max_ns),
    ]
}

fn has_ended(stored: &StoredRun) -> bool {
    matches!(stored.run.state, RunState::Valid | RunState::Invalid)
}

fn failed_gates(stored: &StoredRun) -> Option<String> {
    let failed = stored.run.gates.iter().filter(|gate| gate.outcome == GateOutcome::Failed);
    let names: Vec<&str> = failed.map(|gate| gate.gate.as_str()).collect();
    (!names.is_empty()).then(|| names.join(" "))
}

/// Names of all metrics in the order of first appearance.
fn metric_names(runs: &[StoredRun]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for metric in runs.iter().flat_map(|stored| &stored.run.metrics) {
        if !names.contains(&metric.name) {
            names.push(metric.name.clone());
        }
    }
    names
}

/// The narrowest type that holds all levels: whole numbers, numbers, booleans, or else text.
fn level_values(levels: &[Option<Level>]) -> Values {
    let known = || levels.iter().flatten();
    if known().all(|level| matches!(level, Level::Integer(_))) {
        let integer = |level: &Level| if let Level::Integer(value) = level { Some(*value) } else { None };
        return Values::Integer(levels.iter().map(|level| level.as_ref().and_then(integer)).collect());
    }
    if known().all(|level| level.as_number().is_some()) {
        return Values::Float(levels.iter().map(|level| level.as_ref().and_then(Level::as_number)).collect());
    }
    if known().all(|level| matches!(level, Level::Boolean(_))) {
        let boolean = |level: &Level| if let Level::Boolean(value) = level { Some(*value) } else { None };
        return Values::Boolean(levels.iter().map(|level| level.as_ref().and_then(boolean)).collect());
    }
    Values::Text(levels.iter().map(|level| level.as_ref().map(Level::to_string)).collect())
}
