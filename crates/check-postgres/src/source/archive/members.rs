//! The members of a tar file: files with their places, directories and symbolic links, in bounded memory.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use disk::input::File;

use crate::source::archive::header::{BLOCK_BYTES, Header, Kind, stride_bytes};
use crate::source::archive::pax;
use crate::source::part::Part;

/// The longest name that is kept, bytes.
// EVIDENCE: src/include/pg_config_manual.h: MAXPGPATH is 1024
const NAME_BYTES_MAX: u64 = 4096;
/// What a member costs in memory beside its name, with what the check makes of a relation file.
// OBSERVED: peak memory of a check of a cluster with 300,000 empty relation files, over their count
const MEMBER_BYTES: u64 = 1200;

/// The data directory inside a tar file: where the control file is, else the highest `PG_VERSION`.
pub(super) fn root_of(files: &BTreeMap<PathBuf, Part>) -> Option<PathBuf> {
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
pub(super) struct Members {
    pub(super) files: BTreeMap<PathBuf, Part>,
    pub(super) directories: BTreeSet<PathBuf>,
    /// Symbolic links, with what they lead to.
    pub(super) links: BTreeMap<PathBuf, String>,
    /// How it ends, if that is before its end.
    pub(super) cut: Option<String>,
}

/// Why the members of a tar file cannot be listed.
pub(super) enum Refusal {
    Read(io::Error),
    /// So many members take more memory than the check may use; all of them would take so many bytes.
    Memory {
        member_count: u64,
        needed_bytes: u64,
    },
}

impl From<io::Error> for Refusal {
    fn from(source: io::Error) -> Self {
        Refusal::Read(source)
    }
}

/// The members of a tar file, by path; they may take `bytes_left` of memory, which becomes less.
///
/// I/O: one read for each member, its name if that is long, and the records of pax.
pub(super) fn members(path: &Path, bytes_left: &mut u64) -> Result<Members, Refusal> {
    let file = disk::input::File::open(path)?;
    let length = file.metadata()?.len();
    let mut walk = Walk { file: &file, length, path: path.into(), next: Next::default() };
    let mut found = Members::default();
    let (mut offset, mut member_count, mut needed_bytes) = (0, 0u64, 0u64);
    let mut block = [0; BLOCK_BYTES];
    while found.cut.is_none() {
        if let Some(cut) = walk.header_at(offset, &mut block)? {
            // A tar file has the mark of its end at least.
            let is_tar = member_count > 0 || cut.is_none();
            if !is_tar {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a tar file").into());
            }
            found.cut = cut;
            break;
        }
        let Some(header) = Header::read(&block) else { break };
        let added = walk.add(&header, offset, &mut found, needed_bytes <= *bytes_left)?;
        needed_bytes = needed_bytes.saturating_add(added.memory_bytes);
        member_count += 1;
        offset = offset.saturating_add(stride_bytes(added.data_bytes));
    }
    if needed_bytes > *bytes_left {
        return Err(Refusal::Memory { member_count, needed_bytes });
    }
    *bytes_left -= needed_bytes;
    Ok(found)
}

/// What a header adds.
struct Added {
    memory_bytes: u64,
    /// Bytes of data behind it.
    data_bytes: u64,
}

/// What headers before a member say about it.
#[derive(Default)]
struct Next {
    name: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    data_bytes: Option<u64>,
    is_sparse: bool,
    /// Its name is longer than any of a data directory.
    is_unnamed: bool,
}

struct Walk<'a> {
    file: &'a File,
    length: u64,
    path: Arc<Path>,
    next: Next,
}

