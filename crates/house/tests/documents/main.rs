//! Documents that must say what the code says: parameters, metrics, gates, warnings, experiments.
#![allow(clippy::unwrap_used)]

mod emitted;
mod links;
mod metrics;
mod parameters;

use std::path::{Path, PathBuf};

/// The repository's root.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path))
        .unwrap_or_else(|error| panic!("could not read \"{path}\": {error}"))
}
