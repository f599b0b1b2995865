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
    pub(crate) exceptions: &'a HashMap<u32, Exceptions>,
    pub(crate) no_exceptions: &'a Exceptions,
    /// The moment that is looked at, in a cluster that does not stand still.
    pub(crate) snapshot: Option<Snapshot>,
    /// The inner blocks of GiST indexes, in the second pass.
    pub(crate) gist_trees: &'a HashMap<u32, GistTree>,
    /// What tells whether a table was cut since.
    pub(crate) truncations: Option<&'a Truncations>,
    /// Relations that changed since as a whole; known in the second pass. Single blocks are among the exceptions.
    pub(crate) moved: &'a HashSet<u32>,
    /// Where the log of a running server ends.
    pub(crate) log_end: Option<&'a LogEnd>,
    /// Sets of rows that GIN indexes name; without them each entry states its row at once.
    pub(crate) row_sets: Option<&'a RowSets>,
    /// A partial index whose entries the rows state as well; for the second look.
    pub(crate) also_index: Option<u32>,
}

#[derive(Default)]
pub(crate) struct BlockScratch {
    pub(crate) heap: HeapScratch,
    pub(crate) tree: TreeScratch,
    pub(crate) damage: Vec<Damage>,
    pub(crate) facts: Vec<Fact>,
    pub(crate) block: Vec<u8>,
}
