//! Pages of SQLite.

use std::path::Path;

use formats::sqlite::{BtreePage, Damage, Geometry, PointerMapEntry, PointerMapKind, Trunk, u32_at};

mod owner;

use crate::decode::owner::{Owner, owner, owner_of_part};
use crate::{Opened, OpenedError, fault_text};
use check::decode::{Decoded, offset_text};
use check::engine::number;
use check::engine::{EngineError, PageShape, Probe};
use results::EngineId;

/// References of a page that are listed.
const LISTED_MAX: usize = 8;

/// What a page number says: the first page, the page with the lock byte, and pointer maps have fixed places.
#[must_use]
pub fn place(page: u32, geometry: Geometry) -> Decoded {
    let title = if page == 1 {
        "page 1: header of the file, and root of sqlite_schema".to_owned()
    } else if page == geometry.lock_page() {
        format!("page {page}: the page with the lock byte, never used")
    } else if geometry.is_pointer_map(page) {
        format!("page {page}: pointer map")
    } else {
        format!("page {page}: b-tree page, overflow page, or free")
    };
    let mut decoded = Decoded::new(EngineId::Sqlite, title);
    decoded.fact(
        "offset in the file",
        offset_text(u64::from(page).saturating_sub(1), geometry.page_size_bytes.into()),
    );
    if geometry.is_pointer_map(page) {
        let entries = geometry.usable_bytes / 5;
        let last = u64::from(page) + u64::from(entries);
        decoded.fact("describes", format!("pages {} to {last}", u64::from(page) + 1));
    } else if let Some(map) = geometry.pointer_map_page(page).filter(|_| page != geometry.lock_page()) {
        decoded.fact("described by", format!("pointer map {map}"));
    }
    decoded
}

/// What a page of a file holds, with the log laid over it.
pub(super) fn page(path: &Path, number: u32) -> Result<Decoded, OpenedError> {
    let file = Opened::new(path)?;
    let bytes = file.page(number)?;
    let geometry = file.geometry();
    let mut decoded = place(number, geometry);
    decoded.fact("pages of the file", file.page_count().to_string());
    if file.is_in_log(number) {
        decoded.fact("read from", "the WAL, which is newer");
    }
    if number == geometry.lock_page() {
        return Ok(decoded);
    }
    if geometry.is_pointer_map(number) {
        pointer_map(number, &bytes, geometry, file.page_count(), &mut decoded);
        return Ok(decoded);
    }
    let entry = owner::entry(&file, number);
    if let Some(entry) = entry {
        decoded.fact("pointer map says", entry_text(entry));
    }
    match file.free_list_place(number) {
        Some(true) => {
            free_trunk(&bytes, geometry, number, &mut decoded);
            return Ok(decoded);
        }
        Some(false) => {
            decoded.title = format!("page {number}: freelist leaf page");
            return Ok(decoded);
        }
        None => {}
    }
    let is_overflow = entry.is_some_and(|entry| {
        matches!(entry.kind, PointerMapKind::FirstOverflow | PointerMapKind::LaterOverflow)
    });
    match BtreePage::new(&bytes, if number == 1 { 100 } else { 0 }, geometry) {
        (Some(view), damage) if !is_overflow => {
            let owner = owner(&file, number);
            // Bytes of a long value may look like those of a tree.
            if owner != Owner::NotFound || !part_of_a_value(&file, number, &bytes, &mut decoded) {
                tree(number, &view, damage, &mut decoded);
                decoded.fact("belongs to", owner.words());
            }
        }
        _ if is_overflow => {
            overflow(number, &bytes, true, &mut decoded);
            decoded.fact("belongs to", owner(&file, number).words());
        }
        _ => {
            if !part_of_a_value(&file, number, &bytes, &mut decoded) {
                overflow(number, &bytes, false, &mut decoded);
            }
        }
    }
    Ok(decoded)
}

