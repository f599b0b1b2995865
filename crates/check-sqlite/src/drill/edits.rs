//! The changes of bytes that make each class of damage.

use formats::sqlite::{Cell, Record, Value};

use crate::drill::scene::{
    Edit, Scene, edit, half, half_bytes, local_start, pick, pointers_start, put_half, word,
};

/// Flips the lowest bit of the last byte of the first text or bytes value; the indexed one in test files.
pub(crate) fn flip_in_value(scene: &Scene<'_>) -> Option<Vec<Edit>> {
    let (_, cell) = pick(scene)?;
    let record = Record::new(cell.local, cell.payload_bytes).0?;
    let local_start = local_start(&cell);
    let field = record.fields().find(|field| {
        matches!(record.value(*field), Some(Value::Text(bytes) | Value::Blob(bytes)) if !bytes.is_empty())
    })?;
    let last = (field.start + field.size - 1) as usize;
    let byte = *cell.local.get(last)?;
    (*scene.bytes.get(local_start + last)? == byte).then(|| vec![edit(scene, local_start + last, [byte ^ 1])])
}

/// Flips the lowest bit of a letter in the first word of a block of a full-text index.
// EVIDENCE: sqlite fts5_index.c "SEGMENT LEAF FORMAT": 2 bytes offset of the first rowid, 2 bytes size, then a word with its
// EVIDENCE: length; fts3_write.c: height, then a word with its length
pub(crate) fn flip_in_term(scene: &Scene<'_>) -> Option<Vec<Edit>> {
    let is_fts5_block = |cell: &Cell<'_>| cell.rowid > i64::from(u32::MAX);
    scene.cells_from_seed().into_iter().find_map(|(_, cell)| {
        let (start, block) = last_blob(&cell)?;
        // Behind the length and the first letter, which in FTS5 says which index the word belongs to.
        let (length_at, letter_at) = if is_fts5_block(&cell) { (4, 6) } else { (1, 2) };
        let is_leaf = is_fts5_block(&cell) || block.first() == Some(&0);
        let length = usize::from(*block.get(length_at)?);
        let is_word = is_leaf && (3..0x80).contains(&length) && length_at + length < block.len();
        let letter = block.get(letter_at).filter(|letter| is_word && letter.is_ascii_alphanumeric())?;
        Some(vec![edit(scene, local_start(&cell) + start + letter_at, [letter ^ 1])])
    })
}

/// Puts the largest number of 32 bits that is positive as integer and as float into the first coordinate of a box.
// EVIDENCE: sqlite rtree.c: a node is depth, count, then cells of a key of 8 bytes and coordinates of 4
pub(crate) fn wrong_box(scene: &Scene<'_>) -> Option<Vec<Edit>> {
    const COORDINATE_AT: usize = 12;
    const LARGEST: [u8; 4] = [0x7f, 0x7f, 0xff, 0xff];
    scene.cells_from_seed().into_iter().find_map(|(_, cell)| {
        let (start, node) = last_blob(&cell)?;
        let has_cell = node.get(2..4)? != [0, 0];
        let is_other = has_cell && node.get(COORDINATE_AT..COORDINATE_AT + 4)? != LARGEST;
        is_other.then(|| vec![edit(scene, local_start(&cell) + start + COORDINATE_AT, LARGEST)])
    })
}

/// The last BLOB of a row, as far as it lies in its page: where it begins in the payload, and its bytes.
fn last_blob<'c>(cell: &Cell<'c>) -> Option<(usize, &'c [u8])> {
    let record = Record::new(cell.local, cell.payload_bytes).0?;
    let field =
        record.fields().last().filter(|field| field.serial_type >= 12 && field.serial_type % 2 == 0)?;
    let start = usize::try_from(field.start).ok()?;
    let end = start.checked_add(usize::try_from(field.size).ok()?)?.min(cell.local.len());
    Some((start, cell.local.get(start..end)?))
}

