//! Embedded SQLite as a value, and what choosing it comes to.

use std::path::Path;

use lab::engine::{Engine, Installation, Layout, Limitation, Provider, Target, TargetError, TargetOptions};
use lab::inventory::Survey;
use lab::work::Work;
use results::EngineId;

use crate::{SqliteTarget, costs, inventory, limitations, sync_call};

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
    provide: |_: &TargetOptions| Ok(Box::new(SqliteProvider)),
    installation: || Installation::BuiltIn,
    survey: Some(Survey::Embedded(inventory::row)),
    attach: None,
};

/// A database of our own, made for each run.
#[derive(Debug)]
struct SqliteProvider;

impl Provider for SqliteProvider {
    fn engine(&self) -> &'static Engine {
        &ENGINE
    }

    fn limitations(&self, _layout: &Layout, work: &Work) -> Vec<Limitation> {
        limitations(work)
    }

    fn start(&self, layout: &Layout, base: &Path) -> Result<Vec<Box<dyn Target>>, TargetError> {
        Ok(vec![Box::new(SqliteTarget::new(layout, base)?)])
    }
}
