//! Which table or index of a SQLite file a page belongs to, found with few reads: up the pointer map where the file has
//! one, else down the pages above the leaves.

use formats::sqlite::{BtreePage, PointerMapEntry, PointerMapKind};

use crate::sqlite::{Opened, Root};

/// Most pages that are read on the way. Above the leaves that is enough for trees of some 400,000 pages of 4 KiB.
const READ_COUNT_MAX: usize = 1024;

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
