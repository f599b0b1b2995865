//! Where the facts of blocks go.

use check::matching::side::Side;
use formats::postgres::Tid;
use results::check::Share;

use crate::btree::seams::Seam;
use crate::gin::blocks::GinRecord;
use crate::heap::packed::PackedValue;
use crate::matching::exception::Exception;
use crate::matching::links::Link;

/// Where a B-tree block's facts go.
pub(crate) trait EntrySink {
    /// A fact about a row, in the bucket of its block.
    fn entry(&mut self, index: u32, bucket: usize, fact: u128, tid: Tid, place: (u32, u16));
    /// Counts entries: those that are compared with the key of their row, of all that may name a visible row.
    fn entries(&mut self, index: u32, count: Share) {
        let _ = (index, count);
    }
    /// An entry that is marked dead, as it would be stated otherwise.
    fn dead_entry(&mut self, index: u32, bucket: usize, fact: u128, tid: Tid, place: (u32, u16)) {
        let _ = (index, bucket, fact, tid, place);
    }
    /// The key of a visible row in a unique index whose order is not known.
    fn unique_key(&mut self, index: u32, fact: u128, tid: Tid, place: (u32, u16)) {
        let _ = (index, fact, tid, place);
    }
    /// A fact about another block of the index.
    fn link(&mut self, index: u32, side: Side, bucket: usize, fact: u128, link: Link);
    /// The key of a visible row where two leaves meet: expected by the left leaf, found in the right one.
    fn boundary(&mut self, index: u32, side: Side, fact: u128, boundary: Boundary);
    /// One side of a seam between two blocks; gives the key of the other side if that was stated before.
    fn seam(&mut self, seam: Seam, side: Side, key: &[u8]) -> Option<Box<[u8]>> {
        let _ = (seam, side, key);
        None
    }
    /// A seam whose first key is not above the bound.
    fn broken_seam(&mut self, seam: Seam) {
        let _ = seam;
    }
    /// A block that ends or starts an update of the index that was cut off: links or entries are not exact.
    fn unfinished(&mut self, index: u32);
    /// Keys of this column or type could not be compared.
    fn order_not_known(&mut self, index: u32);
    /// What a block of a GIN index says of itself or of another.
    fn gin(&mut self, index: u32, record: GinRecord) {
        let _ = (index, record);
    }
}

/// Where two leaves meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Boundary {
    /// A visible row that has the key.
    pub(crate) tid: Tid,
    /// Block of the leaf that states it.
    pub(crate) block: u32,
}

/// Where a heap block's facts go.
pub(crate) trait RowSink {
    /// A fact about an index or TOAST table (by number in the plan), from one side, in a bucket.
    fn fact(&mut self, relation: u32, side: Side, bucket: usize, fact: u128, tid: Tid);
    /// The relation changed since the redo point of the last checkpoint.
    fn moved(&mut self, relation: u32);
    /// One block of a table did: nothing is said about its rows.
    fn changed(&mut self, table: u32, _block: u32) {
        self.moved(table);
    }
    /// A block of the table that did not, or one of zeros, where the cluster does not stand still.
    fn stood_still(&mut self, _table: u32, _block: u32, _is_zero: bool) {}
    /// A row pointer of the table that is not matched in the ordinary way.
    fn exception(&mut self, table: u32, tid: Tid, exception: Exception);
    /// Counts rows of the table: visible ones that are tested, of all that look visible.
    fn rows(&mut self, _table: u32, _count: Share) {}
    /// A value that a visible row keeps packed in a TOAST table.
    fn packed(&mut self, _toast: u32, _value: PackedValue) {}
    /// A piece of a value in a TOAST table.
    fn piece(&mut self, _toast: u32, _value_id: u32, _number: u32, _bytes: &[u8]) {}
}
