//! Random numbers that stay the same: one seed gives one sequence, on every machine and in every version.
//!
//! Plans, keys and arrival times are drawn from here, and results name the seed, so a change in any of these
//! sequences would make an old plan impossible to repeat. The tests pin the values.
//!
//! The generator is xoshiro256++ with its 256 bits of state filled by splitmix64 from a 64-bit seed, as its authors
//! advise (Blackman and Vigna, "Scrambled linear pseudorandom number generators", ACM TOMS 47:4, 2021). It is fast
//! and passes the usual batteries; it is not for secrets.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A seeded source of random numbers whose sequence is part of the contract.
///
/// Holds 32 bytes of state; a draw costs about a nanosecond. Not shared between threads: each worker gets its own
/// from [`derive_seed`].
#[derive(Clone, Debug)]
pub struct Random {
    generator: Xoshiro256PlusPlus,
}

impl Random {
    /// Starts the sequence that belongs to `seed`; every value is allowed, zero too.
    pub fn new(seed: u64) -> Self {
        Self { generator: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// Draws 64 uniform bits.
    pub fn next_u64(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// Draws a uniform integer in `0..bound`, each exactly as probable as the others.
    ///
    /// `bound` must not be zero. Takes one draw, rarely more: the multiply-and-reject method of Lemire, "Fast random
    /// integer generation in an interval", ACM TOMACS 29:1, 2019.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "a random integer below zero was asked for");
        let mut product = u128::from(self.next_u64()) * u128::from(bound);
        if (product as u64) < bound {
            // The 2^64 mod bound smallest low halves are the ones that would favour some results.
            let surplus = bound.wrapping_neg() % bound;
            while (product as u64) < surplus {
                product = u128::from(self.next_u64()) * u128::from(bound);
            }
        }
        (product >> 64) as u64
    }

    /// Draws a uniform number in `0.0..1.0` with 53 random bits; 1.0 never comes, 0.0 may.
    pub fn unit_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Draws from the exponential distribution with this mean, by inversion; the unit is that of `mean`.
    ///
    /// The result is finite and not negative: at most about 36.7 times the mean. The gap between the arrivals of an
    /// open loop is of this kind. The logarithm is that of the platform, so the last bit may differ between machines.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit_f64()).ln()
    }

    /// Draws two independent values of the standard normal distribution (Box and Muller, 1958).
    ///
    /// Used for made-up data in tests and demonstrations.
    pub fn normal_pair(&mut self) -> (f64, f64) {
        let radius = (-2.0 * (1.0 - self.unit_f64()).ln()).sqrt();
        let angle = std::f64::consts::TAU * self.unit_f64();
        (radius * angle.cos(), radius * angle.sin())
    }

    /// Puts the items in an order drawn uniformly from all orders (Fisher and Yates, from the back to the front).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for remaining in (2..=items.len()).rev() {
            let chosen = self.below(remaining as u64) as usize;
            items.swap(remaining - 1, chosen);
        }
    }
}

/// Derives the seed of one stream (a block, a client, a comparison) from the seed of the whole.
///
/// Streams with different paths are unrelated for all practical purposes, and a stream does not change when others
/// are added or removed: that is why the path is hashed and the parent's sequence is not drawn from. The order and
/// the number of path elements count: `[1, 2]`, `[2, 1]` and `[1, 2, 0]` are three streams.
pub fn derive_seed(seed: u64, stream: &[u64]) -> u64 {
    let start = split_mix(seed ^ split_mix(stream.len() as u64));
    stream.iter().fold(start, |state, &element| split_mix(state ^ split_mix(element)))
}

