//! What was verified, of what there is.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use results::check::{CheckLevel, GapKind, Share};

use crate::plan::Plan;
use crate::run::context::Context;
use crate::run::state::Run;
use crate::run::worker::{NOT_IN_USE, Worker};

impl Run<'_> {
    /// Sets the shares of the report. `is_compared`: whether facts between pages were compared; `missing_page_count`: pages
    /// of the database that are not in the files at hand.
    pub(crate) fn set_coverage(
        &mut self,
        context: &Context<'_>,
        worker: &Worker<'_>,
        is_compared: bool,
        missing_page_count: u64,
    ) {
        let level = self.options.level;
        if level == CheckLevel::Read {
            return;
        }
        let not_in_use: u64 = NOT_IN_USE.iter().filter_map(|why| worker.skipped.get(why)).sum();
        let in_use = self.report.accounting.page_count.saturating_sub(not_in_use) + missing_page_count;
        self.report.coverage.pages = Some(Share { verified_count: worker.judged_count, total_count: in_use });
        if level < CheckLevel::Structure || self.options.is_raw {
            return;
        }
        let verified_count = if is_compared { worker.inside_count.min(in_use) } else { 0 };
        self.report.coverage.page_contents = Some(Share { verified_count, total_count: in_use });
        let objects = self.objects(context.plan, is_compared);
        self.report.coverage.objects = Some(objects);
        if level == CheckLevel::Full {
            let (rows, entries) = self.rows_and_entries(context, worker, is_compared);
            self.report.coverage.rows = Some(rows);
            self.report.coverage.entries = Some(entries);
        }
    }

    /// Tables and indexes of which nothing was left out.
    fn objects(&self, plan: &Plan, is_compared: bool) -> Share {
        let gaps = self.report.not_checked.iter().filter(|gap| gap.kind == GapKind::Coverage);
        let names: HashSet<Option<&str>> = gaps.map(|gap| gap.object.as_deref()).collect();
        let is_whole = is_compared && !names.contains(&None);
        let all: BTreeSet<(u32, u32, &str)> = plan
            .units
            .iter()
            .filter(|unit| unit.kind == 1)
            .map(|unit| (unit.object, unit.index_id, unit.name.as_str()))
            .collect();
        let verified = all.iter().filter(|(_, _, name)| is_whole && !names.contains(&Some(*name)));
        Share { verified_count: verified.count() as u64, total_count: all.len() as u64 }
    }

    /// Rows whose values and entries were compared, and entries whose rows were.
    fn rows_and_entries(
        &self,
        context: &Context<'_>,
        worker: &Worker<'_>,
        is_compared: bool,
    ) -> (Share, Share) {
        let plan = context.plan;
        let (mut rows, mut entries) = (Share::default(), Share::default());
        // By object: whether an index of it was not compared.
        let mut is_cut: BTreeMap<u32, bool> = BTreeMap::new();
        let is_matched = |number: Option<u32>| number.is_some_and(|number| !self.unmatched.contains(&number));
        for unit in plan.units.iter().filter(|unit| unit.kind == 1 && unit.index_id > 1) {
            *is_cut.entry(unit.object).or_default() |= !is_matched(unit.entry_of);
        }
        for (number, unit) in (0u32..).zip(&plan.units).filter(|(_, unit)| unit.kind == 1) {
            let seen = worker.records.get(&number).copied().unwrap_or(0);
            let is_short = context.maps.lost.contains_key(&number);
            // The server's own count, where the records cannot be counted.
            let is_uncounted = unit.is_compressed || is_short;
            let count = if is_uncounted { seen.max(unit.counted.0) } else { seen };
            if unit.index_id > 1 {
                entries.add(count, is_compared && is_matched(unit.entry_of) && !is_uncounted);
            } else {
                let is_cut = is_cut.get(&unit.object).copied().unwrap_or(false);
                rows.add(count, is_compared && !is_cut && !is_uncounted);
            }
        }
        (rows, entries)
    }
}
