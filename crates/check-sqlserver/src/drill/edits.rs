//! What each class of damage changes in a page.

use formats::sqlserver::{
    EXTENT_PAGES, FLAG_CHECKSUM, FLAG_TORN, Header, PAGE_BYTES, PageId, Record, place, restore, u16_at,
};

use crate::drill::scene::Scene;

/// Where the bytes of a PFS page begin.
const PFS_BYTES: usize = 100;
const SECTOR_BYTES: usize = 512;

fn name(page: PageId) -> [u8; 6] {
    let mut bytes = [0; 6];
    bytes[..4].copy_from_slice(&page.page.to_le_bytes());
    bytes[4..].copy_from_slice(&page.file.to_le_bytes());
    bytes
}

pub(super) fn bit_flip(scene: &mut Scene<'_>) -> Option<()> {
    if scene.header.flags & FLAG_CHECKSUM == 0 {
        return None;
    }
    let offset = scene.slot(scene.some_slot())? + 5;
    let byte = *scene.page.get(offset)?;
    scene.put(offset, &[byte ^ 4])
}

pub(super) fn torn(scene: &mut Scene<'_>) -> Option<()> {
    if scene.header.flags & FLAG_TORN != 0 {
        // The sectors of the second half carry the signature of another write.
        for sector in 8..16 {
            let offset = SECTOR_BYTES * sector + SECTOR_BYTES - 1;
            let byte = *scene.page.get(offset)?;
            scene.put(offset, &[byte ^ 3])?;
        }
        return Some(());
    }
    if scene.header.flags & FLAG_CHECKSUM == 0 {
        return None;
    }
    let half = scene.other.get(PAGE_BYTES / 2..)?.to_vec();
    scene.put(PAGE_BYTES / 2, &half)
}

pub(super) fn zero(scene: &mut Scene<'_>) -> Option<()> {
    scene.put(0, &[0; PAGE_BYTES])
}

pub(super) fn misplaced(scene: &mut Scene<'_>) -> Option<()> {
    let mut other = scene.other.clone();
    restore(&mut other);
    scene.put(0, &other).filter(|()| other.len() == PAGE_BYTES)
}

pub(super) fn foreign(scene: &mut Scene<'_>) -> Option<()> {
    let mut other = scene.foreign.clone();
    restore(&mut other);
    scene.put(0, &other).filter(|()| other.len() == PAGE_BYTES)?;
    scene.put(32, &name(scene.id))
}

/// Takes the last slot away, as if its record had never been written.
pub(super) fn lost_record(scene: &mut Scene<'_>) -> Option<()> {
    let Header { slot_count, free_count, .. } = scene.header;
    let slot = usize::from(slot_count).checked_sub(1)?;
    let record = Record::new(&scene.page, &scene.header, slot, scene.slot(slot)?).ok()?;
    if record.has_complex() || record.kind.is_ghost() {
        return None;
    }
    let length = record.bytes.len() as u16;
    scene.put(22, &(slot_count - 1).to_le_bytes())?;
    scene.put(28, &(free_count + length + 2).to_le_bytes())
}

pub(super) fn key_order(scene: &mut Scene<'_>) -> Option<()> {
    let keys = scene.unit.filter(|unit| unit.is_tree).map(|unit| &unit.keys)?;
    if keys.is_empty() || !keys.iter().all(|key| key.type_info.has_order() && key.column_id > 0) {
        return None;
    }
    let slot = scene.some_slot();
    let (one, two) = (scene.slot(slot)?, scene.slot(slot + 1)?);
    scene.set_slot(slot, two)?;
    scene.set_slot(slot + 1, one)
}

pub(super) fn sibling(scene: &mut Scene<'_>) -> Option<()> {
    if scene.header.next.is_none() {
        return None;
    }
    scene.put(16, &name(scene.id))
}

pub(super) fn child(scene: &mut Scene<'_>) -> Option<()> {
    let offset = child_offset(scene, scene.some_slot())?;
    scene.put(offset, &name(PageId { file: 1, page: 9 }))
}

pub(super) fn two_parents(scene: &mut Scene<'_>) -> Option<()> {
    let slot = scene.some_slot();
    let (from, to) = (child_offset(scene, slot)?, child_offset(scene, slot + 1)?);
    let child = scene.page.get(from..from + 6)?.to_vec();
    scene.put(to, &child)
}

fn child_offset(scene: &Scene<'_>, slot: usize) -> Option<usize> {
    Some(scene.slot(slot)? + usize::from(scene.header.fixed_bytes).checked_sub(6)?)
}

pub(super) fn slot_outside(scene: &mut Scene<'_>) -> Option<()> {
    scene.set_slot(scene.some_slot(), 9000)
}

pub(super) fn doubled_slot(scene: &mut Scene<'_>) -> Option<()> {
    let slot = scene.some_slot();
    let offset = scene.slot(slot + 1)?;
    scene.set_slot(slot, offset)
}

pub(super) fn record_kind(scene: &mut Scene<'_>) -> Option<()> {
    let offset = scene.slot(scene.some_slot())?;
    let status = *scene.page.get(offset)?;
    scene.put(offset, &[status & !0x0e | 0x06])
}

pub(super) fn free_count(scene: &mut Scene<'_>) -> Option<()> {
    scene.put(28, &(scene.header.free_count ^ 8).to_le_bytes())
}

pub(super) fn ghost_count(scene: &mut Scene<'_>) -> Option<()> {
    scene.put(58, &(scene.header.ghost_count ^ 3).to_le_bytes())
}

pub(super) fn large_value(scene: &mut Scene<'_>) -> Option<()> {
    let offset = (0..usize::from(scene.header.slot_count)).find_map(|slot| scene.slot(slot))? + 4;
    let byte = *scene.page.get(offset)?;
    scene.put(offset, &[byte ^ 0x80])
}

/// Offset of the byte of a page in this PFS page.
fn pfs_offset(scene: &Scene<'_>, page: u32) -> Option<usize> {
    (place::pfs_of(page) == scene.id.page).then_some(PFS_BYTES + (page % place::PFS_PAGES) as usize)
}

pub(super) fn pfs_free(scene: &mut Scene<'_>) -> Option<()> {
    let offset = pfs_offset(scene, scene.single?)?;
    let byte = *scene.page.get(offset)?;
    scene.put(offset, &[byte & !0x40])
}

pub(super) fn pfs_used(scene: &mut Scene<'_>) -> Option<()> {
    let offset = pfs_offset(scene, scene.free?)?;
    scene.put(offset, &[0x60])
}

pub(super) fn gam_free(scene: &mut Scene<'_>) -> Option<()> {
    scene.turn_extent(scene.single.filter(|page| place::map_of(*page, 2) == scene.id.page)? / EXTENT_PAGES)
}

pub(super) fn gam_leak(scene: &mut Scene<'_>) -> Option<()> {
    scene.turn_extent(scene.free.filter(|page| place::map_of(*page, 2) == scene.id.page)? / EXTENT_PAGES)
}

pub(super) fn iam_link(scene: &mut Scene<'_>) -> Option<()> {
    scene.put(8, &name(scene.id))
}

pub(super) fn iam_range(scene: &mut Scene<'_>) -> Option<()> {
    let extent = scene.page_count.div_ceil(EXTENT_PAGES) + 1;
    let is_whole = scene.slot(1).and_then(|offset| u16_at(&scene.page, offset + 2)) == Some(7992);
    // In files beyond one interval the page may be about another one.
    (is_whole && scene.page_count < place::MAP_PAGES - 16).then(|| scene.turn_extent(extent))?
}
