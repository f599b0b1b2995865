//! What all workers of a pass share.

use std::collections::{HashMap, HashSet};

use check::engine::LogEnd;
use check::matching::hash::Key;
use formats::postgres::Damage;
use formats::postgres::spgist::Fact;
use results::check::CheckLevel;

use crate::btree::context::TreeScratch;
use crate::cluster::Cluster;
use crate::cluster::state::Snapshot;
use crate::cluster::transactions::Transactions;
use crate::cluster::truncations::Truncations;
use crate::gin::row_set::RowSets;
use crate::gist::tree::GistTree;
use crate::heap::context::HeapScratch;
use crate::matching::exceptions::Exceptions;
use crate::plan::Plan;
use crate::plan::objects::PlanFile;

/// What all workers of a pass look at.
#[derive(Clone, Copy)]
pub(crate) struct PassContext<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) plan: &'a Plan,
    pub(crate) files: &'a [PlanFile],
    pub(crate) level: CheckLevel,
    pub(crate) key: &'a Key,
    /// Present when rules about transactions and facts between blocks can be tested.
    pub(crate) transactions: Option<&'a Transactions>,
    /// The moment that is looked at, in a cluster that does not stand still.
    pub(crate) snapshot: Option<Snapshot>,
    /// What tells whether a table was cut since.
    pub(crate) truncations: Option<&'a Truncations>,
    /// Where the log of a running server ends.
    pub(crate) log_end: Option<&'a LogEnd>,
    /// What the second pass knows, which reads indexes; `None` in the first one, which reads tables.
    pub(crate) of_indexes: Option<IndexPass<'a>>,
    /// A partial index whose entries the rows state as well; for the second look.
    pub(crate) also_index: Option<u32>,
}

/// What is known of the tables and indexes when the blocks of indexes are read.
#[derive(Clone, Copy)]
pub(crate) struct IndexPass<'a> {
    /// Rows of each table that are not matched in the ordinary way.
    pub(crate) exceptions: &'a HashMap<u32, Exceptions>,
    /// Relations that changed since as a whole. Single blocks are among the exceptions.
    pub(crate) moved: &'a HashSet<u32>,
    /// The inner blocks of GiST indexes.
    pub(crate) gist_trees: Option<&'a HashMap<u32, GistTree>>,
    /// Sets of rows that GIN indexes name; without them each entry states its row at once.
    pub(crate) row_sets: Option<&'a RowSets>,
}

impl PassContext<'_> {
    /// Rows of a table that are not matched in the ordinary way.
    pub(crate) fn exceptions_of(&self, table: Option<u32>) -> Option<&Exceptions> {
        self.of_indexes.and_then(|pass| pass.exceptions.get(&table?))
    }

    /// The inner blocks of a GiST index.
    pub(crate) fn gist_tree_of(&self, index: u32) -> Option<&GistTree> {
        self.of_indexes.and_then(|pass| pass.gist_trees?.get(&index))
    }

    /// Whether a table is known to have changed as a whole.
    pub(crate) fn has_moved(&self, table: u32) -> bool {
        self.of_indexes.is_some_and(|pass| pass.moved.contains(&table))
    }
}

#[derive(Default)]
pub(crate) struct BlockScratch {
    pub(crate) heap: HeapScratch,
    pub(crate) tree: TreeScratch,
    pub(crate) damage: Vec<Damage>,
    pub(crate) facts: Vec<Fact>,
    pub(crate) block: Vec<u8>,
}
