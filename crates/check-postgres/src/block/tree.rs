//! What is known of an index while its blocks are tested.

use check::rule::Rule;
use formats::postgres::Tid;
use formats::postgres::page::{Item, ItemState};
use results::object::Affected;

use crate::block::work::Work;
use crate::catalog::Relation;
use crate::matching::differences::BlockBuckets;
use crate::matching::exception::Exception;
use crate::matching::exceptions::Exceptions;
use crate::plan::objects::Matching;

/// What is known of an index while its blocks are looked at.
pub(crate) struct Tree<'a> {
    pub(crate) relation: &'a Relation,
    pub(crate) number: u32,
    /// Name of its table.
    pub(crate) table: &'a str,
    /// Blocks of the index.
    pub(crate) blocks: u32,
    /// Blocks of its table.
    pub(crate) heap_blocks: Option<u32>,
    /// Buckets of its rows.
    pub(crate) heap_buckets: BlockBuckets,
    /// Whether the table stands still, so that it is known which rows are visible.
    pub(crate) is_heap_still: bool,
    /// Whether the cluster was shut down cleanly: hint bits of index pages then fit the table.
    pub(crate) is_settled: bool,
    /// Whether the table may have been cut since: VACUUM does so after its entries are gone, which may not have reached
    /// the file. Asked for entries beyond its end.
    pub(crate) may_be_cut: &'a dyn Fn() -> bool,
    pub(crate) matching: Matching,
    /// Version from the meta page.
    pub(crate) version: u32,
    /// Row pointers of the table that are not matched in the ordinary way, ascending.
    pub(crate) exceptions: Option<&'a Exceptions>,
}

impl Tree<'_> {
    /// Why a row is not matched in the ordinary way, if so.
    pub(crate) fn exception_of(&self, tid: Tid) -> Option<Exception> {
        self.exceptions.and_then(|exceptions| exceptions.of(tid))
    }

    /// Counts an entry that names a row past the end of the table: whether the table or the index is damaged is decided
    /// when all of its indexes are known.
    pub(crate) fn report_beyond<S>(
        &self,
        rule: &'static Rule,
        tid: Tid,
        item: Option<u16>,
        entry_count: u64,
        work: &mut Work<'_, S>,
    ) {
        let expected = format!("a TID in the {} blocks of the table", self.heap_blocks.unwrap_or(u32::MAX));
        let finding = work.place.finding(rule, item, expected, format!("row {tid}"));
        work.findings.push_consequence(self.table, finding, Affected { row_count: 0, entry_count });
    }

    /// Whether an entry is marked dead in a cluster where that fits the table: it leads to no visible row, or is a fault.
    ///
    /// LP_DEAD is set without a record in the WAL, after the row was deleted: after a crash, in a backup or while a server
    /// runs the file of the index may have it before the file of the table has the deletion.
    // EVIDENCE: src/backend/access/nbtree/nbtutils.c _bt_killitems: set when all rows of the entry are dead to everyone;
    // hashutil.c _hash_kill_items, gistget.c gistkillitems alike
    pub(crate) fn is_marked_dead(&self, item: Item) -> bool {
        item.state == ItemState::Dead && self.is_settled
    }
}
