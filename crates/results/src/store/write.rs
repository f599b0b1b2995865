//! Writing: one transaction per step, so that a step is in the file as a whole or not at all.

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, named_params, params};

use crate::histogram::LatencyHistogram;
use crate::model::{Cell, ClientRecord, Design, Run, RunKey, RunState, Setting, Study};
use crate::redaction::{redacted, redacted_spec};
use crate::settings::recorded;
use crate::store::document::{document_hash, json};
use crate::store::row::{gate_outcome_text, run_state_text, scale_text};
use crate::store::{Store, StoreError, StudyId, observed, open, scripts};

impl Store {
    /// Stores a study, or finds the one with the same key; the stored one is never changed, but what it compares is that
    /// of the newest call: the key leaves that out, since the runs are the same.
    ///
    /// # Errors
    /// No space, or SQLite refuses.
    pub fn begin_study(&mut self, study: &Study) -> Result<StudyId, StoreError> {
        if let Some(id) = self.find_study(&study.key)? {
            self.put_design(id, &study.design)?;
            return Ok(id);
        }
        let id = insert_study(&self.connection, study).map_err(self.sqlite())?;
        self.put_design(id, &study.design)?;
        Ok(id)
    }

    /// Keeps what a study compares, unless the newest is the same.
    fn put_design(&self, study: StudyId, design: &Design) -> Result<(), StoreError> {
        if self.study(study)?.design == *design {
            return Ok(());
        }
        insert_design(&self.connection, study, design).map_err(self.sqlite())
    }

    /// Stores the cells of a study; cells that are stored already must be the same.
    ///
    /// # Errors
    /// A cell with the same index and other levels is stored; no space; SQLite refuses.
    pub fn put_cells(&mut self, study: StudyId, cells: &[Cell]) -> Result<(), StoreError> {
        let stored = self.cells(study)?;
        for cell in cells {
            let same_index = stored.iter().find(|other| other.index == cell.index);
            if let Some(other) = same_index.filter(|other| other.levels != cell.levels) {
                let what = format!("cell {} ({})", cell.index, cell.label());
                return Err(self.conflict(what, format!("it is stored as {}", other.label())));
            }
        }
        self.in_transaction(|connection| insert_cells(connection, study, cells))
    }

    /// Notes that a run begins, and returns its row number.
    ///
    /// `position` counts the runs of the study in the order in which they really ran, `begun_at` is RFC 3339, UTC.
    /// From here on a crash leaves a run in state `running`.
    ///
    /// # Errors
    /// The same run was begun before, its cell is not stored, no space, SQLite refuses.
    pub fn begin_run(
        &mut self,
        study: StudyId,
        key: RunKey,
        position: u32,
        begun_at: &str,
    ) -> Result<i64, StoreError> {
        match insert_run(&self.connection, study, key, position, begun_at) {
            Ok(run_id) => Ok(run_id),
            Err(error) if is_extended(&error, rusqlite::ffi::SQLITE_CONSTRAINT_UNIQUE) => {
                Err(StoreError::RunExists { path: self.path.clone(), key })
            }
            Err(error) if is_extended(&error, rusqlite::ffi::SQLITE_CONSTRAINT_FOREIGNKEY) => {
                let what = format!("a run of cell {}", key.cell_index);
                Err(self.conflict(what, format!("study {} has no such cell", study.0)))
            }
            Err(error) => Err(open::sqlite_error(&self.path, error)),
        }
    }

    /// Stores everything that a run brought, in one transaction, and lets a valid run take the place of the earlier
    /// attempts at the same block and cell.
    ///
    /// Returns after the data is on the device.
    ///
    /// # Errors
    /// The run was never begun, is finished already, has another key or the state `running`; no space; SQLite
    /// refuses. The run is then still in state `running`, and nothing of it is stored.
    pub fn finish_run(&mut self, run_id: i64, run: &Run) -> Result<(), StoreError> {
        let (stored_key, state) = self.key_and_state(run_id)?;
        let what = || format!("run {run_id}");
        if stored_key != run.key {
            return Err(self.conflict(what(), format!("it was begun as {stored_key:?}, not {:?}", run.key)));
        }
        if state != RunState::Running {
            return Err(self.conflict(what(), format!("it ended before as {}", run_state_text(state))));
        }
        if run.state == RunState::Running {
            return Err(self.conflict(what(), "a run that ends is valid, invalid or interrupted".to_owned()));
        }
        self.in_transaction(|connection| {
            insert_parts(connection, run_id, run)?;
            if run.state == RunState::Valid {
                supersede_earlier_attempts(connection, run_id)?;
            }
            Ok(())
        })
    }

