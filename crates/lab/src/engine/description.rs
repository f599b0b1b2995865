//! An engine as a value: everything about it that the laboratory decides by. How its targets are made is in `driver`.

use std::fmt;

use results::EngineId;
use results::ceiling::SyncCall;
use results::engine::WriteModel;
use results::observations::EngineWaits;

use super::costs::{SpaceCosts, TimeCosts};
use crate::observe::counted::CountedWait;
use crate::work::Work;

/// An engine under test. No module of this crate knows one: it is read from a target, or from a [`super::Driver`].
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
    /// The call by which it makes its log durable in a run; `None` for a call that is not measured as a ceiling.
    pub sync_call: fn(&Work) -> Option<SyncCall>,
    /// Waits that it counts and times itself.
    pub counted: &'static [CountedWait],
    /// What its waits mean; `None` for an engine without waits.
    pub waits: Option<&'static EngineWaits>,
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
