//! Numbers in, numbers out: summaries, intervals, comparisons, wait-table selection and identities.
//!
//! The crate reads no file, asks no clock and keeps nothing: what comes out depends on the arguments alone, the seed
//! included. Each statistic is defined in docs/report/statistics.md with its assumptions.

mod input;
mod permutation;

pub mod change;
pub mod change_point;
pub mod compare;
pub mod design;
pub mod duration;
pub mod effects;
pub mod family;
pub mod identities;
pub mod pages;
pub mod proportions;
pub mod random;
pub mod rate_search;
pub mod stretches;
pub mod summary;
pub mod verdict;
pub mod waits;

pub use input::InputError;
