//! What the target does for runs that read: a file of tables made once, look-ups, and keys to load.

use std::path::PathBuf;

use lab::engine::look_up::{self, Answers};
use lab::engine::{PostRunState, TargetError};
use lab::work::Work;
use results::model::Metric;
use rusqlite::Connection;

use crate::embedded::{SqliteRun, SqliteTarget};
use crate::session::SqliteConnector;
use crate::workload::guid::{self, FixtureTables};
use crate::workload::look_up::LookUp;
use crate::workload::schema;

impl SqliteTarget {
    /// Makes the file that the work reads, when no earlier run did, and nothing else: it is not written to.
    pub(crate) fn prepare_reading(
        &mut self,
        fixture: &FixtureTables,
        work: &Work,
    ) -> Result<(), TargetError> {
        fixture.provide(work)?;
        let meter = schema::is_timed(work).then(|| self.instrument.meter());
        let answers = Answers::default();
        let look_up = LookUp {
            question: fixture.question(work),
            page_bytes: crate::workload::table::PAGE_SIZE_BYTES,
            meter,
            answers: answers.clone(),
        };
        let connector = SqliteConnector::new(self.database(work), work, meter);
        let connector = connector.with_look_up(work.workload.looks_up().then_some(look_up));
        self.run = Some(SqliteRun { work: work.clone(), connector, answers, keeper: None, _reader: None });
        Ok(())
    }

    /// The keys of one load, where the work is one.
    pub(crate) fn source(&self, work: &Work) -> Result<Option<PathBuf>, TargetError> {
        if !work.is_one_load() {
            return Ok(None);
        }
        let path = self.directory().join("source.db");
        guid::make_source(&path, work)
            .map_err(|error| TargetError::engine("could not make the keys to load", error))?;
        Ok(Some(path))
    }

    /// What the look-ups found and cost.
    pub(crate) fn look_up_state(
        &self,
        fixture: &FixtureTables,
        work: &Work,
    ) -> Result<PostRunState, TargetError> {
        let look_ups = self.run.as_ref().map(|run| run.answers.all()).unwrap_or_default();
        let connection = Connection::open(fixture.path())
            .map_err(|error| TargetError::engine("could not open the tables of the run", error))?;
        let found: String = connection
            .query_row(&fixture.finding(work), [], |row| row.get::<_, Option<String>>(0))
            .map_err(|error| TargetError::engine("could not read the results of the look-ups", error))?
            .unwrap_or_default();
        let mut metrics = look_up::metrics(&look_ups);
        metrics.push(Metric::new(
            "finding_hash",
            look_up::hash_of(found.trim_end()) as f64,
            "1",
            "first 48 bits of the SHA-256 of what was found",
        ));
        Ok(PostRunState { look_ups, metrics, ..PostRunState::default() })
    }
}
