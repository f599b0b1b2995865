//! The checksum that the extension cksumvfs keeps in the reserved bytes of each page.

use super::read::u32_at;

/// Reserved bytes of a file with checksums.
// EVIDENCE: sqlite cksumvfs 4: "the reserve-bytes value ... 8"
pub const CHECKSUM_SIZE_BYTES: usize = 8;

/// Whether the last 8 bytes of a page are the sum of the others.
///
/// A page of zeros has a right sum. Cost: one pass over the page.
// EVIDENCE: sqlite cksumvfs 4: an 8-byte checksum at the end of every page
// OBSERVED: cksumvfs of SQLite 3.54.1: the sum of the write-ahead log with words low byte first, begun with zeros
#[must_use]
pub fn has_right_checksum(page: &[u8]) -> bool {
    checksums(page).is_some_and(|(stored, computed)| stored == computed)
}

/// The checksum in the last 8 bytes of a page, and that of the other bytes, as the two numbers that they are; `None` for
/// fewer bytes.
#[must_use]
pub fn checksums(page: &[u8]) -> Option<((u32, u32), (u32, u32))> {
    let (body, sum) = page.split_last_chunk::<CHECKSUM_SIZE_BYTES>()?;
    let half = |offset: usize| u32_at(sum, offset).unwrap_or(0).swap_bytes();
    Some(((half(0), half(4)), page_sum(body)))
}

fn page_sum(bytes: &[u8]) -> (u32, u32) {
    let (mut first, mut second) = (0u32, 0u32);
    let (pairs, _) = bytes.as_chunks::<8>();
    for [a, b, c, d, e, f, g, h] in pairs {
        first = first.wrapping_add(u32::from_le_bytes([*a, *b, *c, *d])).wrapping_add(second);
        second = second.wrapping_add(u32::from_le_bytes([*e, *f, *g, *h])).wrapping_add(first);
    }
    (first, second)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn zeros_are_right_and_every_changed_bit_is_seen() {
        let mut page = vec![0u8; 512];
        assert!(has_right_checksum(&page));
        for (index, byte) in page.iter_mut().enumerate() {
            *byte = (index * 7) as u8;
        }
        let (first, second) = page_sum(&page[..504]);
        page[504..508].copy_from_slice(&first.to_le_bytes());
        page[508..].copy_from_slice(&second.to_le_bytes());
        assert!(has_right_checksum(&page));
        for bit in (0..512 * 8).step_by(if cfg!(miri) { 511 } else { 1 }) {
            page[bit / 8] ^= 1 << (bit % 8);
            assert!(!has_right_checksum(&page), "bit {bit}");
            page[bit / 8] ^= 1 << (bit % 8);
        }
        assert!(!has_right_checksum(&[]));
    }
}
