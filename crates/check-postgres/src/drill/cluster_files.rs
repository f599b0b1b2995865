//! Drills about files of the cluster as a whole: the WAL, directories of databases, sequences.

use std::fs;
use std::path::{Path, PathBuf};

use crate::catalog::Storage;
use crate::cluster::files::checkpoint_place;
use crate::drill::{Change, What, Work, is_of_user};

/// Where in the checkpoint record a byte is changed: its CRC.
// EVIDENCE: src/include/access/xlogrecord.h XLogRecord: xl_crc @20
const CRC_OFFSET: u64 = 20;

impl Work<'_> {
    /// Sequences of users.
    pub(super) fn sequences(&self) -> Vec<u32> {
        let is_wanted = |number: &u32| {
            let relation = &self.plan.relations[*number as usize];
            relation.storage == Storage::Sequence && is_of_user(relation)
        };
        self.longest_first((0..self.plan.relations.len() as u32).filter(is_wanted))
    }

    pub(super) fn of_checkpoint(&self) -> Option<Change> {
        let (file, offset_bytes) = checkpoint_place(self.cluster)?;
        let offset_bytes = offset_bytes + CRC_OFFSET;
        let mut byte = [0];
        let part = self.cluster.tree.part(Path::new(&file)).ok()?;
        part.read_exact_at(&mut byte, offset_bytes).ok()?;
        Some(Change {
            file: PathBuf::from(file),
            object: None,
            block: None,
            offset_bytes,
            changed_bytes: 1,
            what: What::Bytes(vec![byte[0] ^ (1 << (self.seed % 8))]),
        })
    }

    /// Removes the directory of the database that was made last.
    pub(super) fn of_database(&self) -> Option<Change> {
        let (_, directory) = self.cluster.databases.iter().max_by_key(|(oid, _)| *oid)?;
        let root = self.cluster.tree.directory()?;
        let files = fs::read_dir(root.join(directory)).ok()?.flatten();
        let changed_bytes = files.filter_map(|file| Some(file.metadata().ok()?.len())).sum();
        Some(Change {
            file: directory.clone(),
            object: None,
            block: None,
            offset_bytes: 0,
            changed_bytes,
            what: What::RemovedDirectory,
        })
    }
}
