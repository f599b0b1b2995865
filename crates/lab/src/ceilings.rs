//! Ceilings: what the devices of a study give by themselves for the patterns that its runs ask of them.
//!
//! Measured once per device and pattern, on the directories of the study, before its first or after its last run. What
//! a flush of the runs really had is known only afterwards, so ceilings that were measured for an estimate are
//! completed after the last run where the runs turned out otherwise. A figure of the same device and pattern that is
//! not older than a day is used again.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use disk::baseline::{self, BaselineError, Pattern, SyncMethod, device_identity, measure_ceiling};
use disk::facts::storage_behind;
use results::ceiling::{
    CeilingPattern, StoredCeiling, SyncCall, append_bytes_for, data_write_bytes, flush_bytes,
    transfer_bytes_for,
};
use results::engine::WriteModel;
use results::model::{Run, StoredRun};
use results::store::{Store, StoreError, StudyId};

use crate::engine::Engine;
use crate::estimate::{CEILING_FILE_BYTES_MIN, data_bytes, file_bytes};
use crate::work::{Durability, Placement, Work, Workload};

/// A ceiling older than this is measured again: devices fill up, and neighbours change.
const AGE_S_MAX: u64 = 24 * 3600;
/// Each pattern is measured this long.
const RUNTIME: Duration = Duration::from_millis(700);
/// One page of data, as the engines under test write it.
const PAGE_BYTES: f64 = 8192.0;
/// Writes under way, as background writers and checkpoints keep them.
const OUTSTANDING: u32 = 16;
/// When ceilings are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CeilingTime {
    /// Before the first run.
    Before,
    /// After the last run.
    After,
    /// Not at all.
    Never,
}

/// The directories of a study. Which of them a run uses for what follows from its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CeilingPlaces {
    /// Directories of the data; at least one.
    pub data: Vec<PathBuf>,
    /// Directory for what is placed apart; `None` where everything is in the data directories.
    pub log: Option<PathBuf>,
}

impl CeilingPlaces {
    /// Where the log of a run is.
    fn log_of(&self, work: &Work) -> Option<&Path> {
        let apart = self.log.as_deref().filter(|_| work.placement == Placement::LogApart);
        apart.or_else(|| self.data.first().map(PathBuf::as_path))
    }

    /// Where the data of a run are.
    fn data_of(&self, work: &Work) -> Vec<&Path> {
        match self.log.as_deref().filter(|_| work.placement == Placement::DataApart) {
            Some(apart) => vec![apart],
            None => self.data.iter().take(work.data_places(self.data.len())).map(PathBuf::as_path).collect(),
        }
    }
}

/// Measures, or takes from earlier studies, what `works` ask of the devices, and stores it with the study.
///
/// `works` has one per cell, in the order of their index. The sizes are those of the runs that are stored, and
/// estimates for cells without any.
///
/// `on_measure` is told each pattern that is measured now. A place where nothing can be measured is named in the log
/// and left out.
///
/// # Errors
/// The results file cannot be read or written.
pub fn provide(
    store: &mut Store,
    study: StudyId,
    engine: &Engine,
    places: &CeilingPlaces,
    works: &[Work],
    on_measure: &mut dyn FnMut(&str, &CeilingPattern),
) -> Result<(), StoreError> {
    let now_unix_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let known = store.ceilings(study)?;
    let runs = store.runs(study)?;
    let sizes = works.iter().map(|work| file_bytes(data_bytes(work, &engine.space)));
    let size_bytes = sizes.max().unwrap_or(CEILING_FILE_BYTES_MIN);
    for (role, place, pattern) in wanted(places, works, engine, &runs) {
        let Ok(facts) = storage_behind(place) else { continue };
        let device = device_identity(&facts);
        if known.iter().any(|ceiling| ceiling.device == device && ceiling.pattern == pattern) {
            continue;
        }
        let fresh_unix_s = now_unix_s.saturating_sub(AGE_S_MAX)..=now_unix_s;
        if let Some(found) = store.find_ceiling(&device, &pattern, fresh_unix_s)? {
            store.add_ceiling(study, &StoredCeiling { role: role.to_owned(), ..found })?;
            continue;
        }
        on_measure(role, &pattern);
        match measure(role, place, &pattern, size_bytes, now_unix_s) {
            Ok(ceiling) => store.add_ceiling(study, &ceiling)?,
            Err(error) => tracing::warn!("could not measure the ceiling of the {role}: {error}"),
        }
    }
    Ok(())
}

