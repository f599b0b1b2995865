//! The caches in front of a device: emptied, filled, and looked at.
//!
//! Cold is made per file, and for the whole machine only where somebody asks for that (`cache = "cold-machine"`): the page
//! cache belongs to others as well. What a hypervisor or the device itself keeps cannot be emptied or seen.

use std::path::{Path, PathBuf};

use disk::residency::{DROP_CACHES, give_up, give_up_all, may_give_up_all, page_bytes, residency};
use results::model::CACHE_STATES;

use crate::engine::{Limitation, TargetError};
use crate::work::{CacheState, Work};

/// Largest share of the pages in memory at which files count as not cached.
pub const COLD_FRACTION_MAX: f64 = 0.01;

/// Smallest share at which they count as cached.
pub const WARM_FRACTION_MIN: f64 = 0.5;

/// Smallest share of what an engine read that must have come from the storage, as the kernel counts it for the
/// processes that read, for a cache to have been cold.
pub const STORAGE_FRACTION_MIN: f64 = 0.5;

/// What the page cache held of the files just before the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CachedPages {
    /// Pages of the files.
    pub page_count: u64,
    /// Of these, in memory.
    pub resident_count: u64,
    /// Bytes of a page.
    pub page_bytes: u64,
}

/// What a run's caches really were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verified {
    /// Not in memory before, and read from the storage during the run.
    Cold,
    /// Partly in memory, or not seen to come from the storage.
    Lukewarm,
    /// Mostly in memory.
    Warm,
}

impl Verified {
    /// In words, as titles have it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Cold => CACHE_STATES[0],
            Self::Lukewarm => CACHE_STATES[1],
            Self::Warm => CACHE_STATES[2],
        }
    }
}

/// Judges: `engine_bytes` is what the engine asked the operating system for, `storage_bytes` what the kernel says that
/// the storage gave for it, where it says so.
pub fn verify(look: &CachedPages, engine_bytes: Option<f64>, storage_bytes: Option<f64>) -> Verified {
    let resident = look.resident_count as f64 / (look.page_count as f64).max(1.0);
    if resident >= WARM_FRACTION_MIN {
        return Verified::Warm;
    }
    let came_from_storage = match (engine_bytes, storage_bytes) {
        (Some(asked), Some(given)) => given > 0.0 && given >= STORAGE_FRACTION_MIN * asked,
        (None, Some(given)) => given > 0.0,
        _ => false,
    };
    if resident <= COLD_FRACTION_MAX && came_from_storage { Verified::Cold } else { Verified::Lukewarm }
}

/// Brings the page cache of `files` into the state asked for, as well as it can be, and looks at the outcome.
///
/// # Errors
/// A file that cannot be opened, flushed, read or looked at.
pub fn set(files: &[PathBuf], state: CacheState) -> Result<CachedPages, TargetError> {
    let mut look = CachedPages { page_bytes: page_bytes(), ..CachedPages::default() };
    if state == CacheState::ColdMachine {
        let path = PathBuf::from(DROP_CACHES);
        let io = |source| TargetError::Io { action: "empty the machine's page cache by", path, source };
        give_up_all(Path::new(DROP_CACHES)).map_err(io)?;
    }
    for path in files {
        let io = |action| move |source| TargetError::Io { action, path: path.clone(), source };
        match state {
            CacheState::AsIs => {}
            CacheState::Cold | CacheState::ColdMachine => {
                give_up(path).map_err(io("empty the page cache of"))?;
            }
            CacheState::Warm => read_all(path).map_err(io("read"))?,
        }
        let seen = residency(path).map_err(io("look at the page cache of"))?;
        look.page_count += seen.page_count;
        look.resident_count += seen.resident_count;
    }
    Ok(look)
}

/// Refuses the machine's page cache to whoever may not empty it; asked before anything runs.
pub fn limitation(work: &Work) -> Option<Limitation> {
    let wants_all = work.subject.cache == CacheState::ColdMachine;
    (wants_all && !may_give_up_all(Path::new(DROP_CACHES))).then(|| Limitation {
        subject: "cache".to_owned(),
        text: format!(
            "cold-machine: \"{DROP_CACHES}\" cannot be written by this user (root on the machine itself can): cold empties the files of the run alone"
        ),
        refuses: true,
    })
}

fn read_all(path: &Path) -> std::io::Result<()> {
    std::io::copy(&mut std::fs::File::open(path)?, &mut std::io::sink()).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(resident_count: u64) -> CachedPages {
        CachedPages { page_count: 1000, resident_count, page_bytes: 4096 }
    }

    #[test]
    fn only_a_wish_for_the_machine_s_cache_is_ever_refused() {
        let mut work = Work::example();
        for cache in [CacheState::AsIs, CacheState::Cold, CacheState::Warm] {
            work.subject.cache = cache;
            assert_eq!(limitation(&work), None);
        }
        work.subject.cache = CacheState::ColdMachine;
        assert_eq!(limitation(&work).is_none(), may_give_up_all(Path::new(DROP_CACHES)));
    }

    #[test]
    fn cold_needs_both_an_empty_cache_and_reads_of_the_storage() {
        assert_eq!(verify(&look(10), Some(1e6), Some(9e5)), Verified::Cold);
        assert_eq!(verify(&look(11), Some(1e6), Some(9e5)), Verified::Lukewarm);
        assert_eq!(verify(&look(0), Some(1e6), Some(4e5)), Verified::Lukewarm);
        assert_eq!(verify(&look(0), Some(1e6), None), Verified::Lukewarm);
        assert_eq!(verify(&look(0), None, Some(0.0)), Verified::Lukewarm);
        assert_eq!(verify(&look(500), Some(1e6), Some(1e6)), Verified::Warm);
    }
}
