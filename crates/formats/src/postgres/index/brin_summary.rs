//! What operator classes of BRIN keep of a column's values in a range: several ranges, or a Bloom filter.

use crate::postgres::bytes::{u8_at, u32_at};
use crate::postgres::value::attribute::Length;
use crate::postgres::value::hash_value::hash_u32_extended;
use crate::postgres::value::varlena::{self, Varlena};

/// Several ranges and single values: the minmax-multi operator classes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MultiRanges<'a> {
    /// Lowest and highest value of each range.
    pub ranges: Vec<[&'a [u8]; 2]>,
    /// Values that stand by themselves.
    pub values: Vec<&'a [u8]>,
}

/// Bytes before the values.
// EVIDENCE: src/backend/access/brin/brin_minmax_multi.c SerializedRanges, after the varlena header: typid u32 @0,
// nranges i32 @4, nvalues i32 @8, maxvalues i32 @12; the data follow
const MULTI_HEADER_BYTES: usize = 16;

impl<'a> MultiRanges<'a> {
    /// Reads the plain bytes of a summary, given how long values are; `None` if they do not fit.
    // EVIDENCE: brin_minmax_multi.c brin_range_serialize: both bounds of each range, then the values, without alignment;
    // values of variable length with their headers
    #[must_use]
    pub fn read(bytes: &'a [u8], length: Length) -> Option<MultiRanges<'a>> {
        let (range_count, value_count) = (u32_at(bytes, 4)? as usize, u32_at(bytes, 8)? as usize);
        let mut rest = bytes.get(MULTI_HEADER_BYTES..)?;
        // Each value takes a byte or more, so that more cannot be there.
        if range_count > rest.len() || value_count > rest.len() {
            return None;
        }
        let mut all = MultiRanges::default();
        for _ in 0..range_count {
            all.ranges.push([take(&mut rest, length)?, take(&mut rest, length)?]);
        }
        for _ in 0..value_count {
            all.values.push(take(&mut rest, length)?);
        }
        rest.is_empty().then_some(all)
    }
}

/// Takes a value from the front.
fn take<'a>(rest: &mut &'a [u8], length: Length) -> Option<&'a [u8]> {
    let (value, taken) = match length {
        // A type without bytes does not exist; each turn must get on.
        Length::Fixed(bytes) if bytes > 0 => (rest.get(..usize::from(bytes))?, usize::from(bytes)),
        Length::Fixed(_) => return None,
        Length::Variable => match varlena::read(rest)? {
            (Varlena::Plain(value), taken) => (value, taken),
            _ => return None,
        },
        Length::ZeroTerminated => {
            let end = rest.iter().position(|byte| *byte == 0)?;
            (rest.get(..end)?, end + 1)
        }
    };
    *rest = rest.get(taken..)?;
    Some(value)
}

/// A Bloom filter of hash values: the bloom operator classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BloomFilter<'a> {
    hash_count: u8,
    bit_count: u32,
    bits: &'a [u8],
}

/// Seeds of the two hash functions that give all others.
// EVIDENCE: src/backend/access/brin/brin_bloom.c BLOOM_SEED_1, BLOOM_SEED_2
const SEEDS: [u64; 2] = [0x71D9_24AF, 0xBA48_B314];

impl<'a> BloomFilter<'a> {
    /// Reads the plain bytes of a summary; `None` if they do not fit.
    // EVIDENCE: brin_bloom.c BloomFilter, after the varlena header: flags u16 @0, nhashes u8 @2, nbits u32 @4, nbits_set
    // u32 @8, data @12; nbits is a multiple of 8
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Option<BloomFilter<'a>> {
        let (hash_count, bit_count) = (u8_at(bytes, 2)?, u32_at(bytes, 4)?);
        let bits = bytes.get(12..)?;
        let is_sound = bit_count > 0 && bit_count.is_multiple_of(8) && bits.len() == (bit_count / 8) as usize;
        is_sound.then_some(BloomFilter { hash_count, bit_count, bits })
    }

    /// Whether a value with this hash may be in the range; `false` tells that it is not.
    // EVIDENCE: brin_bloom.c bloom_contains_value
    #[must_use]
    pub fn may_contain(&self, hash: u32) -> bool {
        let bit_count = u64::from(self.bit_count);
        let [first, second] = SEEDS.map(|seed| hash_u32_extended(hash, seed) % bit_count);
        (0..u64::from(self.hash_count)).all(|turn| {
            let bit = (first + turn * second) % bit_count;
            self.bits.get((bit / 8) as usize).is_some_and(|byte| byte >> (bit % 8) & 1 == 1)
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn ranges_and_values_are_taken_one_after_the_other() {
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let bytes = words(&[23, 1, 2, 32, 5, 9, 20, 30]);
        let all = MultiRanges::read(&bytes, Length::Fixed(4)).unwrap();
        assert_eq!(all.ranges, [[&5u32.to_le_bytes()[..], &9u32.to_le_bytes()[..]]]);
        assert_eq!(all.values, [20u32.to_le_bytes(), 30u32.to_le_bytes()]);
        assert_eq!(MultiRanges::read(&bytes[..30], Length::Fixed(4)), None);
        assert_eq!(MultiRanges::read(&words(&[23, u32::MAX, 2, 32, 5]), Length::Fixed(4)), None);
    }

    #[test]
    fn a_filter_knows_what_was_added_and_refuses_impossible_sizes() {
        let mut bytes = vec![0, 0, 7, 0, 128, 0, 0, 0, 0, 0, 0, 0];
        bytes.extend([0xFF; 16]);
        assert!(BloomFilter::read(&bytes).unwrap().may_contain(7));
        bytes[12..].fill(0);
        assert!(!BloomFilter::read(&bytes).unwrap().may_contain(7));
        bytes[4] = 0;
        assert_eq!(BloomFilter::read(&bytes), None);
    }
}
