//! How the tables and indexes of a database lie on their pages, level by level: the stored form.
//!
//! One definition for all engines; docs/check/structure.md has each column with its unit and its source in each engine.
//! What an engine does not have, or a mode does not look at, is absent, never zero.

use serde::{Deserialize, Serialize};

use crate::check::{Accounting, NotChecked};

/// How much is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StructureMode {
    /// Pages above the leaves only: the order of the leaves, and how many there are. Heaps by the size of their files.
    Limited,
    /// As limited, and some of the leaves: records and fill are estimates.
    Sampled,
    /// Every page.
    #[default]
    Detailed,
}

impl StructureMode {
    /// The name as it is written on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Limited => "limited",
            Self::Sampled => "sampled",
            Self::Detailed => "detailed",
        }
    }
}

/// What kind of storage an object has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StorageKind {
    /// Rows in no order: PostgreSQL tables, SQL Server heaps.
    Heap,
    /// Rows in a tree ordered by a hidden number: SQLite tables with rowids.
    RowidTree,
    /// Rows in a tree ordered by their key: clustered indexes, SQLite tables without rowids, InnoDB tables.
    ClusteredTree,
    /// Entries that refer to rows elsewhere.
    IndexTree,
}

impl StorageKind {
    /// The words in texts.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Heap => "heap",
            Self::RowidTree => "table, tree by rowid",
            Self::ClusteredTree => "table, tree by key",
            Self::IndexTree => "index",
        }
    }
}

/// One level of a tree, or a heap. Level 0 has the leaves.
///
/// Two links of pages tell the order: in a level of `page_count` pages, a page either ends the level or has a
/// successor in the order of keys. A successor that is the next physical page (of the same file) continues a
/// fragment; any other begins one.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LevelStructure {
    /// The level, 0 for leaves and heaps.
    pub index_level: u32,
    /// Pages with a successor that is not the next physical page, in percent of the pages with a successor; 0 when
    /// none has one.
    pub avg_fragmentation_pct: f64,
    /// Runs of pages in which each is the next physical page of the one before.
    pub fragment_count: u64,
    /// `page_count / fragment_count`.
    pub avg_fragment_size_pages: f64,
    /// Pages of the level.
    pub page_count: u64,
    /// How much of the room for records and their slots is not free, in percent.
    pub avg_page_space_used_pct: Option<f64>,
    /// Records: rows or entries in level 0, references to pages below in the others. In SQLite an inner page has one
    /// reference without a record, which counts here.
    pub record_count: Option<u64>,
    /// The shortest record in its page, in bytes.
    pub min_record_size_bytes: Option<u64>,
    /// The longest.
    pub max_record_size_bytes: Option<u64>,
    /// The mean.
    pub avg_record_size_bytes: Option<f64>,
    /// Successors with a smaller page number, in percent of the pages with a successor: what pgstatindex calls
    /// fragmentation, but for the divisor.
    pub backward_pct: f64,
    /// The same as a number of pages.
    pub backward_count: u64,
    /// Pages with a successor.
    pub successor_count: u64,
    /// Free bytes in the pages of the level, as far as they were looked at.
    pub free_bytes: Option<u64>,
    /// Bytes that could hold records and slots, in the same pages.
    pub room_bytes: Option<u64>,
    /// Records that are deleted and still take space, where the page tells; not in `record_count`.
    pub ghost_record_count: Option<u64>,
    /// Records that only say where the row went (SQL Server heaps); absent where an engine has none such.
    pub forwarded_record_count: Option<u64>,
    /// Pages that were looked at; fewer than `page_count` in the modes limited and sampled, or beside damage.
    pub looked_at_count: u64,
    /// Whether records and fill were worked out from a part of the pages.
    pub is_estimate: bool,
}

/// Physical page numbers in the logical order of the leaves, thinned out evenly.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StripMap {
    /// Leaves in all.
    pub leaf_count: u64,
    /// Every so manieth leaf is listed, from the first on; 1: all are.
    pub step: u64,
    /// Their page numbers.
    pub pages: Vec<u64>,
}

