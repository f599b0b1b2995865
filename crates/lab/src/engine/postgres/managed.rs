//! A PostgreSQL that fathom makes, starts, stops and removes.

use std::path::PathBuf;
use std::sync::Arc;

use results::model::{Setting, Warning};

use super::ENGINE;
use super::capabilities::Capabilities;
use super::cluster::{Cluster, ClusterOptions};
use super::confine::MemoryGroup;
use super::control::Control;
use super::discovery::ServerBinaries;
use super::guid::{self, Stock};
use super::session::{Connecting, PostgresConnector};
use super::settings::{
    backup_limitations, managed_limitations, name_sources, name_the_setting, require_possible,
    server_settings,
};
use super::{
    client_counters, confine, counters, log_place, log_records, log_space, schema, series, stock, waits,
};
use crate::cache::{self, CacheLook};
use crate::engine::look_up::Answers;
use crate::engine::premises::unique_id;
use crate::engine::{
    Aftermath, CacheControl, ClientControl, Counters, Describe, DynConnector, Engine, EngineFacts, Files,
    Layout, Limitation, LogRecords, Observe, Residence, Target, TargetError,
};
use crate::observe::Sampler;
use crate::task::Place;
use crate::work::{Placement, Work};

mod reading;
mod tablespaces;

/// Database of the runs: the one that initdb makes; the whole cluster is ours.
const DATABASE: &str = "postgres";

/// Name of the control connection in the list of sessions.
const CONTROL_NAME: &str = "fathom-control";

/// What a managed PostgreSQL is made from.
#[derive(Clone, Debug)]
pub struct ManagedOptions {
    /// Binaries of the server.
    pub server: ServerBinaries,
    /// Directory for the cluster when the layout names no data directory; made when it is not there.
    pub base: PathBuf,
    /// Directories by role; they must exist. The cluster itself goes into the first data directory.
    pub layout: Layout,
    /// Number of the port; `None` takes a free one.
    pub port: Option<u16>,
}

/// A private cluster with its server, restarted for every run.
///
/// All calls must come from one thread, which must live as long as the server is wanted, and not from inside an
/// asynchronous runtime.
#[derive(Debug)]
pub struct ManagedPostgres {
    cluster: Option<Cluster>,
    layout: Layout,
    control: Option<Control>,
    capabilities: Capabilities,
    connector: Option<PostgresConnector>,
    /// Which of the layout's directories the current run uses for what.
    placement: Placement,
    /// How many of its data directories the current run uses.
    data_places: usize,
    /// What the server runs for.
    work: Option<Work>,
    /// Tablespaces made so far: directory of the layout, name.
    tablespaces: Vec<(PathBuf, String)>,
    /// Tables that runs read, made by earlier runs.
    stocks: Vec<Stock>,
    /// What the look-ups of the current run did.
    answers: Answers,
    /// Limit of the server's memory, while it runs with one.
    memory: Option<MemoryGroup>,
    /// Has everything that was written before been brought to the devices?
    settled: bool,
}

impl ManagedPostgres {
    /// How the clients of this run connect.
    ///
    /// # Panics
    /// Outside `prepare` and `clean`.
    pub fn postgres_connector(&self) -> PostgresConnector {
        self.connector.clone().expect("a connector is asked for between prepare and clean")
    }

    /// Cleans what crashed runs left in the same directories and makes a cluster (about a second, 40 MB). The server
    /// starts with the first `prepare`.
    ///
    /// # Errors
    /// As [`Cluster::create`].
    pub fn create(options: &ManagedOptions) -> Result<Self, TargetError> {
        let layout = options.layout.clone();
        let base = match layout.data.first() {
            Some(first) => first.clone(),
            None => {
                std::fs::create_dir_all(&options.base).map_err(|source| TargetError::Io {
                    action: "create directory",
                    path: options.base.clone(),
                    source,
                })?;
                options.base.clone()
            }
        };
        let elsewhere = layout.data.iter().skip(1).chain(&layout.log).cloned().collect();
        let cluster = Cluster::create(&ClusterOptions {
            server: options.server.clone(),
            base,
            elsewhere,
            port: options.port,
        })?;
        Ok(Self {
            cluster: Some(cluster),
            layout,
            control: None,
            capabilities: Capabilities::default(),
            connector: None,
            placement: Placement::Together,
            data_places: 1,
            work: None,
            tablespaces: Vec::new(),
            stocks: Vec::new(),
            answers: Answers::default(),
            memory: None,
            settled: false,
        })
    }

