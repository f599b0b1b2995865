//! What a search for the highest rate came to.

use results::store::StudyId;
use stats::rate_search::{End, Found, Search};

use super::probe::Probe;

/// What limits the search from the start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Start {
    /// Clients in a closed loop reach this: transactions per second, and the study that measured it.
    Capacity(f64, StudyId),
    /// The rate of the spec.
    Rate(f64),
}

/// A search to its end.
pub(super) struct Outcome {
    pub(super) start: Start,
    pub(super) search: Search,
    pub(super) probes: Vec<Probe>,
    pub(super) found: Found,
    pub(super) end: End,
}
