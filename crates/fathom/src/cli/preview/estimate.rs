//! How long a study takes and how much space it needs, from the model and from earlier runs.

use std::path::{Path, PathBuf};

use lab::assignment::Assignment;
use lab::engine::Layout;
use lab::estimate::{Earlier, Estimate, Space, estimate};
use results::model::{Cell, Level};
use results::store::Store;

/// Appends with a flush that the estimate is based on.
const FLUSHES_TRIED: u32 = 15;
/// One log page of the engines under test.
const FLUSH_SIZE_BYTES: usize = 8192;

/// Measures one flush on the device that the log of a study would lie on; `None` where nothing can be written there.
pub(crate) fn sync_latency_ns(layout: &Layout, base: &Path) -> Option<u64> {
    let directory = layout.log.as_ref().or(layout.data.first()).map_or(base, PathBuf::as_path);
    disk::probe::sync_latency(&nearest_existing(directory), FLUSHES_TRIED, FLUSH_SIZE_BYTES)
        .map(|latency| latency.median_ns)
        .ok()
}

/// The estimate, with the times of earlier runs of the study and the rates of those of the experiment.
pub(super) fn estimate_with_history(
    assignment: &Assignment,
    sync_latency_ns: Option<u64>,
    store: Option<&Store>,
) -> Estimate {
    let of_study = store.and_then(|store| {
        let study = store.find_study(&assignment.key()).ok()??;
        store.runs(study).ok()
    });
    let rates = store.map(|store| rates(store, assignment)).unwrap_or_default();
    let earlier = |cell: &Cell| {
        let seconds: Vec<f64> = of_study
            .iter()
            .flatten()
            .filter(|stored| stored.counts() && stored.run.key.cell_index == cell.index)
            .map(|stored| stored.run.elapsed_ns as f64 / 1e9)
            .collect();
        let rows_per_s = rates.iter().filter(|(levels, _)| *levels == cell.levels).map(|(_, rate)| *rate);
        Earlier {
            seconds: (!seconds.is_empty()).then(|| seconds.iter().sum::<f64>() / seconds.len() as f64),
            rows_per_s: rows_per_s.reduce(f64::max),
        }
    };
    estimate(assignment.resolved(), sync_latency_ns, &earlier)
}

/// Rows per second of counting runs of the same experiment on the same engine, with the levels of their cells. Studies
/// that fix other parameters, but for how long and how often they run, are left out.
fn rates(store: &Store, assignment: &Assignment) -> Vec<(Vec<(String, Level)>, f64)> {
    const AMOUNTS: [&str; 5] = ["duration", "rows_total", "rows_per_client", "warm_up", "warm_up_rows"];
    let resolved = assignment.resolved();
    let fixed = |fixed: &[(String, Level)]| -> Vec<(String, Level)> {
        fixed.iter().filter(|(name, _)| !AMOUNTS.contains(&name.as_str())).cloned().collect()
    };
    let wanted = fixed(&resolved.fixed);
    let mut rates = Vec::new();
    for stored in store.studies().unwrap_or_default() {
        let study = &stored.study;
        let is_same = study.experiment == resolved.name && study.engine == resolved.engine.id;
        if !is_same || fixed(&study.fixed) != wanted {
            continue;
        }
        let cells = store.cells(stored.id).unwrap_or_default();
        for run in store.runs(stored.id).unwrap_or_default().iter().filter(|run| run.counts()) {
            let cell = cells.iter().find(|cell| cell.index == run.run.key.cell_index);
            let seconds = run.run.elapsed_ns as f64 / 1e9;
            rates.extend(cell.map(|cell| (cell.levels.clone(), run.run.rows() as f64 / seconds)));
        }
    }
    rates
}

/// The time that is to be expected, as one line.
pub(super) fn time_line(estimate: &Estimate) -> String {
    match estimate.seconds {
        Some((low, high)) => format!("time: {} to {} ({})", time_text(low), time_text(high), estimate.basis),
        None => format!("time: not known ({})", estimate.basis),
    }
}

/// A length of time in the unit that suits it.
pub(crate) fn time_text(seconds: f64) -> String {
    match seconds {
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.1} h", s / 3600.0),
        s => format!("{:.1} days", s / 86_400.0),
    }
}

/// The directories of the study with the bytes that each needs.
pub(crate) fn space_directories(layout: &Layout, base: &Path, space: &Space) -> Vec<(PathBuf, u64)> {
    let data = if layout.data.is_empty() { vec![base.to_owned()] } else { layout.data.clone() };
    let needed = space.data.iter().copied().chain(std::iter::repeat(0));
    let data = data.into_iter().zip(needed);
    data.chain(layout.log.clone().map(|log| (log, space.log))).collect()
}

/// The directory itself, or the nearest parent that exists: what a run would create lies on the same device.
pub(crate) fn nearest_existing(path: &Path) -> PathBuf {
    path.ancestors().find(|ancestor| ancestor.is_dir()).unwrap_or(Path::new("/")).to_owned()
}
