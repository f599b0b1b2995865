//! The cells of the matrix: each fault, at the first, middle and last page, in each kind of file.

use std::path::{Path, PathBuf};

use crate::fault::{Fault, Planned};

pub(crate) const EINTR: i32 = 4;
pub(crate) const EIO: i32 = 5;
pub(crate) const ENOSPC: i32 = 28;
pub(crate) const ENOMEM: i32 = 12;
pub(crate) const EACCES: i32 = 13;
pub(crate) const ENFILE: i32 = 23;
pub(crate) const EMFILE: i32 = 24;

/// Faults that differ in numbers only. Without `FATHOM_FAULTS=all` one cell of each family is run in each kind of file.
pub(crate) const FAMILY_COUNT: usize = 10;

/// What a check must say of a page that is older than the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Something is found.
    Found,
    /// Nothing is found: what the page holds is advice, or is not read.
    Silent,
    /// It depends on the page.
    Either,
}

/// A kind of file of a database.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    /// Below the directory that is mounted.
    pub(crate) path: PathBuf,
    pub(crate) page_bytes: u64,
    /// The byte of a page that readings change.
    pub(crate) byte: u64,
    /// Whether a changed byte there is seen at one reading: a checksum, or a header that nothing fits any more.
    pub(crate) is_protected: bool,
    /// Whether the file may come and go while no other process changes the database.
    pub(crate) may_go: bool,
    pub(crate) torn: Seen,
    pub(crate) stale: Seen,
    /// Parts of names of files, besides its own, in which a torn or stale page of this one may be found with
    /// certainty.
    pub(crate) kin: Vec<String>,
}

impl Kind {
    /// A file with pages of this size; what must be found of a torn or stale page depends on the page.
    pub(crate) fn new(name: &'static str, path: impl Into<PathBuf>, page_bytes: u64) -> Kind {
        Kind {
            name,
            path: path.into(),
            page_bytes,
            byte: 0,
            is_protected: false,
            may_go: false,
            torn: Seen::Either,
            stale: Seen::Either,
            kin: Vec::new(),
        }
    }
}

/// A database that is in order.
pub(crate) struct Database {
    pub(crate) engine: &'static str,
    /// The directory that is mounted.
    pub(crate) directory: PathBuf,
    /// The same directory at an earlier moment, where stale pages are from; without one they are zeros.
    pub(crate) older: Option<PathBuf>,
    /// What is checked, below it; empty: the directory itself.
    pub(crate) targets: Vec<PathBuf>,
    pub(crate) kinds: Vec<Kind>,
    /// The exit status of a check without a fault: 2 when the engine's own recovery has to come before.
    pub(crate) clean_code: i32,
    /// Without `FATHOM_FAULTS=all` one of so many families is run in each kind of file.
    pub(crate) stride: usize,
}

/// One place of the matrix.
pub(crate) struct Cell<'a> {
    pub(crate) kind: &'a Kind,
    pub(crate) position: &'static str,
    pub(crate) planned: Planned,
    family: usize,
}

impl Cell<'_> {
    pub(crate) fn name(&self, engine: &str) -> String {
        format!("{engine} | {} | {} | {}", self.kind.name, self.position, self.planned.fault.name())
    }
}

/// The cells that are run: all of them, those whose names have the words of `FATHOM_FAULTS`, or one of each family.
pub(crate) fn wanted<'a>(database: &Database, number: usize, cells: Vec<Cell<'a>>) -> Vec<Cell<'a>> {
    if let Ok(words) = std::env::var("FATHOM_FAULTS") {
        let has_words = |cell: &Cell| words.split(' ').all(|word| cell.name(database.engine).contains(word));
        return cells.into_iter().filter(|cell| words == "all" || has_words(cell)).collect();
    }
    let mut kept = Vec::new();
    for family in 0..FAMILY_COUNT {
        let is_left_out = !(number + family).is_multiple_of(database.stride);
        let of_family = cells.iter().filter(|cell| cell.family == family).count();
        if is_left_out || of_family == 0 {
            continue;
        }
        // Another position and another number in each kind of file.
        let index = (number * 3 + family) % of_family;
        let place = cells.iter().enumerate().filter(|(_, cell)| cell.family == family).nth(index);
        kept.extend(place.map(|(place, _)| place));
    }
    let keep = |(place, cell)| kept.contains(&place).then_some(cell);
    cells.into_iter().enumerate().filter_map(keep).collect()
}