/// Looks for the record whose value goes on in a page, where no pointer map tells; describes the page when there is one.
fn part_of_a_value(file: &Opened, number: u32, bytes: &[u8], decoded: &mut Decoded) -> bool {
    let (owner, read_count) = owner_of_part(file, number);
    let is_found = matches!(owner, Owner::Tree(_));
    if is_found {
        overflow(number, bytes, true, decoded);
    }
    let words = match owner {
        Owner::Tree(name) => name,
        Owner::NotFound => "no record that could be reached".to_owned(),
        Owner::TooFar => "no record that was reached".to_owned(),
    };
    let how = "without a pointer map, its use is known only from reading all b-trees";
    decoded.fact(if is_found { "belongs to" } else { "record of" }, words);
    decoded.fact("pages read for that", format!("{read_count}: {how}"));
    is_found
}

pub(super) fn tree(number: u32, view: &BtreePage<'_>, damage: Option<Damage>, decoded: &mut Decoded) {
    let kind = view.kind.name();
    decoded.title = match number {
        1 => format!("page 1: header of the file, and {kind} page of sqlite_schema"),
        _ => format!("page {number}: {kind} page"),
    };
    decoded.fact("cells", view.cell_count.to_string());
    match view.free_bytes() {
        Some(free) => decoded.fact("free bytes", format!("{free} of {}", view.room_bytes())),
        None => decoded.damage.push("the chain of free blocks is damaged".to_owned()),
    }
    if !view.kind.is_leaf() {
        let children: Vec<u32> = (0..=view.cell_count).map(|index| view.child(index)).collect();
        decoded.fact("children", listed(&children));
    }
    if view.kind.is_table() && view.cell_count > 0 {
        let rowids = [0, view.cell_count - 1].map(|index| view.rowid(index));
        if let [Some(first), Some(last)] = rowids {
            decoded.fact("rowids", format!("{first} to {last}"));
        }
    }
    let overflows: Vec<u32> =
        (0..view.cell_count).map(|index| view.cell(index).0.overflow).filter(|page| *page != 0).collect();
    if !overflows.is_empty() {
        decoded.fact("overflow pages", listed(&overflows));
    }
    let broken = (0..view.cell_count).filter_map(|index| view.cell(index).1);
    decoded.damage.extend(damage.into_iter().chain(broken).take(LISTED_MAX).map(|damage| {
        format!(
            "at byte {}: {}: expected {}, found {}",
            damage.offset_bytes,
            fault_text(damage.fault),
            damage.expected_text(),
            damage.found_text()
        )
    }));
}

pub(super) fn overflow(number: u32, bytes: &[u8], is_certain: bool, decoded: &mut Decoded) {
    let next = u32_at(bytes, 0).unwrap_or(0);
    decoded.title = match is_certain {
        true => format!("page {number}: overflow page of a record"),
        false => format!("page {number}: no b-tree page: overflow page of a record, or unused"),
    };
    decoded.fact("next overflow page", if next == 0 { "none".to_owned() } else { next.to_string() });
}

pub(super) fn free_trunk(bytes: &[u8], geometry: Geometry, number: u32, decoded: &mut Decoded) {
    let usable = bytes.get(..geometry.usable_bytes as usize).unwrap_or(bytes);
    let (trunk, damage) = Trunk::new(usable);
    decoded.title = format!("page {number}: freelist trunk page");
    decoded.fact("leaves", trunk.leaf_count.to_string());
    decoded.fact("next trunk", if trunk.next == 0 { "none".to_owned() } else { trunk.next.to_string() });
    decoded
        .damage
        .extend(damage.map(|damage| format!("{} leaves, the page has room for fewer", damage.found_text())));
}

pub(super) fn pointer_map(
    number: u32,
    bytes: &[u8],
    geometry: Geometry,
    page_count: u32,
    decoded: &mut Decoded,
) {
    let entries = (geometry.usable_bytes / 5).min(page_count.saturating_sub(number));
    let mut counts = [0u32; 6];
    for index in 0..entries {
        let entry = PointerMapEntry::new(bytes, index as usize * 5).0;
        let place = entry.map_or(0, |entry| entry.kind as usize + 1);
        counts[place] += 1;
    }
    let [none, root, free, first, later, tree] = counts;
    decoded.fact(
        "entries",
        format!("{root} roots, {tree} other b-tree pages, {first} first and {later} later overflow pages, {free} free"),
    );
    if none > 0 {
        decoded.damage.push(format!("{none} entries have a kind that does not exist"));
    }
}

