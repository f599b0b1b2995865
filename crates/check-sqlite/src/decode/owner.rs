//! Which table or index of a SQLite file a page belongs to: up the pointer map where the file has one, else down the pages
//! above the leaves, with few reads; and a part of a long value by going through all trees, with many.

use formats::sqlite::{BtreePage, PointerMapEntry, PointerMapKind, u32_at};

use crate::{Opened, Root};

/// Most pages that are read on the way. Above the leaves that is enough for trees of some 400,000 pages of 4 KiB.
const READ_COUNT_MAX: usize = 1024;

/// Most pages that are read to find whose long value a page is part of: no more than the file has, and 4 GiB of 4 KiB.
const WALK_COUNT_MAX: usize = 1 << 20;

/// What the search came to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// The tree, in words.
    Tree(String),
    /// No tree that could be followed has it.
    NotFound,
    /// The bound was met before.
    TooFar,
}

impl Owner {
    pub(super) fn words(self) -> String {
        match self {
            Self::Tree(name) => name,
            Self::NotFound => "no table or index that could be followed".to_owned(),
            Self::TooFar => format!("not found within {READ_COUNT_MAX} pages that were read for it"),
        }
    }
}

/// Looks for the tree of a page. Without a pointer map only pages of trees are found, no parts of long values.
pub(super) fn owner(file: &Opened, page: u32) -> Owner {
    let roots = file.roots();
    if file.geometry().pointer_map_page(page).is_some() {
        above(file, page, &roots)
    } else {
        below(file, page, &roots)
    }
}

/// The entry that the pointer map has for a page.
pub(super) fn entry(file: &Opened, page: u32) -> Option<PointerMapEntry> {
    let geometry = file.geometry();
    let map = file.page(geometry.pointer_map_page(page)?).ok()?;
    PointerMapEntry::new(&map, geometry.pointer_map_offset(page)?).0
}

fn above(file: &Opened, page: u32, roots: &[Root]) -> Owner {
    let mut page = page;
    for _ in 0..READ_COUNT_MAX {
        if let Some(root) = roots.iter().find(|root| root.page == page) {
            return Owner::Tree(root.words());
        }
        match entry(file, page) {
            Some(entry) if !matches!(entry.kind, PointerMapKind::Root | PointerMapKind::Free) => {
                page = entry.parent;
            }
            _ => return Owner::NotFound,
        }
    }
    Owner::TooFar
}

fn below(file: &Opened, page: u32, roots: &[Root]) -> Owner {
    let mut reads_left = READ_COUNT_MAX;
    for root in roots {
        let mut level = vec![root.page];
        // Ends with the leaves, or with the reads that are left.
        while !level.is_empty() {
            if level.contains(&page) {
                return Owner::Tree(root.words());
            }
            let mut next = Vec::new();
            for number in level {
                if reads_left == 0 {
                    return Owner::TooFar;
                }
                reads_left -= 1;
                let Ok(bytes) = file.page(number) else { continue };
                let view = BtreePage::new(&bytes, if number == 1 { 100 } else { 0 }, file.geometry()).0;
                match view {
                    // All leaves of a tree are equally deep.
                    Some(view) if view.kind.is_leaf() => break,
                    Some(view) => next.extend((0..=view.cell_count).map(|index| view.child(index))),
                    None => {}
                }
            }
            level = next;
        }
    }
    Owner::NotFound
}

/// Looks for the long value that a page is part of, tree after tree, and returns how many pages were read for it.
///
/// Only the record that a value begins in leads to it. Cost without a pointer map: each page of trees and long values at
/// most once, one by one, [`WALK_COUNT_MAX`] in all.
pub(super) fn owner_of_part(file: &Opened, page: u32) -> (Owner, usize) {
    let mut walk =
        Walk { file, wanted: page, taken: vec![false; file.page_count() as usize + 1], read_count: 0 };
    for root in file.roots() {
        if walk.tree(root.page) {
            return (Owner::Tree(root.words()), walk.read_count);
        }
    }
    let is_whole = walk.read_count < WALK_COUNT_MAX;
    (if is_whole { Owner::NotFound } else { Owner::TooFar }, walk.read_count)
}

/// A search through the trees of a file.
struct Walk<'a> {
    file: &'a Opened,
    wanted: u32,
    /// By page number: each page is read once, so that the walk ends with the file.
    taken: Vec<bool>,
    read_count: usize,
}

impl Walk<'_> {
    fn read(&mut self, page: u32) -> Option<Vec<u8>> {
        let is_taken = self.taken.get_mut(page as usize)?;
        if std::mem::replace(is_taken, true) || self.read_count >= WALK_COUNT_MAX {
            return None;
        }
        self.read_count += 1;
        self.file.page(page).ok()
    }

    /// Whether a long value of the tree leads to the page.
    fn tree(&mut self, root: u32) -> bool {
        let mut waiting = vec![root];
        while let Some(number) = waiting.pop() {
            let Some(bytes) = self.read(number) else { continue };
            let view = BtreePage::new(&bytes, if number == 1 { 100 } else { 0 }, self.file.geometry()).0;
            let Some(view) = view else { continue };
            for index in 0..view.cell_count {
                let first = view.cell(index).0.overflow;
                if first != 0 && self.chain(first) {
                    return true;
                }
            }
            if !view.kind.is_leaf() {
                waiting.extend((0..=view.cell_count).map(|index| view.child(index)));
            }
        }
        false
    }

    fn chain(&mut self, first: u32) -> bool {
        let mut at = first;
        loop {
            if at == self.wanted {
                return true;
            }
            let next = self.read(at).and_then(|bytes| u32_at(&bytes, 0));
            match next.filter(|next| *next != 0) {
                Some(next) => at = next,
                None => return false,
            }
        }
    }
}
