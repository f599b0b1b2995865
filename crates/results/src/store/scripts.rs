//! What the scripts of a run did, to the file and back; and their sums over the runs of a cell.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, params};

use crate::histogram::LatencyHistogram;
use crate::redaction::redacted;
use crate::scripts::transactions::{self, LoggedTransaction};
use crate::scripts::{CellScripts, ScriptRecord, StatementRecord};
use crate::store::document::json;
use crate::store::observed::Depth;
use crate::store::{Store, StoreError, StudyId, open};

/// First version of the schema that keeps what scripts did.
const VERSION: i64 = 9;

pub(super) fn insert(connection: &Connection, run_id: i64, scripts: &[ScriptRecord]) -> rusqlite::Result<()> {
    if scripts.is_empty() {
        return Ok(());
    }
    let mut insert = connection.prepare_cached(
        "INSERT INTO script (run_id, position, file, weight, transactions, retried, retries, failures, latency) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?;
    let mut insert_statement = connection.prepare_cached(
        "INSERT INTO statement (run_id, script_position, position, line, text, executions, failures, first_failure, \
         latency) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?;
    for (script_position, script) in scripts.iter().enumerate() {
        insert.execute(params![
            run_id,
            script_position,
            script.file,
            script.weight,
            script.transactions,
            script.retried,
            script.retries,
            json(&script.failures),
            bytes(&script.latency),
        ])?;
        for (position, statement) in script.statements.iter().enumerate() {
            insert_statement.execute(params![
                run_id,
                script_position,
                position,
                statement.line,
                redacted(&statement.text),
                statement.executions,
                json(&statement.failures),
                statement.first_failure.as_deref().map(redacted),
                bytes(&statement.latency),
            ])?;
        }
    }
    Ok(())
}

/// Stores each transaction of a run, where they were logged.
pub(super) fn insert_log(
    connection: &Connection,
    run_id: i64,
    log: &[LoggedTransaction],
) -> rusqlite::Result<()> {
    if !log.is_empty() {
        connection.execute(
            "INSERT INTO transaction_log (run_id, log) VALUES (?1, ?2)",
            params![run_id, transactions::to_bytes(log)],
        )?;
    }
    Ok(())
}

impl Store {
    /// Each transaction of a run; empty where they were not logged.
    ///
    /// # Errors
    /// The file cannot be read, or holds something else.
    pub fn transaction_log(&self, run_id: i64) -> Result<Vec<LoggedTransaction>, StoreError> {
        if open::version(&self.connection).map_err(self.sqlite())? < VERSION {
            return Ok(Vec::new());
        }
        let sql = "SELECT log FROM transaction_log WHERE run_id = ?1";
        let found = self.connection.query_row(sql, [run_id], |row| row.get::<_, Vec<u8>>(0)).optional();
        let bytes = found.map_err(self.sqlite())?.unwrap_or_default();
        Ok(transactions::from_bytes(&bytes).unwrap_or_default())
    }
}

fn bytes(histogram: &LatencyHistogram) -> Option<Vec<u8>> {
    (histogram.count() > 0).then(|| histogram.to_bytes())
}

impl Store {
    /// What each script of a run did: counts always, latencies where the run is read complete.
    pub(super) fn scripts(&self, run_id: i64, depth: Depth) -> Result<Vec<ScriptRecord>, StoreError> {
        if open::version(&self.connection).map_err(self.sqlite())? < VERSION {
            return Ok(Vec::new());
        }
        let latency = if depth == Depth::Complete { "latency" } else { "NULL" };
        let sql = format!(
            "SELECT file, weight, transactions, retried, retries, failures, {latency} FROM script \
             WHERE run_id = ?1 ORDER BY position"
        );
        let mut scripts = self.rows(&sql, [run_id], |row| {
            let file: String = self.get(row, 0)?;
            let what = |part: &str| format!("{part} of script {file} of run {run_id}");
            Ok(ScriptRecord {
                weight: self.get(row, 1)?,
                transactions: self.get(row, 2)?,
                retried: self.get(row, 3)?,
                retries: self.get(row, 4)?,
                failures: self.json(row, 5, || what("failures"))?,
                latency: self.histogram(row, 6, || what("histogram"))?.unwrap_or_default(),
                statements: Vec::new(),
                file: file.clone(),
            })
        })?;
        for (script_position, script) in scripts.iter_mut().enumerate() {
            script.statements = self.statements(run_id, script_position, latency)?;
        }
        Ok(scripts)
    }

    fn statements(
        &self,
        run_id: i64,
        script_position: usize,
        latency: &str,
    ) -> Result<Vec<StatementRecord>, StoreError> {
        let sql = format!(
            "SELECT line, text, executions, failures, first_failure, {latency} FROM statement \
             WHERE run_id = ?1 AND script_position = ?2 ORDER BY position"
        );
        self.rows(&sql, params![run_id, script_position], |row| {
            let line = self.get(row, 0)?;
            let what = |part: &str| {
                format!(
                    "{part} of the statement in line {line} of script {} of run {run_id}",
                    script_position + 1
                )
            };
            Ok(StatementRecord {
                line,
                text: self.get(row, 1)?,
                executions: self.get(row, 2)?,
                failures: self.json(row, 3, || what("failures"))?,
                first_failure: self.get(row, 4)?,
                latency: self.histogram(row, 5, || what("histogram"))?.unwrap_or_default(),
            })
        })
    }

    /// Adds what the scripts did in all counting runs of each cell, with latencies, in the order of the cells.
    ///
    /// Holds the histograms of one run and of the sums in memory. Cells without a counting run that had scripts are absent.
    ///
    /// # Errors
    /// A stored value cannot be read, or SQLite refuses.
    pub fn cell_scripts(&self, study: StudyId) -> Result<Vec<CellScripts>, StoreError> {
        if open::version(&self.connection).map_err(self.sqlite())? < VERSION {
            return Ok(Vec::new());
        }
        let sql = format!(
            "SELECT cell_index, run.id, elapsed_ns FROM run \
             WHERE {} AND EXISTS (SELECT 1 FROM script WHERE script.run_id = run.id) ORDER BY cell_index, run.id",
            self.counting()?
        );
        let runs: Vec<(u32, i64, u64)> =
            self.rows(&sql, [study.0], |row| Ok((self.get(row, 0)?, self.get(row, 1)?, self.get(row, 2)?)))?;
        let mut cells: BTreeMap<u32, CellScripts> = BTreeMap::new();
        for (cell_index, run_id, elapsed_ns) in runs {
            let cell = cells.entry(cell_index).or_insert_with(|| CellScripts::new(cell_index));
            cell.add(elapsed_ns, self.scripts(run_id, Depth::Complete)?);
        }
        Ok(cells.into_values().collect())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::model::{RunState, StoredRun};
    use crate::scripts::{FailureCount, FailureKind};
    use crate::store::tests::{file_of_version, key, run, store, store_run, study};

    fn record(latency_ns: u64) -> ScriptRecord {
        let mut latency = LatencyHistogram::new();
        (1..=20).for_each(|step| latency.record(step * latency_ns));
        let statement = |line, text: &str| StatementRecord {
            line,
            text: text.to_owned(),
            executions: 20,
            failures: Vec::new(),
            first_failure: None,
            latency: latency.clone(),
        };
        let failed = StatementRecord {
            failures: vec![FailureCount { kind: FailureKind::Constraint, count: 2 }],
            first_failure: Some("key \u{0}\u{1b}[31m exists in \"host=h password=geheim\"".to_owned()),
            ..statement(7, "INSERT INTO orders\n VALUES ('ä', 'it''s')")
        };
        ScriptRecord {
            file: "new order.sql".to_owned(),
            weight: 9,
            transactions: 18,
            failures: vec![FailureCount { kind: FailureKind::Constraint, count: 2 }],
            retried: 3,
            retries: 4,
            latency: latency.clone(),
            statements: vec![statement(1, "ALTER ROLE r PASSWORD 'geheim'"), failed],
        }
    }

    fn shown(mut script: ScriptRecord) -> ScriptRecord {
        script.statements[0].text = "ALTER ROLE r PASSWORD ***".to_owned();
        script.statements[1].first_failure =
            Some("key \u{0}\u{1b}[31m exists in \"host=h password=***\"".to_owned());
        script
    }

    fn without_latencies(mut script: ScriptRecord) -> ScriptRecord {
        script.latency = LatencyHistogram::new();
        script.statements.iter_mut().for_each(|statement| statement.latency = LatencyHistogram::new());
        script
    }

    fn scripts(stored: &StoredRun) -> Vec<ScriptRecord> {
        stored.run.scripts.clone()
    }

    #[test]
    fn what_scripts_did_comes_back_as_it_was_without_passwords_and_with_histograms_on_demand() {
        let (directory, mut store, id) = store();
        let stored =
            [record(1_000), ScriptRecord { file: String::new(), statements: Vec::new(), ..record(5) }];
        let with_scripts =
            crate::model::Run { scripts: stored.to_vec(), ..run(key(0, 0, 0), RunState::Valid) };
        let run_id = store_run(&mut store, id, &with_scripts);
        let expected = vec![shown(stored[0].clone()), stored[1].clone()];
        assert_eq!(scripts(&store.run(run_id).unwrap()), expected);
        let short: Vec<_> = expected.iter().cloned().map(without_latencies).collect();
        assert_eq!(scripts(&store.runs(id).unwrap()[0]), short);
        for forbidden in ["UPDATE script SET weight = 1", "DELETE FROM statement"] {
            assert!(store.connection.execute_batch(forbidden).is_err(), "{forbidden}");
        }
        drop(store);
        let reader = Store::open_read_only(directory.path()).unwrap();
        assert_eq!(scripts(&reader.run(run_id).unwrap()), expected);
    }

    #[test]
    fn the_scripts_of_a_cell_are_the_sum_of_its_counting_runs() {
        let (_directory, mut store, id) = store();
        let of = |block, cell, state, latency_ns| crate::model::Run {
            scripts: vec![record(latency_ns)],
            elapsed_ns: 1_000_000_000,
            ..run(key(block, cell, 0), state)
        };
        store_run(&mut store, id, &of(0, 1, RunState::Valid, 1_000));
        store_run(&mut store, id, &of(1, 1, RunState::Valid, 9_000));
        let doubted = store_run(&mut store, id, &of(2, 1, RunState::Valid, 1_000_000));
        store.mark_suspect(doubted, "noise", "2026-11-20T10:00:00Z").unwrap();
        store_run(&mut store, id, &of(0, 0, RunState::Invalid, 1_000));
        store_run(&mut store, id, &run(key(1, 0, 0), RunState::Valid));
        let cells = store.study_results(id).unwrap().scripts;
        let [cell] = &cells[..] else { panic!("{cells:?}") };
        assert_eq!((cell.cell_index, cell.runs, cell.elapsed_ns), (1, 2, 2_000_000_000));
        let [script] = &cell.scripts[..] else { panic!("{cell:?}") };
        assert_eq!((script.transactions, script.failed(), script.retried, script.retries), (36, 4, 6, 8));
        assert_eq!((script.latency.count(), script.statements[1].executions), (40, 40));
        assert_eq!(script.statements[1].latency.quantile_ns(1.0) / 1_000, 180);
    }

    #[test]
    fn a_file_before_scripts_is_read_without_them_and_takes_them_after_its_upgrade() {
        let directory = tempfile::tempdir().unwrap();
        let mut old = file_of_version(directory.path(), VERSION - 1);
        let id = old.begin_study(&study("old")).unwrap();
        old.put_cells(id, &crate::store::tests::cells()).unwrap();
        drop(old);
        let reader = Store::open_read_only(directory.path()).unwrap();
        assert_eq!(reader.study_results(id).unwrap().scripts, []);
        drop(reader);
        let mut store = Store::open_or_create(directory.path()).unwrap();
        let with_scripts =
            crate::model::Run { scripts: vec![record(7)], ..run(key(0, 0, 0), RunState::Valid) };
        let run_id = store_run(&mut store, id, &with_scripts);
        assert_eq!(scripts(&store.run(run_id).unwrap()), [shown(record(7))]);
    }

    #[test]
    fn a_damaged_histogram_or_word_of_a_script_is_named() {
        let (_directory, mut store, id) = store();
        let with_scripts =
            crate::model::Run { scripts: vec![record(7)], ..run(key(0, 0, 0), RunState::Valid) };
        let run_id = store_run(&mut store, id, &with_scripts);
        store.connection.execute_batch("DROP TRIGGER statement_is_written_once").unwrap();
        for (change, named) in [
            ("UPDATE statement SET latency = x'00' WHERE position = 1", "line 7 of script 1"),
            (
                "UPDATE statement SET failures = '[{\"kind\":\"bored\",\"count\":1}]'",
                "failures of the statement",
            ),
        ] {
            store.connection.execute_batch(change).unwrap();
            let error = store.run(run_id).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}
