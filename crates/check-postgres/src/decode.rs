//! Blocks of PostgreSQL.

use std::path::PathBuf;

use check::decode::{Decoded, offset_text, page_bytes};
use check::engine::{EngineError, PageShape, Probe, number};
use formats::postgres::btree::{IndexTuple, Meta, Opaque, flag};
use formats::postgres::checksum::page_checksum;
use formats::postgres::file_name::{FileName, Fork};
use formats::postgres::maps::{
    free_space, free_space_of, free_space_place, free_space_slots, heap_pages_per_visibility_page, visibility,
};
use formats::postgres::page::{ItemState, LAYOUT_VERSION, Page};
use formats::postgres::{BLOCK_NONE, BLOCK_SIZE_DEFAULT};
use results::EngineId;

use crate::{Cluster, data_directory_of};

/// The forks whose blocks have a meaning by their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Map {
    /// Rows or index entries.
    Main,
    /// Free space map.
    FreeSpace,
    /// Visibility map.
    Visibility,
}

/// What a block number says: of the maps what they describe, of the main fork where the maps describe it.
#[must_use]
pub fn place(map: Map, block: u32, block_bytes: usize) -> Decoded {
    let per_visibility_page = u64::from(heap_pages_per_visibility_page(block_bytes).max(1));
    let number = u64::from(block);
    let title = match map {
        Map::Main if block == 0 => "block 0: first block of a table, or meta page of an index".to_owned(),
        Map::Main => format!("block {block}: rows or index entries"),
        Map::Visibility => format!("block {block} of the visibility map"),
        Map::FreeSpace => match free_space_place(block, block_bytes) {
            Some(place) if place.level == 2 => format!("block {block} of the free space map: its root"),
            Some(place) => {
                format!("block {block} of the free space map: page {} of level {}", place.number, place.level)
            }
            None => format!("block {block} of the free space map"),
        },
    };
    let mut decoded = Decoded::new(EngineId::Postgres, title);
    match map {
        Map::Visibility => {
            let first = number * per_visibility_page;
            let last = first + per_visibility_page - 1;
            decoded.fact("describes", format!("heap pages {first} to {last}, two bits each"));
        }
        Map::FreeSpace => {
            if let Some(place) = free_space_place(block, block_bytes) {
                let last = place.first + u64::from(free_space_slots(block_bytes)) - 1;
                let what = match place.level {
                    0 => format!("heap pages {} to {last}, a byte each", place.first),
                    level => format!("pages {} to {last} of level {} of the map", place.first, level - 1),
                };
                decoded.fact("describes", what);
            }
        }
        Map::Main => {
            let bit = number % per_visibility_page;
            decoded.fact(
                "visibility map of a table",
                format!("block {}, entry {bit}", number / per_visibility_page),
            );
            if let Some((leaf, slot)) = free_space_of(block, block_bytes) {
                decoded.fact("free space map of a table", format!("block {leaf}, slot {slot}"));
            }
        }
    }
    decoded.fact("offset in the fork", offset_text(number, block_bytes as u64));
    decoded
}

/// Whether some bytes look like a page of a relation.
pub(super) fn is_page(bytes: &[u8], block_bytes: usize) -> bool {
    let header = *Page::new(bytes).header();
    bytes.len() == block_bytes
        && usize::from(header.size_bytes) == block_bytes
        && header.version == LAYOUT_VERSION
}

/// Whether the start of a file may be a block of the usual size.
pub(super) fn is_block(start: &[u8]) -> bool {
    is_page(start.get(..BLOCK_SIZE_DEFAULT).unwrap_or(start), BLOCK_SIZE_DEFAULT)
}

