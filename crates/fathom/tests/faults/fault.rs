//! What goes wrong with one file.

use std::io;
use std::ops::Range;
use std::path::PathBuf;

/// A fault. Numbers of openings and readings are counted from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Readings give at most so many bytes.
    Short { bytes: usize },
    /// The first `times` readings fail.
    ReadError { errno: i32, times: u64 },
    /// A byte is another one, in another way each time.
    EachReading,
    /// Likewise in every other reading, from the first.
    EveryOther,
    /// Likewise in the first reading only.
    FirstOnly,
    /// The second half of the range has the second half of these bytes: the page as it was before.
    Torn { old: Vec<u8> },
    /// The range holds these bytes: the page as it was before.
    Stale { old: Vec<u8> },
    /// The file ends here after so many openings and readings.
    Cut { bytes: u64, after: u64 },
    /// The file is gone after so many openings and readings.
    Removed { after: u64 },
    /// Another file has its name after so many openings and readings.
    Replaced { after: u64 },
    /// Openings from this one on fail.
    OpenError { errno: i32, from: u64 },
    /// The directory cannot be opened, or not be listed.
    ListError { errno: i32, opens: bool },
}

impl Fault {
    /// The name of the fault with its numbers, without bytes.
    pub(crate) fn name(&self) -> String {
        match self {
            Fault::Torn { .. } => "Torn".to_owned(),
            Fault::Stale { .. } => "Stale".to_owned(),
            other => format!("{other:?}").replace(&u64::MAX.to_string(), "all"),
        }
    }
}

/// A fault in a range of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Planned {
    /// The file, below the directory.
    pub(crate) path: PathBuf,
    pub(crate) range: Range<u64>,
    /// The byte that changes, behind the start of the range.
    pub(crate) byte: u64,
    pub(crate) fault: Fault,
}

impl Planned {
    /// What the reading with this number brings, from `offset` on.
    pub(crate) fn apply(&self, count: u64, offset: u64, mut bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        let is_changed = match &self.fault {
            Fault::Short { bytes: most } => {
                bytes.truncate(*most);
                false
            }
            Fault::ReadError { errno, times } if count < *times => {
                return Err(io::Error::from_raw_os_error(*errno));
            }
            Fault::EachReading => true,
            Fault::EveryOther => count.is_multiple_of(2),
            Fault::FirstOnly => count == 0,
            Fault::Torn { old } => {
                let half = old.len() / 2;
                self.overlay(offset, &mut bytes, half, &old[half..]);
                false
            }
            Fault::Stale { old } => {
                self.overlay(offset, &mut bytes, 0, old);
                false
            }
            _ => false,
        };
        let at = (self.range.start + self.byte).checked_sub(offset);
        if is_changed && let Some(byte) = at.and_then(|at| bytes.get_mut(at as usize)) {
            // Never the same twice in a row, and never as it is.
            *byte ^= 1 << (count % 8);
        }
        Ok(bytes)
    }

    /// Puts these bytes over what was read, `behind` the start of the range.
    fn overlay(&self, offset: u64, bytes: &mut [u8], behind: usize, with: &[u8]) {
        for (place, with) in (self.range.start + behind as u64..self.range.end).zip(with) {
            let at = place.checked_sub(offset).map(|at| at as usize);
            if let Some(byte) = at.and_then(|at| bytes.get_mut(at)) {
                *byte = *with;
            }
        }
    }
}
