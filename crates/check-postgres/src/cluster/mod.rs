//! A data directory: what it is, in which state it was left, and which files it has.

pub(crate) mod files;
pub(crate) mod lsn;
pub(crate) mod state;
pub(crate) mod transaction_logs;
pub(crate) mod transactions;
pub(crate) mod truncations;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use formats::postgres::checksum::page_checksum;
use formats::postgres::control::{Control, State};
use formats::postgres::file_name::{FileName, Fork};
use formats::postgres::heap::FIRST_NORMAL_XID;
use formats::postgres::page::Page;
use formats::postgres::{BLOCK_SIZE_DEFAULT, Damage, Oid, Xid};

use crate::cluster::files::backup::{LostLabel, lost_label};
use crate::cluster::files::version;
use crate::cluster::state::{Snapshot, Standing};
use crate::source::Tree;
use crate::source::archive::limits::Limits;
use crate::source::error::OpenError;
use crate::source::part::Part;

/// Blocks per segment when the control file does not tell: 1 GiB of 8 KiB.
pub(super) const SEGMENT_BLOCKS_DEFAULT: u32 = 131_072;
/// Blocks of a file by itself that tell whether it has checksums.
const SAMPLE_BLOCKS: u64 = 64;
/// The control file, below the data directory.
const CONTROL_FILE: &str = "global/pg_control";
/// Readings of the control file while it is being written.
const CONTROL_READINGS_MAX: usize = 10;
/// Between two of them.
const CONTROL_PAUSE: Duration = Duration::from_millis(10);
/// Of these so many at most from one file of a cluster.
const SAMPLE_BLOCKS_PER_FILE: u64 = 4;

/// One segment file of a fork.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Where its bytes are, and how many there were when it was listed.
    pub part: Part,
    /// Path relative to the data directory.
    pub shown: PathBuf,
    /// Number, from 0.
    pub number: u32,
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
            let mut own = last.part.bytes / cluster.block_bytes as u64;
            if cluster.control.is_some() {
                own = own.min(u64::from(cluster.segment_blocks));
            }
            u32::try_from(before + own).unwrap_or(u32::MAX - 1)
        })
    }
}

/// A data directory, or what a base backup has of one.
#[derive(Clone, Debug)]
pub struct Cluster {
    pub(crate) tree: Tree,
    /// Major version.
    pub major: u32,
    /// The control file, if it could be read.
    pub control: Option<Control>,
    /// What is wrong with the control file.
    pub control_damage: Vec<Damage>,
    /// What its state allows to be concluded.
    pub standing: Standing,
    /// Set in a base backup whose label was lost.
    pub(crate) lost_label: Option<LostLabel>,
    /// The oldest transaction that may have been active at the last checkpoint, where the WAL tells and the checkpoint
    /// does not.
    pub(crate) wal_horizon: Option<Xid>,
    /// Block size, bytes.
    pub block_bytes: usize,
    /// Blocks per segment file.
    pub segment_blocks: u32,
    /// Whether blocks carry checksums.
    pub checksums: bool,
    /// All forks found, by tablespace, database, number and fork.
    pub forks: Vec<ForkFiles>,
    /// Directories of databases in their default tablespace: object id and path relative to the data directory.
    pub databases: Vec<(Oid, PathBuf)>,
    /// Files of an incremental backup: they hold some blocks of a file, and are not checked.
    pub incremental_count: u64,
    /// Tablespaces of a backup whose files are not here.
    pub absent_tablespaces: Vec<Oid>,
}

impl Cluster {
    /// Looks at a data directory or base backup: reads the control file and lists all relation files.
    ///
    /// I/O: tar files are walked once; those that are packed are unpacked to a temporary file.
    ///
    /// # Errors
    /// When it is neither, of a major that is not supported, or cannot be listed.
    pub fn open(path: &Path) -> Result<Cluster, OpenError> {
        Cluster::open_within(path, &Limits::default())
    }