fn entry_text(entry: PointerMapEntry) -> String {
    match entry.kind {
        PointerMapKind::Root => "root of a b-tree".to_owned(),
        PointerMapKind::Free => "free".to_owned(),
        PointerMapKind::FirstOverflow => {
            format!("first overflow page of a cell in page {}", entry.parent)
        }
        PointerMapKind::LaterOverflow => format!("overflow page that follows page {}", entry.parent),
        PointerMapKind::Tree => format!("child of b-tree page {}", entry.parent),
    }
}

/// The first few of a list of pages.
fn listed(pages: &[u32]) -> String {
    let shown: Vec<String> = pages.iter().take(LISTED_MAX).map(u32::to_string).collect();
    let more = match pages.len().saturating_sub(LISTED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", shown.join(", "))
}

/// The geometry of a SQLite file of usual options; `None` for a page size that cannot be.
#[must_use]
fn geometry_of(page_size_bytes: u32, auto_vacuum: bool) -> Option<Geometry> {
    let is_size = page_size_bytes.is_power_of_two() && (512..=65536).contains(&page_size_bytes);
    is_size.then_some(Geometry { page_size_bytes, usable_bytes: page_size_bytes, auto_vacuum })
}

/// Page size where no option tells.
// EVIDENCE: sqlite fileformat2 1.3.2 and PRAGMA page_size
const PAGE_BYTES: u32 = 4096;

/// A page by its number: `sqlite:PAGE`.
pub(crate) fn by_number(words: &[&str], shape: PageShape) -> Option<Result<Decoded, EngineError>> {
    let ["sqlite", page] = words else { return None };
    Some(numbered(page, shape))
}

fn numbered(page: &str, shape: PageShape) -> Result<Decoded, EngineError> {
    let page: u32 = number(page)?;
    let size = shape.page_bytes.unwrap_or(PAGE_BYTES);
    let geometry = geometry_of(size, shape.auto_vacuum).ok_or_else(|| {
        EngineError(format!("{size} is not a SQLite page size: use a power of two from 512 to 65536"))
    })?;
    match page {
        0 => Err(EngineError("SQLite counts pages from 1".to_owned())),
        page => Ok(place(page, geometry)),
    }
}

/// A page of a file.
pub(crate) fn of_file(probe: &Probe, number: u32) -> Result<Decoded, EngineError> {
    page(&probe.path, number).map_err(EngineError::of)
}

/// Describes any bytes as every kind of page; nothing may panic. For fuzzing.
#[doc(hidden)]
#[must_use]
pub fn exercise(number: u32, other: u32, bytes: &[u8]) -> Vec<Decoded> {
    let trees = [512, 4096, 65536].iter().filter_map(|size| in_each_use(number, other, *size, bytes));
    trees.collect()
}

/// A page of SQLite in each of its uses.
fn in_each_use(number: u32, other: u32, page_bytes: u32, bytes: &[u8]) -> Option<Decoded> {
    let geometry = geometry_of(page_bytes, other & 1 == 1)?;
    let mut decoded = place(number, geometry);
    let page = bytes.get(..page_bytes as usize).unwrap_or(bytes);
    free_trunk(page, geometry, number, &mut decoded);
    pointer_map(number, page, geometry, other, &mut decoded);
    overflow(number, page, other & 1 == 1, &mut decoded);
    for start in [0, 100] {
        if let (Some(view), damage) = BtreePage::new(page, start, geometry) {
            tree(number, &view, damage, &mut decoded);
        }
    }
    Some(decoded)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn fixed_places_have_their_names() {
        let geometry = geometry_of(4096, true).unwrap();
        assert!(place(1, geometry).title.contains("header"));
        assert_eq!(place(262_145, geometry).title, "page 262145: the page with the lock byte, never used");
        let map = place(2, geometry);
        assert_eq!(map.title, "page 2: pointer map");
        assert!(map.facts.contains(&("describes".to_owned(), "pages 3 to 821".to_owned())), "{map:?}");
        assert!(
            place(821, geometry).facts.contains(&("described by".to_owned(), "pointer map 2".to_owned()))
        );
        assert_eq!(place(822, geometry).title, "page 822: pointer map");
        assert!(!place(2, geometry_of(4096, false).unwrap()).title.contains("map"));
        assert_eq!((geometry_of(1000, false), geometry_of(0, false)), (None, None));
        let _ = place(u32::MAX, geometry);
        let _ = place(0, geometry);
    }
}
