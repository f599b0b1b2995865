//! Drills: one damage of a named class in a copy of a cluster, so that detection and restore can be practised.
//!
//! The original is opened for reading only, and must be shut down. The same cluster, class and seed give the same damage.

pub(crate) mod edits;

mod cluster_files;
pub(crate) mod scene;

use std::fs::OpenOptions;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::{fs, io};

use check::drill;
use formats::postgres::btree::Opaque;
use formats::postgres::checksum::page_checksum;
use formats::postgres::file_name::Fork;
use formats::postgres::heap::TupleHeader;
use formats::postgres::page::{Item, Page};

use crate::catalog::{Relation, Storage, reader as catalog_reader};
use crate::cluster::Cluster;
use crate::cluster::state::Standing;
use crate::cluster::transactions::{Fate, LastLookup, Transactions};
use crate::drill::scene::{Scene, rows};
use crate::matching::uniqueness::is_hashed;
use crate::plan::Plan;
use crate::plan::objects::PlanFile;

pub use check::drill::{Drill, DrillError};

/// A kind of damage.
#[derive(Debug, Clone, Copy)]
pub struct DrillClass {
    /// The name on the command line.
    pub name: &'static str,
    /// What is done, in one sentence without a full stop.
    pub what: &'static str,
    /// Rules of which a full check finds at least one broken.
    pub rules: &'static [&'static str],
    place: Target,
}

/// What a class damages.
#[derive(Debug, Clone, Copy)]
enum Target {
    /// A block of a table with an index; whether its checksum is made valid again.
    Table(bool, fn(&mut Scene) -> Option<()>),
    /// A block of a TOAST table.
    Toast(fn(&mut Scene) -> Option<()>),
    /// A leaf, an inner block or the first block of a B-tree.
    Leaf(fn(&mut Scene) -> Option<()>),
    Inner(fn(&mut Scene) -> Option<()>),
    Meta(fn(&mut Scene) -> Option<()>),
    /// The file of a table: its new length in bytes, or that it is removed.
    File(fn(u64, u64) -> Option<u64>),
    /// The block of a sequence.
    Sequence(fn(&mut Scene) -> Option<()>),
    /// A byte of a small file.
    Control,
    Map,
    /// The record of the last checkpoint.
    Checkpoint,
    /// The directory of a database.
    Database,
}

/// Names that classes had in version 0.1, with those of today; still accepted.
pub const OLD_NAMES: &[(&str, &str)] = &[
    ("cut-inside", "truncated-inside-page"),
    ("cut-table", "truncated-pages"),
    ("key-flip", "flip-in-entry"),
    ("key-order", "swapped-entries"),
    ("lost-toast-piece", "lost-toast-chunk"),
    ("lost-write", "stale-page"),
    ("misplaced-page", "misplaced-table-page"),
    ("overlapping-rows", "duplicate-pointer"),
    ("sibling-link", "wrong-sibling"),
    ("wrong-downlink", "swapped-children"),
];

macro_rules! classes {
    ($($name:literal, $place:expr, [$($rule:literal),*], $what:literal;)*) => {
        /// All classes of damage for PostgreSQL clusters.
        pub static CLASSES: &[DrillClass] = &[$(DrillClass {
            name: $name, what: $what, rules: &[$($rule),*], place: $place,
        }),*];
    };
}