    /// As [`Cluster::open`], within limits for the tar files of a backup.
    pub(crate) fn open_within(path: &Path, limits: &Limits) -> Result<Cluster, OpenError> {
        let tree = Tree::open(path, limits)?;
        let version = tree.read_small("PG_VERSION").ok();
        let control_bytes = tree.read_small(CONTROL_FILE).ok();
        if version.is_none() && control_bytes.is_none() {
            return Err(OpenError::NotACluster(path.to_path_buf()));
        }
        let (control, control_damage) = settled_control(control_bytes, || tree.read_small(CONTROL_FILE).ok());
        let major =
            version::major_of(version.as_deref(), control.as_ref().filter(|_| control_damage.is_empty()));
        if !(14..=18).contains(&major) {
            return Err(OpenError::Major(major));
        }
        let lost_label = lost_label(&tree, control.as_ref());
        let standing = lost_label.as_ref().map(LostLabel::standing);
        let mut cluster = Cluster {
            major,
            lost_label,
            wal_horizon: None,
            block_bytes: control.map_or(BLOCK_SIZE_DEFAULT, |control| control.block_bytes as usize),
            segment_blocks: control.map_or(SEGMENT_BLOCKS_DEFAULT, |control| control.segment_blocks),
            checksums: control.is_some_and(|control| control.checksum_version != 0),
            standing: standing.unwrap_or_else(|| standing_of(&tree, control.as_ref())),
            tree,
            control,
            control_damage,
            forks: Vec::new(),
            databases: Vec::new(),
            incremental_count: 0,
            absent_tablespaces: Vec::new(),
        };
        cluster.list().map_err(|source| OpenError::Read { path: path.to_path_buf(), source })?;
        if cluster.control.is_none() {
            cluster.checksums = cluster.has_checksums();
        }
        Ok(cluster)
    }

    /// Whether most of some blocks carry a checksum that fits: for a cluster whose control file is lost.
    fn has_checksums(&self) -> bool {
        let (mut fitting, mut count) = (0, 0);
        for segment in
            self.forks.iter().filter(|fork| fork.fork == Fork::Main).flat_map(|fork| &fork.segments)
        {
            let Ok(bytes) = segment.part.read(SAMPLE_BLOCKS_PER_FILE * self.block_bytes as u64) else {
                continue;
            };
            let first = segment.number.saturating_mul(self.segment_blocks);
            let blocks = bytes.chunks_exact(self.block_bytes).zip(first..);
            for (block, number) in blocks.filter(|(block, _)| !Page::new(block).is_new()) {
                fitting += u64::from(Page::new(block).header().checksum == page_checksum(block, number));
                count += 1;
            }
            if count >= SAMPLE_BLOCKS {
                break;
            }
        }
        fitting > count / 2
    }

    /// The moment that can be told from files that do not stand still; `None` in a cluster that does, and where the
    /// control file does not tell.
    pub(crate) fn snapshot(&self) -> Option<Snapshot> {
        let control = self.control.filter(|_| self.control_damage.is_empty())?;
        let is_allowed = match self.standing {
            Standing::Stopped => false,
            Standing::Running => true,
            // Blocks half old and half new are expected; without checksums they cannot be told.
            Standing::Crashed => self.checksums,
            // The control file is copied last: it may be that of a later checkpoint.
            Standing::Backup { start_lsn, .. } => self.checksums && control.redo_lsn == start_lsn,
        };
        // At the checkpoint of a shutdown nothing is active, and the field is 0; so it is with wal_level minimal, where
        // much may be.
        let was_shutdown = control.checkpoint_lsn == control.redo_lsn && control.wal_level > 0;
        let has_prepared = self.tree.files(Path::new("pg_twophase")).is_ok_and(|files| !files.is_empty());
        let horizon_xid = match control.oldest_active_xid {
            xid if xid >= FIRST_NORMAL_XID => xid,
            _ if was_shutdown && !has_prepared => control.next_xid as Xid,
            _ => self.wal_horizon?,
        };
        is_allowed.then_some(Snapshot { redo_lsn: control.redo_lsn, horizon_xid })
    }

    /// Whether the server wrote the last checkpoint itself: it then keeps the first file of what is dropped until the
    /// next one has ended, whereas replay removes it at once.
    // EVIDENCE: src/backend/storage/smgr/md.c mdunlinkfork; src/backend/storage/sync/sync.c SyncPostCheckpoint, which
    // CreateCheckPoint calls after the control file is written; the position that recovery must reach is 0 after the
    // first checkpoint that is no part of recovery
    pub(crate) fn is_in_production(&self) -> bool {
        let control = self.control.filter(|_| self.control_damage.is_empty());
        control.is_some_and(|control| control.state == State::InProduction && control.min_recovery_lsn == 0)
    }

    /// The directory of this version in a tablespace, relative to the data directory.
    // EVIDENCE: PostgreSQL docs 73.1; src/include/common/relpath.h TABLESPACE_VERSION_DIRECTORY
    pub(crate) fn tablespace_directory(&self, space: Oid) -> PathBuf {
        let catalog_version = self.control.map_or(0, |control| control.catalog_version);
        PathBuf::from(format!("pg_tblspc/{space}/PG_{}_{catalog_version}", self.major))
    }

