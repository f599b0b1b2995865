//! Embedded SQLite as a value.

use lab::engine::Engine;
use results::EngineId;

use crate::waits::meanings::WAITS;
use crate::{costs, sync_call};

/// Embedded SQLite.
pub static ENGINE: Engine = Engine {
    id: EngineId::Sqlite,
    schemes: &[],
    is_embedded: true,
    is_managed: false,
    // One file, with its WAL beside it.
    has_layout: false,
    time: costs::TIME,
    space: costs::SPACE,
    sync_call: |_| Some(sync_call()),
    counted: &[],
    waits: Some(&WAITS),
};