/// Patterns of the works, each once.
fn wanted<'a>(
    places: &'a CeilingPlaces,
    works: &[Work],
    engine: &Engine,
    runs: &[StoredRun],
) -> Vec<(&'static str, &'a Path, CeilingPattern)> {
    let mut wanted: Vec<(&'static str, &Path, CeilingPattern)> = Vec::new();
    let writes = engine.writes();
    for (cell_index, work) in works.iter().enumerate() {
        if !work.workload.adds_rows() && work.workload != Workload::Own {
            continue;
        }
        // The mean over the runs that count, as reports take it.
        let seen = |bytes: fn(WriteModel, &Run) -> Option<f64>| {
            let of_cell = runs.iter().filter(|stored| {
                stored.counts() && usize::try_from(stored.run.key.cell_index) == Ok(cell_index)
            });
            let bytes: Option<Vec<f64>> = of_cell.map(|stored| bytes(writes, &stored.run)).collect();
            let bytes = bytes.filter(|bytes| !bytes.is_empty())?;
            Some(bytes.iter().sum::<f64>() / bytes.len() as f64)
        };
        let size_bytes = append_bytes_for(seen(flush_bytes).unwrap_or_else(|| estimated_flush_bytes(work)));
        let appends = (engine.sync_call)(work).map(|method| CeilingPattern::Appends {
            method,
            size_bytes,
            fills_first: true,
        });
        let is_random = matches!(work.workload, Workload::RandomInsert | Workload::Own);
        let random_percent = if is_random { 100 } else { 0 };
        let transfer_bytes = transfer_bytes_for(seen(data_write_bytes).unwrap_or(PAGE_BYTES));
        let transfers = CeilingPattern::Writes { transfer_bytes, random_percent, outstanding: OUTSTANDING };
        let mut add = |role, place, pattern| {
            let ask = (role, place, pattern);
            if !wanted.contains(&ask) {
                wanted.push(ask);
            }
        };
        let log = places.log_of(work).filter(|_| work.durability == Durability::Full);
        if let (Some(log), Some(appends)) = (log, appends) {
            add("log", log, appends);
        }
        for data in places.data_of(work) {
            add("data", data, transfers.clone());
        }
    }
    wanted
}

/// Size of the log append that a commit of this work asks for, about.
fn estimated_flush_bytes(work: &Work) -> f64 {
    // A row and what the engine writes around it: 4272 bytes were seen on PostgreSQL for the wide row. Less than a
    // page or two is written by no engine.
    let row_bytes = match work.workload {
        Workload::Populate => 4_300.0,
        Workload::GuidPopulate => 1_200.0,
        _ => 250.0,
    };
    (work.batch_size as f64 * row_bytes).max(PAGE_BYTES)
}

fn measure(
    role: &str,
    place: &Path,
    pattern: &CeilingPattern,
    size_bytes: u64,
    now_unix_s: u64,
) -> Result<StoredCeiling, BaselineError> {
    let asked = match *pattern {
        CeilingPattern::Appends { method, size_bytes, fills_first } => {
            let method = match method {
                SyncCall::Fdatasync => SyncMethod::Fdatasync,
                SyncCall::Fsync => SyncMethod::Fsync,
                SyncCall::OpenDatasync => SyncMethod::OpenDsync,
            };
            baseline::CeilingPattern::Appends { size_bytes, method, writer_count: 1, fills_first }
        }
        CeilingPattern::Writes { transfer_bytes, random_percent, outstanding } => {
            baseline::CeilingPattern::Transfers {
                pattern: Pattern::write(transfer_bytes, random_percent, outstanding),
            }
        }
    };
    let found = measure_ceiling(place, &asked, size_bytes, RUNTIME, now_unix_s)?;
    Ok(StoredCeiling {
        role: role.to_owned(),
        device: found.device,
        pattern: pattern.clone(),
        per_s: found.per_s,
        latency_ns_mean: found.latency_ns_mean,
        latency_ns_p99: found.latency_ns_p99,
        measured_unix_s: found.measured_unix_s,
        flags: found.flags,
    })
}

#[cfg(test)]
mod tests {
    use results::model::{Environment, Metric, RunKey, RunState};
    use results::observations::Observations;

    use super::*;
    use crate::engine::noop::ENGINE as NOOP;

    fn run(cell_index: u32, metrics: &[(&str, f64)]) -> StoredRun {
        let metric = |&(name, value): &(&str, f64)| Metric::new(name, value, "", "");
        let run = Run {
            key: RunKey { block_index: 0, cell_index, attempt: 0 },
            position: 0,
            started_at: String::new(),
            state: RunState::Valid,
            elapsed_ns: 1,
            clients: Vec::new(),
            metrics: metrics.iter().map(metric).collect(),
            gates: Vec::new(),
            warnings: Vec::new(),
            events: Vec::new(),
            settings: Vec::new(),
            environment: Environment::default(),
            observations: Observations::default(),
            scripts: Vec::new(),
        };
        StoredRun { run_id: 1, run, superseded_by: None, suspect: None }
    }

    fn appends(wanted: &[(&'static str, &Path, CeilingPattern)]) -> Vec<u64> {
        let size = |pattern: &CeilingPattern| match pattern {
            CeilingPattern::Appends { size_bytes, .. } => Some(*size_bytes),
            CeilingPattern::Writes { .. } => None,
        };
        wanted.iter().filter_map(|(_, _, pattern)| size(pattern)).collect()
    }

    #[test]
    fn each_pattern_is_wanted_once_and_only_what_the_works_ask() {
        let places = CeilingPlaces { data: vec!["/data".into()], log: None };
        let mut works: Vec<Work> =
            [1, 1, 10, 1_000].into_iter().map(|batch_size| Work { batch_size, ..Work::example() }).collect();
        let estimated = wanted(&places, &works, &NOOP, &[]);
        assert_eq!(estimated.iter().filter(|(role, _, _)| *role == "data").count(), 1);
        assert_eq!(appends(&estimated).len(), 3, "{estimated:?}");
        works.truncate(1);
        works[0].durability = Durability::None;
        assert_eq!(wanted(&places, &works, &NOOP, &[]).len(), 1);
        works[0].workload = Workload::SelectOne;
        assert!(wanted(&places, &works, &NOOP, &[]).is_empty());
    }

    #[test]
    fn each_role_is_measured_where_the_placement_of_the_cell_puts_it() {
        let places =
            CeilingPlaces { data: vec!["/fast".into(), "/fast 2".into()], log: Some("/slow".into()) };
        let wanted_by = |placement, data_files| {
            let work = Work { placement, data_files, ..Work::example() };
            let wanted = wanted(&places, &[work], &NOOP, &[]);
            let path = |(role, place, _): &(&'static str, &Path, CeilingPattern)| {
                format!("{role} {}", place.display())
            };
            wanted.iter().map(path).collect::<Vec<_>>()
        };
        assert_eq!(wanted_by(Placement::Together, 1), ["log /fast", "data /fast"]);
        assert_eq!(wanted_by(Placement::LogApart, 1), ["log /slow", "data /fast"]);
        assert_eq!(wanted_by(Placement::DataApart, 4), ["log /fast", "data /slow"]);
        assert_eq!(wanted_by(Placement::LogApart, 2), ["log /slow", "data /fast", "data /fast 2"]);
    }

    #[test]
    fn appends_are_made_durable_by_the_call_that_the_engine_makes() {
        let places = CeilingPlaces { data: vec!["/data".into()], log: None };
        let call = |sync_call: fn(&Work) -> Option<SyncCall>| {
            let engine = Engine { sync_call, ..NOOP };
            wanted(&places, &[Work::example()], &engine, &[]).into_iter().find_map(|(_, _, pattern)| {
                match pattern {
                    CeilingPattern::Appends { method, .. } => Some(method),
                    CeilingPattern::Writes { .. } => None,
                }
            })
        };
        assert_eq!(call(|_| Some(SyncCall::Fsync)), Some(SyncCall::Fsync));
        assert_eq!(call(|_| None), None, "not measured");
    }

    #[test]
    fn the_layout_of_a_run_names_its_devices_as_ceilings_do() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        for place in [directory.path(), Path::new("/dev/shm"), Path::new("/")] {
            let facts = storage_behind(place).expect("facts of a directory that exists");
            let json = serde_json::to_value(&facts).expect("facts are JSON");
            assert_eq!(results::ceiling::device_of(&json), Some(device_identity(&facts)));
        }
    }

    #[test]
    fn what_the_runs_flushed_takes_the_place_of_the_estimate() {
        let places = CeilingPlaces { data: vec!["/data".into()], log: None };
        let works = [10, 1].map(|batch_size| Work { batch_size, ..Work::example() });
        let runs = [run(0, &[("log_flushes", 100.0), ("log_bytes", 9_700_000.0)])];
        let (estimated, seen) = (wanted(&places, &works, &NOOP, &[]), wanted(&places, &works, &NOOP, &runs));
        assert_eq!(appends(&seen)[0], append_bytes_for(97_000.0));
        assert_ne!(appends(&seen)[0], appends(&estimated)[0]);
        assert_eq!(appends(&seen)[1], appends(&estimated)[1], "a cell without runs keeps its estimate");
    }
}
