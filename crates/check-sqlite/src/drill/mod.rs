//! Drills: one damage of a named class in a copy of a database, so that detection and restore can be practised.
//!
//! The original is opened for reading only. The same file, class and seed give the same damage.

pub(crate) mod edits;
pub(crate) mod records;
pub(crate) mod scene;

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use formats::sqlite::{BtreePage, Geometry, PageKind};
use results::check::CheckLevel;

use check::options::Options;

use crate::drill::scene::{Edit, Scene};
use crate::map::{Use, header_offset};
use crate::run::prepared::Prepared;
use crate::run::prepared::prepare;
use crate::source::anchor::Anchor;
use crate::virtual_tables::{ShadowKind, shadow_kind};
use check::drill;
pub use check::drill::{Change, Drill, DrillError};

/// A kind of damage.
#[derive(Debug, Clone, Copy)]
pub struct DrillClass {
    /// The name on the command line.
    pub name: &'static str,
    /// What is done, in one sentence without a full stop.
    pub what: &'static str,
    /// Rules of which a full check finds at least one broken; empty when nothing in the format can show it.
    pub rules: &'static [&'static str],
    place: PlaceKind,
    make: fn(&Scene<'_>) -> Option<Vec<Edit>>,
}

/// Pages that a class can damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PlaceKind {
    /// A leaf of a table that has an index.
    Rows,
    /// A leaf of a table with rowids whose definition is understood.
    Values,
    /// A leaf of an index that is matched against its table.
    Entries,
    /// A leaf of a shadow table.
    Shadow(Shadow),
    Inner,
    Trunk,
    Overflow,
    PointerMap,
    First,
    /// The file as a whole.
    File,
}

/// Shadow tables that a class can damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shadow {
    /// The rows of a full-text table that keeps them itself.
    Content,
    /// The index of such a table.
    Index,
    /// The nodes of an R-tree.
    Nodes,
    /// Where the rows of an R-tree are.
    Rowids,
}

impl Shadow {
    fn is(self, kind: &ShadowKind) -> bool {
        let is_full_text = matches!(kind.module.as_str(), "fts3" | "fts4" | "fts5") && kind.has_content;
        let is_rtree = matches!(kind.module.as_str(), "rtree" | "rtree_i32");
        match self {
            Self::Content => is_full_text && kind.kind == "_content",
            Self::Index => is_full_text && ["_data", "_segdir", "_segments"].contains(&kind.kind.as_str()),
            Self::Nodes => is_rtree && kind.kind == "_node",
            Self::Rowids => is_rtree && kind.kind == "_rowid",
        }
    }
}

/// Names that classes had in version 0.1, with those of today; still accepted.
pub const OLD_NAMES: &[(&str, &str)] = &[
    ("chain-crossed", "chain-loop"),
    ("chain-cut", "truncated-chain"),
    ("child-doubled", "two-parents"),
    ("children-swapped", "swapped-children"),
    ("cut-inside-page", "truncated-inside-page"),
    ("cut-pages", "truncated-pages"),
    ("doubled-pointer", "duplicate-pointer"),
];

macro_rules! classes {
    ($($name:literal, $place:expr, $make:expr, [$($rule:literal),*], $what:literal;)*) => {
        /// All classes of damage for SQLite files.
        pub static CLASSES: &[DrillClass] = &[$(DrillClass {
            name: $name, what: $what, rules: &[$($rule),*], place: $place, make: $make,
        }),*];
    };
}