    /// A relation file by itself, away from its data directory: its blocks have the usual size, and checksums if
    /// those at its beginning have.
    ///
    /// # Errors
    /// When it cannot be read, or has no name of a relation file.
    pub(crate) fn of_file(path: &Path) -> Result<Option<Cluster>, OpenError> {
        let error = |source| OpenError::Read { path: path.to_path_buf(), source };
        let file_name = path.file_name().and_then(|name| name.to_str());
        let Some(name) = file_name.and_then(FileName::parse) else { return Ok(None) };
        let part = Part {
            path: path.into(),
            offset_bytes: 0,
            bytes: disk::input::metadata(path).map_err(error)?.len(),
        };
        let start = part.read(SAMPLE_BLOCKS * BLOCK_SIZE_DEFAULT as u64).map_err(error)?;
        let blocks = start.chunks_exact(BLOCK_SIZE_DEFAULT).enumerate();
        let first = name.segment.saturating_mul(SEGMENT_BLOCKS_DEFAULT);
        let checksums = blocks.filter(|(_, block)| !Page::new(block).is_new()).any(|(number, block)| {
            Page::new(block).header().checksum == page_checksum(block, first.saturating_add(number as u32))
        });
        let shown = PathBuf::from(path.file_name().unwrap_or_default());
        let segment = Segment { part, shown, number: name.segment };
        let fork = ForkFiles {
            tablespace: 0,
            database: 0,
            number: name.number,
            fork: name.fork,
            temporary: name.temporary,
            segments: vec![segment],
        };
        Ok(Some(Cluster {
            tree: Tree::Directory(path.parent().unwrap_or(Path::new("")).to_path_buf()),
            major: 0,
            control: None,
            control_damage: Vec::new(),
            standing: Standing::Stopped,
            lost_label: None,
            wal_horizon: None,
            block_bytes: BLOCK_SIZE_DEFAULT,
            segment_blocks: SEGMENT_BLOCKS_DEFAULT,
            checksums,
            forks: vec![fork],
            databases: Vec::new(),
            incremental_count: 0,
            absent_tablespaces: Vec::new(),
        }))
    }

    fn list(&mut self) -> io::Result<()> {
        let mut found = BTreeMap::new();
        if self.tree.has_directory(Path::new("global")) {
            self.list_directory(Path::new("global"), 1664, 0, &mut found)?;
        }
        for (oid, path) in self.numbered_directories(Path::new("base")).unwrap_or_default() {
            unless_gone(self.list_directory(&path, 0, oid, &mut found))?;
            self.databases.push((oid, path));
        }
        // EVIDENCE: PostgreSQL docs 73.1: pg_tblspc/<oid>/PG_<major>_<catalog version>/<database>
        let prefix = format!("PG_{}_", self.major);
        let mut beside = Vec::new();
        for (space, path) in self.numbered_directories(Path::new("pg_tblspc")).unwrap_or_default() {
            let versions = unless_gone(self.tree.directories(&path))?.into_iter();
            for version in versions.filter(|version| version.starts_with(&prefix)) {
                for (database, path) in unless_gone(self.numbered_directories(&path.join(version)))? {
                    unless_gone(self.list_directory(&path, space, database, &mut found))?;
                    beside.push((database, path));
                }
            }
        }
        self.forks = found.into_values().collect();
        self.settle_databases(beside);
        // EVIDENCE: PostgreSQL docs, pg_basebackup: tablespace_map has a line "<oid> <path>" for each tablespace
        let map = self.tree.read_small("tablespace_map").unwrap_or_default();
        let named = String::from_utf8_lossy(&map);
        let named = named.lines().filter_map(|line| line.split_once(' ')?.0.parse::<Oid>().ok());
        // One without tables has its directory only.
        let is_there = |space: Oid| {
            self.forks.iter().any(|fork| fork.tablespace == space)
                || self.tree.has_directory(&self.tablespace_directory(space))
        };
        self.absent_tablespaces = named.filter(|space| !is_there(*space)).collect();
        Ok(())
    }

