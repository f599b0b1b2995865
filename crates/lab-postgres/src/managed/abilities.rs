//! What a managed server can do beside running: describe itself, see its clients, lend its files, be sampled.

use std::path::PathBuf;

use lab::cache::{self, CachedPages};
use lab::engine::{
    CacheControl, ClientControl, Counters, Describe, EngineFacts, Files, LogRecords, Observe, Residence,
    TargetError,
};
use lab::observe::Sampler;
use lab::task::EngineLocation;
use lab::work::{Placement, Work};
use results::model::{Setting, Warning};

use super::super::settings::name_sources;
use super::{CONTROL_NAME, DATABASE, ManagedPostgres};
use crate::counters::wal_records;
use crate::server::cluster::Cluster;
use crate::workload::fixture;
use crate::{counters, series, waits};

impl Describe for ManagedPostgres {
    fn settings(&mut self) -> Result<Vec<Setting>, TargetError> {
        let mut settings = counters::settings(self.side.running()?)?;
        if let Some(work) = &self.work {
            name_sources(&mut settings, work);
        }
        Ok(settings)
    }

    fn facts(&mut self) -> Result<EngineFacts, TargetError> {
        let capabilities = self.side.capabilities.clone();
        let mut facts = counters::facts(self.side.running()?, &capabilities);
        let postgres = self.cluster().server().bin_dir.join("postgres");
        if let Ok(binary) = disk::binary::binary_facts(&postgres) {
            facts["binary"] = serde_json::to_value(binary).unwrap_or_default();
        }
        Ok(facts)
    }

    fn warnings(&mut self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if let Some(user) = self.cluster.as_ref().and_then(Cluster::user) {
            warnings.push(Warning {
                code: "server_user".to_owned(),
                text: format!("fathom runs as root, the server as user \"{}\"", user.name),
            });
        }
        if !lab::child::end_with_us() {
            warnings.push(Warning {
                code: "server_may_outlive".to_owned(),
                text: "setpriv is not installed, and fathom cannot be executed by the user of the server: a server whose fathom is killed runs on until the next start of fathom"
                    .to_owned(),
            });
        }
        warnings
    }
}

impl Residence for ManagedPostgres {
    fn directories(&self) -> Vec<(String, PathBuf)> {
        let own = self.cluster.as_ref().map(|cluster| cluster.directory().to_path_buf());
        if self.placement == Placement::DataApart {
            let data = self.layout.log.iter().map(|dir| ("data 1".to_owned(), dir.clone()));
            return data.chain(own.map(|directory| ("log".to_owned(), directory))).collect();
        }
        let others = self.layout.data.iter().take(self.data_places).skip(1);
        let data = own.into_iter().chain(others.cloned());
        let log = self.layout.log.iter().filter(|_| self.placement == Placement::LogApart);
        data.enumerate()
            .map(|(index, directory)| (format!("data {}", index + 1), directory))
            .chain(log.map(|directory| ("log".to_owned(), directory.clone())))
            .collect()
    }

    fn server_process_id(&self) -> Option<u32> {
        self.cluster.as_ref().and_then(Cluster::process_id)
    }

    fn kept(&self) -> Vec<String> {
        self.cluster.as_ref().map(Cluster::kept_words).unwrap_or_default()
    }
}

impl ClientControl for ManagedPostgres {
    fn clients_seen(&mut self) -> Result<Option<u32>, TargetError> {
        self.side.clients_seen()
    }

    fn interrupt(&mut self) -> Result<(), TargetError> {
        self.side.interrupt()
    }

    fn client_counters(&mut self) -> Result<Option<Counters>, TargetError> {
        self.side.client_counters()
    }
}

impl CacheControl for ManagedPostgres {
    fn set_cache(&mut self, work: &Work) -> Result<Option<CachedPages>, TargetError> {
        if !work.workload.has_fixtures() {
            return Ok(None);
        }
        let data = self.cluster().data();
        let files = fixture::files(self.side.running()?, &data, work)?;
        cache::set(&files, work.subject.cache).map(Some)
    }
}

impl Files for ManagedPostgres {
    fn place(&mut self, work: &Work) -> Result<EngineLocation, TargetError> {
        self.place_now(work)
    }

    fn rest(&mut self) -> Result<(), TargetError> {
        self.side.disconnect();
        self.cluster_mut()?.stop();
        Ok(())
    }
}

impl Observe for ManagedPostgres {
    fn samplers(&mut self, work: &Work) -> Vec<Box<dyn Sampler>> {
        let Some(cluster) = &self.cluster else { return Vec::new() };
        let database = self.side.run_database.as_deref().unwrap_or(DATABASE);
        let mut samplers = series::samplers(&cluster.login(database, series::CONTROL_NAME), work);
        samplers
            .extend(waits::samplers(&cluster.login(database, CONTROL_NAME), self.side.connector.as_ref()));
        samplers
    }

    fn log_records(&mut self, work: &Work, before: &Counters, after: &Counters, _: u64) -> LogRecords {
        let (directory, server) = (self.cluster().data().join("pg_wal"), self.cluster().server().clone());
        let files = wal_records::LogFiles { directory, server };
        let Ok(control) = self.side.running() else { return LogRecords::default() };
        wal_records::of_run(control, work, before, after, Ok(&files))
    }
}