pub(crate) fn flip_in_cell_count(scene: &Scene<'_>) -> Option<Vec<Edit>> {
    let byte = *scene.bytes.get(4)?;
    (byte > 1).then(|| vec![edit(scene, 4, [byte ^ 1])])
}

pub(crate) fn torn(scene: &Scene<'_>) -> Option<Vec<Edit>> {
    let middle = scene.bytes.len() / 2;
    let other = scene.other.get(middle..)?;
    (scene.bytes.get(middle..)? != other && !other.is_empty()).then(|| vec![edit(scene, middle, other)])
}

pub(crate) fn zeroed(scene: &Scene<'_>) -> Option<Vec<Edit>> {
    Some(vec![edit(scene, 0, vec![0; scene.bytes.len()])])
}

pub(crate) fn replaced(scene: &Scene<'_>) -> Option<Vec<Edit>> {
    (!scene.other.is_empty() && scene.page != 1).then(|| vec![edit(scene, 0, scene.other)])
}

/// Takes a cell out of a leaf: its bytes become a free block, or part of the gap when it was the first in it.
pub(crate) fn without_cell(scene: &Scene<'_>) -> Option<Vec<Edit>> {
    let view = scene.view.as_ref()?;
    let (slot, cell) = pick(scene)?;
    if cell.overflow != 0 || view.cell_count < 2 || scene.page == 1 {
        return None;
    }
    let mut page = scene.bytes.to_vec();
    let start = pointers_start(scene)?;
    let end = start + 2 * view.cell_count;
    page.copy_within(start + 2 * slot + 2..end, start + 2 * slot);
    put_half(&mut page, 3, view.cell_count - 1);
    if cell.offset == view.content_start {
        // Free blocks right behind would begin the content area, which is allowed.
        put_half(&mut page, 5, cell.offset + cell.size);
    } else {
        let mut before = 1;
        while half(&page, before) != 0 && half(&page, before) < cell.offset {
            before = half(&page, before);
        }
        let next = half(&page, before);
        put_half(&mut page, cell.offset, next);
        put_half(&mut page, cell.offset + 2, cell.size);
        put_half(&mut page, before, cell.offset);
    }
    Some(vec![edit(scene, 0, page)])
}

pub(crate) fn swapped_pointers(scene: &Scene<'_>) -> Option<Vec<Edit>> {
    let count = scene.view.as_ref()?.cell_count;
    let slot = scene.seed as usize % count.checked_sub(1).filter(|last| *last > 0)?;
    let place = pointers_start(scene)? + 2 * slot;
    let pair = scene.bytes.get(place..place + 4)?;
    let (left, right) = pair.split_at(2);
    Some(vec![edit(scene, place, [right, left].concat())])
}

pub(crate) fn doubled_pointer(scene: &Scene<'_>) -> Option<Vec<Edit>> {
    (scene.view.as_ref()?.cell_count > 1).then_some(())?;
    let place = pointers_start(scene)?;
    Some(vec![edit(scene, place + 2, scene.bytes.get(place..place + 2)?)])
}

pub(crate) fn pointer_outside(scene: &Scene<'_>) -> Option<Vec<Edit>> {
    (scene.view.as_ref()?.cell_count > 0).then_some(())?;
    // Into the page header: behind the page SQLite's own verdict would depend on what its memory holds there.
    Some(vec![edit(scene, pointers_start(scene)?, half_bytes(2))])
}

pub(crate) fn free_block_outside(scene: &Scene<'_>) -> Option<Vec<Edit>> {
    Some(vec![edit(scene, 1, half_bytes(scene.geometry.usable_bytes as usize - 2))])
}

pub(crate) fn wrong_fragments(scene: &Scene<'_>) -> Option<Vec<Edit>> {
    Some(vec![edit(scene, 7, [scene.bytes.get(7)? ^ 4])])
}

