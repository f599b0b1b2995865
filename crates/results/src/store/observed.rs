//! What samplers saw, to the file and back. Series are stored as two columns of numbers each: an hour of a hundred
//! quantities is then a hundred rows, not 360,000.

use rusqlite::{Connection, Row, params};

use crate::observations::{
    How, Observations, SamplerRecord, Series, SeriesKind, WaitProfile, WaitRow, WaitingTask,
};
use crate::redaction::redacted;
use crate::store::{Store, StoreError};

const KINDS: [(SeriesKind, &str); 2] = [(SeriesKind::Rate, "rate"), (SeriesKind::Gauge, "gauge")];

/// How much of the observations a reader wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// Waits and samplers: as many rows as there are wait types, however long the run was.
    Short,
    /// Series and waiting tasks too: they grow with the length of the run.
    Complete,
}

pub(super) fn insert(connection: &Connection, run_id: i64, seen: &Observations) -> rusqlite::Result<()> {
    insert_waits(connection, run_id, &seen.waits)?;
    insert_tasks(connection, run_id, &seen.tasks)?;
    insert_series(connection, run_id, &seen.series)?;
    let mut insert = connection.prepare_cached(
        "INSERT INTO sampler (run_id, position, name, period_ns, samples_expected, samples_taken, cpu_s, problem) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    for (position, sampler) in seen.samplers.iter().enumerate() {
        insert.execute(params![
            run_id,
            position,
            sampler.name,
            sampler.period_ns,
            sampler.samples_expected,
            sampler.samples_taken,
            sampler.cpu_s,
            sampler.problem.as_deref().map(redacted),
        ])?;
    }
    Ok(())
}

fn insert_waits(connection: &Connection, run_id: i64, profiles: &[WaitProfile]) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO wait_profile (run_id, position, session_group, session_count, session_s, on_cpu_s, run_delay_s) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    let mut insert_row = connection.prepare_cached(
        "INSERT INTO wait (run_id, profile_position, position, class, name, is_idle, wait_s, resource_s, signal_s, \
         count, period_ns) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    )?;
    for (position, profile) in profiles.iter().enumerate() {
        insert.execute(params![
            run_id,
            position,
            profile.group,
            profile.session_count,
            profile.session_s,
            profile.on_cpu_s,
            profile.run_delay_s,
        ])?;
        for (row_position, row) in profile.rows.iter().enumerate() {
            let period_ns = match row.how {
                How::Sampled { period_ns } => Some(period_ns),
                How::Exact => None,
            };
            insert_row.execute(params![
                run_id,
                position,
                row_position,
                row.class,
                row.name,
                row.is_idle,
                row.wait_s,
                row.resource_s,
                row.signal_s,
                row.count,
                period_ns,
            ])?;
        }
    }
    Ok(())
}

fn insert_tasks(connection: &Connection, run_id: i64, tasks: &[WaitingTask]) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO waiting_task (run_id, position, at_ns, session, wait, resource, page_class, waited_s, blocked_by) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?;
    for (position, task) in tasks.iter().enumerate() {
        insert.execute(params![
            run_id,
            position,
            task.at_ns,
            task.session,
            task.wait,
            task.resource,
            task.page_class,
            task.waited_s,
            serde_json::to_string(&task.blocked_by).expect("a list of texts serialises to JSON"),
        ])?;
    }
    Ok(())
}

fn insert_series(connection: &Connection, run_id: i64, list: &[Series]) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO series (run_id, position, name, unit, source, kind, sample_count, at_ns, samples) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?;
    for (position, series) in list.iter().enumerate() {
        assert_eq!(series.at_ns.len(), series.values.len(), "a series has one value per time");
        let at_ns: Vec<u8> = series.at_ns.iter().flat_map(|at| at.to_le_bytes()).collect();
        let samples = series.values.iter().map(|value| value.unwrap_or(f64::NAN));
        let samples: Vec<u8> = samples.flat_map(f64::to_le_bytes).collect();
        let kind = KINDS.iter().find(|(kind, _)| *kind == series.kind).map(|(_, word)| *word);
        insert.execute(params![
            run_id,
            position,
            series.name,
            series.unit,
            series.source,
            kind,
            series.at_ns.len(),
            at_ns,
            samples,
        ])?;
    }
    Ok(())
}

impl Store {
    pub(super) fn observations(&self, run_id: i64, depth: Depth) -> Result<Observations, StoreError> {
        let (tasks, series) = match depth {
            Depth::Short => (Vec::new(), Vec::new()),
            Depth::Complete => (self.tasks(run_id)?, self.series(run_id)?),
        };
        Ok(Observations {
            waits: self.waits(run_id)?,
            tasks,
            series,
            samplers: self.samplers(run_id)?,
            transactions: Vec::new(),
        })
    }

