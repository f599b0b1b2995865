//! What to measure: the rows of the matrix, in the words of fio.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::BaselineError;
use super::pattern::Pattern;
use crate::backend::BackendChoice;

/// The name of the published matrix, as an experiment.
pub const PUBLISHED_NAME: &str = "io-baseline";

/// A matrix: patterns, and how each is measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Matrix {
    /// The rows, in the order in which they are measured.
    pub patterns: Vec<Pattern>,
    /// The size of the file that is made in a directory (`size`); an existing file or device is used up to this size.
    pub size_bytes: u64,
    /// How long each row is measured (`runtime`); at least 0.4 s, since processors are counted in ticks of 10 ms.
    pub runtime: Duration,
    /// How long each row runs before that (`ramp_time`).
    pub ramp: Duration,
    /// From which the places and the mix of each row follow (`randseed`).
    pub seed: u64,
    /// Which way to the kernel (`ioengine`).
    pub backend: BackendChoice,
    /// Whether to go past the page cache (`direct`).
    pub want_direct: bool,
    /// Whether to poll for completions where the device has queues for it (`hipri`).
    pub poll: bool,
    /// What the link or the device is known to give at most, where the machine does not tell, in bytes per second.
    pub rate_bytes_per_s_max: Option<u64>,
    /// The name of an existing file or device that may be overwritten, as given in the path.
    pub destroy_contents: Option<String>,
}

impl Matrix {
    /// The published 15 rows: 64 and 8 KiB reads, random and sequential, and 256 KiB half and half, each with 32, 64
    /// and 86 outstanding. SQLskills, IOMeter; there on a file of 50 GB, here by default on one of 1 GiB.
    pub fn published() -> Self {
        let shapes = [(64, 100), (64, 0), (8, 100), (8, 0), (256, 50)];
        Self::of(crossed(&shapes, &[32, 64, 86]), 1 << 30)
    }

    /// Eight rows that take about a minute: 8 and 64 KiB, random and sequential, 1 and 32 outstanding, on 512 MiB.
    pub fn miniature() -> Self {
        Self::of(crossed(&[(8, 100), (8, 0), (64, 100), (64, 0)], &[1, 32]), 512 << 20)
    }

    /// A matrix of any patterns with the usual conditions: 5 seconds a row after half a second, direct.
    pub fn of(patterns: Vec<Pattern>, size_bytes: u64) -> Self {
        Matrix {
            patterns,
            size_bytes,
            runtime: Duration::from_secs(5),
            ramp: Duration::from_millis(500),
            seed: 1,
            backend: BackendChoice::Auto,
            want_direct: true,
            poll: true,
            rate_bytes_per_s_max: None,
            destroy_contents: None,
        }
    }

    /// The name of the matrix, when its rows are those of the published one or of the miniature.
    pub fn name(&self) -> Option<String> {
        match &self.patterns {
            patterns if *patterns == Self::published().patterns => Some(PUBLISHED_NAME.to_owned()),
            patterns if *patterns == Self::miniature().patterns => {
                Some(format!("{PUBLISHED_NAME}, miniature"))
            }
            _ => None,
        }
    }

    /// Says whether some row writes.
    pub fn writes(&self) -> bool {
        self.patterns.iter().any(Pattern::writes)
    }

    /// How long all rows take, without making the file.
    pub fn duration(&self) -> Duration {
        (self.runtime + self.ramp) * u32::try_from(self.patterns.len()).unwrap_or(u32::MAX)
    }

    /// Makes sure that the matrix can be measured.
    ///
    /// # Errors
    /// When there is no row, no time, or a pattern is impossible.
    pub fn check(&self) -> Result<(), BaselineError> {
        if self.patterns.is_empty() || self.runtime.is_zero() {
            return Err(BaselineError::Nothing);
        }
        match self.patterns.iter().find_map(|pattern| Some((*pattern, pattern.problem()?))) {
            Some((pattern, problem)) => Err(BaselineError::Pattern { pattern, problem }),
            None => Ok(()),
        }
    }
}

/// Reads of each shape (KiB, random share) with each number outstanding.
fn crossed(shapes: &[(u64, u8)], outstanding: &[u32]) -> Vec<Pattern> {
    let row = |&(kib, random): &(u64, u8), &depth: &u32| Pattern::read(kib << 10, random, depth);
    shapes.iter().flat_map(|shape| outstanding.iter().map(move |depth| row(shape, depth))).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_default_matrix_is_the_published_one_in_its_order() {
        let rows: Vec<(u64, u8, u8, u32)> = Matrix::published()
            .patterns
            .iter()
            .map(|row| (row.transfer_bytes >> 10, row.read_percent, row.random_percent, row.outstanding))
            .collect();
        let expected: Vec<(u64, u8, u8, u32)> = [(64, 100), (64, 0), (8, 100), (8, 0), (256, 50)]
            .iter()
            .flat_map(|&(kib, random)| [32, 64, 86].map(|depth| (kib, 100, random, depth)))
            .collect();
        assert_eq!(rows, expected);
        assert_eq!(Matrix::miniature().patterns.len(), 8);
        assert_eq!(Matrix::published().name().unwrap(), "io-baseline");
        assert_eq!(Matrix::miniature().name().unwrap(), "io-baseline, miniature");
        assert_eq!(Matrix::of(vec![Pattern::read(8192, 100, 32)], 1).name(), None);
        Matrix::published().check().unwrap();
        Matrix::miniature().check().unwrap();
    }

    #[test]
    fn impossible_patterns_are_named_with_their_problem() {
        let good = Pattern::read(8192, 100, 32);
        let cases = [
            (Pattern { transfer_bytes: 0, ..good }, "no bytes"),
            (Pattern { transfer_bytes: 1000, ..good }, "multiple of 512"),
            (Pattern { transfer_bytes: 65 << 20, ..good }, "64 MiB"),
            (Pattern { read_percent: 101, ..good }, "reads is above 100"),
            (Pattern { random_percent: 200, ..good }, "random places is above 100"),
            (Pattern { outstanding: 0, ..good }, "outstanding"),
            (Pattern { outstanding: 1025, ..good }, "outstanding"),
            (Pattern { jobs: 0, ..good }, "jobs"),
        ];
        for (pattern, text) in cases {
            let message = Matrix::of(vec![good, pattern], 1 << 20).check().unwrap_err().to_string();
            assert!(message.contains(text), "{message}");
        }
        assert!(matches!(Matrix::of(Vec::new(), 1).check(), Err(BaselineError::Nothing)));
    }
}
