//! What tells whether a file is the one that was opened, and whether a process wrote into it since.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, SystemTime};

/// Two changes closer than this may have the same time: a tick of the kernel's clock is at most 10 ms.
const TICK: Duration = Duration::from_millis(20);
/// The same on file systems that keep whole seconds.
const COARSE_TICK: Duration = Duration::from_secs(2);

/// A file: its device and its inode number.
pub(crate) type FileId = (u64, u64);

/// Identity, length and times of a file at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) id: FileId,
    pub(crate) size_bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    taken: SystemTime,
}

impl Stamp {
    pub(crate) fn of(metadata: &Metadata) -> Stamp {
        Stamp {
            id: (metadata.dev(), metadata.ino()),
            size_bytes: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            taken: SystemTime::now(),
        }
    }

    /// How long a stamp must be waited for so that it tells later changes from the last one.
    pub(crate) fn wait(&self) -> Option<Duration> {
        let age = self.taken.duration_since(time_of(self.modified.max(self.changed))).ok()?;
        TICK.checked_sub(age).filter(|wait| !wait.is_zero())
    }

    /// Whether the file is another one, or its length or the time of its last write is another one.
    pub(crate) fn is_changed(&self, now: &Stamp) -> bool {
        (self.id, self.size_bytes, self.modified) != (now.id, now.size_bytes, now.modified)
    }

    /// Whether no process wrote the file between the two moments: the kernel changes both times with every write, and
    /// the last change was long enough before the first moment that another one would have another time.
    pub(crate) fn is_still(&self, now: &Stamp) -> bool {
        let age = |time: (i64, i64)| {
            let tick = if time.1 == 0 { COARSE_TICK } else { TICK };
            // A time in the future says nothing.
            self.taken.duration_since(time_of(time)).is_ok_and(|age| age >= tick)
        };
        !self.is_changed(now) && self.changed == now.changed && age(self.modified) && age(self.changed)
    }
}

fn time_of((seconds, nanoseconds): (i64, i64)) -> SystemTime {
    let since = Duration::new(u64::try_from(seconds).unwrap_or(0), u32::try_from(nanoseconds).unwrap_or(0));
    SystemTime::UNIX_EPOCH + since
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn aged(stamp: Stamp, seconds: i64) -> Stamp {
        let (modified, changed) = ((stamp.modified.0 - seconds, 7), (stamp.changed.0 - seconds, 7));
        Stamp { modified, changed, ..stamp }
    }

    #[test]
    fn a_file_that_was_written_a_moment_before_cannot_be_called_still() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let stamp = Stamp::of(&file.as_file().metadata().unwrap());
        assert!(!stamp.is_changed(&stamp));
        let fresh = Stamp {
            taken: SystemTime::UNIX_EPOCH + Duration::new(stamp.changed.0 as u64, stamp.changed.1 as u32),
            ..stamp
        };
        assert!(!fresh.is_still(&fresh));
        let old = aged(stamp, 5);
        assert!(old.is_still(&old));
        let whole_second = Stamp {
            modified: (stamp.taken.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() as i64, 0),
            ..old
        };
        assert!(!whole_second.is_still(&whole_second));
    }

    #[test]
    fn a_file_whose_permissions_change_is_the_same_file_but_not_known_to_be_still() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let old = aged(Stamp::of(&file.as_file().metadata().unwrap()), 5);
        let touched = Stamp { changed: (old.changed.0 + 1, 0), ..old };
        assert!(!old.is_changed(&touched));
        assert!(!old.is_still(&touched));
        assert!(old.is_changed(&Stamp { id: (1, 1), ..old }));
        assert!(old.is_changed(&Stamp { size_bytes: 1, ..old }));
    }
}