classes! {
    "flip-in-row", PlaceKind::Rows, edits::flip_in_value, ["sqlite-entry-differs", "sqlite-entry-without-row"],
        "flips one bit in an indexed value of a row";
    "flip-in-entry", PlaceKind::Entries, edits::flip_in_value, ["sqlite-entry-differs", "sqlite-entry-without-row"],
        "flips one bit in the key of an index entry";
    "flip-in-header", PlaceKind::Rows, edits::flip_in_cell_count, ["sqlite-page-layout", "sqlite-cell-overlap"],
        "flips one bit in the number of cells of a table page";
    "torn-page", PlaceKind::Rows, edits::torn, ["sqlite-page-layout", "sqlite-cell-overlap", "sqlite-record", "sqlite-entry-differs", "sqlite-entry-without-row"],
        "replaces the second half of a table page by that of another page (torn write)";
    "zeroed-table-page", PlaceKind::Rows, edits::zeroed, ["sqlite-page-kind"],
        "fills a table page with zeros";
    "zeroed-index-page", PlaceKind::Entries, edits::zeroed, ["sqlite-page-kind"],
        "fills an index page with zeros";
    "misplaced-table-page", PlaceKind::Rows, edits::replaced, ["sqlite-parent-bounds"],
        "writes a page of a table over another page of the same table";
    "misplaced-index-page", PlaceKind::Entries, edits::replaced, ["sqlite-parent-bounds"],
        "writes a page of an index over another page of the same index";
    "lost-row", PlaceKind::Rows, edits::without_cell, ["sqlite-entry-without-row"],
        "removes a row from its page; the page stays valid";
    "lost-entry", PlaceKind::Entries, edits::without_cell, ["sqlite-row-without-entry"],
        "removes an index entry from its page; the page stays valid";
    "stale-page", PlaceKind::Rows, records::older, ["sqlite-entry-without-row"],
        "restores a table page to the version before its newest rows (lost write)";
    "stale-index-page", PlaceKind::Entries, records::older, ["sqlite-row-without-entry"],
        "restores an index page to the version before its newest entries (lost write)";
    "duplicate-key", PlaceKind::Entries, records::duplicate_key, ["sqlite-unique"],
        "gives two rows the same key under a unique index, in the table and in the index";
    "null-in-not-null", PlaceKind::Values, records::null_in_not_null, ["sqlite-not-null"],
        "puts a NULL into a column declared NOT NULL";
    "check-violated", PlaceKind::Values, records::check_violated, ["sqlite-check"],
        "gives a column a value that a CHECK constraint does not allow";
    "generated-value", PlaceKind::Values, records::generated_value, ["sqlite-generated-column"],
        "gives a STORED generated column a different value than its expression";
    "lost-text-row", PlaceKind::Shadow(Shadow::Content), edits::without_cell, ["sqlite-full-text-row", "sqlite-full-text"],
        "removes a row of a full-text table; its index stays valid";
    "flip-in-text-index", PlaceKind::Shadow(Shadow::Index), edits::flip_in_term, ["sqlite-full-text"],
        "flips one bit in a word of a full-text index";
    "rtree-box", PlaceKind::Shadow(Shadow::Nodes), edits::wrong_box, ["sqlite-rtree"],
        "gives a box in a node of an R-tree a minimum above its maximum";
    "lost-rtree-row", PlaceKind::Shadow(Shadow::Rowids), edits::without_cell, ["sqlite-rtree"],
        "removes the %_rowid row of an entry of an R-tree";
    "swapped-rows", PlaceKind::Rows, edits::swapped_pointers, ["sqlite-rowid-order"],
        "swaps two rows in the pointer array of a page";
    "swapped-entries", PlaceKind::Entries, edits::swapped_pointers, ["sqlite-key-order"],
        "swaps two entries in the pointer array of a page";
    "duplicate-pointer", PlaceKind::Rows, edits::doubled_pointer, ["sqlite-cell-overlap"],
        "makes two cell pointers of a page point to the same cell";
    "pointer-outside", PlaceKind::Rows, edits::pointer_outside, ["sqlite-page-layout"],
        "makes a cell pointer point to the header of its page";
    "free-block-outside", PlaceKind::Rows, edits::free_block_outside, ["sqlite-page-layout"],
        "makes a freeblock point past the end of the page";
    "fragments", PlaceKind::Rows, edits::wrong_fragments, ["sqlite-page-layout"],
        "changes the count of fragmented bytes of a page";
    "serial-type", PlaceKind::Rows, edits::wrong_serial_type, ["sqlite-record"],
        "gives a field an invalid serial type";
    "payload-length", PlaceKind::Rows, edits::long_payload, ["sqlite-page-layout", "sqlite-record", "sqlite-cell-overlap", "sqlite-overflow-chain"],
        "makes the length of a payload too large";
    "child-outside", PlaceKind::Inner, edits::child_outside, ["sqlite-child-pointer"],
        "makes a child pointer point past the end of the file";
    "two-parents", PlaceKind::Inner, edits::child_doubled, ["sqlite-page-used-twice"],
        "makes two child pointers point to the same page";
    "swapped-children", PlaceKind::Inner, edits::children_swapped, ["sqlite-parent-bounds"],
        "swaps two child pointers";
    "truncated-chain", PlaceKind::Overflow, edits::chain_cut, ["sqlite-overflow-chain"],
        "truncates an overflow chain";
    "chain-loop", PlaceKind::Overflow, edits::chain_crossed, ["sqlite-page-used-twice", "sqlite-overflow-chain"],
        "makes an overflow page point to itself";
    "flip-in-overflow", PlaceKind::Overflow, edits::flip_in_overflow, [],
        "flips one bit in a long value without index: the format has no checksum to detect it";
    "free-list-count", PlaceKind::First, edits::free_list_count, ["sqlite-free-list"],
        "changes the number of free pages in the header";
    "leaked-page", PlaceKind::Trunk, edits::leaked_page, ["sqlite-page-unused"],
        "removes a page from the freelist";
    "free-page-in-use", PlaceKind::Trunk, edits::free_page_in_use, ["sqlite-page-used-twice"],
        "adds page 2 or 3, which is in use, to the freelist";
    "pointer-map", PlaceKind::PointerMap, edits::wrong_pointer_map, ["sqlite-pointer-map"],
        "changes an entry of the pointer map";
    "magic", PlaceKind::First, edits::wrong_magic, ["sqlite-header"],
        "changes the first byte of the file";
    "zeroed-schema", PlaceKind::First, edits::zeroed_schema, ["sqlite-page-kind"],
        "fills the schema page with zeros after the file header";
    "truncated-pages", PlaceKind::File, |_| None, ["sqlite-file-size"],
        "truncates the file by whole pages";
    "truncated-inside-page", PlaceKind::File, |_| None, ["sqlite-file-size"],
        "truncates the file inside its last page";
}

