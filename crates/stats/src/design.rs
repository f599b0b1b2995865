//! What a study can show, known before it runs: which test decides, the smallest p that it can reach, and the smallest
//! difference that it detects.
//!
//! [`reach`] counts arrangements, [`power`] computes and simulates, [`noise`] takes the spread from earlier runs, [`contrasts`] lists the pairs of cells that are
//! compared, [`preview`] puts what is known together, [`sequential`] spreads the error rate over several looks.

pub mod contrasts;
pub mod noise;
mod noncentral;
pub mod power;
pub mod preview;
pub mod reach;
pub mod sequential;
