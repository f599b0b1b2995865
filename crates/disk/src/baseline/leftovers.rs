//! Files that a measurement keeps by name while it writes them, and what becomes of them when it is killed.

use std::fs::File;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

/// How their names begin; the number of the process and one of its own follow.
pub(super) const PREFIX: &str = ".fathom-sync-";

/// The most entries of a directory that are looked at: a measurement does not wait for a directory of millions.
const ENTRIES_MAX: usize = 100_000;

/// Marks a file as in use for as long as it is open.
pub(super) fn hold(file: &File) {
    // File systems without locks leave the number of the process to tell.
    let _unsupported = flock(file, FlockOperation::NonBlockingLockExclusive);
}

/// Removes what killed measurements left in `directory`: files with our name whose process is gone and that nobody
/// holds. What cannot be looked at or removed stays.
pub(super) fn remove_abandoned(directory: &Path) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.take(ENTRIES_MAX).flatten() {
        let name = entry.file_name();
        let Some(process) = name.to_str().and_then(process_of) else { continue };
        let is_gone = !Path::new("/proc").join(process.to_string()).exists();
        // Another container may have other processes, but the lock is one for all.
        let is_free = crate::regular::open(entry.path())
            .is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok());
        if is_gone && is_free {
            let _unremoved = std::fs::remove_file(entry.path());
        }
    }
}

/// The process in the name of a file of ours.
fn process_of(name: &str) -> Option<u32> {
    let (process, serial) = name.strip_prefix(PREFIX)?.split_once('-')?;
    serial.parse::<u32>().ok()?;
    process.parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_files_of_ours_whose_process_is_gone_and_that_nobody_holds_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        // No process has this number: it is above the largest that Linux gives (2^22).
        let gone = 4_194_305;
        let names = [
            format!("{PREFIX}{gone}-0"),
            format!("{PREFIX}{gone}-1"),
            format!("{PREFIX}{}-0", std::process::id()),
            format!("{PREFIX}{gone}-x"),
            format!("{PREFIX}notes"),
            "data".to_owned(),
        ];
        names.iter().for_each(|name| std::fs::write(directory.path().join(name), "x").unwrap());
        let held = File::open(directory.path().join(&names[1])).unwrap();
        hold(&held);
        remove_abandoned(directory.path());
        let is_left: Vec<bool> = names.iter().map(|name| directory.path().join(name).exists()).collect();
        assert_eq!(is_left, [false, true, true, true, true, true]);
    }
}