/// Makes one damage of a class in a copy. `seed` selects where.
///
/// # Errors
/// When the class does not exist, the copy does already, the database is in use or has no place for the damage.
pub fn damage(source: &Path, copy_to: &Path, class: &str, seed: u64) -> Result<Drill, DrillError> {
    let class = drill::class(CLASSES, |known| known.name, OLD_NAMES, class)?;
    drill::refuse_existing(copy_to)?;
    let anchor = Anchor::new(source).map_err(|error| DrillError::Open(error.to_string()))?;
    let no_place = || DrillError::NoPlace { class: class.name, path: source.to_owned() };
    if anchor.log.is_some_and(|log| log.committed_count > 0) {
        let why = "its log holds changes; checkpoint it first (PRAGMA wal_checkpoint(TRUNCATE))".to_owned();
        return Err(DrillError::Source { path: source.to_owned(), why });
    }
    let geometry = anchor.geometry.ok_or_else(no_place)?;
    let (page, edits) = if class.place == PlaceKind::File {
        if anchor.page_count < 4 {
            return Err(no_place());
        }
        (0, Vec::new())
    } else {
        let options = Options { level: CheckLevel::Full, ..Options::default() };
        let prepared = prepare(&anchor, geometry, &options);
        find_place(&anchor, geometry, &prepared, class, seed).ok_or_else(no_place)?
    };
    let write = || -> io::Result<Vec<Change>> {
        fs::copy(source, copy_to)?;
        let copy = OpenOptions::new().read(true).write(true).open(copy_to)?;
        let changes = if class.place == PlaceKind::File {
            cut(&copy, geometry, class, seed)?
        } else {
            apply(&copy, &anchor, &edits)?
        };
        copy.sync_all()?;
        Ok(changes)
    };
    let changes = write().map_err(|source| {
        // The copy is ours: it did not exist before.
        let _ = fs::remove_file(copy_to);
        DrillError::Write { path: copy_to.to_owned(), source }
    })?;
    let command = drill::command(copy_to, " --level full");
    Ok(Drill {
        class: class.name,
        what: class.what,
        file: copy_to.to_owned(),
        object: None,
        page: (page > 0).then_some(page),
        offset_bytes: changes.first().map_or(0, |change| change.offset_bytes),
        changed_bytes: changes.iter().map(|change| change.before.len() as u64).sum(),
        changes,
        command,
    })
}

/// The first page from a place that the seed gives on which the class is possible.
fn find_place(
    anchor: &Anchor,
    geometry: Geometry,
    prepared: &Prepared,
    class: &DrillClass,
    seed: u64,
) -> Option<(u32, Vec<Edit>)> {
    let claimed = claim_overflow(anchor, geometry, prepared);
    let is_inner = |page| {
        let mut bytes = Vec::new();
        let is_read = anchor.reader.read(page, &mut bytes).is_ok();
        let view = BtreePage::new(&bytes, header_offset(page), geometry).0;
        is_read && view.is_some_and(|view| !view.kind.is_leaf())
    };
    let pages: Vec<u32> = (1..=anchor.page_count)
        .filter(|page| {
            is_place(prepared, class.place, *page, is_inner)
                || class.place == PlaceKind::Overflow && claimed.contains(page)
        })
        .collect();
    let (mut bytes, mut other) = (Vec::new(), Vec::new());
    let start = drill::start(seed, pages.len());
    for index in 0..pages.len() {
        let place = (start + index) % pages.len();
        let page = *pages.get(place)?;
        let tree = prepared.map.tree_of(page);
        let same_tree = |other: &&u32| **other != page && prepared.map.tree_of(**other) == tree;
        let neighbour = pages.iter().find(same_tree).copied();
        anchor.reader.read(page, &mut bytes).ok()?;
        match neighbour {
            Some(neighbour) => anchor.reader.read(neighbour, &mut other).ok()?,
            None => other.clear(),
        }
        let header_offset = if page == 1 { 100 } else { 0 };
        let scene = Scene {
            geometry,
            page,
            page_count: anchor.page_count,
            bytes: &bytes,
            view: BtreePage::new(&bytes, header_offset, geometry).0,
            other: &other,
            free_count: anchor.header.freelist_count,
            seed,
            prepared,
            reader: &anchor.reader,
        };
        if let Some(edits) = (class.make)(&scene) {
            return Some((page, edits));
        }
    }
    None
}

