//! Names rows with the same key in a unique index whose key order is not known.

use std::collections::{BTreeMap, HashSet};

use check::findings::Findings;
use check::matching::sums::BucketSet;
use check::progress::{Phase, Progress};
use formats::postgres::Tid;
use formats::postgres::page::{ItemState, Page};

use crate::matching::collector::{Collector, Fact};
use crate::matching::exact::Exact;
use crate::rules;
use crate::run::report::ReportBuilder;
use crate::run::state::PassState;

impl ReportBuilder<'_> {
    /// Looks again at keys of a unique index whose hashes repeat.
    pub(crate) fn compare_unique_keys(
        &mut self,
        number: u32,
        state: &PassState,
        exact: &mut Exact<'_>,
        progress: &mut dyn Progress,
    ) {
        let Some(codes) = state.sums.unique_keys.get(&number) else { return };
        let object = exact.first.plan.relation(number).map(|relation| relation.name.as_str());
        let repeated = codes.repeated(self.options.memory_bytes_max);
        if !repeated.is_empty() && !self.is_out_of_time(object) {
            progress.advance(Phase::SecondPass, self.bytes_before, self.bytes_total);
            self.counters.second_pass_object_count += 1;
            exact.repeated_keys(number, repeated, &mut self.findings);
        }
    }
}

impl Exact<'_> {
    /// Names keys of a unique index that more than one visible row has.
    fn repeated_keys(&mut self, index: u32, repeated: Vec<u64>, findings: &mut Findings) {
        let wanted: HashSet<u64> = repeated.into_iter().collect();
        let start = || Collector {
            wanted_unique_keys: wanted.clone(),
            ..Collector::new(index, BucketSet::default())
        };
        let Some(collector) = self.collected_with(start, &[(true, index)]) else { return };
        let mut by_key: BTreeMap<u128, Vec<Fact>> = BTreeMap::new();
        for fact in collector.unique_keys {
            by_key.entry(fact.hash).or_default().push(fact);
        }
        let heap = self.second.plan.trees.get(&index).and_then(|tree| tree.heap);
        let mut groups: Vec<Vec<Fact>> = by_key.into_values().collect();
        for group in &mut groups {
            group.sort_unstable();
            group.dedup_by_key(|fact| fact.tid);
            if group.len() > 1 {
                group.retain(|fact| heap.is_some_and(|heap| self.has_row_version(heap, fact.tid)));
            }
        }
        groups.retain(|group| group.len() > 1);
        groups.sort_unstable();
        for group in groups {
            let [first, second, rest @ ..] = group.as_slice() else { continue };
            let (block, item) = second.entry;
            let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
            let found = format!(
                "rows {} and {}{more} with the same key; entries in block {} line pointer {} and block {block} line \
                 pointer {item}",
                first.tid, second.tid, first.entry.0, first.entry.1
            );
            let expected = "one visible row per key".to_owned();
            self.report(&rules::BTREE_UNIQUE, index, Tid { block, item }, expected, found, findings);
        }
    }

    /// Whether a line pointer of a table that reads without fault has a row version or leads to one.
    fn has_row_version(&self, heap: u32, tid: Tid) -> bool {
        self.heap_block(heap, tid.block).is_some_and(|block| {
            let page = Page::new(&block);
            let is_intact = !page.is_new() && page.check_header(0, &mut Vec::new());
            let item = page.item(tid.item).filter(|_| is_intact);
            item.is_some_and(|item| matches!(item.state, ItemState::Normal | ItemState::Redirect))
        })
    }
}
