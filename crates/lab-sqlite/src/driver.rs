//! What choosing embedded SQLite comes to.

use std::path::Path;

use lab::engine::{
    Driver, Engine, Installation, Layout, Limitation, Provider, Target, TargetError, TargetOptions,
};
use lab::inventory::Survey;
use lab::work::Work;

use crate::workload::sql;
use crate::{ENGINE, SqliteTarget, inventory, limitations};

/// How embedded SQLite is reached.
pub static DRIVER: Driver = Driver {
    engine: &ENGINE,
    provide: |_: &TargetOptions| Ok(Box::new(SqliteProvider)),
    installation: || Installation::BuiltIn,
    survey: Some(Survey::Embedded(inventory::row)),
    attach: None,
    sql: sql::parts,
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
