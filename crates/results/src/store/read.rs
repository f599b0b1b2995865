//! Reading: rows back into records.

use std::collections::BTreeMap;

use rusqlite::{OptionalExtension, Row, params};

use crate::measure::Measure;
use crate::model::{
    Cell, ClientRecord, Environment, Event, GateResult, Level, Mark, Metric, Run, RunKey, RunState, Setting,
    StoredRun, Study, StudyKey, Warning,
};
use crate::observations::Observations;
use crate::redaction::{redacted, redacted_spec};
use crate::settings::recorded;
use crate::store::observed::Depth;
use crate::store::row::{GATE_OUTCOMES, SCALES};
use crate::store::{CellLatency, Store, StoreError, StoredStudy, StudyId, StudyResults, open};

const STUDY_COLUMNS: &str = "id, key, experiment, title, question, scale, engine, spec_toml, seed, factors, fixed, \
                             repetitions, expectations, created_at, fathom_version";
/// First version of the schema that keeps what a study compares.
const DESIGN_VERSION: i64 = 7;
/// First version of the schema that keeps where an imported study is from.
const IMPORTED_VERSION: i64 = 8;

/// Runs with their place in the history, the reasons of all marks that stand, and the date of the newest of them.
fn run_select(standing: &str) -> String {
    let of_run = format!("FROM mark WHERE mark.run_id = run.id AND {standing}");
    format!(
        "SELECT run.id, block_index, cell_index, attempt, position, \
         coalesce(started_at, begun_at), state, elapsed_ns, new_run_id, \
         (SELECT marked_at {of_run} ORDER BY mark.id DESC LIMIT 1), \
         (SELECT group_concat(reason, '; ' ORDER BY mark.id) {of_run}), \
         settings.json, machine.json, layout.json, engine.json \
         FROM run \
         LEFT JOIN supersession ON old_run_id = run.id \
         LEFT JOIN document AS settings ON settings.id = settings_id \
         LEFT JOIN document AS machine ON machine.id = machine_id \
         LEFT JOIN document AS layout ON layout.id = layout_id \
         LEFT JOIN document AS engine ON engine.id = engine_id"
    )
}

