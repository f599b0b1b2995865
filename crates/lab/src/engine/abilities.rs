//! What not every target can do: each ability a trait of its own.

use std::path::PathBuf;

use results::model::{Setting, Warning};

use super::{Counters, EngineFacts, LogRecords, TargetError};
use crate::cache::CachedPages;
use crate::observe::Sampler;
use crate::task::EngineLocation;
use crate::work::Work;

/// What a target says about itself, for the record of a run.
pub trait Describe {
    /// Settings that differ from the engine's defaults, as in force now.
    fn settings(&mut self) -> Result<Vec<Setting>, TargetError>;

    /// Version, build id, compile options.
    fn facts(&mut self) -> Result<EngineFacts, TargetError>;

    /// Cautions about this target's numbers that hold for every run.
    fn warnings(&mut self) -> Vec<Warning> {
        Vec::new()
    }
}

/// Where a target is.
pub trait Residence {
    /// Directories by role, for the record and for the device counters: (`data 1`, path), (`log`, path).
    /// Empty for an engine on another machine.
    fn directories(&self) -> Vec<(String, PathBuf)> {
        Vec::new()
    }

    /// Process id whose CPU and I/O are the engine's (the postmaster); `None` when embedded or remote.
    fn server_process_id(&self) -> Option<u32> {
        None
    }

    /// Where that which `stop` keeps is, how to open it and how to remove it, as lines for people; asked for before
    /// `stop`.
    fn kept(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A target that sees or reaches its clients.
pub trait ClientControl {
    /// Clients of this run that the engine itself sees connected; `None` where it cannot tell.
    fn clients_seen(&mut self) -> Result<Option<u32>, TargetError> {
        Ok(None)
    }

    /// Ends loops that run inside the engine, because the run no longer counts or the user asked to stop.
    /// Clients in such a loop then end with an error. Does nothing where no loop runs in the engine.
    fn interrupt(&mut self) -> Result<(), TargetError>;

    /// Cumulative counters of the clients of this run alone, complete after each of them was told to hand in; `None`
    /// where the engine does not count by session. Asked for while the clients are connected.
    fn client_counters(&mut self) -> Result<Option<Counters>, TargetError> {
        Ok(None)
    }
}

/// A target whose caches can be controlled.
pub trait CacheControl {
    /// Brings the caches into the state that the work asks for and looks at them. Called once, after the clients
    /// connected; what the engine itself keeps was emptied by `prepare`. `None` where the work reads nothing.
    fn set_cache(&mut self, work: &Work) -> Result<Option<CachedPages>, TargetError>;
}

/// A target whose files are on this machine, and ours.
pub trait Files {
    /// Where the engine's files are, complete on disk as far as it can be without stopping it. Valid from `prepare` to
    /// `clean`.
    fn place(&mut self, work: &Work) -> Result<EngineLocation, TargetError>;

    /// Stops the engine cleanly until the next `prepare`, so that its files do not change.
    fn rest(&mut self) -> Result<(), TargetError> {
        Ok(())
    }
}

/// A target that can be sampled, or that keeps a record of its own.
pub trait Observe {
    /// Samplers of this engine during the next measured part, e.g. of its waits. Asked for after the clients connected
    /// and before the barrier.
    fn samplers(&mut self, work: &Work) -> Vec<Box<dyn Sampler>>;

    /// What the transactions of a run put into the log, between two readings of the counters in which so many were
    /// acknowledged; empty where nothing is known. Asked for after `post_run_state`. May read the run's log once.
    fn log_records(
        &mut self,
        work: &Work,
        before: &Counters,
        after: &Counters,
        transactions: u64,
    ) -> LogRecords;
}
