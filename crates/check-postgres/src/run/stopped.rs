//! What a stopped check of a cluster keeps beside its findings.

use results::check::{Accounting, CheckCounters};
use serde::{Deserialize, Serialize};

use crate::matching::stored::StoredSums;
use crate::plan::batch::Position;
use crate::run::coverage::StoredCoverage;

/// Version of what a stopped check keeps, and of the way in which facts are hashed and put into buckets.
pub(crate) const STATE_VERSION: u32 = 7;

/// A check of a cluster that was stopped.
pub(crate) type StoppedCheck = check::stopped::StoppedCheck<State>;

/// How far the check is, and what it learned.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct State {
    /// Batches of objects that are done.
    pub(crate) batch_index: u64,
    /// The pass within the batch: 0 tables, 1 indexes.
    pub(crate) pass_index: u64,
    /// Bytes of that pass that were read, in the order of its files.
    pub(crate) claimed_bytes: u64,
    /// Pages and bytes so far; nothing is counted as not reached.
    pub(crate) accounting: Accounting,
    /// Cost so far.
    pub(crate) counters: CheckCounters,
    /// What was verified so far.
    pub(crate) coverage: StoredCoverage,
    /// The batch under way.
    pub(crate) sums: StoredSums,
}

impl State {
    /// The place at which the check stopped.
    pub(crate) fn position(&self) -> Position {
        let batch = usize::try_from(self.batch_index).unwrap_or(usize::MAX);
        Position { batch, pass: self.pass_index, bytes: self.claimed_bytes }
    }
}
