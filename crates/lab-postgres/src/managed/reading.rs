//! What a managed server does for runs that read: tables made once, look-ups, limits of CPUs and memory, the place of its files.

use lab::engine::{Residence, TargetError};
use lab::task::{EngineLocation, ServerAddress};
use lab::work::{Durability, Work};
use results::model::Metric;

use super::super::ENGINE;
use super::{DATABASE, ManagedPostgres};
use crate::server::cluster;
use crate::server::resource_limits::{self, MemoryGroup};
use crate::workload::fixture;

impl ManagedPostgres {
    /// Makes the tables that the work reads, and has the server start again without a page of them in its memory.
    pub(super) fn provide_fixtures(&mut self, work: &Work) -> Result<(), TargetError> {
        if fixture::provide(self.side.running()?, &mut self.fixtures, work)? {
            self.side.disconnect();
            self.cluster_mut()?.stop();
            self.start(work)?;
        }
        Ok(())
    }

    /// What the kernel says of the limits that the work asked for.
    pub(super) fn resource_limits(&self, work: &Work) -> Vec<Metric> {
        let metric =
            |name: &str, value: u64, unit: &str, source: &str| Metric::new(name, value as f64, unit, source);
        let cores = work
            .subject
            .server_cores
            .and(self.server_process_id())
            .and_then(resource_limits::processors_in_force);
        let memory = self.memory.as_ref().and_then(MemoryGroup::limit_in_force);
        let cores =
            cores.map(|count| metric("server_processors", count, "1", "/proc/PID/status Cpus_allowed"));
        let memory = memory.map(|bytes| metric("server_memory_limit_bytes", bytes, "bytes", "control group"));
        cores.into_iter().chain(memory).collect()
    }

    pub(super) fn place_now(&mut self, work: &Work) -> Result<EngineLocation, TargetError> {
        if let Some(control) = self.side.control.as_mut() {
            control.complete("could not write a checkpoint", "CHECKPOINT")?;
        }
        let cluster = self.cluster();
        let scratch = cluster.directory().join("scratch");
        let path = cluster.data();
        let server = cluster.process_id().map(|_| ServerAddress {
            url: {
                let directory = cluster.socket_directory().display().to_string().replace('/', "%2F");
                format!(
                    "postgresql://{}@/{DATABASE}?host={directory}&port={}",
                    cluster::SUPERUSER,
                    cluster.port()
                )
            },
            bin_dir: cluster.server().bin_dir.clone(),
            socket_directory: cluster.socket_directory().to_path_buf(),
            port: cluster.port(),
            user: cluster::SUPERUSER.to_owned(),
        });
        let files = if work.workload.is_task() { fixture::all_files(&path)? } else { Vec::new() };
        Ok(EngineLocation { engine: ENGINE.id, path, files, scratch, server })
    }

    /// Brings what earlier work left in the page cache to the devices, so that the run does not pay for it.
    pub(super) fn settle(&mut self, work: &Work) -> Result<(), TargetError> {
        if !self.settled {
            let own = self.cluster.as_ref().map(|cluster| cluster.directory().to_path_buf());
            for directory in own.into_iter().chain(self.layout.data.clone()).chain(self.layout.log.clone()) {
                let io = |source| TargetError::Io { action: "flush", path: directory.clone(), source };
                let file = std::fs::File::open(&directory).map_err(io)?;
                rustix::fs::syncfs(&file).map_err(|error| io(error.into()))?;
            }
        }
        self.settled = work.durability != Durability::None;
        Ok(())
    }
}
