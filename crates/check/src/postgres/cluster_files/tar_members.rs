//! The members of a tar file: files with their places, directories and symbolic links.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::postgres::source::Part;

/// The data directory inside a tar file: where the control file is, else the highest `PG_VERSION`.
pub(crate) fn root_of(files: &BTreeMap<PathBuf, Part>) -> Option<PathBuf> {
    let highest = |found: &mut dyn Iterator<Item = Option<&Path>>| {
        let found = found.flatten().min_by_key(|root| root.components().count());
        found.map(Path::to_path_buf)
    };
    let of_control = files.keys().filter(|member| member.ends_with("global/pg_control"));
    highest(&mut of_control.map(|member| member.parent()?.parent())).or_else(|| {
        highest(
            &mut files.keys().filter(|member| member.ends_with("PG_VERSION")).map(|member| member.parent()),
        )
    })
}

/// What a tar file has.
#[derive(Default)]
pub(crate) struct Members {
    pub(crate) files: BTreeMap<PathBuf, Part>,
    pub(crate) directories: BTreeSet<PathBuf>,
    /// Symbolic links, with what they lead to.
    pub(crate) links: BTreeMap<PathBuf, String>,
    /// How it ends, if that is before its end.
    pub(crate) cut: Option<String>,
}

/// The members of a tar file, by path.
pub(crate) fn members(path: &Path) -> io::Result<Members> {
    let file = disk::regular::open(path)?;
    let length = file.metadata()?.len();
    let mut archive = tar::Archive::new(file);
    let mut found = Members::default();
    let mut is_tar = false;
    for entry in archive.entries_with_seek()? {
        match found.add(path, length, entry) {
            Ok(None) => is_tar = true,
            Ok(ended) => {
                is_tar = true;
                found.cut = ended;
                break;
            }
            // What the header held is no text that could be shown.
            Err(_) => {
                found.cut = Some("holds a header that is none of tar".to_owned());
                break;
            }
        }
    }
    // A tablespace without files is a tar file of directories only.
    if !is_tar {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is no tar file"));
    }
    Ok(found)
}

impl Members {
    /// Adds a member; says how the file ends if it ends inside this one.
    fn add(
        &mut self,
        path: &Path,
        length: u64,
        entry: io::Result<tar::Entry<'_, File>>,
    ) -> io::Result<Option<String>> {
        let entry = entry?;
        let kind = entry.header().entry_type();
        let member: PathBuf = entry.path()?.components().filter(|part| part.as_os_str() != ".").collect();
        if kind.is_dir() {
            self.directories.insert(member);
            return Ok(None);
        }
        if kind.is_symlink() {
            let target = entry.link_name()?.map(|target| target.to_string_lossy().into_owned());
            self.links.insert(member, target.unwrap_or_default());
            return Ok(None);
        }
        if !kind.is_file() {
            return Ok(None);
        }
        let (offset_bytes, bytes) = (entry.raw_file_position(), entry.size());
        let there = bytes.min(length.saturating_sub(offset_bytes));
        let cut = (there < bytes).then(|| format!("ends inside its member \"{}\"", member.display()));
        self.files.insert(member, Part { path: path.to_path_buf(), offset_bytes, bytes: there });
        Ok(cut)
    }
}