classes! {
    "bit-flip", Target::Table(false, edits::bit_flip), ["pg-page-checksum", "pg-tuple-attribute", "pg-entry-differs"],
        "one bit of a table block is flipped, its checksum is kept";
    "torn-page", Target::Table(false, edits::torn), ["pg-page-checksum", "pg-entry-differs", "pg-entry-without-row"],
        "the second half of a table block is that of another";
    "zeroed-table-page", Target::Table(true, edits::zero), ["pg-entry-without-row"],
        "a table block is overwritten with zeros";
    "stale-page", Target::Table(true, edits::lost_write), ["pg-entry-without-row"],
        "a table block is restored to the state before its last row was inserted (lost write)";
    "misplaced-table-page", Target::Table(false, edits::misplaced), ["pg-page-checksum", "pg-entry-differs", "pg-entry-without-row"],
        "a table block holds another block of its file";
    "foreign-page", Target::Table(true, edits::foreign), ["pg-page-special"],
        "a table block holds a block of its index";
    "lost-row", Target::Table(true, edits::lost_row), ["pg-entry-without-row"],
        "the line pointer of a row is cleared";
    "bad-pointer", Target::Table(true, edits::bad_pointer), ["pg-item-bounds"],
        "a line pointer points between rows";
    "duplicate-pointer", Target::Table(true, edits::overlap), ["pg-item-overlap"],
        "two line pointers point to the same row";
    "future-xmin", Target::Table(true, edits::future_xmin), ["pg-xmin-bounds"],
        "the xmin of a row is in the future";
    "future-xmax", Target::Table(true, edits::future_xmax), ["pg-xmax-bounds"],
        "the xmax of a row is in the future";
    "hint-bit", Target::Table(true, edits::hint_bit), ["pg-commit-hint", "pg-xmin-bounds", "pg-entry-without-row"],
        "the hint bits of a row mark its insert as aborted";
    "bad-row-header", Target::Table(true, edits::bad_header), ["pg-tuple-header"],
        "the header of a row has an impossible length";
    "impossible-length", Target::Table(true, edits::impossible_length), ["pg-tuple-attribute"],
        "the length of a value is larger than its row";
    "wrong-visibility", Target::Table(true, edits::not_visible), ["pg-visibility-map"],
        "a block that the visibility map marks all-visible has the flag cleared";
    "wiped-header", Target::Table(true, edits::wiped_header), ["pg-page-new-not-zero"],
        "the header of a table block is zeroed, its rows remain";
    "future-lsn", Target::Table(true, edits::future_lsn), ["pg-page-lsn"],
        "the LSN of a block is past the end of the WAL";
    "lost-toast-chunk", Target::Toast(edits::lost_row), ["pg-toast-chunk"],
        "a chunk of a TOAST value is lost";
    "zeroed-index-page", Target::Leaf(edits::zero), ["pg-btree-parent"],
        "a leaf of a B-tree is overwritten with zeros";
    "flip-in-entry", Target::Leaf(edits::key_flip), ["pg-entry-differs", "pg-btree-order"],
        "one bit of a key in an index is flipped";
    "swapped-entries", Target::Leaf(edits::key_order), ["pg-btree-order"],
        "two neighbouring keys of an index block are swapped";
    "lost-entry", Target::Leaf(edits::lost_entry), ["pg-row-without-entry"],
        "an index entry is removed";
    "extra-entry", Target::Leaf(edits::extra_entry), ["pg-entry-without-row"],
        "an index entry points to a row that never existed";
    "duplicate-key", Target::Leaf(edits::duplicate_key), ["pg-btree-unique", "pg-entry-differs"],
        "an entry of a unique index has the key of the entry before it";
    "equal-key", Target::Leaf(edits::equal_key), ["pg-btree-unique", "pg-entry-differs"],
        "the same in a unique index of unknown key order (text under most collations, inet, arrays)";
    "dead-entry", Target::Leaf(edits::dead_entry), ["pg-entry-dead"],
        "the index entry of a visible row is marked LP_DEAD";
    "wrong-sibling", Target::Leaf(edits::sibling), ["pg-btree-siblings", "pg-btree-links"],
        "a leaf of a B-tree points to a wrong right sibling";
    "swapped-children", Target::Inner(edits::downlinks), ["pg-btree-parent"],
        "two downlinks of an inner block are swapped";
    "wrong-root", Target::Meta(edits::root), ["pg-btree-parent", "pg-btree-meta"],
        "the metapage of a B-tree points to a wrong root";
    "truncated-pages", Target::File(|bytes, block| (bytes >= 2 * block).then(|| bytes / 2 / block * block)), ["pg-btree-tid"],
        "the second half of the file of a table is truncated";
    "truncated-inside-page", Target::File(|bytes, block| bytes.checked_sub(block / 2)), ["pg-partial-block"],
        "the file of a table is truncated inside its last block";
    "missing-file", Target::File(|bytes, _| (bytes > 0).then_some(u64::MAX)), ["pg-file-missing"],
        "the file of a table is removed";
    "lost-database", Target::Database, ["pg-database-directory"],
        "the directory of a database is removed";
    "checkpoint-record", Target::Checkpoint, ["pg-checkpoint-record"],
        "the WAL record of the last checkpoint is overwritten";
    "sequence-magic", Target::Sequence(edits::sequence_magic), ["pg-sequence"],
        "the magic number of a sequence is changed";
    "control-file", Target::Control, ["pg-control-file"],
        "a byte of global/pg_control is changed";
    "relation-map", Target::Map, ["pg-relation-map"],
        "a byte of a database's pg_filenode.map is changed";
}

