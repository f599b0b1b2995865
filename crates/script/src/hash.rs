//! The deterministic mixing functions of pgbench: two hashes and a permutation.

use crate::random::Generator;

/// 64-bit FNV-1a over the 8 bytes of a value, lowest first.
pub(crate) fn fnv1a(value: i64, seed: i64) -> i64 {
    // EVIDENCE: draft-eastlake-fnv 5: offset basis and prime of 64 bits.
    const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let start = OFFSET_BASIS ^ seed as u64;
    value.to_le_bytes().iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME)) as i64
}

/// 64-bit MurmurHash2 (Appleby) of one block of 8 bytes.
pub(crate) fn murmur2(value: i64, seed: i64) -> i64 {
    // EVIDENCE: MurmurHash2.cpp, MurmurHash64A: multiplier and shift; the seed is mixed with the length times the former.
    const MULTIPLIER: u64 = 0xc6a4_a793_5bd1_e995;
    const SHIFT: u32 = 47;
    let mut block = (value as u64).wrapping_mul(MULTIPLIER);
    block = (block ^ (block >> SHIFT)).wrapping_mul(MULTIPLIER);
    let mut hash = (seed as u64 ^ MULTIPLIER.wrapping_mul(8) ^ block).wrapping_mul(MULTIPLIER);
    hash = (hash ^ (hash >> SHIFT)).wrapping_mul(MULTIPLIER);
    (hash ^ (hash >> SHIFT)) as i64
}

/// Rounds of the permutation.
const ROUNDS: usize = 6;

/// Maps the integers in `0..size` onto each other in an order that depends on the seed; other values are taken
/// modulo `size`. Returns 0 for a size below 2.
pub(crate) fn permute(value: i64, size: i64, seed: i64) -> i64 {
    if size < 2 {
        return 0;
    }
    let size = size as u64;
    let mut generator = Generator::new(seed as u64);
    // The halves overlap: the lowest and the highest values below and above a power of two.
    let bits = 63 - size.leading_zeros();
    let mask = (1_u64 << bits) - 1;
    let mut place = value as u64 % size;
    for _ in 0..ROUNDS {
        let lower = Scramble::draw(&mut generator, mask, bits);
        if place <= mask {
            place = lower.apply(place);
        }
        let upper = Scramble::draw(&mut generator, mask, bits);
        let from_end = size - 1 - place;
        if from_end <= mask {
            place = size - 1 - upper.apply(from_end);
        }
        // Both are below 2^63.
        place = (place + generator.up_to(size - 1)) % size;
    }
    place as i64
}

/// A bijection of the integers below a power of two: multiply by an odd number, flip bits, rotate by one.
struct Scramble {
    multiplier: u64,
    flips: u64,
    mask: u64,
    bits: u32,
}

impl Scramble {
    fn draw(generator: &mut Generator, mask: u64, bits: u32) -> Self {
        let multiplier = (generator.next() & mask) | 1;
        Self { multiplier, flips: generator.next() & mask, mask, bits }
    }

    fn apply(&self, value: u64) -> u64 {
        let mixed = (value.wrapping_mul(self.multiplier) ^ self.flips) & self.mask;
        ((mixed << 1) & self.mask) | (mixed >> (self.bits - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_permutation_has_each_value_once() {
        for size in 2..70 {
            for seed in [0, 1, -5, 5432] {
                let mut all: Vec<i64> = (0..size).map(|value| permute(value, size, seed)).collect();
                all.sort_unstable();
                assert_eq!(all, (0..size).collect::<Vec<_>>(), "size {size}, seed {seed}");
            }
        }
    }

    #[test]
    fn hashes_and_permutations_have_the_values_of_pgbench() {
        // OBSERVED: pgbench 15, `\set x debug(hash(10, 5432))` and the same of the others.
        assert_eq!(murmur2(10, 5432), -5_817_877_081_768_721_676);
        assert_eq!(fnv1a(10, 5432), -7_793_829_335_365_542_153);
        let size = i64::MAX - 10;
        assert_eq!(permute(size - 1, size, 5432), 520_382_784_483_822_430);
        assert_eq!(permute(size - 7, size, 5432), 4_542_876_852_200_565_125);
        assert_eq!(permute(5, 0, 1), 0);
    }
}
