//! The page checksum, and the CRC-32C that guards control and map files.

use multiversion::multiversion;

/// Lanes that the page is summed in.
// EVIDENCE: src/include/storage/checksum_impl.h N_SUMS
const LANES: usize = 32;
/// Multiplier of FNV-1a, 32 bits.
// EVIDENCE: checksum_impl.h FNV_PRIME
const PRIME: u32 = 16_777_619;
/// Where each lane starts.
// EVIDENCE: checksum_impl.h checksumBaseOffsets; compared with page_checksum() of pageinspect, 14 to 18
const LANE_START: [u32; LANES] = [
    0x5B1F_36E9,
    0xB852_5960,
    0x02AB_50AA,
    0x1DE6_6D2A,
    0x79FF_467A,
    0x9BB9_F8A3,
    0x217E_7CD2,
    0x83E1_3D2C,
    0xF8D4_474F,
    0xE39E_B970,
    0x42C6_AE16,
    0x9932_16FA,
    0x7B09_3B5D,
    0x98DA_FF3C,
    0xF718_902A,
    0x0B1C_9CDB,
    0xE58F_764B,
    0x1876_36BC,
    0x5D7B_3BB1,
    0xE73D_E7DE,
    0x92BE_C979,
    0xCCA6_C0B2,
    0x304A_0979,
    0x85AA_43D4,
    0x7831_25BB,
    0x6CA8_EAA2,
    0xE407_EAC6,
    0x4B5C_FC3E,
    0x9FBF_8C76,
    0x15CA_20BE,
    0xF2CA_9FD3,
    0x959B_D756,
];
/// The word of the page that holds the checksum in its low half.
// EVIDENCE: bufpage.h pd_checksum at byte 8
const CHECKSUM_LANE: usize = 2;

/// Computes the checksum that a page of this block number should carry.
///
/// `page` is one page, a multiple of 128 bytes (a rest is left out, no page has one); `block` counts from the
/// start of the relation fork, not of the segment file. Never 0. One pass, no copy.
/// Source of the method: src/include/storage/checksum_impl.h.
#[multiversion(targets("x86_64+avx2"))]
#[must_use]
pub fn page_checksum(page: &[u8], block: u32) -> u16 {
    let mut lanes = LANE_START;
    let mut rows = page.chunks_exact(LANES * 4);
    if let Some(first) = rows.next() {
        let mut words = words_of(first);
        words[CHECKSUM_LANE] &= 0xFFFF_0000;
        mix(&mut lanes, &words);
    }
    for row in rows {
        mix(&mut lanes, &words_of(row));
    }
    // Two more rounds over zeros, so that the last words are mixed as well as the first.
    mix(&mut lanes, &[0; LANES]);
    mix(&mut lanes, &[0; LANES]);
    let folded = lanes.iter().fold(0, |sum, lane| sum ^ lane) ^ block;
    // 0 means "no checksum", so the range is 1 to 65535.
    (folded % 65_535 + 1) as u16
}

#[inline(always)]
fn words_of(row: &[u8]) -> [u32; LANES] {
    let mut words = [0u32; LANES];
    for (word, raw) in words.iter_mut().zip(row.chunks_exact(4)) {
        *word = raw.first_chunk::<4>().map_or(0, |raw| u32::from_le_bytes(*raw));
    }
    words
}

#[inline(always)]
fn mix(lanes: &mut [u32; LANES], words: &[u32; LANES]) {
    for (lane, word) in lanes.iter_mut().zip(words) {
        let mixed = *lane ^ *word;
        *lane = mixed.wrapping_mul(PRIME) ^ (mixed >> 17);
    }
}

/// The reflected polynomial of CRC-32C (Castagnoli).
// EVIDENCE: RFC 3720 appendix B.4; src/port/pg_crc32c_sb8.c
const CRC32C_POLYNOMIAL: u32 = 0x82F6_3B78;

const CRC32C_TABLE: [u32; 256] = {
    let mut table = [0u32; 256];
    let mut index = 0;
    while index < 256 {
        let mut crc = index as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ CRC32C_POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        table[index] = crc;
        index += 1;
    }
    table
};

/// Computes CRC-32C, for files of a few hundred bytes.
#[must_use]
pub fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc = CRC32C_TABLE[((crc ^ u32::from(*byte)) & 0xFF) as usize] ^ (crc >> 8);
    }
    !crc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc32c_has_the_published_check_value() {
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
    }

    #[test]
    fn the_stored_checksum_does_not_enter_the_sum() {
        let mut page = vec![7u8; 8192];
        let before = page_checksum(&page, 5);
        page[8] = 0xAA;
        page[9] = 0x55;
        assert_eq!(page_checksum(&page, 5), before);
        assert_ne!(page_checksum(&page, 6), before);
    }

    #[test]
    fn every_other_single_bit_changes_the_checksum() {
        let page = vec![0x5Au8; 8192];
        let before = page_checksum(&page, 1);
        for offset in
            (0..8192).filter(|offset| !(8..10).contains(offset)).step_by(if cfg!(miri) { 4001 } else { 37 })
        {
            let mut flipped = page.clone();
            flipped[offset] ^= 1;
            assert_ne!(page_checksum(&flipped, 1), before, "byte {offset}");
        }
    }
}
