//! What is known of tables and indexes while their blocks are tested.

use disk::scan::ScanFile;
use formats::postgres::attribute::Attribute;
use formats::postgres::file_name::Fork;
use formats::postgres::hash::Meta as HashMeta;

use crate::catalog::{Index, Relation};
use crate::hash::values::HashFunction;
use crate::source::part::Part;

/// An index of a table, as the table's rows see it.
#[derive(Clone, Debug)]
pub(crate) struct RowIndex {
    /// Number of the relation in the plan.
    pub(crate) number: u32,
    /// What `pg_index` says.
    pub(crate) index: Index,
    /// Whether each row must have an entry: not in a partial index.
    pub(crate) is_complete: bool,
    /// Matched by row pointer alone: not a B-tree.
    pub(crate) by_tid: bool,
    /// Of those, one whose keys are matched as well.
    pub(crate) has_known_keys: bool,
    /// Rows without value have no entry: a hash index.
    pub(crate) skips_nulls: bool,
    /// The hash function of a hash index, if it is known here; entries then have its value.
    pub(crate) hash: Option<HashFunction>,
}

/// What is known of a table while its blocks are looked at.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) relation: Relation,
    /// Number of the table in the plan.
    pub(crate) number: u32,
    /// Its TOAST table's number in the plan.
    pub(crate) toast_number: Option<u32>,
    /// How to step over its columns; empty if they are not known.
    pub(crate) attributes: Vec<Attribute>,
    /// Indexes whose entries are matched.
    pub(crate) indexes: Vec<RowIndex>,
    /// BRIN indexes that rows are held against, by number in the plan.
    pub(crate) summarised_by: Vec<u32>,
    /// Whether exceptions must be collected.
    pub(crate) has_matched_indexes: bool,
    /// Number of blocks.
    pub(crate) blocks: u32,
    /// Bytes of a value in one TOAST row.
    pub(crate) toast_chunk_bytes: u32,
    /// Columns that refuse null, 0 based.
    pub(crate) not_null: Vec<usize>,
}

/// How the entries of an index are matched with rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Matching {
    /// Not at all: invalid, or its table is not known.
    None,
    /// All rows have an entry, and all entries a row.
    Both,
    /// Entries must have rows, not the other way round: a partial index.
    EntriesOnly,
}

/// A file that is read, with what its blocks are.
#[derive(Clone, Debug)]
pub(crate) struct PlanFile {
    /// Where its bytes are, and how many there were when it was listed.
    pub(crate) part: Part,
    /// Path for messages.
    pub(crate) shown: String,
    /// Block number of the file's first block.
    pub(crate) first_block: u32,
    pub(crate) fork: Fork,
    /// Number of the relation; `None` if the catalog does not name the file.
    pub(crate) relation: Option<u32>,
    pub(crate) temporary: bool,
}

impl PlanFile {
    pub(crate) fn scan_file(&self) -> ScanFile {
        let start = self.part.offset_bytes;
        ScanFile::part(&*self.part.path, start..start + self.part.bytes)
    }
}

/// What is known of an index before its blocks are looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TreePlan {
    pub(crate) blocks: u32,
    pub(crate) version: u32,
    pub(crate) heap: Option<u32>,
    pub(crate) heap_blocks: Option<u32>,
    pub(crate) matching: Matching,
    /// Of a hash index.
    pub(crate) hash: Option<HashPlan>,
}

/// What the first page of a hash index says, at the moment that is looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HashPlan {
    pub(crate) meta: HashMeta,
    /// Whether it tells the places of pages: it passed its check, and the index is valid.
    pub(crate) is_placed: bool,
    /// The hash function, if it is known here and its values are those of a column.
    pub(crate) function: Option<HashFunction>,
}
