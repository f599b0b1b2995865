//! Rows and entries that do not match, by table and index.

use std::collections::BTreeMap;

use formats::postgres::Tid;
use results::object::Affected;

/// What does not match, of all indexes of a batch.
#[derive(Debug, Default)]
pub(crate) struct Mismatches {
    /// Rows that are not there, by table and block.
    pub(crate) lost: BTreeMap<(u32, u32), Lost>,
    /// Rows whose entries have another key, by table and row: the indexes, and where their entries stand.
    pub(crate) differing: BTreeMap<u32, BTreeMap<Tid, Vec<EntryPlace>>>,
    /// Further ones by table and index.
    pub(crate) differing_more: BTreeMap<(u32, u32), u64>,
    /// Rows without entry, by index and block.
    pub(crate) without: BTreeMap<u32, BTreeMap<u32, Without>>,
}

impl Mismatches {
    /// An entry names a row that is not there.
    pub(crate) fn lost(&mut self, table: u32, tid: Tid, index: u32, entry: (u32, u16)) {
        let lost = self.lost.entry((table, tid.block)).or_default();
        lost.first = Some(lost.first.map_or(tid, |first| first.min(tid)));
        match lost.by_index.iter_mut().find(|(number, ..)| *number == index) {
            Some((_, count, _)) => *count += 1,
            None => lost.by_index.push((index, 1, entry)),
        }
    }

    /// An entry has another key than its row.
    pub(crate) fn differs(&mut self, table: u32, tid: Tid, index: u32, entry: (u32, u16)) {
        let rows = self.differing.entry(table).or_default();
        if rows.len() >= ROWS_NAMED_MAX && !rows.contains_key(&tid) {
            *self.differing_more.entry((table, index)).or_default() += 1;
            return;
        }
        rows.entry(tid).or_default().push((index, entry));
    }

    /// A row has no entry in an index.
    pub(crate) fn without_entry(&mut self, table: u32, tid: Tid, index: u32) {
        let blocks = self.without.entry(index).or_default();
        let without =
            blocks.entry(tid.block).or_insert_with(|| Without { table, rows: Vec::new(), count: 0 });
        without.count += 1;
        if without.rows.len() < KEYS_MAX {
            without.rows.push(tid);
        }
    }
}

/// Rows of one table whose index entries differ that are named; others are counted.
pub(crate) const ROWS_NAMED_MAX: usize = 4096;

/// Rows without entry that one finding names.
pub(crate) const KEYS_MAX: usize = 5;

#[derive(Debug, Default)]
pub(crate) struct Lost {
    pub(crate) first: Option<Tid>,
    /// Index, number of its entries, and the first of them.
    pub(crate) by_index: Vec<(u32, u64, (u32, u16))>,
}

impl Lost {
    pub(crate) fn affected(&self) -> Affected {
        let counts = self.by_index.iter().map(|(_, count, _)| *count);
        Affected { row_count: counts.clone().max().unwrap_or(0), entry_count: counts.sum() }
    }
}

#[derive(Debug)]
pub(crate) struct Without {
    pub(crate) table: u32,
    pub(crate) rows: Vec<Tid>,
    pub(crate) count: u64,
}

/// An index, with block and line pointer.
pub(crate) type EntryPlace = (u32, (u32, u16));