    /// Turns runs that still say `running` into `interrupted` and returns their number.
    ///
    /// To be called at the start, by the holder of the lock: whoever began them is gone.
    ///
    /// # Errors
    /// No space, or SQLite refuses.
    pub fn close_interrupted(&mut self, study: StudyId) -> Result<usize, StoreError> {
        self.connection
            .execute(
                "UPDATE run SET state = 'interrupted' WHERE state = 'running' AND study_id = ?1",
                [study.0],
            )
            .map_err(self.sqlite())
    }

    pub(super) fn in_transaction(
        &mut self,
        write: impl FnOnce(&Connection) -> rusqlite::Result<()>,
    ) -> Result<(), StoreError> {
        let written = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).and_then(
            |transaction| {
                // An error on the way drops the transaction, which takes everything back.
                write(&transaction)?;
                transaction.commit()
            },
        );
        written.map_err(|error| open::sqlite_error(&self.path, error))
    }

    pub(super) fn conflict(&self, what: String, reason: String) -> StoreError {
        StoreError::Conflict { path: self.path.clone(), what, reason }
    }
}

pub(super) fn insert_study(connection: &Connection, study: &Study) -> rusqlite::Result<StudyId> {
    let sql = "INSERT INTO study (key, experiment, title, question, scale, engine, spec_toml, seed, factors, \
               fixed, repetitions, expectations, created_at, fathom_version) \
               VALUES (:key, :experiment, :title, :question, :scale, :engine, :spec_toml, :seed, :factors, \
               :fixed, :repetitions, :expectations, :created_at, :fathom_version)";
    let values = named_params! {
        ":key": study.key.0, ":experiment": study.experiment, ":title": study.title,
        ":question": study.question, ":scale": scale_text(study.scale), ":engine": study.engine,
        ":spec_toml": redacted_spec(&study.spec_toml), ":seed": study.seed.to_string(), ":factors": json(&study.factors),
        ":fixed": json(&study.fixed), ":repetitions": study.repetitions,
        ":expectations": json(&study.expectations), ":created_at": study.created_at,
        ":fathom_version": study.fathom_version,
    };
    connection.execute(sql, values)?;
    Ok(StudyId(connection.last_insert_rowid()))
}

pub(super) fn insert_design(
    connection: &Connection,
    study: StudyId,
    design: &Design,
) -> rusqlite::Result<()> {
    let sql = "INSERT INTO design (study_id, json) VALUES (?1, ?2)";
    connection.execute(sql, params![study.0, json(design)]).map(drop)
}

pub(super) fn insert_cells(connection: &Connection, study: StudyId, cells: &[Cell]) -> rusqlite::Result<()> {
    let sql = "INSERT OR IGNORE INTO cell (study_id, cell_index, levels) VALUES (?1, ?2, ?3)";
    let mut insert = connection.prepare_cached(sql)?;
    for cell in cells {
        insert.execute(params![study.0, cell.index, json(&cell.levels)])?;
    }
    Ok(())
}

/// Adds a run that is under way.
pub(super) fn insert_run(
    connection: &Connection,
    study: StudyId,
    key: RunKey,
    position: u32,
    begun_at: &str,
) -> rusqlite::Result<i64> {
    let sql = "INSERT INTO run (study_id, block_index, cell_index, attempt, position, begun_at, state) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'running')";
    let values = params![study.0, key.block_index, key.cell_index, key.attempt, position, begun_at];
    connection.prepare_cached(sql)?.execute(values)?;
    Ok(connection.last_insert_rowid())
}

/// Ends a run with everything that it brought.
pub(super) fn insert_parts(connection: &Connection, run_id: i64, run: &Run) -> rusqlite::Result<()> {
    update_run(connection, run_id, run)?;
    insert_clients(connection, run_id, &run.clients)?;
    insert_metrics_and_gates(connection, run_id, run)?;
    insert_warnings_and_events(connection, run_id, run)?;
    observed::insert(connection, run_id, &run.observations)?;
    scripts::insert(connection, run_id, &run.scripts)?;
    scripts::insert_log(connection, run_id, &run.observations.transactions)
}

