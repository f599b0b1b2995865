//! The control side of an engine under test.

use std::sync::Arc;

use results::structure::StructureReport;

use super::{
    CacheControl, ClientControl, Counters, Describe, DynConnector, Engine, Files, Limitation, Observe,
    OwnDatabases, PostRunState, Residence, TargetError,
};
use crate::work::Work;

/// One instance of an engine. One thread calls it, in this order for each run: `prepare`, (clients connect, warm up),
/// `counters`, (barrier, clients run and close), `counters`, `post_run_state`, `clean`. All calls block.
///
/// What not every engine has is an ability of its own: `None` where it is missing, also for the time being.
pub trait Target {
    /// The engine.
    fn engine(&self) -> &'static Engine;

    /// What the engine cannot do or does differently for this work. Costs nothing.
    fn limitations(&self, work: &Work) -> Vec<Limitation>;

    /// Makes empty objects for one run and brings the engine into the same state before each run
    /// (restarted where it is managed, with the work's settings and durability).
    fn prepare(&mut self, work: &Work) -> Result<(), TargetError>;

    /// How the clients of this run connect. Valid from `prepare` to `clean`.
    fn connector(&self) -> Arc<dyn DynConnector>;

    /// Worker threads that suit `connections` clients on this engine.
    fn jobs(&self, work: &Work) -> u32;

    /// Cumulative counters now.
    fn counters(&mut self) -> Result<Counters, TargetError>;

    /// Rows, pages and sizes after the clients finished. May read the table once.
    fn post_run_state(&mut self, work: &Work) -> Result<PostRunState, TargetError>;

    /// Removes the run's objects. Called after failures too.
    fn clean(&mut self) -> Result<(), TargetError>;

    /// Stops a managed engine and removes it unless `keep`; drops the marked database of an external one.
    fn stop(&mut self, keep: bool) -> Result<(), TargetError>;

    /// What the engine says about itself.
    fn describe(&mut self) -> Option<&mut dyn Describe> {
        None
    }

    /// Where the engine is.
    fn residence(&self) -> Option<&dyn Residence> {
        None
    }

    /// The engine's view of the clients.
    fn clients(&mut self) -> Option<&mut dyn ClientControl> {
        None
    }

    /// Caches that can be emptied and filled.
    fn cache(&mut self) -> Option<&mut dyn CacheControl> {
        None
    }

    /// Files on this machine that tasks can read.
    fn files(&mut self) -> Option<&mut dyn Files> {
        None
    }

    /// Views of the engine during and after the measured part.
    fn observe(&mut self) -> Option<&mut dyn Observe> {
        None
    }

    /// Databases for workloads of the user's own.
    fn own_databases(&mut self) -> Option<&mut dyn OwnDatabases> {
        None
    }

    /// Structures of tables and indexes that were measured in or after the last run; empty afterwards.
    fn take_structures(&mut self) -> Vec<StructureReport> {
        Vec::new()
    }
}
