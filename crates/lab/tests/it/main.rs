//! The laboratory on engines that are values: specs, estimates, whole studies.
#![allow(clippy::unwrap_used)]

mod estimate;
mod estimate_space;
mod laboratory;
mod look_ups;
mod spec_design;
mod spec_errors;
mod spec_own_workload;
mod spec_resolve;
mod spec_shipped;
mod support;

use lab::engine::Engine;

/// Engines on which specs are resolved here.
const ENGINES: [&Engine; 3] = [&lab::engine::noop::ENGINE, &lab_sqlite::ENGINE, &lab_postgres::ENGINE];

/// The engine with this name.
fn engine(name: &str) -> &'static Engine {
    ENGINES.into_iter().find(|engine| engine.id.name() == name).unwrap()
}
