//! Where the files of a cluster are: in a directory, or in the tar files of a base backup.

pub(crate) mod archive;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use crate::source::archive::Archive;
use crate::source::archive::limits::Limits;
use crate::source::error::OpenError;
use crate::source::part::Part;

pub(crate) mod error;
pub(crate) mod part;
mod special_files;

/// The largest control, map or label file that is read, bytes.
const SMALL_FILE_BYTES_MAX: u64 = 64 * 1024;

/// The files of a cluster.
#[derive(Clone, Debug)]
pub(crate) enum Tree {
    /// A directory.
    Directory(PathBuf),
    /// Tar files, by the path relative to the data directory.
    Archive(Arc<Archive>),
}

impl Tree {
    /// The file at a path.
    pub(crate) fn part(&self, path: &Path) -> io::Result<Part> {
        match self {
            Tree::Directory(directory) => {
                let path = directory.join(path);
                let bytes = disk::input::metadata(&path)?.len();
                Ok(Part { path: path.into(), offset_bytes: 0, bytes })
            }
            Tree::Archive(archive) => {
                archive.file(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
            }
        }
    }

    /// Reads a whole small file; never more than a fixed limit.
    pub(crate) fn read_small(&self, path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
        let part = self.part(path.as_ref())?;
        // Not more than the member of an archive, whatever follows it.
        let limit = match self {
            Tree::Directory(_) => SMALL_FILE_BYTES_MAX,
            Tree::Archive(_) => part.bytes.min(SMALL_FILE_BYTES_MAX),
        };
        part.read(limit)
    }

    /// Reads the end of a file.
    pub(crate) fn read_end(&self, path: impl AsRef<Path>) -> io::Result<String> {
        let part = self.part(path.as_ref())?;
        let length = part.bytes.min(SMALL_FILE_BYTES_MAX);
        let mut bytes = vec![0; length as usize];
        part.read_exact_at(&mut bytes, part.bytes - length)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    pub(crate) fn has(&self, path: impl AsRef<Path>) -> bool {
        self.part(path.as_ref()).is_ok()
    }

    /// Files directly below a directory, by name. Those that vanish meanwhile are left out.
    pub(crate) fn files(&self, below: &Path) -> io::Result<Vec<(String, Part)>> {
        let mut found = Vec::new();
        match self {
            Tree::Directory(directory) => {
                for entry in disk::input::read_dir(directory.join(below))? {
                    let entry = entry?;
                    // One that vanished is none; another failure is in the record of the check.
                    let Ok(metadata) = disk::input::symlink_metadata(entry.path()) else { continue };
                    if let Some(name) = entry.file_name().to_str().filter(|_| metadata.is_file()) {
                        let part = Part { path: entry.path().into(), offset_bytes: 0, bytes: metadata.len() };
                        found.push((name.to_owned(), part));
                    }
                }
            }
            Tree::Archive(archive) => {
                for (path, part) in archive.below(below) {
                    let name = path.strip_prefix(below).ok().and_then(Path::to_str);
                    if let Some(name) = name.filter(|name| !name.contains('/')) {
                        found.push((name.to_owned(), part.clone()));
                    }
                }
            }
        }
        Ok(found)
    }

    /// Names of directories directly below a directory, links to directories among them.
    pub(crate) fn directories(&self, below: &Path) -> io::Result<Vec<String>> {
        let mut found = Vec::new();
        match self {
            Tree::Directory(directory) => {
                for entry in disk::input::read_dir(directory.join(below))? {
                    let entry = entry?;
                    // Tablespaces are symbolic links: look at what they lead to.
                    if let Some(name) =
                        entry.file_name().to_str().filter(|_| disk::input::is_dir(entry.path()))
                    {
                        found.push(name.to_owned());
                    }
                }
            }
            Tree::Archive(archive) => {
                for (path, _) in archive.below(below) {
                    let rest = path.strip_prefix(below).ok().and_then(Path::to_str);
                    if let Some((name, _)) = rest.and_then(|rest| rest.split_once('/')) {
                        found.push(name.to_owned());
                    }
                }
                found.dedup();
            }
        }
        Ok(found)
    }

    /// Whether a directory is there, or a link that leads to one.
    pub(crate) fn has_directory(&self, path: &Path) -> bool {
        match self {
            Tree::Directory(directory) => disk::input::is_dir(directory.join(path)),
            Tree::Archive(archive) => archive.has_directory(path),
        }
    }

    /// What a symbolic link leads to; `None` if there is none.
    pub(crate) fn link(&self, path: impl AsRef<Path>) -> Option<String> {
        match self {
            Tree::Directory(directory) => {
                let target = fs::read_link(directory.join(path)).ok()?;
                Some(target.to_string_lossy().into_owned())
            }
            Tree::Archive(archive) => archive.link(path.as_ref()).cloned(),
        }
    }

    /// Whether a tar file ended too early: what is absent may stand behind its end.
    pub(crate) fn is_cut(&self) -> bool {
        matches!(self, Tree::Archive(archive) if archive.cut.is_some())
    }

    /// The directory, when it is one.
    pub(crate) fn directory(&self) -> Option<&Path> {
        match self {
            Tree::Directory(directory) => Some(directory),
            Tree::Archive(_) => None,
        }
    }

    /// Finds out what a path is: a data directory, a directory with the tar files of a base backup, or one of those.
    pub(crate) fn open(path: &Path, limits: &Limits) -> Result<Tree, OpenError> {
        let read_error = |source| OpenError::Read { path: path.to_path_buf(), source };
        if disk::input::is_dir(path) {
            // A file that must not be looked at is in the record of the check, and the reason that it gives.
            let is_there = |name| disk::input::metadata(path.join(name)).is_ok();
            if is_there("PG_VERSION") || is_there("global/pg_control") {
                special_files::refuse(path)?;
                return Ok(Tree::Directory(path.to_path_buf()));
            }
            let archives = archives_in(path).map_err(read_error)?;
            return if archives.iter().any(|(name, _)| name == "base") {
                packed(&archives, limits)
            } else {
                Err(OpenError::NotACluster(path.to_path_buf()))
            };
        }
        let name = path.file_name().and_then(OsStr::to_str).and_then(archive_name);
        match name {
            // pg_basebackup writes one file for each tablespace; they belong together.
            Some("base") => {
                let directory = path.parent().unwrap_or(Path::new("."));
                let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
                let mut archives = archives_in(directory).map_err(read_error)?;
                archives.retain(|(name, _)| name != "base");
                archives.push(("base".to_owned(), path.to_path_buf()));
                packed(&archives, limits)
            }
            _ => packed(&[("base".to_owned(), path.to_path_buf())], limits),
        }
    }
}

fn packed(archives: &[(String, PathBuf)], limits: &Limits) -> Result<Tree, OpenError> {
    Archive::open(archives, limits).map(|archive| Tree::Archive(Arc::new(archive)))
}

/// Whether a file has the name of a tar file, packed or not.
#[must_use]
pub fn is_archive_name(path: &Path) -> bool {
    path.file_name().and_then(OsStr::to_str).and_then(archive_name).is_some()
}

/// The name of a tar file without its endings.
fn archive_name(name: &str) -> Option<&str> {
    let endings = [".tar", ".tar.gz", ".tgz", ".tar.lz4", ".tar.zst"];
    endings.iter().find_map(|ending| name.strip_suffix(ending))
}

/// The tar files of a base backup in a directory: `base`, the log, and one named by the number of each tablespace.
fn archives_in(directory: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for entry in disk::input::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        if let Some(name) = name.to_str().and_then(archive_name)
            && (matches!(name, "base" | "pg_wal") || name.parse::<u32>().is_ok())
        {
            found.push((name.to_owned(), entry.path()));
        }
    }
    found.sort();
    Ok(found)
}
