//! What one worker of a pass has found.

use std::collections::HashMap;

use check::findings::Findings;

use crate::matching::sums::Sums;
use crate::run::context::BlockScratch;

/// So many blocks are remembered that are not clean, for one worker: 16 bytes each.
pub(crate) const NOT_CLEAN_MAX: usize = 1 << 20;

/// What one worker has found. Merges by addition.
pub(crate) struct PassState {
    pub(crate) findings: Findings,
    pub(crate) clean: u64,
    pub(crate) damaged: u64,
    /// Blocks that keep the rules themselves, but are named by a finding.
    pub(crate) affected: u64,
    pub(crate) unreadable: u64,
    pub(crate) skipped: HashMap<&'static str, u64>,
    pub(crate) read_again: u64,
    pub(crate) sums: Sums,
    pub(crate) scratch: BlockScratch,
}
