//! A data directory: what it is, in which state it was left, and which files it has.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use formats::postgres::control::{Control, State};
use formats::postgres::file_name::{FileName, Fork};
use formats::postgres::{BLOCK_SIZE_DEFAULT, Damage, Oid};

/// The largest control or map file that is read, bytes.
const SMALL_FILE_BYTES_MAX: u64 = 64 * 1024;
/// Blocks per segment when the control file does not tell: 1 GiB of 8 KiB.
pub(super) const SEGMENT_BLOCKS_DEFAULT: u32 = 131_072;

/// Why the data directory cannot be opened at all.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A directory or file could not be read.
    #[error("could not read \"{path}\": {source}")]
    Read {
        /// What was read.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// There is no data directory here.
    #[error("\"{0}\" is no PostgreSQL data directory: it has neither PG_VERSION nor global/pg_control")]
    NotACluster(PathBuf),
    /// A major that the formats are not known of.
    #[error("cannot check PostgreSQL {0}: majors 14 to 18 are supported")]
    Major(u32),
}

/// What the state of the cluster allows to be concluded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Shut down in order: all files agree with each other.
    Stopped,
    /// A server runs on it: blocks change while they are read.
    Running,
    /// Left by a crash, or a standby: the log must be replayed before the files agree.
    Crashed,
    /// A base backup: the log must be replayed; blocks changed during the backup carry positions in this range.
    Backup {
        /// Where the backup started.
        start_lsn: u64,
        /// Where it ended, if the manifest tells.
        end_lsn: Option<u64>,
    },
}

/// One segment file of a fork.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Absolute path.
    pub path: PathBuf,
    /// Path relative to the data directory.
    pub shown: PathBuf,
    /// Number, from 0.
    pub number: u32,
    /// Length, bytes.
    pub bytes: u64,
}

/// One fork of a relation: its segment files in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkFiles {
    /// Tablespace, 0 for the default one, 1664 for global.
    pub tablespace: Oid,
    /// Database; 0 for shared relations.
    pub database: Oid,
    /// File number.
    pub number: Oid,
    /// Which fork.
    pub fork: Fork,
    /// Whether it belongs to a temporary relation.
    pub temporary: bool,
    /// Segments, ascending.
    pub segments: Vec<Segment>,
}

impl ForkFiles {
    /// Number of whole blocks in all segments, as the server counts them.
    #[must_use]
    pub fn blocks(&self, cluster: &Cluster) -> u32 {
        let last = self.segments.last();
        last.map_or(0, |last| {
            let before = u64::from(last.number) * u64::from(cluster.segment_blocks);
            u32::try_from(before + last.bytes / cluster.block_bytes as u64).unwrap_or(u32::MAX - 1)
        })
    }
}

/// A data directory.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// The directory.
    pub directory: PathBuf,
    /// Major version.
    pub major: u32,
    /// The control file, if it could be read.
    pub control: Option<Control>,
    /// What is wrong with the control file.
    pub control_damage: Vec<Damage>,
    /// What its state allows to be concluded.
    pub standing: Standing,
    /// Block size, bytes.
    pub block_bytes: usize,
    /// Blocks per segment file.
    pub segment_blocks: u32,
    /// Whether blocks carry checksums.
    pub checksums: bool,
    /// All forks found, by tablespace, database, number and fork.
    pub forks: Vec<ForkFiles>,
    /// Directories of databases in their default tablespace: object id and path.
    pub databases: Vec<(Oid, PathBuf)>,
}