/// What a block of a file holds.
pub(super) fn page(fork: Fork, block: u32, bytes: &[u8], has_checksums: Option<bool>) -> Decoded {
    let map = match fork {
        Fork::FreeSpace => Map::FreeSpace,
        Fork::Visibility => Map::Visibility,
        Fork::Main | Fork::Init => Map::Main,
    };
    let mut decoded = place(map, block, bytes.len());
    let page = Page::new(bytes);
    if page.is_new() {
        decoded.title = format!("block {block}: never used");
        if !page.is_zero() {
            decoded.damage.push("pd_upper is 0 (new page), and other bytes are not zero".to_owned());
        }
        return decoded;
    }
    let header = page.header();
    decoded.fact("LSN", format!("{:X}/{:X}", header.lsn >> 32, header.lsn & 0xFFFF_FFFF));
    let computed = page_checksum(bytes, block);
    let checksum = match (has_checksums, header.checksum == computed) {
        (Some(false), _) => format!("{:#06x}, not kept in this cluster", header.checksum),
        (None, false) if header.checksum == 0 => "none".to_owned(),
        (_, true) => format!("{:#06x}, right", header.checksum),
        (_, false) => {
            decoded.damage.push(format!("checksum {:#06x} instead of {computed:#06x}", header.checksum));
            format!("{:#06x}, wrong", header.checksum)
        }
    };
    decoded.fact("checksum", checksum);
    decoded.fact(
        "bounds",
        format!(
            "lower {}, upper {}, special {} of {}",
            header.lower,
            header.upper,
            header.special,
            bytes.len()
        ),
    );
    let mut damage = Vec::new();
    let special_bytes = bytes.len().saturating_sub(usize::from(header.special));
    page.check_header(special_bytes, &mut damage);
    decoded.damage.extend(damage.iter().map(|damage| {
        format!("at byte {}: expected {}, found {}", damage.offset_bytes, damage.expected, damage.found)
    }));
    match map {
        Map::Visibility => visibility_facts(&page, &mut decoded),
        Map::FreeSpace => free_space_facts(&page, block, &mut decoded),
        Map::Main => main(&page, block, special_bytes, &mut decoded),
    }
    decoded
}

fn visibility_facts(page: &Page<'_>, decoded: &mut Decoded) {
    let entries = heap_pages_per_visibility_page(page.bytes().len());
    let set = (0..entries).map(|index| visibility(page, index));
    let (visible, frozen) = set.fold((0, 0), |(visible, frozen), entry| {
        (visible + u32::from(entry.all_visible), frozen + u32::from(entry.all_frozen))
    });
    decoded.fact("entries", format!("{visible} heap pages all-visible, {frozen} all-frozen"));
}

fn free_space_facts(page: &Page<'_>, block: u32, decoded: &mut Decoded) {
    let block_bytes = page.bytes().len();
    let slots = free_space_slots(block_bytes);
    let values = (0..slots).filter_map(|slot| free_space(page, slot));
    let (some, most) =
        values.fold((0, 0), |(some, most), value| (some + u32::from(value > 0), most.max(value)));
    let what = if free_space_place(block, block_bytes).is_some_and(|place| place.level == 0) {
        "heap pages"
    } else {
        "pages below"
    };
    let room = usize::from(most) * block_bytes / 256;
    decoded.fact("entries", format!("{some} {what} with free space, at most about {room} bytes"));
}

fn main(page: &Page<'_>, block: u32, special_bytes: usize, decoded: &mut Decoded) {
    let count = |state: ItemState| page.items().filter(|item| item.state == state).count();
    let states = [ItemState::Normal, ItemState::Redirect, ItemState::Dead, ItemState::Unused].map(count);
    let items = format!(
        "{}: {} normal, {} redirected, {} dead, {} unused",
        page.item_count(),
        states[0],
        states[1],
        states[2],
        states[3]
    );
    let what = kind_of(page, special_bytes);
    if what == "B-tree" {
        decoded.title = format!("block {block}: {what}");
        tree(page, block, items, decoded);
        return;
    }
    decoded.title = format!("block {block}: {what}");
    decoded.fact("line pointers", items);
}

