//! What a heap block is tested with, and buffers kept from block to block.

use check::matching::hash::Key;
use formats::postgres::Damage;
use formats::postgres::heap::TupleHeader;
use formats::postgres::maps::Visibility;
use formats::postgres::page::Item;
use results::check::CheckLevel;

use crate::brin::values::{RangeReader, Ranges};
use crate::cluster::transactions::{Fate, LastLookup, Transactions};
use crate::plan::objects::Table;

/// A line pointer while its block is looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub(crate) item: Item,
    pub(crate) header: Option<TupleHeader>,
    pub(crate) fate: Fate,
    /// The line pointer that indexes name for this row; 0 if none leads here.
    pub(crate) root: u16,
    /// Whether a live row was found under this root.
    pub(crate) has_live: bool,
    /// Whether a finding says that it is not known which line pointer leads here.
    pub(crate) is_disputed: bool,
}

/// Buffers that are kept from block to block.
#[derive(Default)]
pub(crate) struct HeapScratch {
    pub(crate) slots: Vec<Slot>,
    pub(crate) damage: Vec<Damage>,
    pub(crate) buffer: Vec<u8>,
    /// What BRIN indexes know of the range of the block.
    pub(crate) ranges: RangeReader,
    pub(crate) facts: Vec<Option<u128>>,
    pub(crate) hashes: Vec<Option<u32>>,
    pub(crate) last_lookup: LastLookup,
    /// The bucket of the block's rows.
    pub(crate) bucket: usize,
}

/// What a heap block is tested with.
pub(crate) struct HeapCheck<'a> {
    pub(crate) table: &'a Table,
    pub(crate) transactions: Option<&'a Transactions>,
    pub(crate) key: &'a Key,
    pub(crate) level: CheckLevel,
    /// What the map says, as far as it can be told.
    pub(crate) visibility: Option<Visibility>,
    /// BRIN indexes.
    pub(crate) ranges: Ranges<'a>,
    /// A partial index whose entries are wanted for all rows, too.
    pub(crate) also_index: Option<u32>,
}
