//! What is said of a design before it runs, in one value: for a dry run, for the start of a run, and for a refusal.

use crate::design::noise::{Noise, log_sd};
use crate::design::power::{POWER, smallest_effect};
use crate::design::reach::{BlocksNeeded, Design, Reach, blocks_needed, reach};
use crate::input::InputError;

/// The spreads from run to run that are stated where no earlier run is known.
pub const SPREADS: [f64; 3] = [0.02, 0.05, 0.10];

/// What a design can show.
#[derive(Clone, Debug, PartialEq)]
pub struct Preview {
    /// The design.
    pub design: Design,
    /// The level of the family.
    pub alpha: f64,
    /// The test and the smallest p.
    pub reach: Reach,
    /// The fewest blocks that can decide.
    pub needed: BlocksNeeded,
    /// For each spread, the smallest relative difference that is shown with a chance of 80 %; `None` where the design
    /// cannot decide. Without drift between blocks.
    pub smallest: Vec<(f64, Option<f64>)>,
}

impl Preview {
    /// Puts together what is known of a design; costs at most a few hundredths of a second.
    ///
    /// # Errors
    /// `alpha` is not between 0 and 1, or a spread is not above zero.
    pub fn of(design: Design, spreads: &[f64], alpha: f64) -> Result<Self, InputError> {
        let effect = smallest_effect(&design, 0.0, POWER, alpha)?;
        let smallest_at = |&spread: &f64| -> Result<(f64, Option<f64>), InputError> {
            let of_logarithms = log_sd(spread)?;
            Ok((spread, effect.map(|effect| (effect * of_logarithms).exp_m1())))
        };
        Ok(Self {
            design,
            alpha,
            reach: reach(&design, alpha)?,
            needed: blocks_needed(&design, alpha)?,
            smallest: spreads.iter().map(smallest_at).collect::<Result<_, _>>()?,
        })
    }

    /// The same for the spread of earlier runs, drift included.
    ///
    /// # Errors
    /// As [`Preview::of`].
    pub fn with_noise(design: Design, noise: Noise, alpha: f64) -> Result<Self, InputError> {
        let smallest = crate::design::power::smallest_difference(&design, noise, POWER, alpha)?;
        Ok(Self { smallest: vec![(noise.run_sd, smallest)], ..Self::of(design, &[], alpha)? })
    }

    /// The blocks to propose where the design cannot decide: the fewest that no drift can spoil, or the fewest at all.
    pub fn blocks_proposed(&self) -> Option<u32> {
        self.needed.within_blocks.or(self.needed.all_runs)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_design_of_three_blocks_is_refused_with_the_blocks_that_decide() {
        let preview = Preview::of(Design::of(3, 7), &SPREADS, 0.05).unwrap();
        assert_eq!((preview.reach.can_decide, preview.reach.p_min), (false, 0.1));
        assert_eq!(preview.blocks_proposed(), Some(6));
        assert_eq!(preview.smallest, [(0.02, None), (0.05, None), (0.10, None)]);
    }

    #[test]
    fn the_smallest_differences_are_those_of_the_single_functions() {
        let design = Design::of(6, 4);
        let preview = Preview::of(design, &SPREADS, 0.05).unwrap();
        for (spread, smallest) in preview.smallest {
            let noise = Noise::of_runs(spread);
            assert_eq!(Preview::with_noise(design, noise, 0.05).unwrap().smallest, [(spread, smallest)]);
        }
        let drifting = Noise { run_sd: 0.05, block_sd: 0.3 };
        assert!(Preview::with_noise(Design::of(5, 4), drifting, 0.05).unwrap().smallest[0].1.unwrap() > 0.5);
        assert!(Preview::of(design, &[0.0], 0.05).is_err());
    }
}
