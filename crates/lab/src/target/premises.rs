//! A directory that fathom made, marked and locked, so that whatever a crash leaves can be recognised and removed.
//!
//! Invariant: fathom removes a directory only when it carries the marker file and nobody holds the
//! marker's lock. The lock is released by the kernel when its owner dies, so no process id has to be guessed.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::TargetError;

/// Name of the file that says "made by fathom".
pub const MARKER_FILE: &str = "made-by-fathom.json";
/// Names tried before giving up on finding an unused one.
const NAMES_MAX: u32 = 10_000;

/// A marked directory, locked as long as this value lives.
#[derive(Debug)]
pub struct Premises {
    directory: PathBuf,
    _lock: File,
}

impl Premises {
    /// Makes `<base>/fathom-<kind>-<n>` with the first unused number, marks and locks it.
    ///
    /// `base` is created when it does not exist.
    pub fn create(base: &Path, kind: &str) -> Result<Self, TargetError> {
        fs::create_dir_all(base).map_err(io_error("create directory", base))?;
        for number in 1..=NAMES_MAX {
            let directory = base.join(format!("fathom-{kind}-{number}"));
            match fs::create_dir(&directory) {
                Ok(()) => return Self::mark(directory, kind),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(io_error("create directory", &directory)(error)),
            }
        }
        Err(TargetError::refused(
            format!("could not find an unused name for a directory in \"{}\"", base.display()),
            format!("remove old directories fathom-{kind}-* there"),
        ))
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Removes the directory with all it holds.
    pub fn remove(self) -> Result<(), TargetError> {
        fs::remove_dir_all(&self.directory).map_err(io_error("remove directory", &self.directory))
    }

    /// Gives up the lock and leaves the directory, without its marker, to the user.
    pub fn keep(self) -> Result<PathBuf, TargetError> {
        let marker = self.directory.join(MARKER_FILE);
        fs::remove_file(&marker).map_err(io_error("remove file", &marker))?;
        Ok(self.directory)
    }

    fn mark(directory: PathBuf, kind: &str) -> Result<Self, TargetError> {
        let path = directory.join(MARKER_FILE);
        let mut marker = File::create(&path).map_err(io_error("create file", &path))?;
        flock(&marker, FlockOperation::NonBlockingLockExclusive)
            .map_err(|error| io_error("lock file", &path)(error.into()))?;
        let text = serde_json::json!({
            "made_by": format!("fathom {}", env!("CARGO_PKG_VERSION")),
            "kind": kind,
            "process_id": std::process::id(),
            "made_at": jiff::Timestamp::now().to_string(),
        });
        writeln!(marker, "{text}").map_err(io_error("write file", &path))?;
        Ok(Self { directory, _lock: marker })
    }
}

/// Directories `fathom-<kind>-*` in `base` that carry the marker and whose owner is dead, each with the lock taken.
pub fn leftovers(base: &Path, kind: &str) -> Vec<Premises> {
    let prefix = format!("fathom-{kind}-");
    let Ok(entries) = fs::read_dir(base) else { return Vec::new() };
    let mut found: Vec<Premises> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
        .filter_map(|entry| take_over(entry.path()))
        .collect();
    found.sort_by(|left, right| left.directory.cmp(&right.directory));
    found
}

fn take_over(directory: PathBuf) -> Option<Premises> {
    let marker = File::open(directory.join(MARKER_FILE)).ok()?;
    flock(&marker, FlockOperation::NonBlockingLockExclusive).ok()?;
    Some(Premises { directory, _lock: marker })
}

fn io_error<'a>(action: &'static str, path: &'a Path) -> impl Fn(io::Error) -> TargetError + 'a {
    move |source| TargetError::Io { action, path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_living_owner_is_left_alone_and_a_dead_one_is_taken_over() {
        let base = tempfile::tempdir().unwrap();
        let alive = Premises::create(base.path(), "test").unwrap();
        assert!(leftovers(base.path(), "test").is_empty());
        let directory = alive.directory().to_owned();
        drop(alive); // the lock goes, the directory stays: what a crash leaves
        let mut left = leftovers(base.path(), "test");
        assert_eq!(left.len(), 1);
        left.remove(0).remove().unwrap();
        assert!(!directory.exists());
    }

    #[test]
    fn a_directory_without_the_marker_is_never_touched() {
        let base = tempfile::tempdir().unwrap();
        fs::create_dir(base.path().join("fathom-test-1")).unwrap();
        assert!(leftovers(base.path(), "test").is_empty());
        let made = Premises::create(base.path(), "test").unwrap();
        assert!(made.directory().ends_with("fathom-test-2"));
        let kept = made.keep().unwrap();
        assert!(kept.exists());
        assert!(leftovers(base.path(), "test").is_empty());
    }
}
