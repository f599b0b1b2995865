//! Drills: one damage of a named class in a copy of a data file, so that detection and restore can be practised.
//!
//! The original is opened for reading only. The same file, class and seed give the same damage.

mod edits;
mod scene;

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use formats::sqlserver::{Header, PAGE_BYTES, PageId, PageKind, protect, restore};

use crate::catalog::prepared::{Prepared, prepare};
use crate::drill::scene::Scene;
use crate::maps::Use;
use crate::plan::Unit;
use crate::source::FileKind;
use crate::source::target::kinds;
use check::drill;
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
    make: Edit,
    /// Whether the protection of the page is made to fit.
    is_sealed: bool,
}

/// Changes a page; `None` where the page does not allow it.
type Edit = fn(&mut Scene<'_>) -> Option<()>;

/// Pages that a class can damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    /// A page with rows of a table that has an index.
    Rows,
    /// A leaf of an index that is matched with its table.
    Entries,
    /// An inner page of a B-tree.
    Inner,
    /// A page of large values.
    Large,
    Iam,
    /// A page of this kind at its fixed place.
    Fixed(PageKind),
    /// The file as a whole, to be cut: half of its pages, or half of the last page.
    CutPages,
    CutInside,
}

/// Names that classes had in version 0.1, with those of today; still accepted.
pub const OLD_NAMES: &[(&str, &str)] = &[
    ("cut-inside", "truncated-inside-page"),
    ("cut-pages", "truncated-pages"),
    ("doubled-slot", "duplicate-pointer"),
    ("key-order", "swapped-rows"),
    ("lost-entry", "stale-index-page"),
    ("lost-row", "stale-page"),
    ("misplaced-page", "misplaced-table-page"),
    ("slot-outside", "pointer-outside"),
];

macro_rules! classes {
    ($($name:literal, $place:expr, $sealed:literal, $make:expr, [$($rule:literal),*], $what:literal;)*) => {
        /// All classes of damage for SQL Server data files.
        pub static CLASSES: &[DrillClass] = &[$(DrillClass {
            name: $name, what: $what, rules: &[$($rule),*], place: $place, make: $make, is_sealed: $sealed,
        }),*];
    };
}

classes! {
    "bit-flip", Target::Rows, false, edits::bit_flip, ["mssql-page-checksum"],
        "one bit of a table page is flipped, its checksum is kept";
    "torn-page", Target::Rows, false, edits::torn, ["mssql-page-checksum", "mssql-page-torn"],
        "the second half of a table page is that of another write";
    "zeroed-table-page", Target::Rows, false, edits::zero, ["mssql-page-blank"],
        "a table page is overwritten with zeros";
    "zeroed-index-page", Target::Entries, false, edits::zero, ["mssql-page-blank"],
        "an index page is overwritten with zeros";
    "misplaced-table-page", Target::Rows, true, edits::misplaced, ["mssql-page-id"],
        "a table page holds another page of its table";
    "foreign-page", Target::Rows, true, edits::foreign, ["mssql-page-owner"],
        "a table page holds a page of another table, under its own number";
    "stale-page", Target::Rows, true, edits::lost_record, ["mssql-entry-without-row"],
        "a table page is restored to the state before its last row was inserted (lost write)";
    "stale-index-page", Target::Entries, true, edits::lost_record, ["mssql-row-without-entry"],
        "an index page is restored to the state before its last entry was inserted (lost write)";
    "swapped-rows", Target::Rows, true, edits::key_order, ["mssql-key-order"],
        "two neighbouring rows of a clustered index are swapped";
    "wrong-sibling", Target::Entries, true, edits::sibling, ["mssql-index-sibling"],
        "the next-page link of an index page points to itself";
    "wrong-child", Target::Inner, true, edits::child, ["mssql-index-child"],
        "an entry of an inner page points to the boot page";
    "two-parents", Target::Inner, true, edits::two_parents, ["mssql-index-two-parents", "mssql-index-orphan"],
        "two entries of an inner page point to the same page";
    "pointer-outside", Target::Rows, true, edits::slot_outside, ["mssql-slot"],
        "a slot points past the end of the page";
    "duplicate-pointer", Target::Rows, true, edits::doubled_slot, ["mssql-record-overlap"],
        "two slots point to the same row";
    "record-kind", Target::Rows, true, edits::record_kind, ["mssql-record"],
        "the record type of a row is that of an index entry";
    "free-count", Target::Rows, true, edits::free_count, ["mssql-free-count"],
        "the count of free bytes of a page is wrong";
    "ghost-count", Target::Rows, true, edits::ghost_count, ["mssql-ghost-count"],
        "the count of deleted rows of a page is wrong";
    "header-version", Target::Rows, true, |scene| scene.put(0, &[7]), ["mssql-page-header"],
        "the header of a page has an invalid version";
    "page-kind", Target::Rows, true, |scene| scene.put(1, &[3]), ["mssql-page-kind", "mssql-page-owner"],
        "the type of a table page is that of a LOB page";
    "large-value", Target::Large, true, edits::large_value, ["mssql-lob-target", "mssql-lob-orphan"],
        "a LOB record has the id of another value";
    "pfs-free", Target::Fixed(PageKind::Pfs), true, edits::pfs_free, ["mssql-pfs"],
        "the PFS marks a page in use as free";
    "pfs-used", Target::Fixed(PageKind::Pfs), true, edits::pfs_used, ["mssql-page-unowned", "mssql-extent-free"],
        "the PFS marks a free page as used";
    "gam-free", Target::Fixed(PageKind::Gam), true, edits::gam_free, ["mssql-extent-free"],
        "the GAM marks an extent in use as free";
    "gam-leak", Target::Fixed(PageKind::Gam), true, edits::gam_leak, ["mssql-extent-leaked"],
        "the GAM marks a free extent as used";
    "change-map", Target::Fixed(PageKind::DifferentialMap), true, |scene| scene.put(1, &[17]), ["mssql-map-page"],
        "the type of the differential map is that of another map";
    "iam-link", Target::Iam, true, edits::iam_link, ["mssql-iam-chain"],
        "an IAM page points to a wrong previous page";
    "iam-range", Target::Iam, true, edits::iam_range, ["mssql-allocation-range"],
        "an IAM page has an extent past the end of the file";
    "boot-page", Target::Fixed(PageKind::Boot), true, |scene| scene.put(1, &[1]), ["mssql-boot-page"],
        "the type of the boot page is that of a data page";
    "file-header", Target::Fixed(PageKind::FileHeader), true, |scene| scene.put(1, &[1]), ["mssql-file-header"],
        "the type of the file header page is that of a data page";
    "truncated-pages", Target::CutPages, false, |_| None, ["mssql-file-size", "mssql-allocation-range"],
        "the second half of the file is truncated";
    "truncated-inside-page", Target::CutInside, false, |_| None, ["mssql-file-size"],
        "the file is truncated inside its last page";
}

