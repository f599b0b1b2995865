//! Files that a spec names: where their text comes from, and what a file of data is known by.

use std::io::{Read, Seek};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Bytes of one text at most: those of a script.
pub(crate) const TEXT_BYTES_MAX: usize = 16 << 20;
/// Bytes that are hashed at a time.
const BLOCK_BYTES: usize = 1 << 20;

/// Reads the files that a spec names by their path. The reasons of errors complete `could not read "PATH": ...`.
pub trait Files {
    /// The content of a text of at most 16 MiB.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn text(&self, path: &str) -> Result<String, String>;

    /// The path from anywhere, without a look at the file.
    ///
    /// # Errors
    /// Why it cannot be stored.
    fn locate(&self, path: &str) -> Result<PathBuf, String>;

    /// What a file of data is known by. Costs a pass over the file.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn data(&self, path: &str) -> Result<DataFile, String>;
}

/// A file of data: where it is and what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataFile {
    /// Absolute path.
    pub path: PathBuf,
    /// SHA-256 of its content, in hexadecimal.
    pub sha256: String,
    /// Size.
    pub bytes: u64,
}

const REFUSED: &str = "a spec that is no file of its own names no files";

/// No files: for specs that have all their texts in them.
#[derive(Clone, Copy, Debug)]
pub struct NoFiles;

impl Files for NoFiles {
    fn text(&self, _: &str) -> Result<String, String> {
        Err(REFUSED.to_owned())
    }

    fn locate(&self, path: &str) -> Result<PathBuf, String> {
        Ok(PathBuf::from(path))
    }

    fn data(&self, _: &str) -> Result<DataFile, String> {
        Err(REFUSED.to_owned())
    }
}

/// Files by their path from the directory of a spec.
#[derive(Clone, Debug)]
pub struct FilesBeside {
    directory: PathBuf,
}

impl FilesBeside {
    /// Files beside the spec with this path.
    pub fn spec(path: &Path) -> Self {
        Self { directory: path.parent().map(Path::to_owned).unwrap_or_default() }
    }
}

impl Files for FilesBeside {
    fn text(&self, path: &str) -> Result<String, String> {
        let file = disk::regular::open(self.directory.join(path)).map_err(|error| error.to_string())?;
        let mut bytes = Vec::new();
        let limit = TEXT_BYTES_MAX as u64 + 1;
        file.take(limit).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
        if bytes.len() > TEXT_BYTES_MAX {
            return Err(format!("it has more than {TEXT_BYTES_MAX} bytes"));
        }
        String::from_utf8(bytes).map_err(|error| {
            let good = error.utf8_error().valid_up_to();
            let line = 1 + error.as_bytes()[..good].iter().filter(|byte| **byte == b'\n').count();
            format!("line {line} is not UTF-8")
        })
    }

    fn locate(&self, path: &str) -> Result<PathBuf, String> {
        let path = std::path::absolute(self.directory.join(path)).map_err(|error| error.to_string())?;
        // Paths are stored as text.
        if path.to_str().is_none() {
            return Err("its path is not UTF-8".to_owned());
        }
        Ok(path)
    }

    fn data(&self, path: &str) -> Result<DataFile, String> {
        let path = self.locate(path)?;
        let (sha256, bytes) = digest(&path)?;
        Ok(DataFile { path, sha256, bytes })
    }
}

/// SHA-256 and size of a file. Costs a pass over it.
///
/// # Errors
/// Why it cannot be read.
pub(crate) fn digest(path: &Path) -> Result<(String, u64), String> {
    let mut file = disk::regular::open(path).map_err(|error| error.to_string())?;
    let mut hash = Sha256::new();
    let mut block = vec![0; BLOCK_BYTES];
    loop {
        match file.read(&mut block) {
            Ok(0) => break,
            Ok(count) => hash.update(&block[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    let bytes = file.stream_position().map_err(|error| error.to_string())?;
    Ok((hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect(), bytes))
}