fn is_place(prepared: &Prepared, place: PlaceKind, page: u32, is_inner: impl Fn(u32) -> bool) -> bool {
    let plans = &prepared.plans;
    let what = prepared.map.use_of(page);
    let tree = prepared.map.tree_of(page);
    // A row need not have an entry in an index with a condition.
    let has_rowid = |pair: &crate::plan::Pair| pair.has_rowid && !pair.is_computed;
    match place {
        PlaceKind::Rows => {
            matches!(what, Use::Leaf)
                && plans.pairs.iter().any(|pair| has_rowid(pair) && Some(pair.table_tree) == tree)
        }
        PlaceKind::Entries => {
            matches!(what, Use::Leaf)
                && plans.pairs.iter().any(|pair| has_rowid(pair) && Some(pair.index_tree) == tree)
        }
        PlaceKind::Values => {
            let plan = tree.and_then(|tree| plans.trees.get(tree));
            matches!(what, Use::Leaf)
                && plan.is_some_and(|plan| plan.is_table == Some(true) && plan.rows.is_some())
        }
        PlaceKind::Shadow(shadow) => {
            let name = tree.and_then(|tree| plans.trees.get(tree)?.name.strip_prefix("table "));
            let kind = name.and_then(|name| shadow_kind(&prepared.schema, name));
            what.is_tree() && !is_inner(page) && kind.is_some_and(|kind| shadow.is(&kind))
        }
        // A root may be a leaf.
        PlaceKind::Inner => what == Use::Node && is_inner(page),
        PlaceKind::Trunk => what == Use::FreeTrunk,
        PlaceKind::PointerMap => what == Use::PointerMap,
        PlaceKind::First => page == 1,
        PlaceKind::Overflow | PlaceKind::File => false,
    }
}

/// First overflow pages of chains of at least two pages, of rows.
fn claim_overflow(anchor: &Anchor, geometry: Geometry, prepared: &Prepared) -> Vec<u32> {
    let mut heads = Vec::new();
    let mut bytes = Vec::new();
    for page in 1..=anchor.page_count {
        if !matches!(prepared.map.use_of(page), Use::Leaf) || anchor.reader.read(page, &mut bytes).is_err() {
            continue;
        }
        let Some(view) = BtreePage::new(&bytes, 0, geometry).0 else { continue };
        for slot in 0..view.cell_count {
            let (cell, damage) = view.cell(slot);
            let count = geometry.overflow_page_count(cell.payload_bytes, cell.local.len() as u64);
            if damage.is_none() && count > 1 && view.kind == PageKind::TableLeaf {
                heads.push(cell.overflow);
            }
        }
    }
    heads
}

fn apply(copy: &File, anchor: &Anchor, edits: &[Edit]) -> io::Result<Vec<Change>> {
    const SHOWN_BYTES: usize = 16;
    let mut changes = Vec::new();
    for edit in edits {
        let offset_bytes = anchor.reader.offset(edit.page) + edit.offset as u64;
        let mut before = vec![0; edit.bytes.len()];
        copy.read_exact_at(&mut before, offset_bytes)?;
        copy.write_all_at(&edit.bytes, offset_bytes)?;
        before.truncate(SHOWN_BYTES);
        let after = edit.bytes.iter().take(SHOWN_BYTES).copied().collect();
        changes.push(Change { offset_bytes, before, after });
    }
    Ok(changes)
}

fn cut(copy: &File, geometry: Geometry, class: &DrillClass, seed: u64) -> io::Result<Vec<Change>> {
    let length = copy.metadata()?.len();
    let page = u64::from(geometry.page_size_bytes);
    let lost = if class.name == "truncated-pages" { page * (1 + seed % 3) } else { page / 2 };
    let offset_bytes = length.saturating_sub(lost);
    copy.set_len(offset_bytes)?;
    Ok(vec![Change { offset_bytes, before: Vec::new(), after: Vec::new() }])
}
