//! The end of a check for GIN indexes: blocks put together, what is broken reported.

use std::collections::HashSet;

use formats::postgres::Tid;

use crate::finding::ZEROS;
use crate::gin::blocks::GinTree;
use crate::matching::exact::Exact;
use crate::run::report::ReportBuilder;
use crate::run::state::PassState;

impl ReportBuilder<'_> {
    /// Tests how the blocks of each GIN index hang together, where none changed since the moment that is looked at.
    ///
    /// Gives those with blocks that nothing leads to: entries there count for nothing, and may name rows of long ago.
    pub(crate) fn compare_gin(&mut self, state: &PassState, exact: &mut Exact<'_>) -> HashSet<u32> {
        let mut numbers: Vec<u32> = state.sums.gin.records.keys().copied().collect();
        numbers.extend(&state.sums.gin_left_out);
        numbers.sort_unstable();
        numbers.dedup();
        let mut left_behind = HashSet::new();
        let plan = exact.first.plan;
        let is_snapshot = exact.first.snapshot.is_some();
        for number in numbers {
            let Some((relation, tree)) = plan.relation(number).zip(plan.trees.get(&number)) else { continue };
            if is_snapshot && (state.sums.moved.contains(&number) || plan.is_empty(number)) {
                continue;
            }
            let name = Some(relation.name.as_str());
            if state.sums.gin_left_out.contains(&number) {
                let why = "they need more than --max-memory: 64 bytes per block";
                self.left_out(name, "links between blocks", why);
                left_behind.insert(number);
                continue;
            }
            let Some(records) = state.sums.gin.records.get(&number) else { continue };
            let mut blocks = GinTree::new(records, tree.blocks);
            blocks.check();
            if is_snapshot && !blocks.faults.is_empty() {
                // A block that was half written while it was read looks like damage.
                let Some(records) = exact.gin_records(number) else { continue };
                blocks = GinTree::new(&records, tree.blocks);
                blocks.check();
            }
            for mut fault in blocks.faults {
                let tid = Tid { block: fault.block, item: 0 };
                if exact.is_zero(number, fault.block) {
                    exact.note(number, fault.block, true);
                    fault.found = ZEROS.to_owned();
                }
                exact.report(fault.rule, number, tid, fault.expected, fault.found, &mut self.findings);
            }
            if blocks.left_behind > 0 {
                left_behind.insert(number);
                let what = format!("{} unreferenced blocks, and entries without row", blocks.left_behind);
                let why = "interrupted insertions leave such blocks; REINDEX frees their space";
                self.left_out(name, &what, why);
            }
        }
        left_behind
    }
}
