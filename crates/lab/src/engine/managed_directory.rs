//! Directories that fathom made: marked, and locked as long as their maker lives, so that whatever a crash leaves can
//! be recognised and removed.
//!
//! ```text
//! <base>/fathom-<kind>-<id>/              the main directory, mode 0700
//!     made-by-fathom.json                 the mark, locked
//! <elsewhere>/fathom-<kind>-<id>-<role>/  a part of it on another device, marked and locked too
//! ```
//! No name is used twice: a process of a fathom that was killed may still write to, or remove, the directory it knows.
//! 1. fathom removes a directory only when it carries a whole mark of fathom's and nobody holds the mark's lock.
//! 2. The kernel lets the lock go when its holder dies: no guessing by process id or age.
//! 3. A part is listed in the main directory's mark before it is made, and the mark is the last file to go: a crash at
//!    any moment leaves nothing that cannot be found.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{FlockOperation, OFlags, flock};
use serde::{Deserialize, Serialize};

use super::TargetError;
use crate::path_bytes;

/// Name of the file that bears the mark.
const MARKER_FILE: &str = "made-by-fathom.json";

/// Largest mark that is read; ours are some hundred bytes.
const MARK_BYTES_MAX: u64 = 64 * 1024;

/// Names tried before giving up on finding an unused one: another process id of the same number in a container may have
/// made the same in the same second.
const NAMES_MAX: u32 = 100;

/// What the marker file says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Always `fathom`.
    made_by: String,
    /// RFC 3339, UTC.
    made_at: String,
    /// Version of fathom.
    fathom_version: String,
    /// Process id of the maker, for people: whether it lives is told by the lock.
    process_id: u32,
    /// Engine, as in the directory's name.
    kind: String,
    /// The same in the main directory and all its parts, and nowhere else.
    pub id: String,
    /// The main directory.
    #[serde(with = "path_bytes")]
    pub main_directory: PathBuf,
    /// The parts. Only the main directory's mark lists them.
    #[serde(with = "path_bytes::list")]
    pub parts: Vec<PathBuf>,
    /// Private directory of a server's socket, when it exists. It bears no mark of its own.
    #[serde(with = "path_bytes::optional")]
    pub socket_directory: Option<PathBuf>,
    /// Left in place on purpose: not a leftover.
    pub kept: bool,
}

/// A marked directory, locked as long as this value lives. Dropping it lets the lock go and leaves the directory.
#[derive(Debug)]
pub struct ManagedDirectory {
    directory: PathBuf,
    marker: File,
    mark: Mark,
}

