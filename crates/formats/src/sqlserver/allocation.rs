//! Pages that say which pages are in use, and by whom.

use super::bytes::{u8_at, u16_at, u32_at};
use super::page::{PAGE_BYTES, PageId, PageKind, slot_offset};
use super::place::{MAP_PAGES, PFS_PAGES};
use super::{Damage, Fault, Header};

/// Where the bytes of a PFS page begin.
// OBSERVED: offset 100 in all files, behind a record header of four bytes
const PFS_BYTES_OFFSET: usize = 100;
/// Bytes of the bits in a page of an extent map: one bit for each of 63,904 extents.
// OBSERVED: the second record of GAM, SGAM, IAM and both change maps, 4 + 7,988 bytes
const BITMAP_BYTES: usize = (MAP_PAGES / 8 / 8) as usize;
/// Single pages that an IAM page can name.
// EVIDENCE: sqlskills.com, "Inside the Storage Engine: IAM pages, IAM chains, and allocation units"
pub const SINGLE_PAGES: usize = 8;

/// The byte of a page in a PFS page.
// EVIDENCE: sqlskills.com, "Inside the Storage Engine: GAM, SGAM, PFS and other allocation maps"
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PfsByte(pub u8);

impl PfsByte {
    /// Whether the page is in use.
    #[must_use]
    pub fn is_allocated(self) -> bool {
        self.0 & 0x40 != 0
    }

    /// Whether the page belongs to a mixed extent. Stale for a page that is not allocated.
    #[must_use]
    pub fn is_mixed(self) -> bool {
        self.0 & 0x20 != 0
    }

    /// Whether the page is an IAM page.
    #[must_use]
    pub fn is_iam(self) -> bool {
        self.0 & 0x10 != 0
    }

    /// Whether the page may have ghost records.
    #[must_use]
    pub fn has_ghosts(self) -> bool {
        self.0 & 0x08 != 0
    }

    /// How full the page is: 0 empty, then up to 50, 80, 95, 100 percent. Kept for heaps and text pages only.
    #[must_use]
    pub fn fullness(self) -> u8 {
        self.0 & 0x07
    }

    /// Whether [`Self::fullness`] may stand for a page with so many bytes in records and slots.
    ///
    /// Half a percent on either side of a limit both steps may stand, and an empty page may be called one with little.
    // OBSERVED: 124 pages of heaps and large values in five files: 1.6 to 45.5 percent are 1, 56.6 to 77.1 are 2,
    // 80.4 to 91.9 are 3, 95.1 to 100 are 4
    #[must_use]
    pub fn suits(self, used_bytes: usize) -> bool {
        const ROOM: usize = PAGE_BYTES - super::page::HEADER_BYTES;
        let slack = ROOM / 200;
        let step = |used: usize| match used * 100 {
            used if used <= 50 * ROOM => 1,
            used if used <= 80 * ROOM => 2,
            used if used <= 95 * ROOM => 3,
            _ => 4,
        };
        (step(used_bytes.saturating_sub(slack))..=step(used_bytes + slack)).contains(&self.fullness().max(1))
    }
}

/// The byte that a PFS page has for a page.
#[inline]
#[must_use]
pub fn pfs_byte(pfs: &[u8], page: u32) -> Option<PfsByte> {
    u8_at(pfs, PFS_BYTES_OFFSET + (page % PFS_PAGES) as usize).map(PfsByte)
}

/// The bits of an extent map: GAM, SGAM, IAM or a change map.
#[derive(Debug, Clone, Copy)]
pub struct ExtentMap<'a> {
    bits: &'a [u8],
}

impl<'a> ExtentMap<'a> {
    /// Finds the bits through the slot array: files that were upgraded have them at another offset than new ones.
    ///
    /// # Errors
    /// When the page is of another kind, or its second record is not that of a map.
    pub fn new(page: &'a [u8], kind: PageKind) -> Result<Self, Damage> {
        let header = Header::new(page);
        if header.kind != kind {
            return Err(Damage::new(Fault::PageKind, 1, 0..=0, u8_at(page, 1).unwrap_or(0).into()));
        }
        let offset = usize::from(slot_offset(page, 1).unwrap_or(0));
        let length = usize::from(u16_at(page, offset + 2).unwrap_or(0));
        // OBSERVED: offset 190 or 192, length 7,992
        match page.get(offset + 4..offset + 4 + BITMAP_BYTES) {
            Some(bits) if length == BITMAP_BYTES + 4 && offset > 96 && header.slot_count == 2 => {
                Ok(Self { bits })
            }
            _ => {
                let right = BITMAP_BYTES as u64 + 4;
                Err(Damage::new(Fault::MapRecord, offset + 2, right..=right, length as u64))
            }
        }
    }

    /// The bit of an extent, counted from the first one of the map.
    #[inline]
    #[must_use]
    pub fn is_set(&self, extent: u32) -> bool {
        u8_at(self.bits, (extent / 8) as usize).is_some_and(|byte| byte >> (extent % 8) & 1 == 1)
    }

    /// The extents whose bit is set, counted from the first one of the map.
    pub fn extents(&self) -> impl Iterator<Item = u32> + 'a {
        self.bits.iter().enumerate().filter(|(_, byte)| **byte != 0).flat_map(|(index, byte)| {
            let byte = *byte;
            (0..8).filter(move |bit| byte >> bit & 1 == 1).map(move |bit| index as u32 * 8 + bit)
        })
    }
}

/// An IAM page: what an allocation unit owns of one interval of one file.
#[derive(Debug, Clone, Copy)]
pub struct Iam<'a> {
    /// Its place in the chain, from 0.
    pub sequence: u32,
    /// The first page of the interval.
    pub start: PageId,
    /// The extents that belong to the unit as a whole.
    pub extents: ExtentMap<'a>,
    header_record: &'a [u8],
}

impl<'a> Iam<'a> {
    /// Reads an IAM page.
    ///
    /// # Errors
    /// When the page is no IAM page, or lacks one of its two records.
    // OBSERVED: sequence at 4, start of the interval at 40, single pages at 46 of the first record
    pub fn new(page: &'a [u8]) -> Result<Self, Damage> {
        let extents = ExtentMap::new(page, PageKind::Iam)?;
        let offset = usize::from(slot_offset(page, 0).unwrap_or(0));
        let length = usize::from(u16_at(page, offset + 2).unwrap_or(0));
        let refuse = || Damage::new(Fault::MapRecord, offset + 2, 94..=94, length as u64);
        let record =
            page.get(offset..offset + 94).filter(|_| length == 94 && offset >= 96).ok_or_else(refuse)?;
        let start = PageId::at(record, 40).unwrap_or_default();
        Ok(Self { sequence: u32_at(record, 4).unwrap_or(0), start, extents, header_record: record })
    }

    /// The single pages of mixed extents that belong to the unit, with their position.
    pub fn single_pages(&self) -> impl Iterator<Item = (usize, PageId)> + 'a {
        let record = self.header_record;
        (0..SINGLE_PAGES)
            .filter_map(move |index| PageId::at(record, 46 + 6 * index).map(|page| (index, page)))
            .filter(|(_, page)| !page.is_none())
    }
}

/// Whether a page is long enough to be one.
#[must_use]
pub fn is_whole(page: &[u8]) -> bool {
    page.len() == PAGE_BYTES
}