    /// The cluster underneath.
    ///
    /// # Panics
    /// After `stop`.
    pub fn cluster(&self) -> &Cluster {
        self.cluster.as_ref().expect("the target was not stopped")
    }

    fn running(&mut self) -> Result<&mut Control, TargetError> {
        self.control
            .as_mut()
            .ok_or_else(|| TargetError::engine("could not ask the server", "it does not run"))
    }

    fn cluster_mut(&mut self) -> Result<&mut Cluster, TargetError> {
        self.cluster
            .as_mut()
            .ok_or_else(|| TargetError::engine("could not use the cluster", "it was removed"))
    }

    /// Starts the server with the settings of this run; a setting that it refuses is named.
    fn start(&mut self, work: &Work) -> Result<(), TargetError> {
        let settings = server_settings(work);
        let cluster = self.cluster_mut()?;
        cluster.start(&settings).map_err(|error| name_the_setting(error, work))?;
        let login = cluster.login(DATABASE, CONTROL_NAME);
        let process_id = cluster.process_id().unwrap_or_default();
        // Before our own session begins, so that it and all later ones inherit it.
        if let Some(count) = work.subject.server_cores {
            confine::keep_on_processors(process_id, count)?;
        }
        self.memory = match work.subject.memory_limit_mib {
            Some(mib) => Some(MemoryGroup::create(process_id, mib)?),
            None => None,
        };
        let mut control = Control::connect(&login)
            .map_err(|error| TargetError::engine("could not connect to our own server", error))?;
        self.capabilities = Capabilities::probe(&mut control)?;
        self.control = Some(control);
        self.work = Some(work.clone());
        Ok(())
    }
}

impl Target for ManagedPostgres {
    fn engine(&self) -> &'static Engine {
        &ENGINE
    }

    fn limitations(&self, work: &Work) -> Vec<Limitation> {
        let mut limitations = managed_limitations(&self.layout, work);
        limitations.extend(backup_limitations(work, &self.cluster().server().bin_dir));
        limitations
    }

    fn prepare(&mut self, work: &Work) -> Result<(), TargetError> {
        require_possible(&self.limitations(work))?;
        self.connector = None;
        self.control = None;
        self.placement = work.placement;
        self.data_places = work.data_places(self.layout.data.len());
        let log = self.layout.log.clone().filter(|_| work.placement == Placement::LogApart);
        let cluster = self.cluster_mut()?;
        cluster.stop();
        log_place::place_log(cluster, log.as_deref())?;
        self.settle(work)?;
        self.start(work)?;
        self.clean()?;
        self.answers = Answers::default();
        if work.workload.has_stock() {
            self.provide_stock(work)?;
        }
        let tablespaces = self.tablespaces_for(work)?;
        let statements = schema::create(work, &tablespaces, &self.capabilities);
        let control = self.running()?;
        for statement in statements {
            control.complete("could not make the objects of the run", &statement)?;
        }
        if work.workload.adds_rows() {
            log_space::provide(control, log_space::segments_wanted(work))?;
        }
        waits::provide(control);
        control.complete("could not write a checkpoint before the run", "CHECKPOINT")?;
        let name = format!("fathom-client-{}", unique_id());
        self.connector = Some(PostgresConnector::new(Connecting {
            login: self.cluster_mut()?.login(DATABASE, &name),
            first_statements: match work.workload.looks_up() {
                true => guid::PLANNER.map(str::to_owned).to_vec(),
                false => Vec::new(),
            },
            row: schema::row_statement(work),
            workload: work.workload,
            seed: work.seed,
            look_up: self.look_up(work),
            hands_in: self.capabilities.backend_counters,
        }));
        Ok(())
    }

    fn connector(&self) -> Arc<dyn DynConnector> {
        Arc::new(self.postgres_connector())
    }

    fn jobs(&self, work: &Work) -> u32 {
        // Half of the processors: the server needs the others.
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as u32;
        (processors / 2).clamp(1, work.connections.max(1))
    }

    fn counters(&mut self) -> Result<Counters, TargetError> {
        let capabilities = self.capabilities.clone();
        counters::read(self.running()?, &capabilities)
    }

    fn aftermath(&mut self, work: &Work) -> Result<Aftermath, TargetError> {
        let capabilities = self.capabilities.clone();
        let answers = self.answers.clone();
        let confinement = self.confinement(work);
        let control = self.running()?;
        let mut aftermath = match work.workload.looks_up() {
            true => stock::aftermath(control, work, &answers)?,
            false => counters::aftermath(control, &capabilities, work)?,
        };
        aftermath.metrics.extend(confinement);
        Ok(aftermath)
    }

    fn clean(&mut self) -> Result<(), TargetError> {
        self.connector = None;
        // A server that died has nothing to clean now; the next start finds the objects and drops them.
        if let Some(control) = self.control.as_mut().filter(|control| control.is_usable()) {
            for statement in schema::drop_all(true) {
                control.complete("could not remove the objects of the run", &statement)?;
            }
        }
        Ok(())
    }

    fn stop(&mut self, keep: bool) -> Result<(), TargetError> {
        self.connector = None;
        self.control = None;
        match self.cluster.take() {
            Some(cluster) if keep => {
                let directory = cluster.keep()?;
                tracing::info!(directory = %directory.display(), "kept the cluster");
                Ok(())
            }
            Some(cluster) => cluster.remove(),
            None => Ok(()),
        }
    }

    fn describe(&mut self) -> Option<&mut dyn Describe> {
        Some(self)
    }

    fn residence(&self) -> Option<&dyn Residence> {
        Some(self)
    }

    fn clients(&mut self) -> Option<&mut dyn ClientControl> {
        Some(self)
    }

    fn cache(&mut self) -> Option<&mut dyn CacheControl> {
        Some(self)
    }

    fn files(&mut self) -> Option<&mut dyn Files> {
        Some(self)
    }

    fn observe(&mut self) -> Option<&mut dyn Observe> {
        Some(self)
    }
}