impl StripMap {
    /// Thins `leaf_count` page numbers in logical order to at most `point_count_max` points (at least 1).
    #[must_use]
    pub fn thinned(leaf_count: usize, pages: impl Iterator<Item = u64>, point_count_max: usize) -> Self {
        let step = leaf_count.div_ceil(point_count_max.max(1)).max(1);
        StripMap { leaf_count: leaf_count as u64, step: step as u64, pages: pages.step_by(step).collect() }
    }
}

/// A table or an index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObjectStructure {
    /// The table, as its engine qualifies it.
    pub table: String,
    /// The index; absent for the table itself.
    pub index: Option<String>,
    /// 0 for a heap, 1 for a tree that holds the rows, from 2 on for the other indexes of the table.
    pub index_id: u32,
    /// What kind of storage it is.
    pub kind: StorageKind,
    /// Levels of the tree; 1 for a heap.
    pub index_depth: u32,
    /// The levels, leaves first. Empty when the tree could not be followed.
    pub levels: Vec<LevelStructure>,
    /// Pages of the object: those of its levels, and those counted below.
    pub page_count: u64,
    /// Pages with parts of long rows, outside the levels.
    pub overflow_page_count: Option<u64>,
    /// Pages that once were in use and may be used again: deleted from the tree, or without any record in a heap
    /// (those are pages of the level as well).
    pub free_page_count: Option<u64>,
    /// Pages that were never used.
    pub unused_page_count: Option<u64>,
    /// Pages whose use could not be told: damaged, or not reached from the root.
    pub unclear_page_count: u64,
    /// The strip map of the leaves; absent for heaps, which are read in the order of their pages.
    pub strip: Option<StripMap>,
    /// What a reader of these figures must know.
    pub notes: Vec<String>,
}

/// What it cost.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StructureCounters {
    /// Workers of the pass.
    pub worker_count: u64,
    /// From the first open to the result, in nanoseconds.
    pub elapsed_ns: u64,
    /// The part of it in which the files were read, in nanoseconds.
    pub pass_ns: u64,
    /// Processor time of the workers in the pass, in nanoseconds.
    pub worker_cpu_ns: u64,
    /// Single pages read apart from the pass.
    pub extra_read_count: u64,
    /// How the pass reached the device: `io_uring` or `threads`, direct or through the page cache.
    pub reader: String,
}

/// The structure of a database, or of a part of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StructureReport {
    /// Name of the engine; [`Self::engine_id`] has it typed.
    pub engine: String,
    /// What was looked at, as the user named it.
    pub target: String,
    /// How much was read.
    pub mode: StructureMode,
    /// Bytes per page.
    pub page_size_bytes: u64,
    /// Facts about the database that the user should see.
    pub facts: Vec<(String, String)>,
    /// Tables and indexes, a table before its indexes, in the order of their names.
    pub objects: Vec<ObjectStructure>,
    /// Pages of the file that belong to no object and may be used by any; absent where each object has files of its
    /// own.
    pub free_page_count: Option<u64>,
    /// What was left out and why, sorted.
    pub left_out: Vec<NotChecked>,
    /// Where all pages and bytes of the pass went. `clean` are pages whose figures count, `damaged` those left out.
    pub accounting: Accounting,
    /// What it cost.
    pub counters: StructureCounters,
    /// Why the work could not finish; absent when it did.
    pub unfinished: Option<String>,
}

impl StructureReport {
    /// 0 done, 1 done but pages were left out because they are damaged, 2 could not finish.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        if self.accounting.damaged_count > 0 {
            1
        } else if self.unfinished.is_some() || self.accounting.unreadable_count > 0 {
            2
        } else {
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strip_map_is_thinned_evenly_and_keeps_its_first_leaf() {
        let map = StripMap::thinned(10, 10..20, 4);
        assert_eq!((map.leaf_count, map.step, map.pages), (10, 3, vec![10, 13, 16, 19]));
        let whole = StripMap::thinned(3, 5..8, 100);
        assert_eq!((whole.step, whole.pages.len()), (1, 3));
        assert_eq!(StripMap::thinned(0, 0..0, 0).pages, Vec::<u64>::new());
    }
}
