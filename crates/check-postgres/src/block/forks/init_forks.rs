//! Init forks: a start after a crash makes the main fork of each relation that has one from it.

use std::collections::HashSet;

use formats::postgres::brin::Meta as BrinMeta;
use formats::postgres::btree::Meta as BtreeMeta;
use formats::postgres::gin::Meta as GinMeta;
use formats::postgres::hash::Meta as HashMeta;
use formats::postgres::index_pages::{Method, Opaque};
use formats::postgres::page::Page;
use formats::postgres::{Damage, Oid};

use crate::block::work::Work;
use crate::catalog::{Relation, Storage};
use crate::cluster::Cluster;
use crate::cluster::state::Standing;
use crate::finding::file_finding;
use crate::plan::Plan;
use crate::rules;
use crate::run::context::PassContext;

impl Storage {
    /// Blocks of an init fork; `None` where the access method is not known.
    // EVIDENCE: src/backend/access/heap/heapam_handler.c heapam_relation_set_new_filelocator: an empty file; ambuildempty
    // of each access method: nbtree and BRIN a metapage, hash with two buckets and a bitmap page, GIN with a root, GiST a
    // root, SP-GiST with two roots; src/backend/commands/sequence.c fill_seq_with_data (15 and later)
    // OBSERVED: sizes of the files in 14.24, 15.18, 16.15, 17.11, 18.6
    fn init_block_count(self) -> Option<u64> {
        Some(match self {
            Storage::Heap => 0,
            Storage::Sequence | Storage::Btree | Storage::Brin | Storage::Gist => 1,
            Storage::Gin => 2,
            Storage::SpGist => 3,
            Storage::Hash => 4,
            Storage::Other => return None,
        })
    }
}

impl Plan {
    /// Each table, index and sequence that is unlogged has an init fork of its kind's length, and no other relation has
    /// one. `found`: bytes of init forks by number of the relation.
    // EVIDENCE: src/backend/storage/file/reinit.c ResetUnloggedRelationsInDbspaceDir goes by the names of files: a
    // relation with an init fork is replaced by it; PostgreSQL docs 73.5
    pub(crate) fn report_init_forks(
        &mut self,
        found: &[Option<u64>],
        cluster: &Cluster,
        databases: &HashSet<Oid>,
    ) {
        if cluster.standing != Standing::Stopped && cluster.snapshot().is_none() {
            return;
        }
        let mut faults = Vec::new();
        for (relation, bytes) in self.relations.iter().zip(found) {
            let is_going = relation.database != 0 && !databases.contains(&relation.database);
            let is_elsewhere = cluster.absent_tablespaces.contains(&relation.tablespace)
                || self.out_of_reach.contains_key(&relation.tablespace);
            if is_going || is_elsewhere {
                continue;
            }
            if let Some((expected, found)) = fault_of_length(relation, *bytes, cluster.block_bytes as u64) {
                let place = format!("database {} file {}_init", relation.database, relation.file_number);
                let name = Some(relation.name.as_str());
                let finding = file_finding(&rules::INIT_FORK, &place, name, expected, found);
                faults.push((finding, (relation.database, relation.file_number)));
            }
        }
        for (finding, file) in faults {
            self.findings.push(finding);
            self.files_of_findings.push(file);
        }
    }
}

/// What is wrong with the length of an init fork: expected, found.
fn fault_of_length(relation: &Relation, bytes: Option<u64>, block_bytes: u64) -> Option<(String, String)> {
    let number = relation.file_number;
    let none = || "none".to_owned();
    match (relation.persistence, bytes) {
        (b'u', None) if relation.storage != Storage::Other => {
            Some((format!("a file {number}_init: the relation is unlogged"), none()))
        }
        (b'u', Some(bytes)) => {
            let wanted = relation.storage.init_block_count()? * block_bytes;
            let expected = format!("a file {number}_init of {wanted} bytes: that of an empty relation");
            // One that ends inside a block is a finding of its own.
            (bytes != wanted && bytes.is_multiple_of(block_bytes))
                .then(|| (expected, format!("{bytes} bytes")))
        }
        (b'p', Some(bytes)) => {
            let expected = format!("no file {number}_init: the relation is not unlogged");
            Some((expected, format!("{bytes} bytes; crash recovery empties the relation")))
        }
        _ => None,
    }
}

/// Tests a block of an index's init fork whose header was found valid: metapages by their own rules, others without
/// entries.
pub(crate) fn init_block<S>(
    page: &Page<'_>,
    storage: Storage,
    damage: &mut Vec<Damage>,
    work: &mut Work<'_, S>,
) {
    damage.clear();
    let block = work.place.block;
    let blocks = storage.init_block_count().unwrap_or(0) as u32;
    let method = storage.entry_method();
    if let Some(opaque) = method.and_then(|method| Opaque::read(method, page)) {
        opaque.check(usize::from(page.header().special), damage);
    }
    let is_meta = block == 0 && storage != Storage::Gist;
    let is_read = match storage {
        Storage::Btree if is_meta => BtreeMeta::read(page).map(|meta| {
            meta.check(blocks, damage);
            meta.root
        }),
        Storage::Brin if is_meta => BrinMeta::read(page).map(|meta| {
            meta.check(blocks, damage);
            0
        }),
        Storage::Gin if is_meta => GinMeta::read(page).map(|meta| {
            meta.check(page, blocks, damage);
            0
        }),
        Storage::Hash if is_meta => HashMeta::read(page).map(|meta| {
            meta.check(page, blocks, damage);
            0
        }),
        _ => Some(0),
    };
    work.drain(damage);
    let entries = if is_meta || is_bitmap(storage, block) { 0 } else { page.items().count() };
    let found = match is_read {
        None => "no metapage".to_owned(),
        Some(root) if root != 0 => format!("a metapage with root block {root}"),
        Some(_) if entries > 0 => format!("{entries} line pointers"),
        Some(_) => return,
    };
    let expected = "the block of an empty index".to_owned();
    work.report(&rules::INIT_FORK, None, expected, found);
}

/// Whether a block is the bitmap page of an empty hash index.
fn is_bitmap(storage: Storage, block: u32) -> bool {
    storage.entry_method() == Some(Method::Hash) && block == 3
}

impl PassContext<'_> {
    /// Reports a block of zeros in an init fork.
    pub(crate) fn lost_init_block<S>(&self, relation: &Relation, work: &mut Work<'_, S>) {
        let is_wanted = relation.storage.init_block_count().is_some_and(|count| count > 0);
        if is_wanted && relation.persistence == b'u' && self.is_made_and_kept(relation) {
            let expected = "the block of an empty relation".to_owned();
            work.report(&rules::INIT_FORK, None, expected, "a block of zeros".to_owned());
        }
    }
}