/// All cells of a kind of file. `met_count`: openings and readings of the file in a check without faults.
pub(crate) fn cells_of<'a>(database: &Database, kind: &'a Kind, met_count: u64) -> Vec<Cell<'a>> {
    let path = database.directory.join(&kind.path);
    let mut cells = Vec::new();
    if path.is_dir() {
        for (errno, opens) in [(EACCES, true), (EMFILE, true), (EIO, true), (EIO, false)] {
            let fault = Fault::ListError { errno, opens };
            let planned = Planned { path: kind.path.clone(), range: 0..0, byte: 0, fault };
            cells.push(Cell { kind, position: "directory", planned, family: 9 });
        }
        return cells;
    }
    let bytes = std::fs::read(&path).unwrap();
    let older = database.older.as_deref().and_then(|older| std::fs::read(older.join(&kind.path)).ok());
    let length = bytes.len() as u64;
    let pages = (length / kind.page_bytes).max(1);
    // The init fork of a table has no page.
    let mut positions = if length == 0 { Vec::new() } else { vec![("first", 0)] };
    if pages > 2 {
        positions.push(("middle", pages / 2));
    }
    if pages > 1 {
        positions.push(("last", pages - 1));
    }
    for (position, page) in positions {
        let range = page * kind.page_bytes..((page + 1) * kind.page_bytes).min(length);
        let new = &bytes[range.start as usize..range.end as usize];
        let old = older.as_deref().and_then(|older| older.get(range.start as usize..range.end as usize));
        let old = old.map_or_else(|| vec![0; new.len()], <[u8]>::to_vec);
        for (family, fault) in page_faults(new, &old) {
            let byte = kind.byte.min(range.end - range.start - 1);
            let planned = Planned { path: kind.path.clone(), range: range.clone(), byte, fault };
            cells.push(Cell { kind, position, planned, family });
        }
    }
    for (family, fault) in file_faults(length, met_count) {
        let planned = Planned { path: kind.path.clone(), range: 0..length, byte: 0, fault };
        cells.push(Cell { kind, position: "file", planned, family });
    }
    cells
}

fn page_faults(new: &[u8], old: &[u8]) -> Vec<(usize, Fault)> {
    let mut faults = vec![
        (0, Fault::Short { bytes: 512 }),
        (1, Fault::ReadError { errno: EIO, times: u64::MAX }),
        (1, Fault::ReadError { errno: EIO, times: 1 }),
        (2, Fault::ReadError { errno: EINTR, times: 1 }),
        (2, Fault::ReadError { errno: EINTR, times: u64::MAX }),
        (2, Fault::ReadError { errno: ENOMEM, times: u64::MAX }),
        (3, Fault::EachReading),
        (3, Fault::EveryOther),
        (3, Fault::FirstOnly),
    ];
    // A page that is as it was before has no fault.
    if old[old.len() / 2..] != new[old.len() / 2..] {
        faults.push((4, Fault::Torn { old: old.to_vec() }));
    }
    if old != new {
        faults.push((5, Fault::Stale { old: old.to_vec() }));
    }
    faults
}

fn file_faults(length: u64, met_count: u64) -> Vec<(usize, Fault)> {
    let mut faults = Vec::new();
    // Not before the check: the first bytes decide what a file is.
    for after in [met_count / 2, met_count * 9 / 10] {
        faults.push((6, Fault::Cut { bytes: length / 2, after }));
        faults.push((7, Fault::Removed { after }));
        faults.push((8, Fault::Replaced { after }));
    }
    for errno in [EACCES, EMFILE, ENFILE, ENOMEM] {
        for from in [0, 2] {
            faults.push((9, Fault::OpenError { errno, from }));
        }
    }
    faults
}

/// A directory with a copy of these files or directories as they are now.
pub(crate) fn kept(directory: &Path) -> tempfile::TempDir {
    let place = tempfile::Builder::new().prefix("fathom-faults-").tempdir_in("/tmp").unwrap();
    let from = format!("{}/.", directory.display());
    let status = std::process::Command::new("cp")
        .args(["-a", "--sparse=always", &from])
        .arg(place.path())
        .status()
        .unwrap();
    assert!(status.success());
    place
}