/// Which access method a page belongs to, by its special space.
// EVIDENCE: the last two bytes: hash.h HASHO_PAGE_ID 0xFF80, gist.h GIST_PAGE_ID 0xFF81, spgist_private.h SPGIST_PAGE_ID
// 0xFF82, brin_page.h BRIN_PAGETYPE_* 0xF091 to 0xF093; nbtree.h MAX_BT_CYCLE_ID 0xFF7F; sequence.c SEQ_MAGIC 0x1717
fn kind_of(page: &Page<'_>, special_bytes: usize) -> &'static str {
    let special = page.special();
    let last = special.last_chunk::<2>().map_or(0, |bytes| u16::from_le_bytes(*bytes));
    match (special_bytes, last) {
        (0, _) => "rows of a table",
        (16, 0xFF80) => "hash index",
        (16, 0xFF81) => "GiST index",
        (16, _) => "B-tree",
        (8, 0xFF82) => "SP-GiST index",
        (8, 0xF091..=0xF093) => "BRIN index",
        (8, _) if special.first_chunk::<2>() == Some(&[0x17, 0x17]) => "sequence",
        (8, _) => "GIN index",
        _ => "of an unknown access method",
    }
}

fn tree(page: &Page<'_>, block: u32, items: String, decoded: &mut Decoded) {
    let Some(opaque) = Opaque::read(page) else { return };
    if opaque.has(flag::META) {
        decoded.title = format!("block {block}: meta page of a B-tree");
        if let Some(meta) = Meta::read(page) {
            meta.check(u32::MAX, &mut Vec::new());
            decoded.fact("version", meta.version.to_string());
            decoded.fact("root", format!("block {}, level {}", meta.root, meta.level));
            decoded.fact("fast root", format!("block {}, level {}", meta.fast_root, meta.fast_level));
        }
        return;
    }
    let role = match () {
        () if opaque.has(flag::DELETED) => "deleted page",
        () if opaque.has(flag::HALF_DEAD) => "half-dead page",
        () if opaque.has(flag::ROOT) && opaque.is_leaf() => "root and only leaf",
        () if opaque.has(flag::ROOT) => "root",
        () if opaque.is_leaf() => "leaf",
        () => "inner page",
    };
    decoded.title = format!("block {block}: {role} of a B-tree, level {}", opaque.level);
    let link =
        |block: u32| if block == 0 || block == BLOCK_NONE { "none".to_owned() } else { block.to_string() };
    decoded.fact("left sibling", link(opaque.previous));
    decoded.fact("right sibling", link(opaque.next));
    decoded.fact("line pointers", items);
    if !opaque.is_leaf() && !opaque.has(flag::DELETED) {
        let entries = page.items().filter(|item| item.number >= opaque.first_data_item());
        let below: Vec<u32> =
            entries.filter_map(|item| Some(IndexTuple::read(page.item_bytes(item)?)?.downlink())).collect();
        if let (Some(first), Some(last)) = (below.first(), below.last()) {
            decoded.fact("downlinks", format!("{} blocks, the first {first}, the last {last}", below.len()));
        }
    }
}

/// Block size where no file and no option tells.
// EVIDENCE: block_size of PostgreSQL
const BLOCK_BYTES: u32 = 8192;
/// Blocks of a full segment where no control file tells.
const SEGMENT_BLOCKS: u32 = 131_072;

/// A block by its number: `postgres:BLOCK`, `postgres:fsm:BLOCK`, `postgres:vm:BLOCK`.
pub(crate) fn by_number(words: &[&str], shape: PageShape) -> Option<Result<Decoded, EngineError>> {
    let (map, block) = match words {
        ["postgres", block] => (Map::Main, block),
        ["postgres", "fsm", block] => (Map::FreeSpace, block),
        ["postgres", "vm", block] => (Map::Visibility, block),
        _ => return None,
    };
    let block_bytes = shape.page_bytes.unwrap_or(BLOCK_BYTES);
    if !block_bytes.is_power_of_two() || !(1024..=32768).contains(&block_bytes) {
        let reason = "is not a PostgreSQL block size: use a power of two from 1024 to 32768";
        return Some(Err(EngineError(format!("{block_bytes} {reason}"))));
    }
    Some(number(block).map(|block| place(map, block, block_bytes as usize)))
}

/// A block of a file.
pub(crate) fn of_file(probe: &Probe, number: u32) -> Result<Decoded, EngineError> {
    let name = probe.path.file_name().and_then(|name| name.to_str()).and_then(FileName::parse);
    let open = |path: PathBuf| Cluster::open(data_directory_of(&path)?).ok();
    let cluster = probe.path.canonicalize().ok().and_then(open);
    let block_bytes = cluster.as_ref().map_or(BLOCK_SIZE_DEFAULT, |cluster| cluster.block_bytes);
    let is_known = is_page(probe.start.get(..block_bytes).unwrap_or(&probe.start), block_bytes)
        || name.is_some() && cluster.is_some();
    if !is_known {
        let path = probe.path.display();
        return Err(EngineError(format!(
            "cannot decode \"{path}\": it is not a relation file of PostgreSQL"
        )));
    }
    let bytes = page_bytes(probe, number, block_bytes)?;
    let segment_blocks = cluster.as_ref().map_or(SEGMENT_BLOCKS, |cluster| cluster.segment_blocks);
    let (fork, segment) = name.map_or((Fork::Main, 0), |name| (name.fork, name.segment));
    let block = segment.saturating_mul(segment_blocks).saturating_add(number);
    Ok(page(fork, block, &bytes, cluster.map(|cluster| cluster.checksums)))
}

/// Describes any bytes as every kind of block; nothing may panic. For fuzzing.
#[doc(hidden)]
#[must_use]
pub fn exercise(number: u32, other: u32, bytes: &[u8]) -> Vec<Decoded> {
    let _ = is_page(bytes, bytes.len());
    let forks = [Fork::Main, Fork::FreeSpace, Fork::Visibility, Fork::Init];
    let blocks = forks
        .into_iter()
        .flat_map(|fork| [Some(other & 1 == 1), None].map(|checksums| page(fork, number, bytes, checksums)));
    let maps = [Map::Main, Map::FreeSpace, Map::Visibility];
    let sizes = [other as usize, bytes.len(), 16_384];
    let places = maps.into_iter().flat_map(|map| sizes.map(|size| place(map, number, size)));
    blocks.chain(places).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_tell_what_they_describe_and_heap_pages_where_they_are_described() {
        let facts = |map, block| place(map, block, 8192).facts;
        let describes = |map, block| facts(map, block)[0].1.clone();
        assert_eq!(describes(Map::Visibility, 1), "heap pages 32672 to 65343, two bits each");
        assert_eq!(describes(Map::FreeSpace, 2), "heap pages 0 to 4068, a byte each");
        assert_eq!(describes(Map::FreeSpace, 0), "pages 0 to 4068 of level 1 of the map");
        let heap = facts(Map::Main, 40_000);
        assert_eq!(heap[0].1, "block 1, entry 7328");
        assert_eq!(heap[1].1, "block 11, slot 3379");
        assert!(place(Map::Main, 0, 8192).title.contains("meta"));
        let _ = place(Map::FreeSpace, u32::MAX, 8192);
        let _ = place(Map::FreeSpace, 5, 1024);
    }

    #[test]
    fn bytes_of_any_kind_are_described() {
        for length in [0usize, 1, 24, 8191, 8192] {
            for byte in [0u8, 1, 0x20, 0xff] {
                for fork in [Fork::Main, Fork::FreeSpace, Fork::Visibility, Fork::Init] {
                    page(fork, 7, &vec![byte; length], None);
                }
            }
        }
    }
}