/// Copies a cluster and damages the copy.
///
/// I/O: reads and writes everything once. Links are followed, so that nothing of the copy leads to the original.
///
/// # Errors
/// When the cluster is not shut down, the copy exists, the class does not, or nothing allows it. No copy is left then.
pub fn damage(directory: &Path, copy_to: &Path, class: &str, seed: u64) -> Result<Drill, DrillError> {
    let class = drill::class(CLASSES, |known| known.name, OLD_NAMES, class)?;
    drill::refuse_existing(copy_to)?;
    let cluster = Cluster::open(directory).map_err(|error| DrillError::Open(error.to_string()))?;
    let standing = match (cluster.standing, cluster.tree.directory()) {
        (_, None) => Some("a backup in tar files"),
        (Standing::Stopped, _) => None,
        (Standing::Running, _) => Some("running"),
        (Standing::Crashed, _) => Some("left by a crash, or a standby"),
        (Standing::Backup { .. }, _) => Some("a base backup that was not restored"),
    };
    if let Some(standing) = standing {
        return Err(DrillError::NotStopped { path: directory.to_owned(), standing });
    }
    let parent = copy_to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let write_error = |source| DrillError::Write { path: copy_to.to_owned(), source };
    let real = parent.canonicalize().map_err(write_error)?;
    if directory.canonicalize().is_ok_and(|directory| real.starts_with(directory)) {
        return Err(DrillError::Inside { path: copy_to.to_owned() });
    }
    let work = Work::new(&cluster, seed);
    let change = work
        .change(class)
        .ok_or_else(|| DrillError::NoPlace { class: class.name, path: directory.to_owned() })?;
    let made = copy(directory, copy_to).and_then(|()| change.write(copy_to));
    if let Err(error) = made {
        // The copy is ours: it did not exist before.
        let _ = fs::remove_dir_all(copy_to);
        return Err(write_error(error));
    }
    Ok(Drill {
        changes: Vec::new(),
        class: class.name,
        what: class.what,
        file: copy_to.join(change.file),
        object: change.object,
        page: change.block,
        offset_bytes: change.offset_bytes,
        changed_bytes: change.changed_bytes,
        command: drill::command(copy_to, ""),
    })
}

/// A change of one file.
struct Change {
    file: PathBuf,
    object: Option<String>,
    block: Option<u32>,
    offset_bytes: u64,
    changed_bytes: u64,
    what: What,
}

enum What {
    Bytes(Vec<u8>),
    Length(u64),
    Removed,
    RemovedDirectory,
}

impl Change {
    fn write(&self, copy: &Path) -> io::Result<()> {
        let path = copy.join(&self.file);
        match &self.what {
            What::Removed => fs::remove_file(path),
            What::RemovedDirectory => fs::remove_dir_all(path),
            What::Length(bytes) => OpenOptions::new().write(true).open(path)?.set_len(*bytes),
            What::Bytes(bytes) => {
                OpenOptions::new().write(true).open(path)?.write_all_at(bytes, self.offset_bytes)
            }
        }
    }
}

/// Looks for a place.
struct Work<'a> {
    cluster: &'a Cluster,
    plan: Plan,
    transactions: Transactions,
    seed: u64,
}

