//! Random values: the generator, seeds and distributions of pgbench 15 and later.
//!
//! The same seed, number of clients and client give the values of `pgbench --random-seed`, so that a script can be
//! compared run by run. The generator is xoroshiro128** with its state filled by splitmix64 (Blackman and Vigna).

use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rand_xoshiro::{SplitMix64, Xoroshiro128StarStar};

/// The random values of one client.
#[derive(Clone, Debug)]
pub struct Generator {
    state: Xoroshiro128StarStar,
}

impl Generator {
    /// Starts the sequence of a seed.
    pub fn new(seed: u64) -> Self {
        let mut fill = SplitMix64::seed_from_u64(seed);
        let mut state = [0; 16];
        state[..8].copy_from_slice(&fill.next_u64().to_le_bytes());
        state[8..].copy_from_slice(&fill.next_u64().to_le_bytes());
        Self { state: Xoroshiro128StarStar::from_seed(state) }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state.next_u64()
    }

    /// Draws a uniform integer in `0..=limit`: the highest bits, drawn again where they are above the limit.
    pub(crate) fn up_to(&mut self, limit: u64) -> u64 {
        if limit == 0 {
            return 0;
        }
        let shift = limit.leading_zeros();
        loop {
            let value = self.next() >> shift;
            if value <= limit {
                return value;
            }
        }
    }

    /// Draws a uniform number in `0.0..1.0` with 52 random bits.
    fn unit(&mut self) -> f64 {
        (self.next() >> 12) as f64 / (1_u64 << 52) as f64
    }

    /// Draws uniformly from `low..=high`; the caller has compared the limits.
    pub(crate) fn uniform(&mut self, low: i64, high: i64) -> i64 {
        low.wrapping_add(self.up_to(high.wrapping_sub(low) as u64) as i64)
    }

    /// Draws from an exponential distribution that is truncated where its density is exp(-parameter).
    pub(crate) fn exponential(&mut self, low: i64, high: i64, parameter: f64) -> i64 {
        let cut = (-parameter).exp();
        let uniform = 1.0 - self.unit();
        let share = -(cut + (1.0 - cut) * uniform).ln() / parameter;
        at_share(low, high, share)
    }

    /// Draws from a normal distribution that is truncated at `parameter` standard deviations.
    pub(crate) fn gaussian(&mut self, low: i64, high: i64, parameter: f64) -> i64 {
        loop {
            let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
            let deviation = radius * (2.0 * std::f64::consts::PI * (1.0 - self.unit())).sin();
            if (-parameter..parameter).contains(&deviation) {
                return at_share(low, high, (deviation + parameter) / (parameter * 2.0));
            }
        }
    }

    /// Draws from a bounded Zipfian distribution by rejection (Devroye 1986, pages 550 and 551).
    pub(crate) fn zipfian(&mut self, low: i64, high: i64, parameter: f64) -> i64 {
        let count = high.wrapping_sub(low).wrapping_add(1);
        if count <= 1 {
            return low;
        }
        let exponent = parameter - 1.0;
        let bound = 2_f64.powf(exponent);
        loop {
            let (u, v) = (self.unit(), self.unit());
            let rank = u.powf(-1.0 / exponent).floor();
            let ratio = (1.0 + 1.0 / rank).powf(exponent);
            if v * rank * (ratio - 1.0) / (bound - 1.0) <= ratio / bound && rank <= count as f64 {
                // A rank of 2^63 is possible where the range has that many values.
                return low.wrapping_add((rank as i64).wrapping_sub(1)).clamp(low, high);
            }
        }
    }
}

/// The integer at this share of a range; a share that rounding has brought to 1 is the last one.
fn at_share(low: i64, high: i64, share: f64) -> i64 {
    let count = high.wrapping_sub(low).wrapping_add(1) as f64;
    low.wrapping_add((count * share) as i64).clamp(low, high)
}

/// The seeds of a run, as pgbench derives them from `--random-seed`.
#[derive(Clone, Debug)]
pub struct Seeds {
    /// The seed of the whole run: the variable `random_seed`.
    pub run: u64,
    /// One for each client.
    pub clients: Vec<u64>,
    /// The variable `default_seed`: what `hash` and `permute` use without a seed.
    pub default_seed: i64,
    /// For the choice of scripts; that of pgbench with one thread.
    pub chooser: u64,
}

impl Seeds {
    /// Derives the seeds of a run with this many clients.
    pub fn new(run: u64, clients: usize) -> Self {
        let mut base = Generator::new(run);
        let clients = (0..clients).map(|_| base.next()).collect();
        Self { run, clients, default_seed: base.next() as i64, chooser: base.next() }
    }
}

/// Chooses scripts by their weights.
#[derive(Clone, Debug)]
pub struct Chooser {
    weights: Vec<u32>,
    total: u64,
    generator: Generator,
}

impl Chooser {
    /// Starts choosing; `None` where the weights add up to zero.
    pub fn new(weights: &[u32], seed: u64) -> Option<Self> {
        let total = weights.iter().copied().map(u64::from).sum();
        (total > 0).then(|| Self { weights: weights.to_vec(), total, generator: Generator::new(seed) })
    }

    /// Returns the index of the next script; one script alone draws nothing.
    pub fn choose(&mut self) -> usize {
        if self.weights.len() == 1 {
            return 0;
        }
        let mut left = self.generator.up_to(self.total - 1);
        for (index, weight) in self.weights.iter().enumerate() {
            match left.checked_sub(u64::from(*weight)) {
                Some(rest) => left = rest,
                None => return index,
            }
        }
        // Not reached: the number drawn is below the sum of the weights.
        self.weights.len() - 1
    }
}
