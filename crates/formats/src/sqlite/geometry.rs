//! Where things lie in a database file: pure arithmetic over its page size and options.

/// Page size, usable size and vacuum mode of one file, and what follows from them.
///
/// Range: `page_size_bytes` a power of two from 512 to 65536; `usable_bytes` from 480 to the page size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Bytes per page.
    pub page_size_bytes: u32,
    /// Bytes per page without those reserved at its end.
    pub usable_bytes: u32,
    /// Whether the file has pointer map pages.
    pub auto_vacuum: bool,
}

/// Byte at which locks are taken; the page that holds it is never used.
// EVIDENCE: sqlite fileformat2 1.4, "The Lock-Byte Page"
const LOCK_BYTE_OFFSET: u64 = 1 << 30;
/// Bytes of one entry of a pointer map.
// EVIDENCE: sqlite fileformat2 1.8
const POINTER_MAP_ENTRY_BYTES: u32 = 5;
/// First page that can be a pointer map.
const POINTER_MAP_FIRST: u32 = 2;

impl Geometry {
    /// The page that holds the lock byte. The file may be too short to have it.
    #[must_use]
    pub fn lock_page(&self) -> u32 {
        let page = LOCK_BYTE_OFFSET / u64::from(self.page_size_bytes.max(512)) + 1;
        u32::try_from(page).unwrap_or(u32::MAX)
    }

    /// The pointer map page with the entry of `page`; `None` without auto-vacuum and for page 1.
    ///
    /// A page that answers itself is a pointer map page.
    // EVIDENCE: sqlite fileformat2 1.8; the page behind the lock-byte page takes its place when the two would coincide.
    #[must_use]
    pub fn pointer_map_page(&self, page: u32) -> Option<u32> {
        if !self.auto_vacuum || page < POINTER_MAP_FIRST {
            return None;
        }
        let group = u64::from(self.usable_bytes / POINTER_MAP_ENTRY_BYTES) + 1;
        let map = u64::from(page - POINTER_MAP_FIRST) / group * group + u64::from(POINTER_MAP_FIRST);
        let map = u32::try_from(map).ok()?;
        Some(if map == self.lock_page() { map.saturating_add(1) } else { map })
    }

    /// Whether the page is a pointer map page.
    #[must_use]
    pub fn is_pointer_map(&self, page: u32) -> bool {
        self.pointer_map_page(page) == Some(page)
    }

    /// Offset of the entry of `page` in its pointer map page; `None` where `page` has no entry.
    #[must_use]
    pub fn pointer_map_offset(&self, page: u32) -> Option<usize> {
        let map = self.pointer_map_page(page)?;
        let index = page.checked_sub(map)?.checked_sub(1)?;
        usize::try_from(u64::from(index) * u64::from(POINTER_MAP_ENTRY_BYTES)).ok()
    }

    /// Bytes of a payload of `payload_bytes` that stay in its cell; the rest is in overflow pages.
    // EVIDENCE: sqlite fileformat2 1.6, the computation of U, P, X, M, K
    #[inline]
    #[must_use]
    pub fn local_payload_bytes(&self, payload_bytes: u64, is_table: bool) -> u64 {
        let usable = u64::from(self.usable_bytes);
        let most = if is_table {
            usable.saturating_sub(35)
        } else {
            (usable.saturating_sub(12) * 64 / 255).saturating_sub(23)
        };
        if payload_bytes <= most {
            return payload_bytes;
        }
        let least = (usable.saturating_sub(12) * 32 / 255).saturating_sub(23);
        let surplus = least + payload_bytes.saturating_sub(least) % usable.saturating_sub(4).max(1);
        if surplus <= most { surplus } else { least }
    }

    /// Payload bytes that one overflow page holds.
    #[must_use]
    pub fn overflow_bytes(&self) -> u32 {
        self.usable_bytes.saturating_sub(4).max(1)
    }

    /// Overflow pages that a payload needs when `local_bytes` of it are in the cell.
    #[inline]
    #[must_use]
    pub fn overflow_page_count(&self, payload_bytes: u64, local_bytes: u64) -> u64 {
        payload_bytes.saturating_sub(local_bytes).div_ceil(u64::from(self.overflow_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Geometry = Geometry { page_size_bytes: 4096, usable_bytes: 4096, auto_vacuum: true };

    #[test]
    fn the_lock_page_holds_byte_2_to_the_30() {
        assert_eq!(PLAIN.lock_page(), 262_145);
        assert_eq!(Geometry { page_size_bytes: 65536, ..PLAIN }.lock_page(), 16385);
    }

    #[test]
    fn pointer_maps_repeat_behind_their_entries() {
        assert!(PLAIN.is_pointer_map(2));
        assert_eq!(PLAIN.pointer_map_page(3), Some(2));
        assert_eq!(PLAIN.pointer_map_offset(3), Some(0));
        assert_eq!(PLAIN.pointer_map_page(821), Some(2));
        assert_eq!(PLAIN.pointer_map_offset(821), Some(818 * 5));
        assert!(PLAIN.is_pointer_map(822));
        assert_eq!(PLAIN.pointer_map_page(1), None);
    }

    #[test]
    fn the_local_part_of_a_payload_follows_the_published_sums() {
        assert_eq!(PLAIN.local_payload_bytes(4061, true), 4061);
        let local = PLAIN.local_payload_bytes(4062, true);
        assert!(local < 4061, "{local}");
        assert_eq!(PLAIN.overflow_page_count(4062, local), 1);
        assert_eq!(PLAIN.local_payload_bytes(1002, false), 1002);
        assert!(PLAIN.local_payload_bytes(1003, false) <= 1002);
    }
}
