//! The end of a check for GIN indexes: blocks put together, what is broken reported.

use formats::postgres::Tid;

use super::catalog::Storage;
use super::exact::Exact;
use super::gin_blocks::GinTree;
use super::pass::{PassContext, PassState};
use super::run::Run;

impl Run<'_> {
    /// Tests how the blocks of each GIN index hang together, where none changed since the moment that is looked at.
    pub(super) fn compare_gin(&mut self, state: &PassState, first: &PassContext<'_>, exact: &Exact<'_>) {
        let mut numbers: Vec<u32> = state.sums.gin.records.keys().copied().collect();
        numbers.extend(&state.sums.gin_left_out);
        numbers.sort_unstable();
        numbers.dedup();
        for number in numbers {
            let Some((relation, tree)) = first.plan.relation(number).zip(first.plan.trees.get(&number))
            else {
                continue;
            };
            debug_assert_eq!(relation.storage, Storage::Gin, "only GIN indexes have such records");
            if first.snapshot.is_some() && state.sums.moved.contains(&number) {
                continue;
            }
            let name = Some(relation.name.as_str());
            if state.sums.gin_left_out.contains(&number) {
                let why = "they take more memory than --max-memory leaves: 64 bytes a block";
                self.left_out(name, "links between blocks", why);
                continue;
            }
            let Some(records) = state.sums.gin.records.get(&number) else { continue };
            let mut blocks = GinTree::new(records, tree.blocks);
            blocks.check();
            for fault in blocks.faults {
                let tid = Tid { block: fault.block, item: 0 };
                exact.report(fault.promised, number, tid, fault.expected, fault.found, &mut self.findings);
            }
            if blocks.left_behind > 0 {
                let what = format!("{} blocks that nothing leads to", blocks.left_behind);
                let why = "insertions that were cut off leave such blocks; REINDEX gives their space back";
                self.left_out(name, &what, why);
            }
        }
    }
}