/// Mixes 64 bits so that each bit of the input touches all of the output: one step of splitmix64 (Steele, Lea and
/// Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
fn split_mix(value: u64) -> u64 {
    let mut mixed = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_of_a_seed_is_the_same_in_every_version() {
        let mut random = Random::new(0);
        let first: Vec<u64> = (0..4).map(|_| random.next_u64()).collect();
        assert_eq!(
            first,
            [
                5_987_356_902_031_041_503,
                7_051_070_477_665_621_255,
                6_633_766_593_972_829_180,
                211_316_841_551_650_330
            ]
        );
        let mut random = Random::new(1_544_808);
        let small: Vec<u64> = (0..12).map(|_| random.below(10)).collect();
        assert_eq!(small, [7, 6, 3, 2, 9, 5, 7, 1, 7, 5, 3, 1]);
        assert_eq!(random.unit_f64(), 0.656_758_443_907_666_9);
    }

    #[test]
    fn the_order_of_a_seed_is_the_same_in_every_version() {
        let mut items: Vec<u32> = (0..10).collect();
        Random::new(7).shuffle(&mut items);
        assert_eq!(items, [3, 8, 9, 4, 6, 7, 2, 5, 1, 0]);
    }

    #[test]
    fn derived_seeds_are_the_same_in_every_version() {
        assert_eq!(derive_seed(42, &[]), 5_592_132_763_777_985_307);
        assert_eq!(derive_seed(42, &[1]), 9_464_678_557_269_587_936);
        assert_eq!(derive_seed(42, &[1, 2]), 9_693_283_126_900_775_352);
        assert_eq!(derive_seed(42, &[2, 1]), 8_849_604_117_768_154_789);
    }

    #[test]
    fn splitmix_gives_the_published_sequence() {
        // EVIDENCE: the test vector printed with the reference code, seed 1234567.
        assert_eq!(split_mix(1_234_567), 6_457_827_717_110_365_317);
        assert_eq!(split_mix(1_234_567_u64.wrapping_add(0x9e37_79b9_7f4a_7c15)), 3_203_168_211_198_807_973);
    }

    #[test]
    fn streams_with_different_paths_differ() {
        let mut seeds: Vec<u64> = (0..1000_u64)
            .flat_map(|block| {
                [derive_seed(7, &[block]), derive_seed(7, &[block, 0]), derive_seed(7, &[0, block, 1])]
            })
            .collect();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 3000);
    }

    #[test]
    fn integers_below_a_bound_are_equally_frequent() {
        let mut random = Random::new(3);
        let mut counts = [0_u32; 7];
        for _ in 0..70_000 {
            counts[random.below(7) as usize] += 1;
        }
        // Chi-square with 6 degrees of freedom: 22.46 is exceeded once in a thousand.
        let chi_square: f64 =
            counts.iter().map(|&count| (f64::from(count) - 10_000.0).powi(2) / 10_000.0).sum();
        assert!(chi_square < 22.46, "{counts:?}");
        assert_eq!(random.below(1), 0);
    }

    #[test]
    fn a_bound_that_does_not_divide_the_range_is_not_favoured() {
        // With 3 * 2^62 a plain remainder would return the lower third twice as often as the others.
        let bound = 3_u64 << 62;
        let mut random = Random::new(11);
        let lower = (0..30_000).filter(|_| random.below(bound) < bound / 3).count();
        assert!((9_700..10_300).contains(&lower), "{lower} of 30000 in the lower third");
    }

    #[test]
    fn every_order_of_four_items_is_equally_frequent() {
        let mut random = Random::new(5);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..24_000 {
            let mut items = [0_u8, 1, 2, 3];
            random.shuffle(&mut items);
            *counts.entry(items).or_insert(0_u32) += 1;
        }
        assert_eq!(counts.len(), 24);
        // Chi-square with 23 degrees of freedom: 49.73 is exceeded once in a thousand.
        let chi_square: f64 =
            counts.values().map(|&count| (f64::from(count) - 1000.0).powi(2) / 1000.0).sum();
        assert!(chi_square < 49.73, "{counts:?}");
    }

    #[test]
    fn exponential_gaps_have_their_mean_and_are_never_negative() {
        let mut random = Random::new(9);
        let gaps: Vec<f64> = (0..100_000).map(|_| random.exponential(2.5)).collect();
        assert!(gaps.iter().all(|gap| gap.is_finite() && *gap >= 0.0));
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        assert!((mean - 2.5).abs() < 4.0 * 2.5 / (gaps.len() as f64).sqrt(), "{mean}");
    }

    #[test]
    fn shuffling_nothing_or_one_item_draws_nothing() {
        let mut random = Random::new(1);
        random.shuffle::<u8>(&mut []);
        random.shuffle(&mut [1]);
        assert_eq!(random.next_u64(), Random::new(1).next_u64());
    }
}
