//! Ceilings: what the devices of a study give by themselves for the patterns that its runs ask of them.
//!
//! Measured once per device and pattern, on the directories of the study, before its first or after its last run;
//! a figure of the same device and pattern that is not older than a day is used again.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use disk::baseline::{self, BaselineError, Pattern, SyncMethod, device_identity, measure_ceiling};
use disk::facts::storage_behind;
use results::ceiling::{CeilingPattern, StoredCeiling};
use results::store::{Store, StoreError, StudyId};

use crate::work::{Durability, Work, Workload};

/// A ceiling older than this is measured again: devices fill up, and neighbours change.
const AGE_S_MAX: u64 = 24 * 3600;
/// Each pattern is measured this long.
const RUNTIME: Duration = Duration::from_millis(700);
/// File for the data patterns: larger than a device's own cache where that is possible in a second.
const FILE_BYTES: u64 = 64 << 20;
/// One page of data, as the engines under test write it.
const PAGE_BYTES: u64 = 8192;
/// Writes under way, as background writers and checkpoints keep them.
const OUTSTANDING: u32 = 16;
/// Sizes of log appends that are told apart; a commit's bytes are rounded up to the next.
const APPEND_BYTES: [u64; 3] = [8192, 65_536, 524_288];

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

/// Where a study keeps its log and its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CeilingPlaces {
    /// Directory of the log.
    pub log: PathBuf,
    /// First directory of the data.
    pub data: PathBuf,
}

/// Measures, or takes from earlier studies, what `works` ask of the devices, and stores it with the study.
///
/// `on_measure` is told each pattern that is measured now. A place where nothing can be measured is named in the log
/// and left out.
///
/// # Errors
/// The results file cannot be read or written.
pub fn provide(
    store: &mut Store,
    study: StudyId,
    places: &CeilingPlaces,
    works: &[Work],
    on_measure: &mut dyn FnMut(&str, &CeilingPattern),
) -> Result<(), StoreError> {
    let now_unix_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let known = store.ceilings(study)?;
    for (role, place, pattern) in wanted(places, works) {
        let Ok(facts) = storage_behind(place) else { continue };
        let device = device_identity(&facts);
        if known.iter().any(|ceiling| ceiling.device == device && ceiling.pattern == pattern) {
            continue;
        }
        let since_unix_s = now_unix_s.saturating_sub(AGE_S_MAX);
        if let Some(found) = store.find_ceiling(&device, &pattern, since_unix_s)? {
            store.add_ceiling(study, &StoredCeiling { role: role.to_owned(), ..found })?;
            continue;
        }
        on_measure(role, &pattern);
        match measure(role, place, &pattern, now_unix_s) {
            Ok(ceiling) => store.add_ceiling(study, &ceiling)?,
            Err(error) => tracing::warn!("could not measure the ceiling of the {role}: {error}"),
        }
    }
    Ok(())
}

/// Patterns of the works, each once.
fn wanted<'a>(places: &'a CeilingPlaces, works: &[Work]) -> Vec<(&'static str, &'a Path, CeilingPattern)> {
    let mut wanted: Vec<(&'static str, &Path, CeilingPattern)> = Vec::new();
    for work in works.iter().filter(|work| work.workload != Workload::SelectOne) {
        let random_percent = if work.workload == Workload::RandomInsert { 100 } else { 0 };
        let writes =
            CeilingPattern::Writes { transfer_bytes: PAGE_BYTES, random_percent, outstanding: OUTSTANDING };
        let appends = CeilingPattern::Appends { size_bytes: append_bytes(work) };
        let mut add = |role, place, pattern| {
            let ask = (role, place, pattern);
            if !wanted.contains(&ask) {
                wanted.push(ask);
            }
        };
        if work.durability == Durability::Full {
            add("log", places.log.as_path(), appends);
        }
        add("data", places.data.as_path(), writes);
    }
    wanted
}

/// Size of the log append that a commit of this work asks for, about.
fn append_bytes(work: &Work) -> u64 {
    // A row and what the engine writes around it: 4272 bytes were seen on PostgreSQL for the wide row.
    let row_bytes = if work.workload == Workload::Populate { 4_300 } else { 250 };
    let commit_bytes = work.batch_size.saturating_mul(row_bytes);
    let largest = APPEND_BYTES[APPEND_BYTES.len() - 1];
    APPEND_BYTES.into_iter().find(|size| *size >= commit_bytes).unwrap_or(largest)
}

fn measure(
    role: &str,
    place: &Path,
    pattern: &CeilingPattern,
    now_unix_s: u64,
) -> Result<StoredCeiling, BaselineError> {
    let asked = match *pattern {
        CeilingPattern::Appends { size_bytes } => {
            baseline::CeilingPattern::Appends { size_bytes, method: SyncMethod::Fdatasync, writer_count: 1 }
        }
        CeilingPattern::Writes { transfer_bytes, random_percent, outstanding } => {
            baseline::CeilingPattern::Transfers {
                pattern: Pattern::write(transfer_bytes, random_percent, outstanding),
            }
        }
    };
    let found = measure_ceiling(place, &asked, FILE_BYTES, RUNTIME, now_unix_s)?;
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
    use super::*;

    #[test]
    fn each_pattern_is_wanted_once_and_only_what_the_works_ask() {
        let places = CeilingPlaces { log: "/log".into(), data: "/data".into() };
        let mut works: Vec<Work> =
            [1, 2, 10, 1_000].into_iter().map(|batch_size| Work { batch_size, ..Work::example() }).collect();
        let patterns: Vec<_> = wanted(&places, &works).into_iter().map(|(role, _, _)| role).collect();
        // 8 KiB for one row, 64 KiB for two and ten, 512 KiB for more; page writes once.
        assert_eq!(patterns, ["log", "data", "log", "log"]);
        works.truncate(1);
        works[0].durability = Durability::None;
        assert_eq!(wanted(&places, &works).len(), 1);
        works[0].workload = Workload::SelectOne;
        assert!(wanted(&places, &works).is_empty());
    }
}
