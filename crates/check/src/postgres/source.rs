//! Where the files of a cluster are: in a directory, or in the tar files of a base backup.
//!
//! Files in a tar file are read where they stand. A compressed one is unpacked first, to a temporary file without a
//! name: catalogs are needed before anything else, and tables before their indexes, so one pass over the stream would
//! not do.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

mod special_files;

use super::cluster::OpenError;
use super::cluster_files::tar_members::{Members, members, root_of};

/// The largest control, map or label file that is read, bytes.
const SMALL_FILE_BYTES_MAX: u64 = 64 * 1024;
/// Unpacked bytes between two looks at how much there is.
const UNPACK_STEP_BYTES: usize = 1 << 20;

/// A file, or a part of a tar file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The file that can be opened.
    pub path: PathBuf,
    /// Where the part begins in it.
    pub offset_bytes: u64,
    /// How long it is.
    pub bytes: u64,
}

impl Part {
    /// Fills a buffer from a place in the part.
    pub(crate) fn read_exact_at(&self, buffer: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        disk::regular::open(&self.path)?.read_exact_at(buffer, self.offset_bytes + offset_bytes)
    }

    /// Reads the part, at most so many bytes. A file of its own is read as long as it is now.
    pub(crate) fn read(&self, bytes_max: u64) -> io::Result<Vec<u8>> {
        let mut file = disk::regular::open(&self.path)?;
        let end = if self.offset_bytes == 0 { bytes_max } else { bytes_max.min(self.bytes) };
        file.seek(SeekFrom::Start(self.offset_bytes))?;
        let mut bytes = Vec::new();
        file.take(end).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// The files of a cluster.
#[derive(Clone, Debug)]
pub(crate) enum Tree {
    /// A directory.
    Directory(PathBuf),
    /// Tar files, by the path relative to the data directory.
    Archive(Arc<Archive>),
}

/// What the tar files of a backup hold.
#[derive(Debug)]
pub(crate) struct Archive {
    files: BTreeMap<PathBuf, Part>,
    /// Directories that are members of their own.
    directories: BTreeSet<PathBuf>,
    /// Symbolic links, with what they lead to.
    links: BTreeMap<PathBuf, String>,
    /// Unpacked files; they live as long as they are open.
    _unpacked: Vec<File>,
    pub(crate) unpacked_bytes: u64,
    /// Where a tar file ended too early; what stands before is checked.
    pub(crate) cut: Option<String>,
}

impl Tree {
    /// The file at a path.
    pub(crate) fn part(&self, path: &Path) -> io::Result<Part> {
        match self {
            Tree::Directory(directory) => {
                let path = directory.join(path);
                let bytes = fs::metadata(&path)?.len();
                Ok(Part { path, offset_bytes: 0, bytes })
            }
            Tree::Archive(archive) => {
                archive.files.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
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
                for entry in fs::read_dir(directory.join(below))? {
                    let entry = entry?;
                    let Ok(metadata) = entry.metadata() else { continue };
                    if let Some(name) = entry.file_name().to_str().filter(|_| metadata.is_file()) {
                        let part = Part { path: entry.path(), offset_bytes: 0, bytes: metadata.len() };
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
                for entry in fs::read_dir(directory.join(below))? {
                    let entry = entry?;
                    // Tablespaces are symbolic links: look at what they lead to.
                    if let Some(name) = entry.file_name().to_str().filter(|_| entry.path().is_dir()) {
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
            Tree::Directory(directory) => directory.join(path).is_dir(),
            Tree::Archive(archive) => {
                archive.directories.contains(path) || archive.below(path).next().is_some()
            }
        }
    }

    /// What a symbolic link leads to; `None` if there is none.
    pub(crate) fn link(&self, path: impl AsRef<Path>) -> Option<String> {
        match self {
            Tree::Directory(directory) => {
                let target = fs::read_link(directory.join(path)).ok()?;
                Some(target.to_string_lossy().into_owned())
            }
            Tree::Archive(archive) => archive.links.get(path.as_ref()).cloned(),
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
    pub(crate) fn open(path: &Path) -> Result<Tree, OpenError> {
        let read_error = |source| OpenError::Read { path: path.to_path_buf(), source };
        if path.is_dir() {
            if path.join("PG_VERSION").exists() || path.join("global/pg_control").exists() {
                special_files::refuse(path)?;
                return Ok(Tree::Directory(path.to_path_buf()));
            }
            let archives = archives_in(path).map_err(read_error)?;
            return if archives.iter().any(|(name, _)| name == "base") {
                Archive::open(&archives)
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
                Archive::open(&archives)
            }
            _ => Archive::open(&[("base".to_owned(), path.to_path_buf())]),
        }
    }
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
    for entry in fs::read_dir(directory)? {
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

impl Archive {
    fn open(archives: &[(String, PathBuf)]) -> Result<Tree, OpenError> {
        let mut all = Archive {
            files: BTreeMap::new(),
            directories: BTreeSet::new(),
            links: BTreeMap::new(),
            _unpacked: Vec::new(),
            unpacked_bytes: 0,
            cut: None,
        };
        for (name, path) in archives {
            let error = |source| OpenError::Archive { path: path.clone(), source };
            let readable = all.unpack(path).map_err(error)?;
            let Members { files, directories, links, cut } = members(&readable).map_err(error)?;
            if let Some(cut) = cut {
                all.cut.get_or_insert(format!("\"{}\" {cut}", path.display()));
            }
            let below = match name.parse::<u32>() {
                Ok(space) => Some(PathBuf::from(format!("pg_tblspc/{space}"))),
                Err(_) => (name == "pg_wal").then(|| PathBuf::from("pg_wal")),
            };
            if let Some(below) = below {
                all.files.extend(files.into_iter().map(|(member, part)| (below.join(member), part)));
                all.directories.extend(directories.into_iter().map(|member| below.join(member)));
                all.directories.insert(below);
                continue;
            }
            // Whoever packs a data directory by hand often packs its name as well.
            let Some(root) = root_of(&files) else { return Err(OpenError::NotACluster(path.clone())) };
            let strip = |member: PathBuf| member.strip_prefix(&root).map(Path::to_path_buf).ok();
            all.files.extend(files.into_iter().filter_map(|(member, part)| Some((strip(member)?, part))));
            all.directories.extend(directories.into_iter().filter_map(strip));
            all.links.extend(links.into_iter().filter_map(|(member, to)| Some((strip(member)?, to))));
            let manifest = path.with_file_name("backup_manifest");
            if let Ok(metadata) = fs::metadata(&manifest) {
                let part = Part { path: manifest, offset_bytes: 0, bytes: metadata.len() };
                all.files.entry(PathBuf::from("backup_manifest")).or_insert(part);
            }
        }
        Ok(Tree::Archive(Arc::new(all)))
    }

    fn below<'a>(&'a self, directory: &'a Path) -> impl Iterator<Item = (&'a PathBuf, &'a Part)> {
        self.files
            .range(directory.to_path_buf()..)
            .skip_while(move |(path, _)| path.as_path() == directory)
            .take_while(move |(path, _)| path.starts_with(directory))
    }

    /// A tar file that can be read at any place: the file itself, or what was unpacked from it.
    fn unpack(&mut self, path: &Path) -> io::Result<PathBuf> {
        let mut packed = disk::regular::open(path)?;
        let mut magic = [0; 4];
        let count = packed.read(&mut magic)?;
        packed.rewind()?;
        let input = BufReader::with_capacity(UNPACK_STEP_BYTES, packed);
        // EVIDENCE: RFC 1952 2.3.1; LZ4 frame format 1.6.4; RFC 8878 3.1.1
        let mut stream: Box<dyn Read> = match magic.get(..count).unwrap_or(&[]) {
            [0x1F, 0x8B, ..] => Box::new(flate2::bufread::MultiGzDecoder::new(input)),
            [0x04, 0x22, 0x4D, 0x18] => Box::new(lz4_flex::frame::FrameDecoder::new(input)),
            [0x28, 0xB5, 0x2F, 0xFD] => {
                Box::new(ruzstd::decoding::StreamingDecoder::new(input).map_err(io::Error::other)?)
            }
            _ => return Ok(path.to_path_buf()),
        };
        let mut unpacked = tempfile::tempfile()?;
        let mut buffer = vec![0; UNPACK_STEP_BYTES];
        // Bounded by the temporary file system: what does not fit is an error.
        loop {
            let count = match stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                // What was unpacked so far is worth a look.
                Err(error) if self.unpacked_bytes > 0 => {
                    self.cut.get_or_insert(format!(
                        "\"{}\" cannot be unpacked to its end: {error}",
                        path.display()
                    ));
                    break;
                }
                Err(error) => return Err(error),
            };
            unpacked.write_all(buffer.get(..count).unwrap_or(&[]))?;
            self.unpacked_bytes += count as u64;
        }
        // A file without a name is opened again by way of its descriptor.
        let reopened = PathBuf::from(format!("/proc/self/fd/{}", unpacked.as_raw_fd()));
        self._unpacked.push(unpacked);
        Ok(reopened)
    }
}
