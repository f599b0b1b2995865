//! Blocks that are named when tables and indexes are compared: no longer counted as clean.

use crate::matching::exact::Exact;
use crate::run::report::ReportBuilder;
use crate::run::state::{NOT_CLEAN_MAX, PassState};

impl ReportBuilder<'_> {
    /// Counts blocks that findings of the second pass name as damaged, where their own bytes break a rule, or as affected.
    pub(crate) fn account_named(&mut self, exact: &Exact<'_>, state: &mut PassState) {
        // Where not all are known that are not clean, nothing is counted twice.
        if state.sums.not_clean.len() >= NOT_CLEAN_MAX {
            return;
        }
        for ((relation, block), breaks_own_bytes) in exact.named.take() {
            if self.accounting.clean_count == 0
                || state.sums.not_clean.insert((relation, block), breaks_own_bytes).is_some()
            {
                continue;
            }
            self.accounting.clean_count -= 1;
            match breaks_own_bytes {
                true => self.accounting.damaged_count += 1,
                false => self.accounting.affected_count += 1,
            }
        }
    }
}
