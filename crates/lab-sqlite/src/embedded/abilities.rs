//! What the embedded engine can do beside running: describe itself, lend its files, be sampled.

use std::path::PathBuf;

use lab::cache::{self, CachedPages};
use lab::engine::{
    CacheControl, ClientControl, Counters, Describe, EngineFacts, Files, LogRecords, Observe, Residence,
    TargetError,
};
use lab::observe::Sampler;
use lab::observe::series::SeriesSampler;
use lab::task::EngineLocation;
use lab::work::Work;
use results::model::Setting;
use rusqlite::Connection;

use super::pragmas::pragma_number;
use crate::counters::{self, LogKind};
use crate::embedded::files;
use crate::embedded::{SqliteTarget, open_error};
use crate::series::VfsProbe;
use crate::waits::VfsSampler;
use crate::workload::guid::FixtureTables;
use crate::workload::schema;
use crate::{ENGINE, sync_call, vfs};

impl Describe for SqliteTarget {
    fn settings(&mut self) -> Result<Vec<Setting>, TargetError> {
        let work = self.work();
        let setting = |name: &str, value: String, source: &str| Setting {
            name: name.to_owned(),
            value,
            source: source.to_owned(),
        };
        let pragmas = schema::PRAGMAS
            .iter()
            .zip(schema::pragma_values(work))
            .filter(|((name, default), (_, value))| {
                default != value && pragma_number(name, value) != Some(default)
            })
            .map(|((name, _), (_, value))| setting(name, value, schema::source_of(work, name)));
        let own = schema::OWN_SETTINGS.iter().filter_map(|(name, words)| {
            let value = work.settings.get(*name).filter(|value| *value != words[0])?;
            Some(setting(name, value.clone(), "experiment"))
        });
        Ok(pragmas.chain(own).collect())
    }

    fn facts(&mut self) -> Result<EngineFacts, TargetError> {
        let connection = Connection::open_in_memory()
            .map_err(|error| TargetError::engine("could not open a database in memory", error))?;
        let text = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, String>(0)).ok();
        let options: Vec<String> = connection
            .prepare("PRAGMA compile_options")
            .and_then(|mut statement| statement.query_map([], |row| row.get(0))?.collect())
            .unwrap_or_default();
        Ok(serde_json::json!({
            "name": "SQLite (embedded)",
            "version": rusqlite::version(),
            "build_id": text("SELECT sqlite_source_id()"),
            "compile_options": options,
            "sync_call": sync_call().name(),
        }))
    }
}

impl Residence for SqliteTarget {
    fn directories(&self) -> Vec<(String, PathBuf)> {
        let directory = self.directory().to_owned();
        vec![("data".to_owned(), directory.clone()), ("log".to_owned(), directory)]
    }

    fn kept(&self) -> Vec<String> {
        let Some(managed_directory) = &self.managed_directory else { return Vec::new() };
        let directory = managed_directory.directory().display();
        let database = match &self.run {
            Some(run) => self.database(&run.work).path().display().to_string(),
            None => format!("{directory}/run.db"),
        };
        vec![
            format!("kept the database of the last run: \"{database}\""),
            format!("open it with: sqlite3 '{database}'"),
            format!("remove it with: rm -r '{directory}'"),
        ]
    }
}

impl ClientControl for SqliteTarget {
    fn interrupt(&mut self) -> Result<(), TargetError> {
        if let Some(run) = &self.run {
            run.connector.interrupt();
        }
        Ok(())
    }
}

impl CacheControl for SqliteTarget {
    fn set_cache(&mut self, work: &Work) -> Result<Option<CachedPages>, TargetError> {
        match FixtureTables::of(work, self.directory()) {
            Some(fixture) => cache::set(&[fixture.path().to_owned()], work.subject.cache).map(Some),
            None => Ok(None),
        }
    }
}

impl Files for SqliteTarget {
    fn place(&mut self, work: &Work) -> Result<EngineLocation, TargetError> {
        let path = self.database(work).path().to_owned();
        Ok(EngineLocation {
            engine: ENGINE.id,
            files: vec![path.clone()],
            path,
            scratch: self.directory().join("scratch"),
            server: None,
        })
    }
}

impl Observe for SqliteTarget {
    fn samplers(&mut self, work: &Work) -> Vec<Box<dyn Sampler>> {
        let Some(run) = &self.run else { return Vec::new() };
        let database = self.database(work);
        let path = database.path().to_owned();
        let mut samplers = files::samplers(&path, work, move || {
            vfs::count_apart();
            database.open().map_err(|error| open_error("open", &database, error).to_string())
        });
        if schema::is_timed(work) {
            let meter = self.instrument.meter();
            let log = LogKind::of(&schema::pragma_value(work, "journal_mode"));
            samplers.push(Box::new(SeriesSampler::new(VfsProbe { meter, log })));
            samplers.push(Box::new(VfsSampler { meter, clients: run.connector.clients() }));
        }
        samplers
    }

    fn log_records(&mut self, work: &Work, before: &Counters, after: &Counters, count: u64) -> LogRecords {
        counters::of_transactions(work, before, after, count)
    }
}
