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
    /// The second half of the range is as it was before: zeros.
    Torn,
    /// The range holds these bytes.
    Stale { bytes: Vec<u8> },
    /// The file ends here after so many openings and readings.
    Cut { bytes: u64, after: u64 },
    /// The file is gone after so many openings and readings.
    Removed { after: u64 },
    /// Another file has its name after so many openings and readings.
    Replaced { after: u64 },
    /// Openings from this one on fail.
    OpenError { errno: i32, from: u64 },
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
        let at = |place: u64| place.checked_sub(offset).and_then(|at| usize::try_from(at).ok());
        let is_changed = match &self.fault {
            Fault::Short { bytes: most } => {
                bytes.truncate(*most);
                false
            }
            Fault::ReadError { errno, times } => {
                if count < *times {
                    return Err(io::Error::from_raw_os_error(*errno));
                }
                false
            }
            Fault::EachReading => true,
            Fault::EveryOther => count.is_multiple_of(2),
            Fault::FirstOnly => count == 0,
            Fault::Torn => {
                let middle = (self.range.start + self.range.end) / 2;
                for place in middle..self.range.end {
                    if let Some(byte) = at(place).and_then(|at| bytes.get_mut(at)) {
                        *byte = 0;
                    }
                }
                false
            }
            Fault::Stale { bytes: old } => {
                for (place, old) in self.range.clone().zip(old) {
                    if let Some(byte) = at(place).and_then(|at| bytes.get_mut(at)) {
                        *byte = *old;
                    }
                }
                false
            }
            Fault::Cut { .. } | Fault::Removed { .. } | Fault::Replaced { .. } | Fault::OpenError { .. } => {
                false
            }
        };
        if is_changed && let Some(byte) = at(self.range.start + self.byte).and_then(|at| bytes.get_mut(at)) {
            // Never the same twice in a row, and never as it is.
            *byte ^= 1 << (count % 8);
        }
        Ok(bytes)
    }
}
