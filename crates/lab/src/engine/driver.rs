//! How an engine is reached: its targets, its inventory, its waits.

use std::fmt;

use super::description::Engine;
use super::error::TargetError;
use super::provider::{Provider, TargetOptions};
use super::sql::SqlPart;
use crate::inventory::Survey;
use crate::observe::live::Attach;
use crate::work::Work;

/// What a program lists for each engine that it is built with, once; the list is handed in.
#[derive(Clone, Copy)]
pub struct Driver {
    /// The engine.
    pub engine: &'static Engine,
    /// What a choice of it as target comes to.
    pub provide: fn(&TargetOptions) -> Result<Box<dyn Provider>, TargetError>,
    /// Is it there?
    pub installation: fn() -> Installation,
    /// How it answers an inventory; `None` when it does not.
    pub survey: Option<Survey>,
    /// Connects to a running server to watch its waits; `None` when it has no such view.
    pub attach: Option<Attach>,
    /// The statements that a run of this work executes, in order; of a workload of the user's own, what the engine adds
    /// to its texts ([`crate::own::sql_parts`]). Needs no server.
    pub sql: fn(&Work) -> Vec<SqlPart>,
}

impl fmt::Debug for Driver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Driver({})", self.engine)
    }
}

/// Whether an engine can be used on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Installation {
    /// It is part of fathom.
    BuiltIn,
    /// A server is installed.
    Installed {
        /// Version of the newest.
        version: String,
    },
    /// None was found.
    Missing {
        /// Command that installs one.
        install: &'static str,
    },
}

/// The engine whose server has this address: by its scheme, else the first that has servers, which then says what is
/// wrong with the address.
pub fn driver_of_address(drivers: &[&'static Driver], address: &str) -> Option<&'static Driver> {
    let of_scheme = drivers.iter().find(|driver| driver.engine.has_url(address));
    of_scheme.or_else(|| drivers.iter().find(|driver| !driver.engine.schemes.is_empty())).copied()
}
