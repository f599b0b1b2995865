//! A PostgreSQL that fathom makes, starts, stops and removes.

use std::path::PathBuf;
use std::sync::Arc;

use lab::engine::look_up::Answers;
use lab::engine::managed_directory::unique_id;
use lab::engine::{
    CacheControl, ClientControl, Counters, Describe, DynConnector, Engine, Files, Layout, Limitation,
    Observe, OwnDatabases, PostRunState, Residence, Target, TargetError,
};
use lab::work::{Placement, Work};

use super::ENGINE;
use super::capabilities::Capabilities;
use super::control::Control;
use super::server_side::ServerSide;
use super::session::{Connecting, PostgresConnector};
use super::settings::{
    backup_limitations, managed_limitations, name_the_setting, require_possible, server_settings,
};
use crate::server::cluster::{Cluster, ClusterOptions};
use crate::server::discovery::ServerBinaries;
use crate::server::resource_limits::MemoryGroup;
use crate::server::{resource_limits, wal_place};
use crate::waits;
use crate::wire::Addresses;
use crate::workload::guid::{self, FixtureTables};
use crate::workload::{schema, wal_space};

mod abilities;
mod own;
mod reading;
mod tablespaces;

/// Database of the runs: the one that initdb makes; the whole cluster is ours.
const DATABASE: &str = "postgres";

/// Database of a run with a workload of the user's own, and the role that owns it.
const OWN: &str = "fathom_own";

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
    side: ServerSide,
    /// Which of the layout's directories the current run uses for what.
    placement: Placement,
    /// How many of its data directories the current run uses.
    data_places: usize,
    /// What the server runs for.
    work: Option<Work>,
    /// Tablespaces made so far: directory of the layout, name.
    tablespaces: Vec<(PathBuf, String)>,
    /// Tables that runs read, made by earlier runs.
    fixtures: Vec<FixtureTables>,
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
        self.side.connector()
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
            side: ServerSide::default(),
            placement: Placement::Together,
            data_places: 1,
            work: None,
            tablespaces: Vec::new(),
            fixtures: Vec::new(),
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
            resource_limits::keep_on_processors(process_id, count)?;
        }
        self.memory = match work.subject.memory_limit_mib {
            Some(mib) => Some(MemoryGroup::create(process_id, mib)?),
            None => None,
        };
        let mut control = Control::connect(&login)
            .map_err(|error| TargetError::engine("could not connect to our own server", error))?;
        self.side.capabilities = Capabilities::probe(&mut control)?;
        self.side.control = Some(control);
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
        self.side.disconnect();
        self.placement = work.placement;
        self.data_places = work.data_places(self.layout.data.len());
        let log = self.layout.log.clone().filter(|_| work.placement == Placement::LogApart);
        let cluster = self.cluster_mut()?;
        cluster.stop();
        wal_place::place_log(cluster, log.as_deref())?;
        self.settle(work)?;
        self.start(work)?;
        self.clean()?;
        self.side.answers = Answers::default();
        if work.workload.has_fixtures() {
            self.provide_fixtures(work)?;
        }
        let tablespaces = self.tablespaces_for(work)?;
        let statements = schema::create(work, &tablespaces, &self.side.capabilities);
        let control = self.side.running()?;
        for statement in statements {
            control.complete("could not make the objects of the run", &statement)?;
        }
        if work.workload.adds_rows() {
            wal_space::provide(control, wal_space::segments_wanted(work))?;
        }
        waits::provide(control);
        control.complete("could not write a checkpoint before the run", "CHECKPOINT")?;
        let name = format!("fathom-client-{}", unique_id());
        self.side.connector = Some(PostgresConnector::new(Connecting {
            login: self.cluster_mut()?.login(DATABASE, &name),
            first_statements: match work.workload.looks_up() {
                true => guid::PLANNER.map(str::to_owned).to_vec(),
                false => Vec::new(),
            },
            row: schema::row_statement(work),
            workload: work.workload,
            seed: work.seed,
            look_up: self.side.look_up(work, true),
            counts_by_session: self.side.capabilities.backend_counters,
            addresses: Addresses::default(),
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
        self.side.counters()
    }

    fn post_run_state(&mut self, work: &Work) -> Result<PostRunState, TargetError> {
        let resource_limits = self.resource_limits(work);
        let mut post_run_state = self.side.post_run_state(work)?;
        post_run_state.metrics.extend(resource_limits);
        Ok(post_run_state)
    }

    /// A server that died has nothing to clean now; the next start finds the objects and drops them.
    fn clean(&mut self) -> Result<(), TargetError> {
        self.side.clean(OWN)
    }

    fn stop(&mut self, keep: bool) -> Result<(), TargetError> {
        self.side.disconnect();
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

    fn own_databases(&mut self) -> Option<&mut dyn OwnDatabases> {
        Some(self)
    }
}