/// Copies a data file and damages the copy.
///
/// I/O: the maps and the catalog, the pages looked at for a place, and one copy of the file.
///
/// # Errors
/// When the file is no readable data file, the copy exists, the class does not, or nothing allows it.
pub fn damage(source: &Path, copy_to: &Path, class: &str, seed: u64) -> Result<Drill, DrillError> {
    let class = drill::class(CLASSES, |known| known.name, OLD_NAMES, class)?;
    drill::refuse_existing(copy_to)?;
    let refuse = |why: String| DrillError::Source { path: source.to_owned(), why };
    let paths = [source.to_owned()];
    if kinds(&paths, false).map_err(|error| refuse(error.to_string()))? != [FileKind::Data] {
        return Err(refuse("it is a backup; a data file is needed".to_owned()));
    }
    let prepared = prepare(&paths).map_err(|error| refuse(error.to_string()))?.map_err(refuse)?;
    let no_place = || DrillError::NoPlace { class: class.name, path: source.to_owned() };
    let change = Finder::new(&prepared, seed).and_then(|finder| finder.change(class)).ok_or_else(no_place)?;
    let write = || -> io::Result<()> {
        fs::copy(source, copy_to)?;
        let copy = OpenOptions::new().write(true).open(copy_to)?;
        match &change.after {
            None => copy.set_len(change.offset_bytes),
            Some(bytes) => copy.write_all_at(bytes, change.start_bytes),
        }
    };
    if let Err(source) = write() {
        // The copy is ours: it did not exist before.
        let _ = fs::remove_file(copy_to);
        return Err(DrillError::Write { path: copy_to.to_owned(), source });
    }
    Ok(Drill {
        changes: Vec::new(),
        class: class.name,
        what: class.what,
        file: copy_to.to_owned(),
        object: change.object,
        page: change.page,
        offset_bytes: change.offset_bytes,
        changed_bytes: change.changed_bytes,
        command: drill::command(copy_to, " --level full"),
    })
}

struct Change {
    object: Option<String>,
    page: Option<u32>,
    /// Where the page starts.
    start_bytes: u64,
    offset_bytes: u64,
    changed_bytes: u64,
    /// The page; `None` for a cut.
    after: Option<Vec<u8>>,
}

/// Looks for a place.
struct Finder<'a> {
    prepared: &'a Prepared,
    file: u16,
    page_count: u32,
    seed: u64,
}

impl<'a> Finder<'a> {
    fn new(prepared: &'a Prepared, seed: u64) -> Option<Self> {
        let (file, page_count) = prepared.source.database_files().first().copied()?;
        Some(Self { prepared, file, page_count, seed })
    }

