//! The tar files of a base backup: which files they hold, and where these are.
//!
//! Files in a tar file are read where they are. A compressed tar file is decompressed first, to a temporary file without a
//! name: catalogs are needed before anything else, and tables before their indexes, so one pass over the stream would
//! not do.

mod header;
pub(crate) mod limits;
mod members;
mod pax;
mod unpack;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

use crate::source::archive::limits::Limits;
use crate::source::archive::members::{Members, Refusal, members, root_of};
use crate::source::archive::unpack::unpack;
use crate::source::error::OpenError;
use crate::source::part::Part;

/// What the tar files of a backup hold.
#[derive(Debug, Default)]
pub(crate) struct Archive {
    files: BTreeMap<PathBuf, Part>,
    /// Directories that are members of their own.
    directories: BTreeSet<PathBuf>,
    /// Symbolic links, with what they lead to.
    links: BTreeMap<PathBuf, String>,
    /// Decompressed files; they live as long as they are open.
    unpacked: Vec<File>,
    pub(crate) unpacked_bytes: u64,
    /// Where a tar file ended too early; what is before is checked.
    pub(crate) cut: Option<String>,
}

impl Archive {
    /// Lists the members of all tar files; they have the names of tar files without their endings.
    pub(crate) fn open(archives: &[(String, PathBuf)], limits: &Limits) -> Result<Archive, OpenError> {
        let mut all = Archive::default();
        let mut bytes_left = limits.memory_bytes_max;
        for (name, path) in archives {
            all.add(name, path, limits, &mut bytes_left)?;
        }
        Ok(all)
    }

    fn add(
        &mut self,
        name: &str,
        path: &Path,
        limits: &Limits,
        bytes_left: &mut u64,
    ) -> Result<(), OpenError> {
        let error = |source| OpenError::Archive { path: path.to_path_buf(), source };
        let readable = self.readable(path, limits).map_err(error)?;
        let Members { files, directories, links, cut } =
            members(&readable, bytes_left).map_err(|refusal| match refusal {
                Refusal::Read(source) => error(source),
                Refusal::Memory { member_count, needed_bytes } => OpenError::Memory {
                    path: path.to_path_buf(),
                    member_count,
                    bytes_max: limits.memory_bytes_max,
                    needed_mib: (limits.memory_bytes_max - *bytes_left).saturating_add(needed_bytes) >> 20,
                },
            })?;
        if let Some(cut) = cut {
            self.cut.get_or_insert(format!("\"{}\" {cut}", path.display()));
        }
        let below = match name.parse::<u32>() {
            Ok(space) => Some(PathBuf::from(format!("pg_tblspc/{space}"))),
            Err(_) => (name == "pg_wal").then(|| PathBuf::from("pg_wal")),
        };
        if let Some(below) = below {
            self.files.extend(files.into_iter().map(|(member, part)| (below.join(member), part)));
            self.directories.extend(directories.into_iter().map(|member| below.join(member)));
            self.directories.insert(below);
            return Ok(());
        }
        // Whoever makes a tar file of a data directory by hand often puts its name into it as well.
        let Some(root) = root_of(&files) else { return Err(OpenError::NotACluster(path.to_path_buf())) };
        let strip = |member: PathBuf| member.strip_prefix(&root).map(Path::to_path_buf).ok();
        self.files.extend(files.into_iter().filter_map(|(member, part)| Some((strip(member)?, part))));
        self.directories.extend(directories.into_iter().filter_map(strip));
        self.links.extend(links.into_iter().filter_map(|(member, to)| Some((strip(member)?, to))));
        let manifest = path.with_file_name("backup_manifest");
        if let Ok(metadata) = disk::input::metadata(&manifest) {
            let part = Part { path: manifest.into(), offset_bytes: 0, bytes: metadata.len() };
            self.files.entry(PathBuf::from("backup_manifest")).or_insert(part);
        }
        Ok(())
    }

    /// The file at a path.
    pub(crate) fn file(&self, path: &Path) -> Option<&Part> {
        self.files.get(path)
    }

    /// What the symbolic link at a path leads to.
    pub(crate) fn link(&self, path: &Path) -> Option<&String> {
        self.links.get(path)
    }

    /// Whether a directory is a member, or has some.
    pub(crate) fn has_directory(&self, path: &Path) -> bool {
        self.directories.contains(path) || self.below(path).next().is_some()
    }

    /// Files at any depth below a directory, by path.
    pub(crate) fn below<'a>(&'a self, directory: &'a Path) -> impl Iterator<Item = (&'a PathBuf, &'a Part)> {
        self.files
            .range(directory.to_path_buf()..)
            .skip_while(move |(path, _)| path.as_path() == directory)
            .take_while(move |(path, _)| path.starts_with(directory))
    }

    /// A tar file that can be read at any place: the file itself, or what was decompressed from it.
    fn readable(&mut self, path: &Path, limits: &Limits) -> io::Result<PathBuf> {
        let Some(unpacked) = unpack(path, limits)? else { return Ok(path.to_path_buf()) };
        self.unpacked_bytes += unpacked.bytes;
        if let Some(cut) = unpacked.cut {
            self.cut.get_or_insert(format!("\"{}\" {cut}", path.display()));
        }
        // A file without a name is opened again by way of its descriptor.
        let reopened = PathBuf::from(format!("/proc/self/fd/{}", unpacked.file.as_raw_fd()));
        self.unpacked.push(unpacked.file);
        Ok(reopened)
    }
}
