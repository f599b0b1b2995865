//! An engine as a value: everything about it that the laboratory decides by.

use std::fmt;

use results::EngineId;
use results::ceiling::SyncCall;
use results::engine::WriteModel;

use super::{Provider, SpaceCosts, TargetError, TargetOptions, TimeCosts};
use crate::inventory::Survey;
use crate::observe::counted::CountedWait;
use crate::observe::live::Attach;
use crate::work::Work;

/// An engine under test. Programs list theirs once and hand them in; no module of this crate knows one.
#[derive(Clone, Copy)]
pub struct Engine {
    /// Its id.
    pub id: EngineId,
    /// Schemes of the URLs of its servers, the one that messages show first; empty for an engine without servers.
    pub schemes: &'static [&'static str],
    /// Does it run inside fathom, so that it has no server that sees clients?
    pub is_embedded: bool,
    /// Can fathom make a server of its own from installed binaries?
    pub is_managed: bool,
    /// Can data and log lie in directories of their own?
    pub has_layout: bool,
    /// Seconds that it adds to runs.
    pub time: TimeCosts,
    /// Bytes that it adds to runs.
    pub space: SpaceCosts,
    /// The call by which it makes its log durable in a run; `None` for a key that is not contained in it measured as a ceiling.
    pub sync_call: fn(&Work) -> Option<SyncCall>,
    /// Waits that it counts and times itself.
    pub counted: &'static [CountedWait],
    /// What a choice of it as target comes to.
    pub provide: fn(&TargetOptions) -> Result<Box<dyn Provider>, TargetError>,
    /// Is it there?
    pub installation: fn() -> Installation,
    /// How it answers an inventory; `None` when it does not.
    pub survey: Option<Survey>,
    /// Connects to a running server to watch its waits; `None` when it has no such view.
    pub attach: Option<Attach>,
}

impl Engine {
    /// How it writes.
    pub fn writes(&self) -> WriteModel {
        self.id.facts().writes
    }

    /// Does the text begin with one of its schemes?
    pub fn has_url(&self, text: &str) -> bool {
        let is_before =
            |scheme: &&str| text.strip_prefix(*scheme).is_some_and(|rest| rest.starts_with("://"));
        self.schemes.iter().any(is_before)
    }

    /// An address of one of its servers, as messages show it; `None` for an engine without servers.
    pub fn url_example(&self) -> Option<String> {
        self.schemes.first().map(|scheme| format!("{scheme}://user@host/database"))
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Engine({})", self.id)
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.id, formatter)
    }
}

impl PartialEq for Engine {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
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
pub fn engine_of_address(engines: &[&'static Engine], address: &str) -> Option<&'static Engine> {
    let of_scheme = engines.iter().find(|engine| engine.has_url(address));
    of_scheme.or_else(|| engines.iter().find(|engine| !engine.schemes.is_empty())).copied()
}
