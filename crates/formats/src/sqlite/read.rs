//! Numbers out of bytes, big-endian as SQLite writes them; every read is checked.

/// Reads the big-endian 16-bit number at an offset; `None` when it does not lie inside.
#[inline]
#[must_use]
pub fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    let field = bytes.get(offset..offset.checked_add(2)?)?;
    Some(u16::from_be_bytes(field.try_into().ok()?))
}

/// Reads the big-endian 32-bit number at an offset; `None` when it does not lie inside.
#[inline]
#[must_use]
pub fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    let field = bytes.get(offset..offset.checked_add(4)?)?;
    Some(u32::from_be_bytes(field.try_into().ok()?))
}

/// Reads the variable-length number at the start of `bytes`: its value and its size in bytes (1 to 9).
///
/// `None` when the bytes end before the number does.
// EVIDENCE: sqlite fileformat2 1.6, "variable-length integer"
#[inline]
#[must_use]
pub fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let first = *bytes.first()?;
    if first < 0x80 {
        return Some((u64::from(first), 1));
    }
    let second = *bytes.get(1)?;
    if second < 0x80 {
        return Some((u64::from(first & 0x7f) << 7 | u64::from(second), 2));
    }
    let third = *bytes.get(2)?;
    if third < 0x80 {
        return Some((u64::from(first & 0x7f) << 14 | u64::from(second & 0x7f) << 7 | u64::from(third), 3));
    }
    long_varint(bytes)
}

fn long_varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0u64;
    for (index, byte) in bytes.iter().take(8).enumerate() {
        value = value << 7 | u64::from(byte & 0x7f);
        if *byte < 0x80 {
            return Some((value, index + 1));
        }
    }
    // The ninth byte gives all its eight bits.
    let last = *bytes.get(8)?;
    Some((value << 8 | u64::from(last), 9))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_varint_reads_one_to_nine_bytes() {
        assert_eq!(varint(&[0x7f]), Some((127, 1)));
        assert_eq!(varint(&[0x81, 0x00]), Some((128, 2)));
        assert_eq!(varint(&[0x81, 0x80, 0x00]), Some((16384, 3)));
        assert_eq!(varint(&[0xff; 9]), Some((u64::MAX, 9)));
        assert_eq!(varint(&[0xff; 8]), None);
        assert_eq!(varint(&[]), None);
    }

    #[test]
    fn a_number_across_the_end_is_not_read() {
        assert_eq!(u16_at(&[1, 2, 3], 1), Some(0x0203));
        assert_eq!(u16_at(&[1, 2, 3], 2), None);
        assert_eq!(u32_at(&[0, 0, 1, 0], 0), Some(256));
        assert_eq!(u32_at(&[0, 0, 1, 0], usize::MAX), None);
    }
}
