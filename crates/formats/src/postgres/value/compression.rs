//! Unpacks `pglz` and LZ4 blocks, the two ways in which values are compressed.
//!
//! Both write no more than the size they are told, so a value from a damaged page costs at most that much memory.

/// How a value is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The server's own.
    Pglz,
    /// An LZ4 block without frame.
    Lz4,
}

impl Method {
    /// The method of the two bits in a size field.
    // EVIDENCE: src/include/access/toast_compression.h: 0 pglz, 1 lz4 (14 and later)
    #[must_use]
    pub fn of(bits: u32) -> Option<Method> {
        match bits {
            0 => Some(Method::Pglz),
            1 => Some(Method::Lz4),
            _ => None,
        }
    }
}

/// Unpacks into `output`, which is emptied before; `true` if exactly `raw_bytes` came out and nothing was left over.
#[must_use]
pub fn unpack(method: Method, packed: &[u8], raw_bytes: usize, output: &mut Vec<u8>) -> bool {
    output.clear();
    let done = match method {
        Method::Pglz => unpack_pglz(packed, raw_bytes, output),
        Method::Lz4 => unpack_lz4(packed, raw_bytes, output),
    };
    done.is_some() && output.len() == raw_bytes
}

/// Appends `length` bytes that stand `distance` before the end; `None` if they do not exist or do not fit.
fn copy_back(output: &mut Vec<u8>, distance: usize, length: usize, raw_bytes: usize) -> Option<()> {
    if distance == 0 || distance > output.len() || length > raw_bytes - output.len() {
        return None;
    }
    let start = output.len() - distance;
    if distance >= length {
        output.extend_from_within(start..start + length);
    } else {
        // The copy feeds on itself: bounded by `length`, which fits the output.
        for index in start..start + length {
            output.push(*output.get(index)?);
        }
    }
    Some(())
}

/// Source of the method: src/common/pg_lzcompress.c. A control byte, low bit first: 0 a literal byte; 1 a match of
/// two bytes (length - 3 in four bits, distance in twelve) or three (length 18 and more).
fn unpack_pglz(packed: &[u8], raw_bytes: usize, output: &mut Vec<u8>) -> Option<()> {
    // Each turn eats at least one byte of input.
    let mut input = packed.iter().copied();
    while output.len() < raw_bytes {
        let Some(mut control) = input.next() else { break };
        for _ in 0..8 {
            if output.len() >= raw_bytes {
                break;
            }
            let Some(first) = input.next() else { break };
            if control & 1 == 0 {
                output.push(first);
            } else {
                let second = input.next()?;
                let mut length = usize::from(first & 0x0F) + 3;
                let distance = (usize::from(first & 0xF0) << 4) | usize::from(second);
                if length == 18 {
                    length += usize::from(input.next()?);
                }
                // The server's own reader cuts the last match at the recorded size.
                let length = length.min(raw_bytes - output.len());
                copy_back(output, distance, length, raw_bytes)?;
            }
            control >>= 1;
        }
    }
    input.next().is_none().then_some(())
}

/// Source of the method: the LZ4 block format description (lz4_Block_format.md).
fn unpack_lz4(packed: &[u8], raw_bytes: usize, output: &mut Vec<u8>) -> Option<()> {
    // Each turn eats at least the token.
    let mut rest = packed;
    loop {
        let (&token, after) = rest.split_first()?;
        let (literals, after) = lz4_length(usize::from(token >> 4), after)?;
        let (copied, after) = after.split_at_checked(literals)?;
        if copied.len() > raw_bytes - output.len() {
            return None;
        }
        output.extend_from_slice(copied);
        if after.is_empty() {
            // The last sequence is literals only.
            return Some(());
        }
        let (&[low, high], after) = after.split_first_chunk::<2>()?;
        let (length, after) = lz4_length(usize::from(token & 0x0F), after)?;
        copy_back(output, usize::from(u16::from_le_bytes([low, high])), length + 4, raw_bytes)?;
        rest = after;
    }
}

/// Reads the bytes that extend a length of 15; `None` at the end of the input.
fn lz4_length(short: usize, mut input: &[u8]) -> Option<(usize, &[u8])> {
    let mut length = short;
    if short == 15 {
        // Bounded by the input: each turn eats one byte.
        loop {
            let (&more, after) = input.split_first()?;
            input = after;
            length += usize::from(more);
            if more != 255 {
                break;
            }
        }
    }
    Some((length, input))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn unpacked(method: Method, packed: &[u8], raw_bytes: usize) -> Option<Vec<u8>> {
        let mut output = Vec::new();
        unpack(method, packed, raw_bytes, &mut output).then_some(output)
    }

    #[test]
    fn a_pglz_match_that_overlaps_itself_repeats() {
        // Literal 'a', then length 3+4 at distance 1: control 0b10.
        assert_eq!(unpacked(Method::Pglz, &[0b10, b'a', 0x04, 0x01], 8).unwrap(), b"aaaaaaaa");
    }

    #[test]
    fn an_lz4_block_of_literals_and_a_match_unpacks() {
        // Token: 1 literal, match 4+3 at distance 1; then the closing literals.
        assert_eq!(unpacked(Method::Lz4, &[0x13, b'a', 1, 0, 0x10, b'b'], 9).unwrap(), b"aaaaaaaab");
    }

    #[test]
    fn a_distance_beyond_the_start_and_a_wrong_size_are_refused() {
        assert_eq!(unpacked(Method::Pglz, &[0b10, b'a', 0x04, 0x02], 8), None);
        assert_eq!(unpacked(Method::Pglz, &[0b10, b'a', 0x04, 0x00], 8), None);
        assert_eq!(unpacked(Method::Pglz, &[0, b'a'], 2), None);
        assert_eq!(unpacked(Method::Lz4, &[0x13, b'a', 2, 0, 0x10, b'b'], 9), None);
        assert_eq!(unpacked(Method::Lz4, &[0x13, b'a', 1, 0, 0x10, b'b'], 8), None);
        assert_eq!(unpacked(Method::Lz4, &[0xF0, 255, 255], 1000), None);
    }
}