    fn waits(&self, run_id: i64) -> Result<Vec<WaitProfile>, StoreError> {
        let sql = "SELECT session_group, session_count, session_s, on_cpu_s, run_delay_s FROM wait_profile \
                   WHERE run_id = ?1 ORDER BY position";
        let mut profiles = self.rows(sql, [run_id], |row| {
            Ok(WaitProfile {
                group: self.get(row, 0)?,
                session_count: self.get(row, 1)?,
                session_s: self.get(row, 2)?,
                on_cpu_s: self.get(row, 3)?,
                run_delay_s: self.get(row, 4)?,
                rows: Vec::new(),
            })
        })?;
        let sql = "SELECT class, name, is_idle, wait_s, resource_s, signal_s, count, period_ns FROM wait \
                   WHERE run_id = ?1 AND profile_position = ?2 ORDER BY position";
        for (position, profile) in profiles.iter_mut().enumerate() {
            profile.rows = self.rows(sql, params![run_id, position], |row| {
                let period_ns: Option<u64> = self.get(row, 7)?;
                Ok(WaitRow {
                    class: self.get(row, 0)?,
                    name: self.get(row, 1)?,
                    is_idle: self.get(row, 2)?,
                    wait_s: self.get(row, 3)?,
                    resource_s: self.get(row, 4)?,
                    signal_s: self.get(row, 5)?,
                    count: self.get(row, 6)?,
                    how: period_ns.map_or(How::Exact, |period_ns| How::Sampled { period_ns }),
                })
            })?;
        }
        Ok(profiles)
    }

    fn tasks(&self, run_id: i64) -> Result<Vec<WaitingTask>, StoreError> {
        let sql = "SELECT at_ns, session, wait, resource, page_class, waited_s, blocked_by FROM waiting_task \
                   WHERE run_id = ?1 ORDER BY position";
        self.rows(sql, [run_id], |row| {
            Ok(WaitingTask {
                at_ns: self.get(row, 0)?,
                session: self.get(row, 1)?,
                wait: self.get(row, 2)?,
                resource: self.get(row, 3)?,
                page_class: self.get(row, 4)?,
                waited_s: self.get(row, 5)?,
                blocked_by: self.json(row, 6, || format!("waiting task of run {run_id}"))?,
            })
        })
    }

    fn series(&self, run_id: i64) -> Result<Vec<Series>, StoreError> {
        let sql =
            "SELECT name, unit, source, kind, at_ns, samples FROM series WHERE run_id = ?1 ORDER BY position";
        self.rows(sql, [run_id], |row| {
            let name: String = self.get(row, 0)?;
            let what = || format!("series \"{name}\" of run {run_id}");
            let at_ns: Vec<i64> = self.column(row, 4, what)?.into_iter().map(i64::from_le_bytes).collect();
            let samples = self.column(row, 5, what)?.into_iter().map(f64::from_le_bytes);
            let values: Vec<Option<f64>> = samples.map(|value| Some(value).filter(|v| !v.is_nan())).collect();
            if values.len() != at_ns.len() {
                let reason = format!("{} times and {} values", at_ns.len(), values.len());
                return Err(self.damaged(what(), reason));
            }
            Ok(Series {
                unit: self.get(row, 1)?,
                source: self.get(row, 2)?,
                kind: self.word(row, 3, &KINDS, || format!("kind of {}", what()))?,
                at_ns,
                values,
                name: name.clone(),
            })
        })
    }

    /// A column of numbers of 8 bytes each.
    fn column(
        &self,
        row: &Row<'_>,
        column: usize,
        what: impl Fn() -> String,
    ) -> Result<Vec<[u8; 8]>, StoreError> {
        let bytes: Vec<u8> = self.get(row, column)?;
        let (numbers, rest) = bytes.as_chunks::<8>();
        if !rest.is_empty() {
            return Err(self.damaged(what(), format!("{} bytes are no whole numbers", bytes.len())));
        }
        Ok(numbers.to_vec())
    }

    fn samplers(&self, run_id: i64) -> Result<Vec<SamplerRecord>, StoreError> {
        let sql = "SELECT name, period_ns, samples_expected, samples_taken, cpu_s, problem FROM sampler \
                   WHERE run_id = ?1 ORDER BY position";
        self.rows(sql, [run_id], |row| {
            Ok(SamplerRecord {
                name: self.get(row, 0)?,
                period_ns: self.get(row, 1)?,
                samples_expected: self.get(row, 2)?,
                samples_taken: self.get(row, 3)?,
                cpu_s: self.get(row, 4)?,
                problem: self.get(row, 5)?,
            })
        })
    }
}
