//! A page that may be damaged.

use formats::sqlserver::{HEADER_BYTES, Header, PAGE_BYTES, PageId, slot_offset};

use crate::plan::Unit;

/// A page that may be damaged, with what is known about it.
pub(super) struct Scene<'a> {
    /// The page, with the bits that torn page signatures displaced put back.
    pub(super) page: Vec<u8>,
    pub(super) id: PageId,
    pub(super) header: Header,
    pub(super) unit: Option<&'a Unit>,
    /// Another page of the same target, of the same and of another allocation unit.
    pub(super) other: Vec<u8>,
    pub(super) foreign: Vec<u8>,
    /// A page with rows in a mixed extent, which an allocation page names by itself.
    pub(super) single: Option<u32>,
    /// A page in an extent that the GAM calls free.
    pub(super) free: Option<u32>,
    pub(super) page_count: u32,
    pub(super) seed: u64,
}

impl Scene<'_> {
    /// Writes bytes; `None` when they do not fit or change nothing.
    pub(super) fn put(&mut self, offset: usize, bytes: &[u8]) -> Option<()> {
        let into = self.page.get_mut(offset..offset.checked_add(bytes.len())?)?;
        if into == bytes {
            return None;
        }
        into.copy_from_slice(bytes);
        Some(())
    }

    pub(super) fn slot(&self, slot: usize) -> Option<usize> {
        slot_offset(&self.page, slot).map(usize::from).filter(|offset| *offset >= HEADER_BYTES)
    }

    pub(super) fn set_slot(&mut self, slot: usize, offset: usize) -> Option<()> {
        self.put(PAGE_BYTES - 2 * (slot + 1), &(offset as u16).to_le_bytes())
    }

    /// A slot that the seed gives, neither the first nor the last.
    pub(super) fn some_slot(&self) -> usize {
        let count = usize::from(self.header.slot_count);
        1 + self.seed as usize % count.saturating_sub(2).max(1)
    }

    /// Turns the bit of an extent in the second record of a map.
    pub(super) fn turn_extent(&mut self, extent: u32) -> Option<()> {
        let offset = self.slot(1)? + 4 + extent as usize / 8;
        let byte = *self.page.get(offset)?;
        self.put(offset, &[byte ^ 1 << (extent % 8)])
    }
}
