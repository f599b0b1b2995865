//! The pointer map of an auto-vacuum file against what the map and the chains found out.

use std::collections::HashMap;

use formats::sqlite::{BtreePage, PointerMapEntry, PointerMapKind, u32_at};

use check::matching::side::Side;

use crate::finding::Draft;
use crate::map::Use;
use crate::map::chain::{Chains, entry_hash};
use crate::rules;
use crate::run::context::Context;
use crate::source::reader::Brake;

/// Compares all entries. Entries of overflow pages are compared as sums, and named only when these differ.
pub(crate) fn check_pointer_maps(
    context: &Context<'_>,
    brake: &Brake,
    chains: &mut Chains,
    mut report: impl FnMut(Draft),
) {
    let mut bytes = Vec::new();
    let mut current = 0;
    for page in 2..=context.page_count {
        let Some(offset) = context.geometry.pointer_map_offset(page) else { continue };
        let Some(map_page) = context.geometry.pointer_map_page(page) else { continue };
        if map_page != current {
            if brake.is_over() {
                return;
            }
            current = map_page;
            if map_page > context.page_count || context.reader.read(map_page, &mut bytes).is_err() {
                bytes.clear();
            }
        }
        if bytes.is_empty() {
            continue;
        }
        let found = PointerMapEntry::new(&bytes, offset).0;
        if context.map.use_of(page) == Use::Overflow {
            match found {
                Some(entry) if is_overflow(entry.kind) => {
                    let hash = entry_hash(page, entry.kind, entry.parent, &context.key);
                    chains.expected_entries.add(Side::Found, hash);
                }
                _ => report(draft(
                    map_page,
                    page,
                    "an overflow page".to_owned(),
                    found_text(found, &bytes, offset),
                )),
            }
        } else if let Some(expected) = expected_entry(context, page)
            && Some(expected) != found
        {
            report(draft(map_page, page, entry_text(expected), found_text(found, &bytes, offset)));
        }
    }
    let is_equal = chains.expected_entries.unequal().is_empty();
    if !is_equal {
        name_overflow_entries(context, brake, report);
    }
}

fn is_overflow(kind: PointerMapKind) -> bool {
    matches!(kind, PointerMapKind::FirstOverflow | PointerMapKind::LaterOverflow)
}

fn expected_entry(context: &Context<'_>, page: u32) -> Option<PointerMapEntry> {
    let (kind, parent) = match context.map.use_of(page) {
        Use::FreeTrunk | Use::FreeLeaf => (PointerMapKind::Free, 0),
        Use::Leaf | Use::Node => match context.map.owner(page)?.parent {
            parent if parent == page => (PointerMapKind::Root, 0),
            parent => (PointerMapKind::Tree, parent),
        },
        Use::None | Use::Lock | Use::PointerMap | Use::Overflow => return None,
    };
    Some(PointerMapEntry { kind, parent })
}

fn draft(map_page: u32, page: u32, expected: String, found: String) -> Draft {
    let mut draft = Draft::new(&rules::POINTER_MAP, map_page, format!("for page {page}: {expected}"), found);
    draft.slot = Some(u64::from(page.saturating_sub(map_page).saturating_sub(1)));
    draft
}

/// An entry as it was found: its type byte where that is none of 1 to 5.
fn found_text(entry: Option<PointerMapEntry>, map: &[u8], offset: usize) -> String {
    match (entry, map.get(offset)) {
        (Some(entry), _) => entry_text(entry),
        (None, Some(kind)) => format!("entry type {kind}, which is not 1 to 5"),
        (None, None) => "no entry: the page ends before it".to_owned(),
    }
}

fn entry_text(entry: PointerMapEntry) -> String {
    match entry.kind {
        PointerMapKind::Root => format!("a root page, parent {}", entry.parent),
        PointerMapKind::Free => format!("a free page, parent {}", entry.parent),
        PointerMapKind::FirstOverflow => {
            format!("the first overflow page of a cell on page {}", entry.parent)
        }
        PointerMapKind::LaterOverflow => format!("the overflow page after page {}", entry.parent),
        PointerMapKind::Tree => format!("a tree page below page {}", entry.parent),
    }
}

/// Follows all chains again, with their pages in memory, and compares each entry.
fn name_overflow_entries(context: &Context<'_>, brake: &Brake, mut report: impl FnMut(Draft)) {
    let mut expected = HashMap::new();
    let mut bytes = Vec::new();
    for page in 1..=context.page_count {
        if brake.is_over() {
            return;
        }
        if context.map.tree_of(page).is_none() || context.reader.read(page, &mut bytes).is_err() {
            continue;
        }
        let header_offset = if page == 1 { 100 } else { 0 };
        let Some(view) = BtreePage::new(&bytes, header_offset, context.geometry).0 else { continue };
        for slot in 0..view.cell_count {
            let (cell, damage) = view.cell(slot);
            if damage.is_none() && cell.overflow != 0 {
                expect_chain(context, brake, (page, cell.overflow), &mut expected);
            }
        }
    }
    let mut pages: Vec<_> = expected.into_iter().collect();
    pages.sort_unstable_by_key(|(page, _)| *page);
    for (page, entry) in pages {
        let Some(map_page) = context.geometry.pointer_map_page(page) else { continue };
        let Some(offset) = context.geometry.pointer_map_offset(page) else { continue };
        if brake.is_over() {
            return;
        }
        if context.reader.read(map_page, &mut bytes).is_err() {
            continue;
        }
        let found = PointerMapEntry::new(&bytes, offset).0;
        if found.is_some_and(|found| is_overflow(found.kind)) && found != Some(entry) {
            report(draft(map_page, page, entry_text(entry), found_text(found, &bytes, offset)));
        }
    }
}

fn expect_chain(
    context: &Context<'_>,
    brake: &Brake,
    (owner, first): (u32, u32),
    expected: &mut HashMap<u32, PointerMapEntry>,
) {
    let (mut from, mut page) = (owner, first);
    let mut kind = PointerMapKind::FirstOverflow;
    let mut bytes = Vec::new();
    // Each page is entered once, so that the walk ends.
    while context.map.use_of(page) == Use::Overflow && !expected.contains_key(&page) {
        expected.insert(page, PointerMapEntry { kind, parent: from });
        if brake.is_over() || context.reader.read(page, &mut bytes).is_err() {
            return;
        }
        kind = PointerMapKind::LaterOverflow;
        from = page;
        page = u32_at(&bytes, 0).unwrap_or(0);
    }
}
