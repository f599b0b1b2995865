//! The audit of a page's inside: slots, bounds and overlaps of records, and what the header counts.

use super::bytes::u8_at;
use super::page::{HEADER_BYTES, Header, PAGE_BYTES, slot_offset};
use super::{Damage, Fault, Record};

/// Table whose records stand further apart than they are long.
// OBSERVED: page 32 of every file at hand (sysfiles1), 3 bytes of slack behind each record
const SLACK_OBJECT: u32 = 8;

/// Bytes of records that are read on one page. Sound records use each byte once; where a hostile page leads all of its slots
/// to one long record, the time would grow with the square of the page.
const READ_BYTES_MAX: usize = 4 * PAGE_BYTES;

/// Looks at all records of a data, index or text page: each is shown with its slot, each damage reported.
///
/// Compressed pages are looked at as far as their slots. Cost: one look at each record's offsets; where slots do not
/// stand in the order of their records, 1 KiB of bits, and those before the first such slot a second time. Ends early on a
/// damaged page whose records claim more than four times its bytes.
pub fn audit_records<'a>(
    page: &'a [u8],
    header: &Header,
    mut show: impl FnMut(usize, &Record<'a>),
    mut report: impl FnMut(Damage),
) {
    let mut used: Option<[u64; PAGE_BYTES / 64]> = None;
    let (mut end_max, mut read_bytes) = (0, 0);
    let (mut used_bytes, mut ghost_count, mut is_sound) = (0, 0, true);
    let free_data = usize::from(header.free_data);
    let slot_count = usize::from(header.slot_count).min((PAGE_BYTES - HEADER_BYTES) / 2);
    for slot in 0..slot_count {
        if read_bytes > READ_BYTES_MAX {
            return;
        }
        let Some(offset) = slot_offset(page, slot).map(usize::from) else { return };
        // OBSERVED: slots of deleted records keep their place with offset 0 (heaps and text pages)
        if offset == 0 {
            continue;
        }
        if !(HEADER_BYTES..free_data.max(HEADER_BYTES)).contains(&offset) {
            is_sound = false;
            let place = PAGE_BYTES - 2 * (slot + 1);
            let expected = HEADER_BYTES as u64..=free_data.saturating_sub(1).max(HEADER_BYTES) as u64;
            report(Damage::new(Fault::SlotOffset, place, expected, offset as u64).at_slot(slot));
            continue;
        }
        if header.is_compressed() {
            continue;
        }
        let record = match Record::take(page, header, offset) {
            Ok(record) => record,
            Err(broken) => {
                is_sound = false;
                read_bytes += broken.read_bytes();
                report(broken.damage(slot, offset));
                continue;
            }
        };
        if !record.kind.suits(header.kind) {
            is_sound = false;
            let code = u64::from(u8_at(record.bytes, 0).unwrap_or(0) >> 1 & 7);
            report(Damage::new(Fault::RecordKind, offset, 0..=0, code).at_slot(slot));
            continue;
        }
        let end = offset + record.bytes.len();
        read_bytes += record.bytes.len();
        if end > free_data {
            is_sound = false;
            report(Damage::new(Fault::RecordEnd, offset, 0..=free_data as u64, end as u64).at_slot(slot));
        }
        // Records in the order of their slots share nothing as long as each begins behind all before.
        let is_free = match &mut used {
            None if offset >= end_max => true,
            used => claim(used.get_or_insert_with(|| used_before(page, header, slot)), offset, end),
        };
        end_max = end_max.max(end);
        if !is_free {
            is_sound = false;
            report(Damage::new(Fault::RecordOverlap, offset, 0..=0, end as u64).at_slot(slot));
        }
        used_bytes += record.bytes.len();
        ghost_count += u64::from(record.kind.is_ghost());
        show(slot, &record);
    }
    if !is_sound || header.is_compressed() {
        return;
    }
    let slack = if header.object_id == SLACK_OBJECT && header.index_id == 0 { 3 * slot_count } else { 0 };
    let free = (PAGE_BYTES - HEADER_BYTES).saturating_sub(2 * slot_count + used_bytes);
    let expected = free.saturating_sub(slack) as u64..=free as u64;
    if !expected.contains(&u64::from(header.free_count)) {
        report(Damage::new(Fault::FreeCount, 28, expected, header.free_count.into()));
    }
    if ghost_count != u64::from(header.ghost_count) {
        report(Damage::new(Fault::GhostCount, 58, ghost_count..=ghost_count, header.ghost_count.into()));
    }
}

/// The bytes that the records of the slots before one use.
#[cold]
fn used_before(page: &[u8], header: &Header, end: usize) -> [u64; PAGE_BYTES / 64] {
    let mut used = [0u64; PAGE_BYTES / 64];
    for slot in 0..end {
        let Some(offset) = slot_offset(page, slot).map(usize::from).filter(|offset| *offset >= HEADER_BYTES)
        else {
            continue;
        };
        if let Ok(record) = Record::new(page, header, slot, offset)
            && record.kind.suits(header.kind)
            && offset < usize::from(header.free_data)
        {
            claim(&mut used, offset, offset + record.bytes.len());
        }
    }
    used
}

/// Takes bytes into use; false when one was in use already.
#[inline]
fn claim(used: &mut [u64; PAGE_BYTES / 64], start: usize, end: usize) -> bool {
    let mut is_free = true;
    let mut at = start;
    while at < end {
        let until = (at / 64 + 1) * 64;
        let count = until.min(end) - at;
        let mask = if count == 64 { u64::MAX } else { ((1u64 << count) - 1) << (at % 64) };
        let Some(word) = used.get_mut(at / 64) else { return false };
        is_free &= *word & mask == 0;
        *word |= mask;
        at += count;
    }
    is_free
}
