//! What each class of drill does to a block. `None`: the block does not allow it.

use formats::postgres::attribute::{Columns, Length};
use formats::postgres::btree::{IndexTuple, Kind, Opaque};
use formats::postgres::heap::{TupleHeader, mask};
use formats::postgres::page::{FLAG_ALL_VISIBLE, HEADER_BYTES, Item, ItemState, Page};

use crate::drill::scene::{Scene, rows};

/// Bytes of a line pointer.
const POINTER_BYTES: usize = 4;
/// Transactions and positions this far ahead do not exist in any cluster that practises.
const FAR: u32 = 1_000_000;

/// Places in a tuple header.
// EVIDENCE: src/include/access/htup_details.h HeapTupleHeaderData: xmin 0, xmax 4, infomask 20, hoff 22
const XMIN: usize = 0;
const XMAX: usize = 4;
const INFOMASK: usize = 20;
const HOFF: usize = 22;

fn put(page: &mut [u8], offset: usize, bytes: &[u8]) -> Option<()> {
    page.get_mut(offset..offset + bytes.len())?.copy_from_slice(bytes);
    Some(())
}

fn pointer(number: u16) -> usize {
    HEADER_BYTES + (usize::from(number) - 1) * POINTER_BYTES
}

/// A line pointer that leads to a row.
// EVIDENCE: src/include/storage/itemid.h: offset 15 bits, flags 2 bits (1 normal), length 15 bits
fn put_pointer(page: &mut [u8], number: u16, offset: u16, length: u16) -> Option<()> {
    let word = u32::from(offset) | (1 << 15) | (u32::from(length) << 17);
    put(page, pointer(number), &word.to_le_bytes())
}

/// One of some, by the seed.
fn pick<T: Copy>(all: &[T], seed: u64) -> Option<T> {
    all.get((seed % all.len().max(1) as u64) as usize).copied()
}

/// Rows that are there for everyone, and that indexes name.
fn live_rows(scene: &Scene) -> Vec<(Item, TupleHeader)> {
    let view = Page::new(&scene.page);
    let header = |item: Item| view.item_bytes(item).and_then(TupleHeader::read).map(|header| (item, header));
    let is_live = |(item, header): &(Item, TupleHeader)| {
        !header.is_heap_only()
            && header.infomask & mask::XMAX_INVALID != 0
            && scene.live.binary_search(&item.number).is_ok()
    };
    rows(&scene.page).into_iter().filter_map(header).filter(is_live).collect()
}

/// Entries of a B-tree block without its high key.
fn entries(page: &[u8]) -> Vec<Item> {
    let view = Page::new(page);
    let first = Opaque::read(&view).map_or(1, |opaque| opaque.first_data_item());
    rows(page).into_iter().filter(|item| item.number >= first).collect()
}

pub(crate) fn bit_flip(scene: &mut Scene) -> Option<()> {
    let (item, _) = pick(&live_rows(scene), scene.seed)?;
    // The last byte of a row belongs to a value, never to padding.
    let at = usize::from(item.offset) + usize::from(item.length) - 1;
    *scene.page.get_mut(at)? ^= 1 << (scene.seed % 8);
    Some(())
}

pub(crate) fn torn(scene: &mut Scene) -> Option<()> {
    let half = scene.page.len() / 2;
    (!Page::new(&scene.other).is_new()).then_some(())?;
    let second = scene.other.get(half..)?.to_vec();
    put(&mut scene.page, half, &second)
}

pub(crate) fn zero(scene: &mut Scene) -> Option<()> {
    pick(&rows(&scene.page), scene.seed)?;
    let is_tree = !Page::new(&scene.page).special().is_empty();
    (is_tree || !live_rows(scene).is_empty()).then_some(())?;
    scene.page.fill(0);
    Some(())
}

