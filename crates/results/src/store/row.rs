//! One row or field back into a value, with the place named when it cannot be; and the words that fields hold.

use std::fmt::Display;

use rusqlite::Row;
use serde::de::DeserializeOwned;

use crate::histogram::LatencyHistogram;
use crate::model::{GateOutcome, RunState, Scale};
use crate::store::{Store, StoreError};

impl Store {
    pub(super) fn rows<T>(
        &self,
        sql: &str,
        values: impl rusqlite::Params,
        read: impl Fn(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let mut statement = self.connection.prepare_cached(sql).map_err(self.sqlite())?;
        let mut rows = statement.query(values).map_err(self.sqlite())?;
        let mut records = Vec::new();
        while let Some(row) = rows.next().map_err(self.sqlite())? {
            records.push(read(row)?);
        }
        Ok(records)
    }

    pub(super) fn get<T: rusqlite::types::FromSql>(
        &self,
        row: &Row<'_>,
        column: usize,
    ) -> Result<T, StoreError> {
        row.get(column).map_err(self.sqlite())
    }

    pub(super) fn run_state(&self, row: &Row<'_>, column: usize) -> Result<RunState, StoreError> {
        self.word(row, column, &RUN_STATES, || "run state".to_owned())
    }

    pub(super) fn word<T: Copy>(
        &self,
        row: &Row<'_>,
        column: usize,
        words: &[(T, &str)],
        what: impl Fn() -> String,
    ) -> Result<T, StoreError> {
        let text: String = self.get(row, column)?;
        let found = words.iter().find(|(_, word)| *word == text);
        found
            .map(|(value, _)| *value)
            .ok_or_else(|| self.damaged(what(), format!("\"{text}\" has no meaning here")))
    }

    pub(super) fn json<T: DeserializeOwned>(
        &self,
        row: &Row<'_>,
        column: usize,
        what: impl Fn() -> String,
    ) -> Result<T, StoreError> {
        let text: String = self.get(row, column)?;
        serde_json::from_str(&text).map_err(|error| self.damaged(what(), error))
    }

    pub(super) fn json_or_null<T: DeserializeOwned>(
        &self,
        row: &Row<'_>,
        column: usize,
        what: impl Fn() -> String,
    ) -> Result<Option<T>, StoreError> {
        let text: Option<String> = self.get(row, column)?;
        text.map(|text| serde_json::from_str(&text).map_err(|error| self.damaged(what(), error))).transpose()
    }

    pub(super) fn histogram(
        &self,
        row: &Row<'_>,
        column: usize,
        what: impl Fn() -> String,
    ) -> Result<Option<LatencyHistogram>, StoreError> {
        let bytes: Option<Vec<u8>> = self.get(row, column)?;
        let read = |bytes: Vec<u8>| {
            let histogram = LatencyHistogram::from_bytes(&bytes);
            histogram
                .ok_or_else(|| self.damaged(what(), format!("{} bytes are no HdrHistogram V2", bytes.len())))
        };
        bytes.map(read).transpose()
    }

    pub(super) fn damaged(&self, what: String, reason: impl Display) -> StoreError {
        StoreError::Damaged { path: self.path.clone(), what, reason: reason.to_string() }
    }

    pub(super) fn no_such_run(&self, run_id: i64) -> StoreError {
        StoreError::NoSuchRun { path: self.path.clone(), run_id }
    }
}

pub(super) const RUN_STATES: [(RunState, &str); 4] = [
    (RunState::Running, "running"),
    (RunState::Valid, "valid"),
    (RunState::Invalid, "invalid"),
    (RunState::Interrupted, "interrupted"),
];

pub(super) const GATE_OUTCOMES: [(GateOutcome, &str); 3] = [
    (GateOutcome::Passed, "passed"),
    (GateOutcome::Failed, "failed"),
    (GateOutcome::NotApplicable, "not_applicable"),
];

pub(super) const SCALES: [(Scale, &str); 2] = [(Scale::Full, "full"), (Scale::Miniature, "miniature")];

pub(super) fn run_state_text(state: RunState) -> &'static str {
    text_of(&RUN_STATES, state)
}

pub(super) fn gate_outcome_text(outcome: GateOutcome) -> &'static str {
    text_of(&GATE_OUTCOMES, outcome)
}

pub(super) fn scale_text(scale: Scale) -> &'static str {
    text_of(&SCALES, scale)
}

fn text_of<T: PartialEq>(words: &[(T, &'static str)], value: T) -> &'static str {
    words.iter().find(|(word, _)| *word == value).map(|(_, text)| *text).expect("each variant has its word")
}
