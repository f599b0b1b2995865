//! Files under /proc that are read again and again.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// The most that is read of one file: `/proc/diskstats` of ten thousand devices is about 1 MiB.
const FILE_BYTES_MAX: usize = 16 << 20;

/// A file under /proc that stays open; every reading begins at its start, into the same memory.
#[derive(Debug)]
pub struct KeptFile {
    file: File,
    buffer: Vec<u8>,
}

impl KeptFile {
    /// Opens the file.
    pub fn open(path: &str) -> std::io::Result<Self> {
        Ok(Self { file: File::open(path)?, buffer: vec![0; 4096] })
    }

    /// The whole content now; `None` when it cannot be read, as when the process has ended, or is no text.
    pub fn text(&mut self) -> Option<&str> {
        let mut filled = 0;
        loop {
            if filled == self.buffer.len() {
                if filled >= FILE_BYTES_MAX {
                    return None;
                }
                self.buffer.resize(filled * 2, 0);
            }
            let room = self.buffer.get_mut(filled..)?;
            match self.file.read_at(room, filled as u64) {
                Ok(0) => break,
                Ok(read_bytes) => filled += read_bytes,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
        std::str::from_utf8(self.buffer.get(..filled)?).ok()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_kept_file_shows_what_is_there_now() {
        let mut file = KeptFile::open("/proc/self/stat").unwrap();
        assert!(file.text().unwrap().contains('('));
        assert!(file.text().unwrap().contains('('));
        assert!(KeptFile::open("/proc/no-such-file").is_err());
    }
}