pub(crate) fn lost_write(scene: &mut Scene) -> Option<()> {
    let (item, _) = *live_rows(scene).last()?;
    let lower = Page::new(&scene.page).header().lower;
    // Only the last row of a block can be undone without a trace.
    (pointer(item.number) + POINTER_BYTES == usize::from(lower)).then_some(())?;
    put(&mut scene.page, pointer(item.number), &[0; POINTER_BYTES])?;
    put(&mut scene.page, 12, &(lower - POINTER_BYTES as u16).to_le_bytes())
}

pub(crate) fn misplaced(scene: &mut Scene) -> Option<()> {
    (scene.blocks > 1 && !Page::new(&scene.other).is_new()).then_some(())?;
    scene.page.clone_from(&scene.other);
    Some(())
}

pub(crate) fn foreign(scene: &mut Scene) -> Option<()> {
    (scene.foreign.len() == scene.page.len() && !Page::new(&scene.foreign).is_new()).then_some(())?;
    scene.page.clone_from(&scene.foreign);
    Some(())
}

pub(crate) fn lost_row(scene: &mut Scene) -> Option<()> {
    let (item, _) = pick(&live_rows(scene), scene.seed)?;
    put(&mut scene.page, pointer(item.number), &[0; POINTER_BYTES])
}

pub(crate) fn bad_pointer(scene: &mut Scene) -> Option<()> {
    let (item, _) = pick(&live_rows(scene), scene.seed)?;
    put_pointer(&mut scene.page, item.number, item.offset + 3, item.length.checked_sub(3)?)
}

pub(crate) fn overlap(scene: &mut Scene) -> Option<()> {
    let live = live_rows(scene);
    let (first, second) = (live.first()?.0, live.get(1)?.0);
    put_pointer(&mut scene.page, second.number, first.offset, first.length)
}

fn change_row(scene: &mut Scene, change: impl FnOnce(&mut [u8], u16, u32) -> Option<()>) -> Option<()> {
    let (item, header) = pick(&live_rows(scene), scene.seed)?;
    let row = scene.page.get_mut(usize::from(item.offset)..)?;
    change(row, header.infomask, scene.next_xid.wrapping_add(FAR))
}

pub(crate) fn future_xmin(scene: &mut Scene) -> Option<()> {
    change_row(scene, |row, infomask, xid| {
        put(row, XMIN, &xid.to_le_bytes())?;
        put(row, INFOMASK, &(infomask & !mask::XMIN_FROZEN).to_le_bytes())
    })
}

pub(crate) fn future_xmax(scene: &mut Scene) -> Option<()> {
    change_row(scene, |row, infomask, xid| {
        put(row, XMAX, &xid.to_le_bytes())?;
        put(row, INFOMASK, &(infomask & !mask::XMAX_INVALID).to_le_bytes())
    })
}

/// The row was inserted by a transaction that rolled back, as its hint bits say.
pub(crate) fn hint_bit(scene: &mut Scene) -> Option<()> {
    change_row(scene, |row, infomask, _| {
        let hint = infomask & !mask::XMIN_COMMITTED | mask::XMIN_INVALID;
        put(row, INFOMASK, &hint.to_le_bytes())
    })
}

// EVIDENCE: src/backend/commands/sequence.c sequence_magic: the special space, the last eight bytes of the block
pub(crate) fn sequence_magic(scene: &mut Scene) -> Option<()> {
    let at = usize::from(Page::new(&scene.page).header().special);
    put(&mut scene.page, at, &[0])
}

pub(crate) fn bad_header(scene: &mut Scene) -> Option<()> {
    change_row(scene, |row, _, _| put(row, HOFF, &[3]))
}