    fn list_directory(
        &mut self,
        path: &Path,
        tablespace: Oid,
        database: Oid,
        found: &mut BTreeMap<(Oid, Oid, Oid, Fork, bool), ForkFiles>,
    ) -> io::Result<()> {
        for (name, part) in self.tree.files(path)? {
            let shown = path.join(&name);
            // EVIDENCE: PostgreSQL docs, pg_combinebackup: files named INCREMENTAL.<name>
            self.incremental_count += u64::from(name.starts_with("INCREMENTAL."));
            let Some(name) = FileName::parse(&name) else { continue };
            let segment = Segment { shown, part, number: name.segment };
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

    fn numbered_directories(&self, path: &Path) -> io::Result<Vec<(Oid, PathBuf)>> {
        let names = self.tree.directories(path)?;
        let numbered = names.into_iter().filter_map(|name| Some((name.parse().ok()?, path.join(name))));
        let mut found: Vec<(Oid, PathBuf)> = numbered.collect();
        found.sort_unstable();
        Ok(found)
    }
}

/// Reads the control file until its checksum is right or two readings are the same.
///
/// A server writes it in place: a reading meanwhile may have some bytes of before. Readings that differ where no server
/// runs are a finding of their own.
// EVIDENCE: src/common/controldata_utils.c get_controlfile: reads again, up to ten times with 10 ms between, while the
// CRC is wrong and another one than the last time
fn settled_control(
    mut bytes: Option<Vec<u8>>,
    again: impl Fn() -> Option<Vec<u8>>,
) -> (Option<Control>, Vec<Damage>) {
    for _ in 0..CONTROL_READINGS_MAX {
        let mut damage = Vec::new();
        let control = bytes.as_deref().and_then(|bytes| Control::read(bytes, &mut damage));
        if damage.is_empty() {
            return (control, damage);
        }
        std::thread::sleep(CONTROL_PAUSE);
        let next = again();
        if next == bytes {
            return (control, damage);
        }
        bytes = next;
    }
    let mut damage = Vec::new();
    let control = bytes.as_deref().and_then(|bytes| Control::read(bytes, &mut damage));
    (control, damage)
}

/// What was listed; nothing if the directory is gone: it was dropped meanwhile, and one that is missed is a finding.
fn unless_gone<T: Default>(listed: io::Result<T>) -> io::Result<T> {
    match listed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(T::default()),
        listed => listed,
    }
}

fn standing_of(tree: &Tree, control: Option<&Control>) -> Standing {
    if let Ok(label) = tree.read_small("backup_label") {
        let label = String::from_utf8_lossy(&label);
        let start = label
            .lines()
            .find_map(|line| line.strip_prefix("START WAL LOCATION: "))
            .and_then(|rest| rest.split_whitespace().next().and_then(lsn_of));
        let end_lsn = tree.read_end("backup_manifest").ok().and_then(|text| manifest_end(&text));
        return Standing::Backup { start_lsn: start.unwrap_or(0), end_lsn };
    }
    if tree.directory().is_some_and(has_postmaster) {
        return Standing::Running;
    }
    // A standby stops between any two records of the log: in the middle of a split, or of a transaction.
    let is_stopped = control.is_some_and(|control| control.state == State::ShutDown);
    if is_stopped { Standing::Stopped } else { Standing::Crashed }
}

/// Whether the process that `postmaster.pid` names is alive and works in this directory.
fn has_postmaster(directory: &Path) -> bool {
    let Ok(pid_file) = Tree::Directory(directory.to_path_buf()).read_small("postmaster.pid") else {
        return false;
    };
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
    fn a_control_file_that_is_being_written_is_read_again() {
        let torn = || Some(vec![1; 8192]);
        let readings = std::cell::RefCell::new(vec![Some(vec![3; 8192]), Some(vec![2; 8192])]);
        let count = std::cell::Cell::new(0);
        let again = || {
            count.set(count.get() + 1);
            readings.borrow_mut().pop().unwrap_or_else(torn)
        };
        // 1, then 2, 3, 1, and 1 again: the same bytes twice.
        let (_, damage) = settled_control(torn(), again);
        assert_eq!((count.get(), damage.is_empty()), (4, false));
        count.set(0);
        // A server that never stops writing.
        let (_, damage) = settled_control(torn(), || {
            count.set(count.get() + 1);
            Some(vec![count.get() as u8 + 1; 8192])
        });
        assert_eq!((count.get(), damage.is_empty()), (CONTROL_READINGS_MAX, false));
        assert!(settled_control(None, || None).1.is_empty());
    }

    #[test]
    fn positions_are_read_from_labels_and_manifests() {
        assert_eq!(lsn_of("16/B374D848"), Some(0x16_B374_D848));
        assert_eq!(lsn_of("nothing"), None);
        let manifest =
            r#"{ "WAL-Ranges": [ { "Timeline": 1, "Start-LSN": "0/2000028", "End-LSN": "0/2000100" } ] }"#;
        assert_eq!(manifest_end(manifest), Some(0x200_0100));
    }
}
