//! Finding a stored study, and reading it as it is now.

use std::path::Path;

use anyhow::bail;
use results::model::{RunState, StoredRun};
use results::store::{Store, StoreError, StoredStudy, StudyId, StudyResults};

use super::selection::Selection;
use super::terminal::say;

/// Opens the results file for writing. What this removes from an older file is said: copies made before still have it.
pub(crate) fn writable(directory: &Path) -> Result<Store, StoreError> {
    let store = Store::open_or_create(directory)?;
    if let Some(redaction) = store.redaction() {
        let names = match redaction.names.as_slice() {
            [] => String::new(),
            names => format!(" the values of {} (only their names are kept)", names.join(", ")),
        };
        let specs = match redaction.studies {
            0 => "",
            _ if names.is_empty() => " passwords from specs",
            _ => ", and passwords from specs",
        };
        say(&format!("note: removed from \"{}\":{names}{specs}", store.path().display()));
        say("hint: delete pages, exports and backups made from it before, or change the passwords in them");
        if !redaction.is_wiped {
            say(
                "note: free space of the file still contains them: the next command that writes to it retries",
            );
        }
    }
    Ok(store)
}

/// The study that is named: by its number, its experiment (the latest one), or as `compare` takes it; without a name
/// the latest of all.
pub(crate) fn find(store: &Store, study: Option<&str>) -> anyhow::Result<StoredStudy> {
    match study {
        Some(name) => Selection::parse(name)?.whole(store),
        None => match store.latest_study()? {
            Some(found) => Ok(found),
            None => bail!("\"{}\" has no study\nhint: run an experiment first", store.path().display()),
        },
    }
}

/// A study; a run that says `running` though nobody writes to the directory any more is interrupted: its process is gone.
pub(crate) fn results(store: &Store, study: StudyId) -> Result<StudyResults, StoreError> {
    let was_written = store.has_writer();
    let mut results = store.study_results(study)?;
    // Asked twice: a writer may have come while the study was read.
    if was_written == Some(false) && store.has_writer() == Some(false) {
        results.runs.iter_mut().for_each(interrupt);
    }
    Ok(results)
}

/// Says of a run that its process is gone, where it still says `running`.
pub(crate) fn interrupt(stored: &mut StoredRun) {
    if stored.run.state == RunState::Running {
        stored.run.state = RunState::Interrupted;
    }
}

/// A stored moment to the second, without its zone.
pub(crate) fn seconds(time: &str) -> &str {
    time.trim_end_matches('Z').split('.').next().unwrap_or_default()
}
