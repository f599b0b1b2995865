//! What the load of an own workload takes, roughly: its rows are the user's, and their width is known in part.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::own::{Load, OwnWorkload, content_name};
use crate::spec::Resolved;
use crate::work::Work;

/// A row that a script loads, with its entries in indexes.
const SCRIPT_ROW_BYTES: u64 = 200;
/// What every row of a table has, beside its values, with its entry in one index.
const ROW_BYTES: u64 = 60;
/// Bytes of tables and indexes for each byte of a CSV file.
const BYTES_PER_CSV_BYTE: u64 = 2;
/// Bytes that one connection loads per second, and that a copy of a loaded database has, as seen on two shared cores.
const LOADED_BYTES_PER_S: f64 = 10e6;
const COPIED_BYTES_PER_S: f64 = 200e6;

/// The loads of a study, each of those that are kept once.
pub(super) fn loads(resolved: &Resolved) -> Vec<Arc<OwnWorkload>> {
    let mut kept = BTreeMap::new();
    let mut last: Option<Work> = None;
    for cell in resolved.cells() {
        let work = resolved.work(&cell, 0);
        // Neighbours often share it, and a look at its name costs a pass over its texts.
        let is_known = last.as_ref().is_some_and(|last| is_same_load(last, &work));
        if let Some(own) = work.own.as_ref().filter(|_| !is_known) {
            let name = content_name(own, resolved.engine.id, &work);
            kept.entry(name).or_insert_with(|| Arc::clone(own));
        }
        last = Some(work);
    }
    kept.into_values().collect()
}

fn is_same_load(one: &Work, other: &Work) -> bool {
    let is_one = one.own.as_ref().zip(other.own.as_ref()).is_some_and(|(one, other)| Arc::ptr_eq(one, other));
    is_one && one.settings == other.settings && one.durability == other.durability
}

/// Bytes of tables and indexes when the load is done, about; 0 where there is none.
pub(super) fn bytes(own: &OwnWorkload) -> u64 {
    match &own.load {
        None => 0,
        Some(Load::Script { rows, .. }) => rows.saturating_mul(SCRIPT_ROW_BYTES),
        Some(Load::Copy { path, .. }) => {
            // A file that is gone is told when it is loaded.
            let size = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
            size.saturating_mul(BYTES_PER_CSV_BYTE)
        }
        Some(Load::Columns { rows, columns, .. }) => {
            let width =
                columns.iter().map(|(_, generator)| width(generator)).fold(ROW_BYTES, u64::saturating_add);
            rows.saturating_mul(width)
        }
    }
}

/// Seconds of the load, about.
pub(super) fn seconds(own: &OwnWorkload) -> f64 {
    let connections = match &own.load {
        Some(Load::Script { connections, .. } | Load::Columns { connections, .. }) => *connections,
        _ => 1,
    };
    // More connections than a few wait for the same log.
    bytes(own) as f64 / LOADED_BYTES_PER_S / f64::from(connections.clamp(1, 4))
}

/// Seconds in which the loaded state is copied before each run, about; 0 for other workloads.
pub(super) fn copy_seconds(work: &Work) -> f64 {
    work.own.as_ref().map_or(0.0, |own| bytes(own) as f64 / COPIED_BYTES_PER_S)
}

/// Bytes of a value that a generator makes.
fn width(generator: &str) -> u64 {
    let generator = generator.trim();
    if let Some(inner) = generator.strip_prefix("text").and_then(|rest| rest.trim_start().strip_prefix('(')) {
        let bounds = inner.trim_end().trim_end_matches(')').split(',');
        let bounds: Vec<u64> = bounds.filter_map(|bound| bound.trim().parse().ok()).collect();
        return bounds.iter().fold(0, |sum: u64, bound| sum.saturating_add(*bound))
            / bounds.len().max(1) as u64;
    }
    if generator.starts_with("uuid") { 16 } else { 8 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_width_of_a_value_follows_its_generator() {
        let widths = ["row", "uuidv7", "text(20, 100)", "text(7)", "random(1, 10)", "text(x)"].map(width);
        assert_eq!(widths, [8, 16, 60, 7, 8, 0]);
    }
}
