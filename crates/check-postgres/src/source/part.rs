//! A file, or the part of a tar file that holds one.

use std::io;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::Arc;

/// A file, or a part of a tar file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The file that can be opened.
    pub path: Arc<Path>,
    /// Where the part begins in it.
    pub offset_bytes: u64,
    /// How long it is.
    pub bytes: u64,
}

impl Part {
    /// Fills a buffer from a place in the part.
    pub(crate) fn read_exact_at(&self, buffer: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        disk::input::File::open(&self.path)?.read_exact_at(buffer, self.offset_bytes + offset_bytes)
    }

    /// Reads the part, at most so many bytes. A file of its own is read as long as it is now.
    pub(crate) fn read(&self, bytes_max: u64) -> io::Result<Vec<u8>> {
        let mut file = disk::input::File::open(&self.path)?;
        let end = if self.offset_bytes == 0 { bytes_max } else { bytes_max.min(self.bytes) };
        file.seek(SeekFrom::Start(self.offset_bytes))?;
        let mut bytes = Vec::new();
        file.take(end).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}