/// The first value with a length of its own is told to be as long as its header can say.
// EVIDENCE: src/include/varatt.h: an odd first byte is the length of a short value, 7 bits; else 30 bits in 4 bytes
pub(crate) fn impossible_length(scene: &mut Scene) -> Option<()> {
    let (item, header) = pick(&live_rows(scene), scene.seed)?;
    (header.infomask & mask::HAS_NULL == 0).then_some(())?;
    let row = Page::new(&scene.page).item_bytes(item)?;
    let data = row.get(usize::from(header.hoff)..)?;
    let stored = usize::from(header.columns()).min(scene.columns.len());
    let place = scene.columns[..stored].iter().position(|column| column.length == Length::Variable)?;
    let mut columns = Columns::new(data, None);
    for column in &scene.columns[..place] {
        columns.next_column(*column)?;
    }
    let unpadded = columns.offset_bytes();
    let is_padded = *data.get(unpadded)? == 0;
    let align = usize::from(scene.columns[place].align_bytes);
    let start = if is_padded { unpadded.next_multiple_of(align) } else { unpadded };
    let (first, left) = (*data.get(start)?, data.len() - start);
    let at = usize::from(item.offset) + usize::from(header.hoff) + start;
    match first {
        1 => None,
        short if short & 1 == 1 => {
            (left < 127).then_some(())?;
            put(&mut scene.page, at, &[0xFF])
        }
        _ => put(&mut scene.page, at, &0xFFFF_FFFCu32.to_le_bytes()),
    }
}

pub(crate) fn not_visible(scene: &mut Scene) -> Option<()> {
    let flags = Page::new(&scene.page).header().flags;
    (scene.all_visible && flags & FLAG_ALL_VISIBLE != 0).then_some(())?;
    put(&mut scene.page, 10, &(flags & !FLAG_ALL_VISIBLE).to_le_bytes())
}

pub(crate) fn wiped_header(scene: &mut Scene) -> Option<()> {
    live_rows(scene).first()?;
    put(&mut scene.page, 0, &[0; HEADER_BYTES])
}

pub(crate) fn future_lsn(scene: &mut Scene) -> Option<()> {
    let lsn = scene.log_end.checked_add(u64::from(FAR) << 16)?;
    put(&mut scene.page, 0, &((lsn >> 32) as u32).to_le_bytes())?;
    put(&mut scene.page, 4, &(lsn as u32).to_le_bytes())
}

/// A plain entry with its first byte of data.
fn plain_entry(scene: &Scene) -> Option<Item> {
    let view = Page::new(&scene.page);
    let is_plain = |item: &Item| {
        let tuple = view.item_bytes(*item).and_then(IndexTuple::read);
        tuple.is_some_and(|tuple| tuple.kind() == Kind::Plain && !tuple.data().is_empty())
            && item.state == ItemState::Normal
    };
    let plain: Vec<Item> = entries(&scene.page).into_iter().filter(is_plain).collect();
    pick(&plain, scene.seed)
}

pub(crate) fn key_flip(scene: &mut Scene) -> Option<()> {
    let item = plain_entry(scene)?;
    let data = Page::new(&scene.page).item_bytes(item).and_then(IndexTuple::read)?.data().len();
    // Byte 1: in a short text the first one is its length, in a number it is as good as any.
    let start = usize::from(item.offset) + usize::from(item.length) - data;
    *scene.page.get_mut(start + 1.min(data - 1))? ^= 1;
    Some(())
}

pub(crate) fn key_order(scene: &mut Scene) -> Option<()> {
    let all = entries(&scene.page);
    let view = Page::new(&scene.page);
    let data =
        |item: Item| view.item_bytes(item).and_then(IndexTuple::read).map(|tuple| tuple.data().to_vec());
    let pair = all.windows(2).find(|pair| data(pair[0]) != data(pair[1]))?;
    let (first, second) = (pair[0], pair[1]);
    put_pointer(&mut scene.page, first.number, second.offset, second.length)?;
    put_pointer(&mut scene.page, second.number, first.offset, first.length)
}