impl<'a> Work<'a> {
    fn new(cluster: &'a Cluster, seed: u64) -> Work<'a> {
        let control = cluster.control.as_ref();
        let transactions =
            control.map(|control| Transactions::load(&cluster.tree, control, None)).unwrap_or_default();
        let catalogs = catalog_reader::read(cluster, &transactions);
        Work { cluster, plan: Plan::new(cluster, catalogs), transactions, seed }
    }

    fn change(&self, class: &DrillClass) -> Option<Change> {
        match class.place {
            Target::Table(sealed, make) => self.in_blocks(&self.tables(), 0, sealed, make),
            Target::Toast(make) => self.in_blocks(&self.toasts(), 0, true, make),
            Target::Leaf(make) => self.in_tree(make, |opaque| opaque.level == 0),
            Target::Inner(make) => self.in_tree(make, |opaque| opaque.level > 0),
            Target::Meta(make) => self.trees().iter().find_map(|tree| self.at(*tree, 0, true, make)),
            Target::File(length) => self.tables().iter().find_map(|table| self.of_file(*table, length)),
            Target::Sequence(make) => self.in_blocks(&self.sequences(), 0, true, make),
            Target::Checkpoint => self.of_checkpoint(),
            Target::Database => self.of_database(),
            Target::Control => self.of_small(Path::new("global/pg_control"), 40),
            Target::Map => {
                let (_, path) = self.cluster.databases.last()?;
                self.of_small(&path.join("pg_filenode.map"), 16)
            }
        }
    }

    /// Tables of users with an index whose entries are matched, the longest first.
    fn tables(&self) -> Vec<u32> {
        let is_wanted = |number: &u32| {
            let relation = &self.plan.relations[*number as usize];
            let table = self.plan.tables.get(number);
            is_of_user(relation) && !relation.is_toast && table.is_some_and(|table| table.has_matched_indexes)
        };
        self.longest_first(self.plan.tables.keys().copied().filter(is_wanted))
    }

    fn toasts(&self) -> Vec<u32> {
        let owned = self.plan.tables.values().filter(|table| is_of_user(&table.relation));
        self.longest_first(owned.filter_map(|table| table.toast_number))
    }

    fn trees(&self) -> Vec<u32> {
        let is_wanted = |number: &u32| {
            let relation = &self.plan.relations[*number as usize];
            is_of_user(relation) && relation.storage == Storage::Btree
        };
        let matched =
            self.plan.trees.iter().filter(|(_, tree)| tree.matching == crate::plan::objects::Matching::Both);
        let of_tables = matched
            .filter(|(_, tree)| tree.heap.is_some_and(|heap| !self.plan.relations[heap as usize].is_toast));
        self.longest_first(of_tables.map(|(number, _)| *number).filter(is_wanted))
    }

    fn longest_first(&self, numbers: impl Iterator<Item = u32>) -> Vec<u32> {
        let mut found: Vec<u32> = numbers.filter(|number| self.plan.blocks[*number as usize] > 0).collect();
        found.sort_by_key(|number| (std::cmp::Reverse(self.plan.blocks[*number as usize]), *number));
        found
    }

    fn in_tree(&self, make: fn(&mut Scene) -> Option<()>, fits: fn(&Opaque) -> bool) -> Option<Change> {
        self.trees().iter().find_map(|tree| {
            self.places(*tree, 1).find_map(|block| {
                let page = self.read(*tree, block)?;
                let opaque = Opaque::read(&Page::new(&page)).filter(fits)?;
                let is_plain = !opaque.has(formats::postgres::btree::flag::DELETED);
                is_plain.then(|| self.at(*tree, block, true, make)).flatten()
            })
        })
    }

    fn in_blocks(
        &self,
        relations: &[u32],
        first: u32,
        sealed: bool,
        make: fn(&mut Scene) -> Option<()>,
    ) -> Option<Change> {
        relations.iter().find_map(|relation| {
            self.places(*relation, first).find_map(|block| self.at(*relation, block, sealed, make))
        })
    }

    /// All blocks of the first segment, beginning where the seed says.
    fn places(&self, relation: u32, first: u32) -> impl Iterator<Item = u32> + use<> {
        let blocks = self.plan.blocks[relation as usize].min(self.cluster.segment_blocks);
        let count = blocks.saturating_sub(first).max(1);
        let start = (self.seed % u64::from(count)) as u32;
        (0..count).map(move |step| first + (start + step) % count).filter(move |block| *block < blocks)
    }

    fn file(&self, relation: u32) -> Option<&PlanFile> {
        let mut files = self.plan.first_files.iter().chain(&self.plan.second_files);
        files.find(|file| file.relation == Some(relation) && file.fork == Fork::Main && file.first_block == 0)
    }

    fn read(&self, relation: u32, block: u32) -> Option<Vec<u8>> {
        let mut page = vec![0; self.cluster.block_bytes];
        let offset = u64::from(block) * page.len() as u64;
        self.file(relation)?.part.read_exact_at(&mut page, offset).ok()?;
        Some(page)
    }

    fn at(
        &self,
        relation: u32,
        block: u32,
        sealed: bool,
        make: fn(&mut Scene) -> Option<()>,
    ) -> Option<Change> {
        let before = self.read(relation, block)?;
        if Page::new(&before).is_new() {
            return None;
        }
        let blocks = self.plan.blocks[relation as usize];
        let index = self.plan.tables.get(&relation).and_then(|table| table.indexes.first());
        let control = self.cluster.control.as_ref()?;
        let described = &self.plan.relations[relation as usize];
        let mut scene = Scene {
            page: before.clone(),
            block,
            blocks,
            other: self.read(relation, (block + 1) % blocks).unwrap_or_default(),
            foreign: index.and_then(|index| self.read(index.number, block.max(1))).unwrap_or_default(),
            live: self.live(&before),
            all_visible: self.plan.visibility_of(relation, block).all_visible,
            next_xid: control.next_xid as u32,
            log_end: control.checkpoint_lsn,
            columns: described.columns.iter().map_while(|column| column.attribute).collect(),
            is_unique: described.index.as_ref().is_some_and(|index| index.unique),
            is_order_unknown: described.index.as_ref().is_some_and(is_hashed),
            seed: self.seed,
        };
        make(&mut scene)?;
        let mut page = scene.page;
        if sealed && self.cluster.checksums && !Page::new(&page).is_new() {
            let sum = page_checksum(&page, block);
            page.get_mut(8..10)?.copy_from_slice(&sum.to_le_bytes());
        }
        let differs = |at: &usize| before[*at] != page[*at];
        let first = (0..page.len()).find(differs)?;
        let count = (0..page.len()).filter(differs).count();
        Some(Change {
            file: PathBuf::from(&self.file(relation)?.shown),
            object: Some(self.plan.relations[relation as usize].name.clone()),
            block: Some(block),
            offset_bytes: u64::from(block) * page.len() as u64 + first as u64,
            changed_bytes: count as u64,
            what: What::Bytes(page.split_off(first)),
        })
    }

    fn live(&self, page: &[u8]) -> Vec<u16> {
        let view = Page::new(page);
        let is_live = |item: &Item| {
            let header = view.item_bytes(*item).and_then(TupleHeader::read);
            header.is_some_and(|header| {
                self.transactions.fate(&header, &mut LastLookup::default()) == Fate::Live
            })
        };
        rows(page).into_iter().filter(is_live).map(|item| item.number).collect()
    }

    fn of_file(&self, relation: u32, length: fn(u64, u64) -> Option<u64>) -> Option<Change> {
        let file = self.file(relation)?;
        let after = length(file.part.bytes, self.cluster.block_bytes as u64)?;
        let kept = if after == u64::MAX { 0 } else { after };
        Some(Change {
            file: PathBuf::from(&file.shown),
            object: Some(self.plan.relations[relation as usize].name.clone()),
            block: None,
            offset_bytes: kept,
            changed_bytes: file.part.bytes - kept,
            what: if after == u64::MAX { What::Removed } else { What::Length(after) },
        })
    }

    fn of_small(&self, path: &Path, offset: usize) -> Option<Change> {
        let bytes = self.cluster.tree.read_small(path).ok()?;
        let changed = bytes.get(offset)? ^ (1 << (self.seed % 8));
        Some(Change {
            file: path.to_path_buf(),
            object: None,
            block: None,
            offset_bytes: offset as u64,
            changed_bytes: 1,
            what: What::Bytes(vec![changed]),
        })
    }
}

/// Whether users made a relation, not initdb. (Object ids do not tell: a server in single-user mode gives out low ones.)
fn is_of_user(relation: &Relation) -> bool {
    let schema = relation.name.split('.').nth(1);
    !matches!(schema, Some("pg_catalog" | "information_schema"))
}

/// Copies a directory, links followed, without what a server leaves while it runs.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut left = vec![(from.to_path_buf(), to.to_path_buf())];
    // Bounded by the directories there are; a cycle of links ends with an error of the file system.
    while let Some((from, to)) = left.pop() {
        fs::create_dir(&to)?;
        for entry in fs::read_dir(&from)? {
            let entry = entry?;
            let (name, path) = (entry.file_name(), entry.path());
            let metadata = fs::metadata(&path)?;
            if name == "postmaster.pid" || name == "postmaster.opts" {
                continue;
            }
            if metadata.is_dir() {
                left.push((path, to.join(name)));
            } else if metadata.is_file() {
                fs::copy(&path, to.join(&name))?;
                keep_owner(&metadata, &to.join(name))?;
            }
        }
        let metadata = fs::metadata(&from)?;
        fs::set_permissions(&to, metadata.permissions())?;
        keep_owner(&metadata, &to)?;
    }
    Ok(())
}

/// The server's user must be able to start the copy; only root can give files away.
fn keep_owner(original: &fs::Metadata, copy: &Path) -> io::Result<()> {
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(copy, Some(original.uid()), Some(original.gid()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_names_rules_that_exist() {
        for class in CLASSES {
            assert!(!class.rules.is_empty(), "{}", class.name);
            for rule in class.rules {
                assert!(crate::RULES.iter().any(|known| known.id == *rule), "{}: {rule}", class.name);
            }
        }
    }
}
