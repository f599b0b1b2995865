//! What a path is: recognises files and directories before they are checked, measured or shown.

use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};

/// Bytes of the start of a file that are read to recognise it.
const START_BYTES: usize = 8192;

/// How strong the evidence is that a path belongs to an engine; the strongest counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Match {
    /// Its place and name: a relation file in a data directory. For a directory, that there is no other engine.
    Place,
    /// Its name alone.
    Name,
    /// The structure of its pages, whatever its first bytes are.
    Pages,
    /// The structure of its first page, or of a directory.
    Header,
    /// A magic number.
    Magic,
}

impl Match {
    /// From the strongest down.
    pub(super) const ALL: [Self; 5] = [Self::Magic, Self::Header, Self::Pages, Self::Name, Self::Place];
}

/// A path and what its first bytes are.
#[derive(Clone, Debug)]
pub struct Probe {
    /// The path, as the user named it.
    pub path: PathBuf,
    /// Whether it is a directory; links are followed.
    pub is_directory: bool,
    /// Length of the file, bytes.
    pub length_bytes: u64,
    /// Up to 8 KiB of its start; empty for a directory.
    pub start: Vec<u8>,
}

/// Why a path cannot be recognised.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// It is not there, or must not be read.
    #[error("could not open \"{}\": {source}", path.display())]
    Read {
        /// The path.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It is no file whose bytes stay as they are. It was not opened: a pipe would be waited for.
    #[error("cannot read pages of \"{}\": it is {kind}, not a file", path.display())]
    Kind {
        /// The path.
        path: PathBuf,
        /// What it is, with its article.
        kind: &'static str,
    },
}

impl Probe {
    /// Looks at a path, links followed; reads up to 8 KiB of a file.
    ///
    /// # Errors
    /// When it cannot be read, or is a pipe, a socket or a device.
    pub fn open(path: &Path) -> Result<Self, ProbeError> {
        let failed = |source| ProbeError::Read { path: path.to_owned(), source };
        let facts = std::fs::metadata(path).map_err(failed)?;
        if let Some(kind) = special_kind(&facts) {
            return Err(ProbeError::Kind { path: path.to_owned(), kind });
        }
        let is_directory = facts.is_dir();
        let (start, length_bytes) = match is_directory {
            true => (Vec::new(), 0),
            false => start(path).map_err(failed)?,
        };
        Ok(Self { path: path.to_owned(), is_directory, length_bytes, start })
    }

    /// Whether it is a file without bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.is_directory && self.start.is_empty()
    }

    /// Whether the name ends with one of these, in any case.
    #[must_use]
    pub fn has_extension(&self, known: &[&str]) -> bool {
        let extension = self.path.extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|extension| known.iter().any(|known| extension.eq_ignore_ascii_case(known)))
    }
}

/// What is neither file nor directory, with its article.
pub(crate) fn special_kind(facts: &Metadata) -> Option<&'static str> {
    disk::regular::other_kind(facts.file_type()).filter(|_| !facts.is_dir())
}

fn start(path: &Path) -> io::Result<(Vec<u8>, u64)> {
    let file = disk::input::File::open(path)?;
    let mut start = vec![0; START_BYTES];
    let mut done = 0;
    while let Some(rest) = start.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, done as u64)? {
            0 => break,
            count => done += count,
        }
    }
    start.truncate(done);
    Ok((start, file.metadata()?.len()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_is_no_file_is_not_opened() {
        let error = Probe::open(Path::new("/dev/null")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot read pages of \"/dev/null\": it is a character device, not a file"
        );
        assert!(Probe::open(Path::new("/nowhere/at/all")).unwrap_err().to_string().contains("No such file"));
    }
}
