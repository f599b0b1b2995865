//! What a server by URL can do beside running: describe itself, see its clients, be sampled.

use std::path::PathBuf;

use lab::cache::CachedPages;
use lab::engine::{
    CacheControl, ClientControl, Counters, Describe, EngineFacts, LogRecords, Observe, Residence, TargetError,
};
use lab::observe::Sampler;
use lab::work::{CacheState, Work};
use results::model::{Setting, Warning};

use super::super::wire::Login;
use super::ExternalPostgres;
use super::connecting::kept_words;
use crate::counters::wal_records;
use crate::workload::guid::{self, FixtureTables};
use crate::{counters, series, waits};

impl Describe for ExternalPostgres {
    fn settings(&mut self) -> Result<Vec<Setting>, TargetError> {
        counters::settings(self.side.running()?)
    }

    fn facts(&mut self) -> Result<EngineFacts, TargetError> {
        let capabilities = self.side.capabilities.clone();
        let mut facts = counters::facts(self.side.running()?, &capabilities);
        if let Some(encryption) = &self.encryption {
            facts["tls"] = encryption.clone().into();
        }
        Ok(facts)
    }

    fn warnings(&mut self) -> Vec<Warning> {
        let mut warnings = vec![Warning {
            code: "shared_server".to_owned(),
            text: "the server is not ours: its other work, and its state before each run, are in the numbers"
                .to_owned(),
        }];
        if let Some(encryption) = &self.encryption {
            warnings.push(Warning {
                code: "tls".to_owned(),
                text: format!(
                    "the connections are encrypted ({encryption}): which costs CPU time of clients and server"
                ),
            });
        }
        if !self.side.capabilities.superuser {
            warnings.push(Warning {
                code: "no_checkpoint".to_owned(),
                text: "the role is no superuser: a checkpoint before each run may have been refused"
                    .to_owned(),
            });
        }
        warnings
    }
}

impl Residence for ExternalPostgres {
    fn directories(&self) -> Vec<(String, PathBuf)> {
        Vec::new()
    }

    fn kept(&self) -> Vec<String> {
        let run = self.side.kept_run.iter().map(|run| Login { database: run.clone(), ..self.login.clone() });
        run.chain([self.login.clone()]).flat_map(|login| kept_words(&login)).collect()
    }
}

impl ClientControl for ExternalPostgres {
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

impl CacheControl for ExternalPostgres {
    fn set_cache(&mut self, work: &Work) -> Result<Option<CachedPages>, TargetError> {
        let fixture = FixtureTables::of(work).filter(|_| work.workload.looks_up());
        if let Some(fixture) = fixture.filter(|_| work.subject.cache == CacheState::Warm) {
            let control = self.side.running()?;
            for statement in guid::PLANNER.map(str::to_owned).into_iter().chain([fixture.question(work)]) {
                control.complete("could not fill the caches of the server", &statement)?;
            }
            control.rows("could not take settings back", "RESET ALL")?;
        }
        // Nobody can look at the files of a server that is not ours.
        Ok(None)
    }
}

impl Observe for ExternalPostgres {
    fn samplers(&mut self, work: &Work) -> Vec<Box<dyn Sampler>> {
        let database = self.side.run_database.clone().unwrap_or_else(|| self.login.database.clone());
        let application_name = series::CONTROL_NAME.to_owned();
        let login = Login { application_name, database, ..self.login.clone() };
        let mut samplers = series::samplers(&login, work);
        samplers.extend(waits::samplers(&login, self.side.connector.as_ref()));
        samplers
    }

    fn log_records(&mut self, work: &Work, before: &Counters, after: &Counters, _: u64) -> LogRecords {
        let files = Err("files of an external server are not read");
        let Ok(control) = self.side.running() else { return LogRecords::default() };
        wal_records::of_run(control, work, before, after, files)
    }
}
