//! The first block of a relation that has one from its creation on: of each sequence and each index.

use std::collections::HashSet;

use check::rule::Rule;
use formats::postgres::Oid;

use crate::block::work::Work;
use crate::catalog::{Relation, Storage};
use crate::cluster::state::Standing;
use crate::cluster::{Cluster, ForkFiles};
use crate::finding::file_finding;
use crate::plan::Plan;
use crate::rules;
use crate::run::context::PassContext;

impl Storage {
    /// The rule about the first block, and what the block is; `None` where a relation may have no block.
    // EVIDENCE: src/backend/commands/sequence.c fill_seq_with_data; ambuild of nbtree, hash, GIN, SP-GiST and BRIN makes
    // a metapage, that of GiST the root; "could not read block 0" and "index ... is not a btree" without it
    pub(crate) fn first_block(self) -> Option<(&'static Rule, &'static str)> {
        Some(match self {
            Storage::Sequence => (&rules::SEQUENCE, "the block of the sequence"),
            Storage::Btree => (&rules::BTREE_META, "the metapage of the index"),
            Storage::Hash => (&rules::HASH_META, "the metapage of the index"),
            Storage::Gin => (&rules::GIN_META, "the metapage of the index"),
            Storage::Brin => (&rules::BRIN_META, "the metapage of the index"),
            Storage::SpGist => (&rules::SP_GIST_PAGE, "the metapage of the index"),
            Storage::Gist => (&rules::INDEX_PAGE, "the root block of the index"),
            Storage::Heap | Storage::Other => return None,
        })
    }
}

/// The rule about the first block of a relation; `None` where it may have none: an index that is not valid has perhaps
/// not been built.
fn first_block_of(relation: &Relation) -> Option<(&'static Rule, &'static str)> {
    let is_built = !relation.is_index || relation.index.as_ref().is_some_and(|index| index.usable);
    relation.storage.first_block().filter(|_| is_built)
}

impl Plan {
    /// Reports a file without any block that must have a first one.
    pub(crate) fn report_empty_files(&mut self, cluster: &Cluster, databases: &HashSet<Oid>) {
        if cluster.standing != Standing::Stopped && cluster.snapshot().is_none() {
            return;
        }
        let is_replayed = matches!(cluster.standing, Standing::Crashed | Standing::Backup { .. });
        let numbers = crate::plan::files::Numbers::new(cluster, &self.relations);
        let empty = |fork: &&ForkFiles| {
            fork.fork == formats::postgres::file_name::Fork::Main
                && !fork.temporary
                && fork.segments.iter().all(|segment| segment.part.bytes == 0)
        };
        for fork in cluster.forks.iter().filter(empty) {
            let Some(relation) = numbers.of(fork).and_then(|number| self.relation(number)) else { continue };
            let is_going = relation.database != 0 && !databases.contains(&relation.database);
            let is_made_anew = is_replayed && relation.persistence != b'p';
            let Some((rule, what)) = first_block_of(relation).filter(|_| !is_going && !is_made_anew) else {
                continue;
            };
            let shown = fork.segments.first().map(|segment| segment.shown.to_string_lossy());
            let (expected, name) = (format!("{what} in block 0"), relation.name.clone());
            let shown = shown.unwrap_or_default();
            let found = "a file of 0 bytes".to_owned();
            self.findings.push(file_finding(rule, &shown, Some(&name), expected, found));
            self.files_of_findings.push((fork.database, fork.number));
        }
    }
}

impl PassContext<'_> {
    /// Reports a first block of zeros that is neither new nor being dropped.
    pub(crate) fn lost_first_block<S>(&self, number: u32, work: &mut Work<'_, S>) {
        let Some(relation) = self.plan.relation(number).filter(|_| work.place.block == 0) else { return };
        let Some((rule, what)) = first_block_of(relation) else { return };
        if self.is_made_and_kept(relation) {
            work.report(rule, None, what.to_owned(), "a block of zeros".to_owned());
        }
    }

    /// Whether a relation was made before the moment that is compared, and is not being dropped.
    pub(super) fn is_made_and_kept(&self, relation: &Relation) -> bool {
        let is_there = || {
            let log = self.truncations?;
            log.ask(|changes| changes.is_there(relation.database, relation.file_number))
        };
        self.stands_still() || self.snapshot.is_some() && is_there() == Some(true)
    }
}