impl Describe for ManagedPostgres {
    fn settings(&mut self) -> Result<Vec<Setting>, TargetError> {
        let mut settings = counters::settings(self.running()?)?;
        if let Some(work) = &self.work {
            name_sources(&mut settings, work);
        }
        Ok(settings)
    }

    fn facts(&mut self) -> Result<EngineFacts, TargetError> {
        let capabilities = self.capabilities.clone();
        let mut facts = counters::facts(self.running()?, &capabilities);
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
        if !crate::child::end_with_us() {
            warnings.push(Warning {
                code: "server_may_outlive".to_owned(),
                text: "setpriv is not installed: a server whose fathom is killed runs on until the next start of fathom"
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
        let name = self.connector.as_ref().map(|connector| connector.application_name().to_owned());
        match name {
            Some(name) => counters::clients_seen(self.running()?, &name).map(Some),
            None => Ok(None),
        }
    }

    fn interrupt(&mut self) -> Result<(), TargetError> {
        let name = self.connector.as_ref().map(|connector| connector.application_name().to_owned());
        match name {
            Some(name) => counters::interrupt(self.running()?, &name),
            None => Ok(()),
        }
    }

    fn client_counters(&mut self) -> Result<Option<Counters>, TargetError> {
        let Some(name) = self.connector.as_ref().filter(|connector| connector.hands_in()) else {
            return Ok(None);
        };
        let name = name.application_name().to_owned();
        client_counters::read(self.running()?, &name).map(Some)
    }
}

impl CacheControl for ManagedPostgres {
    fn set_cache(&mut self, work: &Work) -> Result<Option<CacheLook>, TargetError> {
        if !work.workload.has_stock() {
            return Ok(None);
        }
        let data = self.cluster().data();
        let files = stock::files(self.running()?, &data, work)?;
        cache::set(&files, work.subject.cache).map(Some)
    }
}

impl Files for ManagedPostgres {
    fn place(&mut self, work: &Work) -> Result<Place, TargetError> {
        self.place_now(work)
    }

    fn rest(&mut self) -> Result<(), TargetError> {
        self.control = None;
        self.connector = None;
        self.cluster_mut()?.stop();
        Ok(())
    }
}

impl Observe for ManagedPostgres {
    fn samplers(&mut self, work: &Work) -> Vec<Box<dyn Sampler>> {
        let Some(cluster) = &self.cluster else { return Vec::new() };
        let mut samplers = series::samplers(&cluster.login(DATABASE, series::CONTROL_NAME), work);
        samplers.extend(waits::samplers(&cluster.login(DATABASE, CONTROL_NAME), self.connector.as_ref()));
        samplers
    }

    fn log_records(&mut self, work: &Work, before: &Counters, after: &Counters, _: u64) -> LogRecords {
        let (directory, server) = (self.cluster().data().join("pg_wal"), self.cluster().server().clone());
        let files = log_records::LogFiles { directory, server };
        let Ok(control) = self.running() else { return LogRecords::default() };
        log_records::of_run(control, work, before, after, Ok(&files))
    }
}