pub(crate) fn wrong_serial_type(scene: &Scene<'_>) -> Option<Vec<Edit>> {
    let (_, cell) = pick(scene)?;
    let local_start = local_start(&cell);
    let is_short = *cell.local.first()? < 0x80 && *cell.local.get(1)? < 0x80;
    (is_short && cell.size > cell.local.len()).then(|| vec![edit(scene, local_start + 1, [11])])
}

pub(crate) fn long_payload(scene: &Scene<'_>) -> Option<Vec<Edit>> {
    let (_, cell) = pick(scene)?;
    (cell.payload_bytes < 100).then(|| vec![edit(scene, cell.offset, [127])])
}

pub(crate) fn child_outside(scene: &Scene<'_>) -> Option<Vec<Edit>> {
    let (_, cell) = pick(scene)?;
    Some(vec![edit(scene, cell.offset, (scene.page_count + 7).to_be_bytes())])
}

pub(crate) fn child_doubled(scene: &Scene<'_>) -> Option<Vec<Edit>> {
    let cells = scene.cells();
    let ((_, first), (_, second)) = (cells.first()?, cells.get(1)?);
    Some(vec![edit(scene, second.offset, first.left_child.to_be_bytes())])
}

pub(crate) fn children_swapped(scene: &Scene<'_>) -> Option<Vec<Edit>> {
    let cells = scene.cells();
    let ((_, first), (_, second)) = (cells.first()?, cells.get(1)?);
    let left = edit(scene, first.offset, second.left_child.to_be_bytes());
    Some(vec![left, edit(scene, second.offset, first.left_child.to_be_bytes())])
}

pub(crate) fn chain_cut(scene: &Scene<'_>) -> Option<Vec<Edit>> {
    (word(scene.bytes, 0) != 0).then(|| vec![edit(scene, 0, [0; 4])])
}

pub(crate) fn chain_crossed(scene: &Scene<'_>) -> Option<Vec<Edit>> {
    (word(scene.bytes, 0) != 0).then(|| vec![edit(scene, 0, scene.page.to_be_bytes())])
}

pub(crate) fn flip_in_overflow(scene: &Scene<'_>) -> Option<Vec<Edit>> {
    let offset = scene.geometry.usable_bytes as usize / 2;
    Some(vec![edit(scene, offset, [scene.bytes.get(offset)? ^ 1])])
}

pub(crate) fn free_list_count(scene: &Scene<'_>) -> Option<Vec<Edit>> {
    let count = word(scene.bytes, 36);
    (count > 0).then(|| vec![edit(scene, 36, (count + 1).to_be_bytes())])
}

pub(crate) fn leaked_page(scene: &Scene<'_>) -> Option<Vec<Edit>> {
    let count = word(scene.bytes, 4);
    // Keeps the sum of the header right: the count there is one less as well.
    let in_header =
        Edit { page: 1, offset: 36, bytes: scene.free_count.checked_sub(1)?.to_be_bytes().to_vec() };
    (count > 0).then(|| vec![edit(scene, 4, (count - 1).to_be_bytes()), in_header])
}

pub(crate) fn free_page_in_use(scene: &Scene<'_>) -> Option<Vec<Edit>> {
    let used: u32 = if scene.geometry.auto_vacuum { 3 } else { 2 };
    (word(scene.bytes, 4) > 0).then(|| vec![edit(scene, 8, used.to_be_bytes())])
}

pub(crate) fn wrong_pointer_map(scene: &Scene<'_>) -> Option<Vec<Edit>> {
    let parent = word(scene.bytes, 1);
    Some(vec![edit(scene, 1, (parent + 1).to_be_bytes())])
}

pub(crate) fn wrong_magic(scene: &Scene<'_>) -> Option<Vec<Edit>> {
    Some(vec![edit(scene, 0, [scene.bytes.first()? ^ 1])])
}

pub(crate) fn zeroed_schema(scene: &Scene<'_>) -> Option<Vec<Edit>> {
    Some(vec![edit(scene, 100, vec![0; scene.bytes.len().checked_sub(100)?])])
}