impl Store {
    /// Finds the study that the same command made.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn find_study(&self, key: &StudyKey) -> Result<Option<StudyId>, StoreError> {
        self.connection
            .query_row("SELECT id FROM study WHERE key = ?1", [&key.0], |row| row.get(0).map(StudyId))
            .optional()
            .map_err(self.sqlite())
    }

    /// Reads all studies, oldest first.
    ///
    /// # Errors
    /// A stored value cannot be read, or SQLite refuses.
    pub fn studies(&self) -> Result<Vec<StoredStudy>, StoreError> {
        let sql = format!("SELECT {} FROM study ORDER BY id", self.study_columns()?);
        self.rows(&sql, [], |row| self.study_of_row(row))
    }

    /// Reads one study.
    ///
    /// # Errors
    /// No such study, a stored value cannot be read, or SQLite refuses.
    pub fn study(&self, id: StudyId) -> Result<Study, StoreError> {
        let sql = format!("SELECT {} FROM study WHERE id = ?1", self.study_columns()?);
        let mut found = self.rows(&sql, [id.0], |row| self.study_of_row(row))?;
        found
            .pop()
            .map(|stored| stored.study)
            .ok_or_else(|| StoreError::NoSuchStudy { path: self.path.clone(), id })
    }

    /// Reads the study whose run was begun last; without any run, the study made last; `None` in an empty file.
    ///
    /// # Errors
    /// A stored value cannot be read, or SQLite refuses.
    pub fn latest_study(&self) -> Result<Option<StoredStudy>, StoreError> {
        let sql = format!(
            "SELECT {} FROM study \
             ORDER BY (SELECT max(run.id) FROM run WHERE study_id = study.id) DESC NULLS LAST, id DESC LIMIT 1",
            self.study_columns()?
        );
        Ok(self.rows(&sql, [], |row| self.study_of_row(row))?.pop())
    }

    /// Reads the cells of a study in the order of their index.
    ///
    /// # Errors
    /// A stored value cannot be read, or SQLite refuses.
    pub fn cells(&self, study: StudyId) -> Result<Vec<Cell>, StoreError> {
        let sql = "SELECT cell_index, levels FROM cell WHERE study_id = ?1 ORDER BY cell_index";
        self.rows(sql, [study.0], |row| {
            let index = self.get(row, 0)?;
            Ok(Cell { index, levels: self.json(row, 1, || format!("levels of cell {index}"))? })
        })
    }

    /// Tells which study a run belongs to.
    ///
    /// # Errors
    /// No such run, or SQLite refuses.
    pub fn study_of_run(&self, run_id: i64) -> Result<StudyId, StoreError> {
        self.connection
            .query_row("SELECT study_id FROM run WHERE id = ?1", [run_id], |row| row.get(0).map(StudyId))
            .optional()
            .map_err(self.sqlite())?
            .ok_or_else(|| self.no_such_run(run_id))
    }

    /// Number that the next attempt at a block and cell gets: 0 when there was none.
    ///
    /// # Errors
    /// SQLite refuses.
    pub fn next_attempt(&self, study: StudyId, block_index: u32, cell_index: u32) -> Result<u32, StoreError> {
        let sql = "SELECT coalesce(max(attempt) + 1, 0) FROM run \
                   WHERE study_id = ?1 AND block_index = ?2 AND cell_index = ?3";
        self.connection
            .query_row(sql, params![study.0, block_index, cell_index], |row| row.get(0))
            .map_err(self.sqlite())
    }

    /// Reads all runs of a study without what grows with the length of a run (histograms, series, waiting tasks), in
    /// the order in which they ran.
    ///
    /// Costs memory for the records of all clients, a few hundred bytes each.
    ///
    /// # Errors
    /// A stored value cannot be read, or SQLite refuses.
    pub fn runs(&self, study: StudyId) -> Result<Vec<StoredRun>, StoreError> {
        let sql =
            format!("{} WHERE run.study_id = ?1 ORDER BY run.position, run.id", run_select(self.standing()?));
        let mut runs = self.rows(&sql, [study.0], |row| self.run_of_row(row))?;
        for stored in &mut runs {
            self.add_parts(stored, Depth::Short)?;
        }
        Ok(runs)
    }

    /// Reads one run complete, with histograms, series and waiting tasks.
    ///
    /// # Errors
    /// No such run, a stored value cannot be read, or SQLite refuses.
    pub fn run(&self, run_id: i64) -> Result<StoredRun, StoreError> {
        let sql = format!("{} WHERE run.id = ?1", run_select(self.standing()?));
        let mut found = self.rows(&sql, [run_id], |row| self.run_of_row(row))?;
        let mut stored = found.pop().ok_or_else(|| self.no_such_run(run_id))?;
        self.add_parts(&mut stored, Depth::Complete)?;
        Ok(stored)
    }

    /// Adds the latencies of all counting runs of each cell, in the order of the cells.
    ///
    /// Holds one histogram per cell in memory, however many runs and clients there are. Cells without a counting
    /// run are absent.
    ///
    /// # Errors
    /// A stored histogram cannot be read, or SQLite refuses.
    pub fn cell_latencies(&self, study: StudyId) -> Result<Vec<CellLatency>, StoreError> {
        let sql = format!(
            "SELECT cell_index, run.id, client_index, service_time, response_time \
             FROM run JOIN client ON client.run_id = run.id WHERE {} \
             ORDER BY cell_index, run.id, client_index",
            self.counting()?
        );
        let mut cells: BTreeMap<u32, ClientRecord> = BTreeMap::new();
        let mut statement = self.connection.prepare_cached(&sql).map_err(self.sqlite())?;
        let mut rows = statement.query([study.0]).map_err(self.sqlite())?;
        while let Some(row) = rows.next().map_err(self.sqlite())? {
            let (run_id, client_index): (i64, u32) = (self.get(row, 1)?, self.get(row, 2)?);
            let what = || format!("histogram of run {run_id}, client {client_index}");
            let mut part = ClientRecord::new(0);
            part.service_time = self.histogram(row, 3, what)?.unwrap_or_default();
            part.response_time = self.histogram(row, 4, what)?;
            cells.entry(self.get(row, 0)?).or_insert_with(|| ClientRecord::new(0)).merge_latencies(&part);
        }
        let latency = |(cell_index, sum): (u32, ClientRecord)| CellLatency {
            cell_index,
            service_time: sum.service_time,
            response_time: sum.response_time,
        };
        Ok(cells.into_iter().map(latency).collect())
    }

    /// A condition on `run` that holds for the runs of study `?1` that count.
    pub(super) fn counting(&self) -> Result<String, StoreError> {
        let standing = self.standing()?;
        Ok(format!(
            "study_id = ?1 AND state = 'valid' AND run.id NOT IN (SELECT run_id FROM mark WHERE {standing}) \
             AND run.id NOT IN (SELECT old_run_id FROM supersession)"
        ))
    }

    /// Reads everything that a report of one study is made from, with the histograms of the counting runs where the study
    /// compares latencies.
    ///
    /// Costs what [`Store::runs`], [`Store::cell_latencies`] and [`Store::cell_scripts`] cost.
    ///
    /// # Errors
    /// No such study, a stored value cannot be read, or SQLite refuses.
    pub fn study_results(&self, study: StudyId) -> Result<StudyResults, StoreError> {
        self.results_of(study, false)
    }

    /// As [`Store::study_results`], with the histograms of the counting runs whatever the study compares: some kilobytes
    /// for each client of each run.
    ///
    /// # Errors
    /// As [`Store::study_results`].
    pub fn study_results_with_histograms(&self, study: StudyId) -> Result<StudyResults, StoreError> {
        self.results_of(study, true)
    }

    fn results_of(&self, id: StudyId, with_histograms: bool) -> Result<StudyResults, StoreError> {
        let study = self.study(id)?;
        let mut runs = self.runs(id)?;
        if with_histograms || Measure::needs_latencies(&study) {
            for stored in runs.iter_mut().filter(|stored| stored.counts()) {
                stored.run.clients = self.clients(stored.run_id, true)?;
            }
        }
        Ok(StudyResults {
            study,
            cells: self.cells(id)?,
            runs,
            latencies: self.cell_latencies(id)?,
            scripts: self.cell_scripts(id)?,
            corrections: self.corrections(id)?,
            ceilings: self.ceilings(id)?,
        })
    }

    pub(super) fn key_and_state(&self, run_id: i64) -> Result<(RunKey, RunState), StoreError> {
        let sql = "SELECT block_index, cell_index, attempt, state FROM run WHERE id = ?1";
        let mut found = self.rows(sql, [run_id], |row| {
            let key = RunKey {
                block_index: self.get(row, 0)?,
                cell_index: self.get(row, 1)?,
                attempt: self.get(row, 2)?,
            };
            Ok((key, self.run_state(row, 3)?))
        })?;
        found.pop().ok_or_else(|| self.no_such_run(run_id))
    }

    fn add_parts(&self, stored: &mut StoredRun, depth: Depth) -> Result<(), StoreError> {
        let run_id = stored.run_id;
        stored.run.clients = self.clients(run_id, depth == Depth::Complete)?;
        stored.run.observations = self.observations(run_id, depth)?;
        stored.run.scripts = self.scripts(run_id, depth)?;
        let sql = "SELECT name, value, unit, source FROM metric WHERE run_id = ?1 ORDER BY position";
        stored.run.metrics = self.rows(sql, [run_id], |row| {
            let value: Option<f64> = self.get(row, 1)?;
            Ok(Metric {
                name: self.get(row, 0)?,
                value: value.unwrap_or(f64::NAN),
                unit: self.get(row, 2)?,
                source: self.get(row, 3)?,
            })
        })?;
        let sql = "SELECT gate, outcome, expected, found FROM gate WHERE run_id = ?1 ORDER BY position";
        stored.run.gates = self.rows(sql, [run_id], |row| {
            Ok(GateResult {
                gate: self.get(row, 0)?,
                outcome: self.word(row, 1, &GATE_OUTCOMES, || format!("gate outcome of run {run_id}"))?,
                expected: self.get(row, 2)?,
                found: self.get(row, 3)?,
            })
        })?;
        let sql = "SELECT code, text FROM warning WHERE run_id = ?1 ORDER BY position";
        stored.run.warnings =
            self.rows(sql, [run_id], |row| Ok(Warning { code: self.get(row, 0)?, text: self.get(row, 1)? }))?;
        let sql = "SELECT at_ns, kind, text FROM event WHERE run_id = ?1 ORDER BY position";
        stored.run.events = self.rows(sql, [run_id], |row| {
            Ok(Event { at_ns: self.get(row, 0)?, kind: self.get(row, 1)?, text: self.get(row, 2)? })
        })?;
        Ok(())
    }

    fn clients(&self, run_id: i64, with_histograms: bool) -> Result<Vec<ClientRecord>, StoreError> {
        let histograms = if with_histograms { "service_time, response_time" } else { "NULL, NULL" };
        let sql = format!(
            "SELECT client_index, start_ns, end_ns, row_count, transactions, warm_up_rows, errors, retries, \
             arrivals_unserved, error, {histograms} FROM client WHERE run_id = ?1 ORDER BY client_index"
        );
        self.rows(&sql, [run_id], |row| {
            let client_index = self.get(row, 0)?;
            let what = || format!("histogram of run {run_id}, client {client_index}");
            Ok(ClientRecord {
                client_index,
                start_ns: self.get(row, 1)?,
                end_ns: self.get(row, 2)?,
                rows: self.get(row, 3)?,
                transactions: self.get(row, 4)?,
                warm_up_rows: self.get(row, 5)?,
                errors: self.get(row, 6)?,
                retries: self.get(row, 7)?,
                arrivals_unserved: self.get(row, 8)?,
                error: self.get(row, 9)?,
                service_time: self.histogram(row, 10, what)?.unwrap_or_default(),
                response_time: self.histogram(row, 11, what)?,
            })
        })
    }

    /// The columns of [`Self::study_of_row`]: a file of an older version, which a reader takes as it is, has no designs.
    fn study_columns(&self) -> Result<String, StoreError> {
        let version = open::version(&self.connection).map_err(self.sqlite())?;
        let design = match version >= DESIGN_VERSION {
            true => "(SELECT json FROM design WHERE study_id = study.id ORDER BY design.id DESC LIMIT 1)",
            false => "NULL",
        };
        let imported = match version >= IMPORTED_VERSION {
            true => "(SELECT json FROM imported WHERE study_id = study.id)",
            false => "NULL",
        };
        Ok(format!("{STUDY_COLUMNS}, {design}, {imported}"))
    }

    fn study_of_row(&self, row: &Row<'_>) -> Result<StoredStudy, StoreError> {
        let id: i64 = self.get(row, 0)?;
        let what = |part: &str| format!("{part} of study {id}");
        let seed: String = self.get(row, 8)?;
        let study = Study {
            key: StudyKey(self.get(row, 1)?),
            experiment: self.get(row, 2)?,
            title: self.get(row, 3)?,
            question: self.get(row, 4)?,
            scale: self.word(row, 5, &SCALES, || what("scale"))?,
            engine: self.get(row, 6)?,
            spec_toml: redacted_spec(&self.get::<String>(row, 7)?).into_owned(),
            seed: seed.parse().map_err(|error| self.damaged(what("seed"), error))?,
            factors: self.json(row, 9, || what("factors"))?,
            fixed: shown(self.json(row, 10, || what("fixed parameters"))?),
            repetitions: self.get(row, 11)?,
            expectations: self.json(row, 12, || what("expectations"))?,
            created_at: self.get(row, 13)?,
            fathom_version: self.get(row, 14)?,
            design: self.json_or_null(row, 15, || what("design"))?.unwrap_or_default(),
            imported: self.json_or_null(row, 16, || what("origin"))?,
        };
        Ok(StoredStudy { id: StudyId(id), study })
    }

    fn run_of_row(&self, row: &Row<'_>) -> Result<StoredRun, StoreError> {
        let run_id: i64 = self.get(row, 0)?;
        let what = |part: &str| format!("{part} of run {run_id}");
        let settings: Option<Vec<Setting>> = self.json_or_null(row, 11, || what("settings"))?;
        let environment = Environment {
            machine: self.json_or_null(row, 12, || what("machine"))?.unwrap_or_default(),
            layout: self.json_or_null(row, 13, || what("layout"))?.unwrap_or_default(),
            engine: self.json_or_null(row, 14, || what("engine"))?.unwrap_or_default(),
        };
        let reason: Option<String> = self.get(row, 10)?;
        let marked_at: Option<String> = self.get(row, 9)?;
        Ok(StoredRun {
            run_id,
            run: Run {
                key: RunKey {
                    block_index: self.get(row, 1)?,
                    cell_index: self.get(row, 2)?,
                    attempt: self.get(row, 3)?,
                },
                position: self.get(row, 4)?,
                started_at: self.get(row, 5)?,
                state: self.run_state(row, 6)?,
                elapsed_ns: self.get(row, 7)?,
                clients: Vec::new(),
                metrics: Vec::new(),
                gates: Vec::new(),
                warnings: Vec::new(),
                events: Vec::new(),
                settings: settings.unwrap_or_default().into_iter().map(recorded).collect(),
                environment,
                observations: Observations::default(),
                scripts: Vec::new(),
            },
            superseded_by: self.get(row, 8)?,
            suspect: marked_at.zip(reason).map(|(marked_at, reason)| Mark { marked_at, reason }),
        })
    }
}

/// Fixed parameters without a password that an older version may have stored.
fn shown(fixed: Vec<(String, Level)>) -> Vec<(String, Level)> {
    let value = |level| match level {
        Level::Text(text) => Level::Text(redacted(&text).into_owned()),
        level => level,
    };
    fixed.into_iter().map(|(name, level)| (name, value(level))).collect()
}