impl ManagedDirectory {
    /// Makes `<base>/fathom-<kind>-<id>`, marks and locks it. `base` is created when it
    /// does not exist.
    ///
    /// # Errors
    /// A base that cannot be written to.
    pub fn create(base: &Path, kind: &str) -> Result<Self, TargetError> {
        fs::create_dir_all(base).map_err(io_error("create directory", base))?;
        for _ in 0..NAMES_MAX {
            let id = unique_id();
            let directory = base.join(format!("{}{id}", prefix(kind)));
            match make_private(&directory) {
                Ok(()) => {
                    let mark = Mark {
                        made_by: "fathom".to_owned(),
                        made_at: jiff::Timestamp::now().to_string(),
                        fathom_version: env!("CARGO_PKG_VERSION").to_owned(),
                        process_id: std::process::id(),
                        kind: kind.to_owned(),
                        id,
                        main_directory: directory.clone(),
                        parts: Vec::new(),
                        socket_directory: None,
                        kept: false,
                    };
                    return Self::mark_new(directory, mark);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(io_error("create directory", &directory)(error)),
            }
        }
        Err(TargetError::refused(
            format!("could not find an unused name for a directory in \"{}\"", base.display()),
            format!("remove old directories {}* there", prefix(kind)),
        ))
    }

    /// Makes a part for `role` in the existing directory `place`.
    ///
    /// # Errors
    /// A place that cannot be written to.
    pub fn create_part(&mut self, place: &Path, role: &str) -> Result<Self, TargetError> {
        let directory = self.part_directory(place, role)?;
        // Listed before it is made: a crash in between leaves nothing that the list does not name.
        let listed = directory.clone();
        self.update(|mark| mark.parts.push(listed))?;
        make_private(&directory).map_err(io_error("create directory", &directory))?;
        Self::mark_new(directory, Mark { parts: Vec::new(), ..self.mark.clone() })
    }

    /// Where the part for `role` in `place` is, or would be.
    pub fn part_directory(&self, place: &Path, role: &str) -> Result<PathBuf, TargetError> {
        let place = place.canonicalize().map_err(io_error("use directory", place))?;
        Ok(place.join(format!("{}{}-{role}", prefix(&self.mark.kind), self.mark.id)))
    }

    /// Takes over a directory of this kind if its owner is gone; `None` when it lives, or when there is no whole mark
    /// of ours.
    pub fn take_over(directory: &Path, kind: &str) -> Option<Self> {
        let name = directory.file_name()?.to_str()?; // ours is ASCII, whatever stands before it
        if !name.starts_with(&prefix(kind)) || !fs::symlink_metadata(directory).ok()?.is_dir() {
            return None;
        }
        // Not through a link: what it points to is not ours to lock, nor to write to.
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(flags);
        let marker = options.open(directory.join(MARKER_FILE)).ok()?;
        flock(&marker, FlockOperation::NonBlockingLockExclusive).ok()?;
        let mark = read_mark(&marker).filter(|mark| mark.kind == kind)?;
        let managed_directory = Self { directory: directory.to_owned(), marker, mark };
        // A directory that somebody copied or renamed is theirs.
        let is_part = name.starts_with(&format!("{}{}-", prefix(kind), managed_directory.mark.id));
        (managed_directory.is_main() || is_part).then_some(managed_directory)
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// What the mark says.
    pub fn mark(&self) -> &Mark {
        &self.mark
    }

    /// Is this the main directory, as opposed to a part?
    pub fn is_main(&self) -> bool {
        self.directory.file_name() == self.mark.main_directory.file_name()
    }

    /// Is this a part whose main directory is gone, or has given its name to another?
    pub fn is_orphan(&self) -> bool {
        let main = File::open(self.mark.main_directory.join(MARKER_FILE)).ok();
        main.and_then(|main| read_mark(&main)).is_none_or(|main| main.id != self.mark.id)
    }

    /// Changes what the mark says.
    pub fn update(&mut self, change: impl FnOnce(&mut Mark)) -> Result<(), TargetError> {
        change(&mut self.mark);
        self.write()
    }

    /// Removes the directory with all it holds, the mark last.
    ///
    /// # Errors
    /// Something in it that cannot be removed; then the mark stays.
    pub fn remove(self) -> Result<(), TargetError> {
        let error = io_error("remove directory", &self.directory);
        for entry in fs::read_dir(&self.directory).map_err(&error)? {
            let entry = entry.map_err(&error)?;
            if entry.file_name() == MARKER_FILE {
                continue;
            }
            let is_directory = entry.file_type().map_err(&error)?.is_dir();
            if is_directory { fs::remove_dir_all(entry.path()) } else { fs::remove_file(entry.path()) }
                .map_err(io_error("remove", &entry.path()))?;
        }
        fs::remove_dir_all(&self.directory).map_err(&error)
    }

    /// Gives up the lock and leaves the directory to the user: no later run takes it for a leftover.
    ///
    /// # Errors
    /// The mark cannot be written.
    pub fn keep(mut self) -> Result<PathBuf, TargetError> {
        self.update(|mark| mark.kept = true)?;
        Ok(self.directory.clone())
    }

    fn mark_new(directory: PathBuf, mark: Mark) -> Result<Self, TargetError> {
        let path = directory.join(MARKER_FILE);
        let marker = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
            .map_err(io_error("create file", &path))?;
        // Waits: somebody who looks for leftovers may hold the new file for a moment, and lets it go as it is empty.
        flock(&marker, FlockOperation::LockExclusive)
            .map_err(|error| io_error("lock file", &path)(error.into()))?;
        let managed_directory = Self { directory, marker, mark };
        managed_directory.write()?;
        Ok(managed_directory)
    }

    fn write(&self) -> Result<(), TargetError> {
        let text = serde_json::to_string_pretty(&self.mark).expect("a mark is plain data");
        // In place: a rename would leave the lock on the old file. Cut to length last: at every moment the file
        // begins with a whole mark.
        self.marker
            .write_all_at(text.as_bytes(), 0)
            .and_then(|()| self.marker.set_len(text.len() as u64))
            .map_err(io_error("write file", &self.directory.join(MARKER_FILE)))
    }
}

impl Drop for ManagedDirectory {
    fn drop(&mut self) {
        // Closing alone would not do: a child between fork and exec still has the descriptor for a moment.
        let _ = flock(&self.marker, FlockOperation::Unlock);
    }
}

/// Directories of this kind in `base` that carry the mark, were not kept and have lost their owner, by name. Parts are
/// among them.
pub fn leftovers(base: &Path, kind: &str) -> Vec<ManagedDirectory> {
    let Ok(entries) = fs::read_dir(base) else { return Vec::new() };
    let mut found: Vec<ManagedDirectory> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| ManagedDirectory::take_over(&entry.path(), kind))
        .filter(|managed_directory| !managed_directory.mark.kept)
        .collect();
    found.sort_by(|left, right| left.directory.cmp(&right.directory));
    found
}

/// A word that nothing else made on this machine has: process, time and a counter.
pub fn unique_id() -> String {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let seconds = jiff::Timestamp::now().as_second();
    format!("{}-{seconds:x}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed))
}

/// First characters of the name of every directory of this kind.
fn prefix(kind: &str) -> String {
    format!("fathom-{kind}-")
}

/// Makes a directory that nobody else may enter.
fn make_private(directory: &Path) -> io::Result<()> {
    fs::DirBuilder::new().mode(0o700).create(directory)
}

/// The mark at the start of a file; `None` when there is none of ours.
fn read_mark(marker: &File) -> Option<Mark> {
    let size_bytes = marker.metadata().ok()?.len();
    if size_bytes > MARK_BYTES_MAX {
        return None;
    }
    let mut bytes = vec![0; size_bytes as usize];
    marker.read_exact_at(&mut bytes, 0).ok()?;
    let mark: Mark = serde_json::Deserializer::from_slice(&bytes).into_iter().next()?.ok()?;
    (mark.made_by == "fathom").then_some(mark)
}

fn io_error(action: &'static str, path: &Path) -> impl Fn(io::Error) -> TargetError + use<> {
    let path = path.to_owned();
    move |source| TargetError::Io { action, path: path.clone(), source }
}

#[cfg(test)]
#[path = "managed_directory_names.rs"]
mod names;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_living_owner_is_left_alone_and_a_dead_one_is_taken_over() {
        let base = tempfile::tempdir().unwrap();
        let alive = ManagedDirectory::create(base.path(), "test").unwrap();
        assert!(leftovers(base.path(), "test").is_empty());
        let directory = alive.directory().to_owned();
        fs::create_dir(directory.join("data")).unwrap();
        fs::write(directory.join("data/file"), "x").unwrap();
        drop(alive); // the lock goes, the directory stays: what a crash leaves
        let mut left = leftovers(base.path(), "test");
        assert_eq!(left.len(), 1);
        assert!(leftovers(base.path(), "other").is_empty());
        left.remove(0).remove().unwrap();
        assert!(!directory.exists());
    }

    #[test]
    fn a_directory_without_the_marker_is_never_touched() {
        let base = tempfile::tempdir().unwrap();
        fs::create_dir(base.path().join("fathom-test-1")).unwrap();
        assert!(leftovers(base.path(), "test").is_empty());
        let made = ManagedDirectory::create(base.path(), "test").unwrap();
        assert!(made.directory() != base.path().join("fathom-test-1"));
    }

    #[test]
    fn what_is_kept_keeps_its_mark_and_is_no_leftover() {
        let base = tempfile::tempdir().unwrap();
        let kept = ManagedDirectory::create(base.path(), "test").unwrap().keep().unwrap();
        assert!(leftovers(base.path(), "test").is_empty());
        assert!(ManagedDirectory::take_over(&kept, "test").unwrap().mark().kept);
    }

    #[test]
    fn directories_without_a_whole_mark_of_ours_are_left_alone() {
        let base = tempfile::tempdir().unwrap();
        let directory = ManagedDirectory::create(base.path(), "test").unwrap().directory().to_owned();
        let marker = directory.join(MARKER_FILE);
        let whole = fs::read_to_string(&marker).unwrap();
        let other = whole.replacen("\"fathom\"", "\"somebody\"", 1);
        let cut = &whole[..whole.len() - 1];
        for text in ["", "{", "{\"made_by\": \"fathom\"}", cut, &other] {
            fs::write(&marker, text).unwrap();
            assert!(ManagedDirectory::take_over(&directory, "test").is_none(), "{text}");
        }
        // As after a shorter mark was written and before the rest was cut off.
        fs::write(&marker, format!("{whole}\n}}")).unwrap();
        assert!(ManagedDirectory::take_over(&directory, "test").is_some());
        // Under another name, or behind a link, it is not what fathom made.
        let renamed = directory.with_extension("saved");
        fs::rename(&directory, &renamed).unwrap();
        assert!(leftovers(base.path(), "test").is_empty());
        std::os::unix::fs::symlink(&renamed, &directory).unwrap();
        assert!(ManagedDirectory::take_over(&directory, "test").is_none());
    }

    #[test]
    fn a_part_is_listed_and_is_an_orphan_without_its_own_main_directory() {
        let base = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let mut main = ManagedDirectory::create(base.path(), "test").unwrap();
        let part = main.create_part(elsewhere.path(), "log").unwrap();
        assert_eq!(main.mark().parts, [part.directory()]);
        assert_eq!(part.directory(), main.part_directory(elsewhere.path(), "log").unwrap());
        assert!(!part.is_orphan() && main.is_main() && !part.is_main());
        main.remove().unwrap();
        assert!(part.is_orphan());
        // The name passes to the next one, the identity does not.
        let _next = ManagedDirectory::create(base.path(), "test").unwrap();
        assert!(part.is_orphan());
        drop(part);
        assert_eq!(leftovers(elsewhere.path(), "test").len(), 1);
    }
}