impl Walk<'_> {
    /// Reads the header at an offset. Where there is none: how the file ends, or nothing if as it should.
    fn header_at(&self, offset: u64, block: &mut [u8; BLOCK_BYTES]) -> io::Result<Option<Option<String>>> {
        if offset >= self.length {
            return Ok(Some(Some("ends without its end marker (two zero blocks)".to_owned())));
        }
        if self.length - offset < BLOCK_BYTES as u64 {
            return Ok(Some(Some("ends inside a header".to_owned())));
        }
        self.file.read_exact_at(block, offset)?;
        if !Header::is_end(block) {
            // What the header held is no text that could be shown.
            let is_header = Header::read(block).is_some();
            return Ok((!is_header).then(|| Some("has an invalid tar header".to_owned())));
        }
        let at = offset + BLOCK_BYTES as u64;
        let mut second = [0; BLOCK_BYTES];
        if self.length.saturating_sub(at) >= BLOCK_BYTES as u64 {
            self.file.read_exact_at(&mut second, at)?;
        }
        let is_mark = Header::is_end(&second);
        Ok(Some((!is_mark).then(|| format!("has zeros at byte {offset} instead of a header"))))
    }

    /// Adds what a header says; `keeps` tells whether there is memory for it.
    fn add(
        &mut self,
        header: &Header<'_>,
        offset: u64,
        found: &mut Members,
        keeps: bool,
    ) -> io::Result<Added> {
        let start = offset + BLOCK_BYTES as u64;
        let own_bytes = header.data_bytes;
        match header.kind {
            Kind::LongName => {
                self.next.name = self.long_text(start, own_bytes)?;
                self.next.is_unnamed = self.next.name.is_none();
            }
            Kind::LongLink => self.next.link = self.long_text(start, own_bytes)?,
            Kind::Pax => {
                let end = start.saturating_add(own_bytes).min(self.length);
                if pax::read(self.file, start..end, |key, value| self.next.note(key, value))?.is_none() {
                    found.cut = Some(format!("has unreadable pax records at byte {start}"));
                }
            }
            _ => return self.add_member(header, start, found, keeps),
        }
        Ok(Added { memory_bytes: 0, data_bytes: own_bytes })
    }

    fn add_member(
        &mut self,
        header: &Header<'_>,
        start: u64,
        found: &mut Members,
        keeps: bool,
    ) -> io::Result<Added> {
        let next = std::mem::take(&mut self.next);
        let data_bytes = next.data_bytes.unwrap_or(header.data_bytes);
        let name = PathBuf::from(OsString::from_vec(next.name.unwrap_or_else(|| header.name())));
        let member: PathBuf = name.components().filter(|part| part.as_os_str() != ".").collect();
        if next.is_sparse || header.kind == Kind::Sparse {
            let what = format!(
                "its member \"{}\" is stored in parts (tar --sparse), which is not read\nhint: extract the tar file and check the directory",
                member.display()
            );
            return Err(io::Error::new(io::ErrorKind::Unsupported, what));
        }
        if next.is_unnamed || header.kind == Kind::Other {
            return Ok(Added { memory_bytes: 0, data_bytes });
        }
        let memory_bytes = MEMBER_BYTES + 2 * member.as_os_str().len() as u64;
        if !keeps {
            return Ok(Added { memory_bytes, data_bytes });
        }
        match header.kind {
            Kind::Directory => drop(found.directories.insert(member)),
            Kind::Symlink => {
                let target = next.link.unwrap_or_else(|| header.link());
                drop(found.links.insert(member, String::from_utf8_lossy(&target).into_owned()));
            }
            _ => {
                let there = data_bytes.min(self.length.saturating_sub(start));
                if there < data_bytes {
                    found.cut = Some(format!("ends inside its member \"{}\"", member.display()));
                }
                let part = Part { path: Arc::clone(&self.path), offset_bytes: start, bytes: there };
                drop(found.files.insert(member, part));
            }
        }
        Ok(Added { memory_bytes, data_bytes })
    }

    /// The name that is the data of a member; `None` for one that is longer than any of a data directory.
    fn long_text(&self, start: u64, bytes: u64) -> io::Result<Option<Vec<u8>>> {
        if bytes > NAME_BYTES_MAX || start.saturating_add(bytes) > self.length {
            return Ok(None);
        }
        let mut text = vec![0; bytes as usize];
        self.file.read_exact_at(&mut text, start)?;
        text.truncate(text.iter().position(|byte| *byte == 0).unwrap_or(text.len()));
        Ok(Some(text))
    }
}

impl Next {
    /// Keeps a record of pax.
    // EVIDENCE: POSIX.1-2017 pax, "pax Extended Header": path, linkpath, size; GNU tar manual, "Storing Sparse Files": all
    // keys of a sparse file begin with GNU.sparse
    fn note(&mut self, key: &[u8], value: &[u8]) {
        match key {
            b"path" if value.len() as u64 > NAME_BYTES_MAX => self.is_unnamed = true,
            b"path" => self.name = Some(value.to_vec()),
            b"linkpath" => self.link = Some(value.to_vec()),
            b"size" => self.data_bytes = str::from_utf8(value).ok().and_then(|value| value.parse().ok()),
            _ => self.is_sparse |= key.starts_with(b"GNU.sparse."),
        }
    }
}