    fn change(&self, class: &DrillClass) -> Option<Change> {
        let bytes = self.prepared.source.files.first()?.bytes;
        let cut = |offset_bytes: u64| Change {
            object: None,
            page: None,
            start_bytes: offset_bytes,
            offset_bytes,
            changed_bytes: bytes - offset_bytes,
            after: None,
        };
        match class.place {
            Target::CutPages => return Some(cut(u64::from(self.page_count / 2) * PAGE_BYTES as u64)),
            Target::CutInside => return bytes.checked_sub(PAGE_BYTES as u64 / 2).map(cut),
            _ => {}
        }
        let pages: Vec<u32> = (0..self.page_count).filter(|page| self.suits(class.place, *page)).collect();
        let start = drill::start(self.seed, pages.len());
        let (behind, before) = pages.split_at_checked(start).map(|(before, behind)| (behind, before))?;
        behind.iter().chain(before).find_map(|page| self.at(class, *page, &pages))
    }

    fn id(&self, page: u32) -> PageId {
        PageId { file: self.file, page }
    }

    fn unit(&self, page: u32) -> Option<&'a Unit> {
        match self.prepared.maps.use_of(self.id(page)) {
            Use::Unit(unit) | Use::Iam(unit) => self.prepared.plan.units.get(unit as usize),
            _ => None,
        }
    }

    fn suits(&self, place: Target, page: u32) -> bool {
        let usage = self.prepared.maps.use_of(self.id(page));
        let unit = self.unit(page).filter(|unit| !unit.is_system && !unit.is_compressed);
        match (place, usage, unit) {
            (Target::Fixed(kind), Use::Fixed(own), _) => kind == own,
            (Target::Iam, Use::Iam(_), Some(_)) => true,
            (Target::Large, Use::Unit(_), Some(unit)) => unit.kind == 2,
            (Target::Rows, Use::Unit(_), Some(unit)) => unit.kind == 1 && !unit.indexes.is_empty(),
            (Target::Entries, Use::Unit(_), Some(unit)) => unit.kind == 1 && unit.entry_of.is_some(),
            (Target::Inner, Use::Unit(_), Some(unit)) => unit.is_tree,
            _ => false,
        }
    }

    /// Whether the header is that of a page with records of the target.
    fn is_of_kind(place: Target, header: &Header) -> bool {
        match place {
            Target::Rows => header.kind == PageKind::Data && header.slot_count > 3,
            Target::Entries => header.kind == PageKind::Index && header.level == 0 && header.slot_count > 3,
            Target::Inner => header.kind == PageKind::Index && header.level > 0 && header.slot_count > 2,
            Target::Large => header.slot_count > 0,
            _ => true,
        }
    }

    fn raw(&self, page: u32) -> Option<Vec<u8>> {
        let mut raw = [0; PAGE_BYTES];
        self.prepared.source.read_raw(self.id(page), &mut raw).ok()?;
        Some(raw.to_vec())
    }

    fn at(&self, class: &DrillClass, page: u32, pages: &[u32]) -> Option<Change> {
        let before = self.raw(page)?;
        let header = Header::new(&before);
        if !Self::is_of_kind(class.place, &header) {
            return None;
        }
        let unit = self.unit(page);
        let id_of = |page: u32| self.unit(page).map(|unit| unit.id);
        let find = |is_same: bool| {
            let is_meant =
                |other: &&u32| **other != page && (id_of(**other) == unit.map(|unit| unit.id)) == is_same;
            pages.iter().filter(is_meant).find_map(|other| {
                self.raw(*other).filter(|raw| Self::is_of_kind(class.place, &Header::new(raw)))
            })
        };
        let is_rows = class.place == Target::Rows;
        let (other, foreign) = if is_rows { (find(true), find(false)) } else { (None, None) };
        let mut scene = Scene {
            page: before.clone(),
            id: self.id(page),
            header,
            unit,
            other: other.unwrap_or_default(),
            foreign: foreign.unwrap_or_default(),
            single: self.prepared.maps.single_with_rows(self.file, &self.prepared.plan),
            free: self.prepared.maps.free_page(self.file),
            page_count: self.page_count,
            seed: self.seed,
        };
        if class.is_sealed {
            restore(&mut scene.page);
        }
        (class.make)(&mut scene)?;
        let mut after = scene.page;
        if class.is_sealed {
            protect(&mut after);
        }
        let differs = |(left, right): &(&u8, &u8)| left != right;
        let first = before.iter().zip(&after).position(|pair| differs(&pair))?;
        let start_bytes = u64::from(page) * PAGE_BYTES as u64;
        Some(Change {
            object: unit.map(|unit| unit.name.clone()),
            page: Some(page),
            start_bytes,
            offset_bytes: start_bytes + first as u64,
            changed_bytes: before.iter().zip(&after).filter(differs).count() as u64,
            after: Some(after),
        })
    }
}