pub(crate) fn lost_entry(scene: &mut Scene) -> Option<()> {
    let item = plain_entry(scene)?;
    let lower = Page::new(&scene.page).header().lower;
    let (at, end) = (pointer(item.number), usize::from(lower));
    scene.page.get_mut(at..end)?.rotate_left(POINTER_BYTES);
    put(&mut scene.page, end - POINTER_BYTES, &[0; POINTER_BYTES])?;
    put(&mut scene.page, 12, &(lower - POINTER_BYTES as u16).to_le_bytes())
}

pub(crate) fn extra_entry(scene: &mut Scene) -> Option<()> {
    let item = plain_entry(scene)?;
    // The row pointer stands first: block in two halves, then the line pointer; no block has as many.
    put(&mut scene.page, usize::from(item.offset) + 4, &2_000u16.to_le_bytes())
}

// EVIDENCE: src/include/storage/itemid.h: flags 3 is LP_DEAD; in an index the entry keeps its bytes
pub(crate) fn dead_entry(scene: &mut Scene) -> Option<()> {
    let item = plain_entry(scene)?;
    let at = pointer(item.number);
    let word = u32::from_le_bytes(scene.page.get(at..at + POINTER_BYTES)?.try_into().ok()?);
    put(&mut scene.page, at, &(word | 3 << 15).to_le_bytes())
}

/// As [`duplicate_key`], in an index whose order is not known here.
pub(crate) fn equal_key(scene: &mut Scene) -> Option<()> {
    scene.is_order_unknown.then_some(())?;
    duplicate_key(scene)
}

pub(crate) fn duplicate_key(scene: &mut Scene) -> Option<()> {
    scene.is_unique.then_some(())?;
    let view = Page::new(&scene.page);
    let all = entries(&scene.page);
    let tuple = |item: Item| view.item_bytes(item).and_then(IndexTuple::read);
    let fits = |pair: &&[Item]| {
        let (Some(one), Some(next)) = (tuple(pair[0]), tuple(pair[1])) else { return false };
        let is_plain = |tuple: &IndexTuple<'_>| tuple.kind() == Kind::Plain && !tuple.has_nulls();
        // Equal keys stand in the order of their rows: only the key is to be wrong.
        is_plain(&one) && is_plain(&next) && one.tid < next.tid && one.data().len() == next.data().len()
    };
    let pairs: Vec<&[Item]> = all.windows(2).filter(fits).collect();
    let pair = pick(&pairs, scene.seed)?;
    let key = tuple(pair[0])?.data().to_vec();
    let at = usize::from(pair[1].offset) + tuple(pair[1])?.data_offset();
    put(&mut scene.page, at, &key)
}

pub(crate) fn sibling(scene: &mut Scene) -> Option<()> {
    let view = Page::new(&scene.page);
    let next = Opaque::read(&view)?.next;
    let at = usize::from(view.header().special) + 4;
    let wrong = (1..scene.blocks).find(|block| *block != next && *block != scene.block && next != 0)?;
    put(&mut scene.page, at, &wrong.to_le_bytes())
}

pub(crate) fn downlinks(scene: &mut Scene) -> Option<()> {
    let all = entries(&scene.page);
    let (first, second) = (usize::from(all.first()?.offset), usize::from(all.get(1)?.offset));
    let of = |at: usize| scene.page.get(at..at + 4).map(<[u8]>::to_vec);
    let (one, other) = (of(first)?, of(second)?);
    put(&mut scene.page, first, &other)?;
    put(&mut scene.page, second, &one)
}

// EVIDENCE: src/include/access/nbtree.h BTMetaPageData: magic, version, root
pub(crate) fn root(scene: &mut Scene) -> Option<()> {
    let at = HEADER_BYTES + 8;
    let root = u32::from_le_bytes(scene.page.get(at..at + 4)?.try_into().ok()?);
    let wrong = (1..scene.blocks).find(|block| *block != root)?;
    put(&mut scene.page, at, &wrong.to_le_bytes())
}