/// Reads a whole small file; never more than a fixed limit.
pub(crate) fn read_small(path: &Path) -> io::Result<Vec<u8>> {
    use io::Read as _;
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(SMALL_FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl Cluster {
    /// Looks at a data directory: reads the control file and lists all relation files.
    ///
    /// # Errors
    /// When it is no data directory, of a major that is not supported, or cannot be listed.
    pub fn open(directory: &Path) -> Result<Cluster, OpenError> {
        let version = read_small(&directory.join("PG_VERSION")).ok();
        let control_bytes = read_small(&directory.join("global/pg_control")).ok();
        if version.is_none() && control_bytes.is_none() {
            return Err(OpenError::NotACluster(directory.to_path_buf()));
        }
        let mut control_damage = Vec::new();
        let control = control_bytes.as_deref().and_then(|bytes| Control::read(bytes, &mut control_damage));
        let major = major_of(version.as_deref(), control.as_ref());
        if !(14..=18).contains(&major) {
            return Err(OpenError::Major(major));
        }
        let mut cluster = Cluster {
            directory: directory.to_path_buf(),
            major,
            block_bytes: control.map_or(BLOCK_SIZE_DEFAULT, |control| control.block_bytes as usize),
            segment_blocks: control.map_or(SEGMENT_BLOCKS_DEFAULT, |control| control.segment_blocks),
            checksums: control.is_some_and(|control| control.checksum_version != 0),
            standing: standing_of(directory, control.as_ref()),
            control,
            control_damage,
            forks: Vec::new(),
            databases: Vec::new(),
        };
        cluster.list()?;
        Ok(cluster)
    }

    /// The path relative to the data directory, for messages.
    #[must_use]
    pub fn shown(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.directory).unwrap_or(path).to_path_buf()
    }

    fn list(&mut self) -> Result<(), OpenError> {
        let mut found = BTreeMap::new();
        self.list_directory(&self.directory.join("global"), 1664, 0, &mut found)?;
        for (oid, path) in numbered_directories(&self.directory.join("base"))? {
            self.list_directory(&path, 0, oid, &mut found)?;
            self.databases.push((oid, path));
        }
        // EVIDENCE: PostgreSQL docs 73.1: pg_tblspc/<oid>/PG_<major>_<catalog version>/<database>
        let spaces = self.directory.join("pg_tblspc");
        let prefix = format!("PG_{}_", self.major);
        for (space, path) in numbered_directories(&spaces).unwrap_or_default() {
            let versions =
                fs::read_dir(&path).map_err(|source| OpenError::Read { path: path.clone(), source })?;
            for entry in versions.flatten() {
                if entry.file_name().to_string_lossy().starts_with(&prefix) {
                    for (database, path) in numbered_directories(&entry.path())? {
                        self.list_directory(&path, space, database, &mut found)?;
                        // A database whose default tablespace this is has its catalogs here.
                        if path.join("pg_filenode.map").exists() {
                            self.databases.push((database, path));
                        }
                    }
                }
            }
        }
        self.forks = found.into_values().collect();
        Ok(())
    }

    fn list_directory(
        &self,
        path: &Path,
        tablespace: Oid,
        database: Oid,
        found: &mut BTreeMap<(Oid, Oid, Oid, Fork, bool), ForkFiles>,
    ) -> Result<(), OpenError> {
        let read_error = |source| OpenError::Read { path: path.to_path_buf(), source };
        for entry in fs::read_dir(path).map_err(read_error)? {
            let entry = entry.map_err(read_error)?;
            let Some(name) = entry.file_name().to_str().and_then(FileName::parse) else { continue };
            // A file that vanishes while the directory is listed was dropped.
            let Ok(metadata) = entry.metadata() else { continue };
            let segment = Segment {
                shown: self.shown(&entry.path()),
                path: entry.path(),
                number: name.segment,
                bytes: metadata.len(),
            };
            let key = (tablespace, database, name.number, name.fork, name.temporary);
            let fork = found.entry(key).or_insert_with(|| ForkFiles {
                tablespace,
                database,
                number: name.number,
                fork: name.fork,
                temporary: name.temporary,
                segments: Vec::new(),
            });
            fork.segments.push(segment);
            fork.segments.sort_by_key(|segment| segment.number);
        }
        Ok(())
    }
}

fn major_of(version: Option<&[u8]>, control: Option<&Control>) -> u32 {
    let written =
        version.and_then(|bytes| std::str::from_utf8(bytes).ok()).and_then(|text| text.trim().parse().ok());
    // OBSERVED: catalog versions 202107181 (14), 202209061 (15), 202307071 (16), 202406281 (17), 202506291 (18)
    written.unwrap_or_else(|| match control.map_or(0, |control| control.catalog_version) {
        202_107_181 => 14,
        202_209_061 => 15,
        202_307_071 => 16,
        202_406_281 => 17,
        202_506_291 => 18,
        _ => 0,
    })
}

fn numbered_directories(path: &Path) -> Result<Vec<(Oid, PathBuf)>, OpenError> {
    let read_error = |source| OpenError::Read { path: path.to_path_buf(), source };
    let mut found = Vec::new();
    for entry in fs::read_dir(path).map_err(read_error)? {
        let entry = entry.map_err(read_error)?;
        // Tablespaces are symbolic links: look at what they lead to.
        if let Some(number) = entry.file_name().to_str().and_then(|name| name.parse().ok())
            && entry.path().is_dir()
        {
            found.push((number, entry.path()));
        }
    }
    found.sort_unstable();
    Ok(found)
}

fn standing_of(directory: &Path, control: Option<&Control>) -> Standing {
    if let Ok(label) = read_small(&directory.join("backup_label")) {
        let label = String::from_utf8_lossy(&label);
        let start = label
            .lines()
            .find_map(|line| line.strip_prefix("START WAL LOCATION: "))
            .and_then(|rest| rest.split_whitespace().next().and_then(lsn_of));
        let end_lsn = read_end(&directory.join("backup_manifest")).ok().and_then(|text| manifest_end(&text));
        return Standing::Backup { start_lsn: start.unwrap_or(0), end_lsn };
    }
    if has_postmaster(directory) {
        return Standing::Running;
    }
    // A standby stops between any two records of the log: in the middle of a split, or of a transaction.
    let is_stopped = control.is_some_and(|control| control.state == State::ShutDown);
    if is_stopped { Standing::Stopped } else { Standing::Crashed }
}

/// Reads the end of a file, where a manifest has the ranges of the log.
fn read_end(path: &Path) -> io::Result<String> {
    use io::{Read as _, Seek as _};
    let mut file = fs::File::open(path)?;
    let start = file.metadata()?.len().saturating_sub(SMALL_FILE_BYTES_MAX);
    file.seek(io::SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(SMALL_FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Whether the process that `postmaster.pid` names is alive and works in this directory.
fn has_postmaster(directory: &Path) -> bool {
    let Ok(pid_file) = read_small(&directory.join("postmaster.pid")) else { return false };
    let text = String::from_utf8_lossy(&pid_file).into_owned();
    let Some(pid) = text.lines().next().and_then(|line| line.trim().parse::<u32>().ok()) else {
        return false;
    };
    let process = PathBuf::from(format!("/proc/{pid}"));
    match (fs::read_link(process.join("cwd")), fs::canonicalize(directory)) {
        (Ok(cwd), Ok(directory)) => cwd == directory,
        // Another user's process cannot be looked into; that it exists must do.
        _ => process.is_dir(),
    }
}

/// A position as `16/B374D848`.
fn lsn_of(text: &str) -> Option<u64> {
    let (high, low) = text.split_once('/')?;
    Some((u64::from_str_radix(high, 16).ok()? << 32) | u64::from_str_radix(low, 16).ok()?)
}

/// The highest `End-LSN` in a backup manifest.
fn manifest_end(manifest: &str) -> Option<u64> {
    let ends = manifest.split("\"End-LSN\":").skip(1);
    ends.filter_map(|rest| lsn_of(rest.trim_start().trim_start_matches('"').split('"').next()?)).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_read_from_labels_and_manifests() {
        assert_eq!(lsn_of("16/B374D848"), Some(0x16_B374_D848));
        assert_eq!(lsn_of("nothing"), None);
        let manifest =
            r#"{ "WAL-Ranges": [ { "Timeline": 1, "Start-LSN": "0/2000028", "End-LSN": "0/2000100" } ] }"#;
        assert_eq!(manifest_end(manifest), Some(0x200_0100));
    }
}
