//! Entries of the pointer map of an auto-vacuum file.

use super::damage::{Damage, Fault};
use super::read::u32_at;

/// What a page of an auto-vacuum file is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PointerMapKind {
    /// Root of a tree; the parent is 0.
    Root,
    /// On the free list; the parent is 0.
    Free,
    /// First overflow page; the parent is the tree page with the cell.
    FirstOverflow,
    /// Later overflow page; the parent is the overflow page before it.
    LaterOverflow,
    /// Tree page; the parent is the tree page above.
    Tree,
}

/// One entry: the kind of a page and its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PointerMapEntry {
    /// What the page is used for.
    pub kind: PointerMapKind,
    /// The page that refers to it, 0 for none.
    pub parent: u32,
}

impl PointerMapEntry {
    /// Reads the entry at an offset of a pointer map page; no entry when its kind is none of 1 to 5.
    // EVIDENCE: sqlite fileformat2 1.8
    #[must_use]
    pub fn new(page: &[u8], offset_bytes: usize) -> (Option<Self>, Option<Damage>) {
        let code = page.get(offset_bytes).copied().unwrap_or(0);
        let parent = u32_at(page, offset_bytes.saturating_add(1)).unwrap_or(0);
        let kind = match code {
            1 => PointerMapKind::Root,
            2 => PointerMapKind::Free,
            3 => PointerMapKind::FirstOverflow,
            4 => PointerMapKind::LaterOverflow,
            5 => PointerMapKind::Tree,
            _ => {
                let damage = Damage::new(Fault::PointerMapKind, offset_bytes, 1..=5, u64::from(code));
                return (None, Some(damage));
            }
        };
        (Some(Self { kind, parent }), None)
    }
}