fn update_run(connection: &Connection, run_id: i64, run: &Run) -> rusqlite::Result<()> {
    let settings: Vec<Setting> = run.settings.iter().cloned().map(recorded).collect();
    let settings_id = document_id(connection, &json(&settings))?;
    let machine_id = document_id(connection, &json(&run.environment.machine))?;
    let layout_id = document_id(connection, &json(&run.environment.layout))?;
    let engine_id = document_id(connection, &json(&run.environment.engine))?;
    let sql = "UPDATE run SET state = ?2, position = ?3, started_at = ?4, elapsed_ns = ?5, settings_id = ?6, \
               machine_id = ?7, layout_id = ?8, engine_id = ?9 WHERE id = ?1";
    connection.prepare_cached(sql)?.execute(params![
        run_id,
        run_state_text(run.state),
        run.position,
        run.started_at,
        run.elapsed_ns,
        settings_id,
        machine_id,
        layout_id,
        engine_id,
    ])?;
    Ok(())
}

fn document_id(connection: &Connection, json: &str) -> rusqlite::Result<i64> {
    let sha256 = document_hash(json);
    let found = connection
        .prepare_cached("SELECT id FROM document WHERE sha256 = ?1")?
        .query_row([&sha256], |row| row.get(0))
        .optional()?;
    if let Some(id) = found {
        return Ok(id);
    }
    connection
        .prepare_cached("INSERT INTO document (sha256, json) VALUES (?1, ?2)")?
        .execute([sha256.as_str(), json])?;
    Ok(connection.last_insert_rowid())
}

fn insert_clients(connection: &Connection, run_id: i64, clients: &[ClientRecord]) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO client (run_id, client_index, start_ns, end_ns, row_count, transactions, warm_up_rows, errors, \
         retries, arrivals_unserved, error, service_time, response_time) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    )?;
    for client in clients {
        let service_time = Some(&client.service_time).filter(|histogram| histogram.count() > 0);
        insert.execute(params![
            run_id,
            client.client_index,
            client.start_ns,
            client.end_ns,
            client.rows,
            client.transactions,
            client.warm_up_rows,
            client.errors,
            client.retries,
            client.arrivals_unserved,
            client.error.as_deref().map(redacted),
            service_time.map(LatencyHistogram::to_bytes),
            client.response_time.as_ref().map(LatencyHistogram::to_bytes),
        ])?;
    }
    Ok(())
}

fn insert_metrics_and_gates(connection: &Connection, run_id: i64, run: &Run) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO metric (run_id, position, name, value, unit, source) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for (position, metric) in run.metrics.iter().enumerate() {
        // SQLite has no NaN and would refuse or store NULL by itself; here it is said.
        let value = Some(metric.value).filter(|value| !value.is_nan());
        insert.execute(params![run_id, position, metric.name, value, metric.unit, metric.source])?;
    }
    let mut insert = connection.prepare_cached(
        "INSERT INTO gate (run_id, position, gate, outcome, expected, found) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for (position, gate) in run.gates.iter().enumerate() {
        let outcome = gate_outcome_text(gate.outcome);
        insert.execute(params![
            run_id,
            position,
            gate.gate,
            outcome,
            gate.expected,
            redacted(&gate.found)
        ])?;
    }
    Ok(())
}

fn insert_warnings_and_events(connection: &Connection, run_id: i64, run: &Run) -> rusqlite::Result<()> {
    let mut insert = connection
        .prepare_cached("INSERT INTO warning (run_id, position, code, text) VALUES (?1, ?2, ?3, ?4)")?;
    for (position, warning) in run.warnings.iter().enumerate() {
        insert.execute(params![run_id, position, warning.code, redacted(&warning.text)])?;
    }
    let mut insert = connection.prepare_cached(
        "INSERT INTO event (run_id, position, at_ns, kind, text) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for (position, event) in run.events.iter().enumerate() {
        insert.execute(params![run_id, position, event.at_ns, event.kind, redacted(&event.text)])?;
    }
    Ok(())
}

/// Links every ended earlier attempt at the same block and cell that nothing replaced yet.
fn supersede_earlier_attempts(connection: &Connection, run_id: i64) -> rusqlite::Result<()> {
    connection.execute(
        "INSERT INTO supersession (old_run_id, new_run_id) \
         SELECT old.id, new.id FROM run AS new JOIN run AS old \
           ON old.study_id = new.study_id AND old.block_index = new.block_index \
          AND old.cell_index = new.cell_index AND old.attempt < new.attempt \
         WHERE new.id = ?1 AND old.state <> 'running' \
           AND old.id NOT IN (SELECT old_run_id FROM supersession)",
        [run_id],
    )?;
    Ok(())
}

fn is_extended(error: &rusqlite::Error, code: i32) -> bool {
    error.sqlite_error().is_some_and(|error| error.extended_code == code)
}
