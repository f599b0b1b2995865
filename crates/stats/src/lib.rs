//! Numbers in, numbers out: summaries, intervals, comparisons, wait-table selection and identities.

pub mod random;
