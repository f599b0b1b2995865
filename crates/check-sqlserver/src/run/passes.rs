//! Passes over all pages: the first one, and one for each further batch of objects.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use disk::input::carried;
use disk::scan::{Content, Extent};
use formats::sqlserver::PAGE_BYTES;

use check::pass::{Pass, unclaimed_bytes};
use check::progress::Progress;

use crate::finding::Draft;
use crate::matching;
use crate::matching::facts::Facts;
use crate::page::keys::compare_bounds;
use crate::plan::Plan;
use crate::run::context::Context;
use crate::run::state::{Phases, Run};
use crate::run::worker::Worker;
use crate::source::CheckError;

impl Run<'_> {
    /// Looks at all pages, and compares the maps with each other meanwhile.
    pub(super) fn first_pass<'c>(
        &mut self,
        context: &'c Context<'c>,
        progress: &mut dyn Progress,
    ) -> Result<(Worker<'c>, Vec<Draft>), CheckError> {
        let (worker, compared) = std::thread::scope(|scope| {
            let compared = context.maps.has_owners.then(|| scope.spawn(carried(|| context.maps.compare())));
            let worker = self.pass(context, true, progress);
            (worker, compared.map(std::thread::ScopedJoinHandle::join))
        });
        let compared = match compared {
            None => Vec::new(),
            Some(compared) => compared.unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        };
        Ok((worker?, compared))
    }

    /// The objects of a batch.
    pub(super) fn batch(&self, start: u32, plan: &Plan) -> std::ops::Range<u32> {
        let size =
            self.options.object_batch.map_or(u32::MAX, |size| u32::try_from(size.max(1)).unwrap_or(u32::MAX));
        // One more than there are: units without an object have the first one's position.
        start..start.saturating_add(size).min(plan.object_count.max(1))
    }

    fn pass<'c>(
        &mut self,
        context: &'c Context<'c>,
        is_first: bool,
        progress: &mut dyn Progress,
    ) -> Result<Worker<'c>, CheckError> {
        let total = self.source.scan_bytes();
        let deadline = self.options.time_max.map(|time| self.started + time);
        let pass = Pass { deadline, ..Pass::new(self.options, &self.governor, PAGE_BYTES) };
        let outcome = pass.run(
            &self.source.scan_files(),
            progress,
            |_| Worker::new(context, Facts::new(context.key)),
            |worker, extent| self.visit(worker, &extent),
        )?;
        let unclaimed = unclaimed_bytes(&outcome);
        if is_first {
            let accounting = &mut self.report.accounting;
            accounting.bytes_expected = total;
            accounting.bytes_read = outcome.read_bytes();
            accounting.page_count = total / PAGE_BYTES as u64;
            accounting.unreached_count = unclaimed / PAGE_BYTES as u64;
        }
        if unclaimed > 0 {
            self.report.unfinished = Some("stopped before the end".to_owned());
        }
        pass.count(&outcome, &mut self.report.counters);
        let mut all = Worker::new(context, Facts::new(context.key));
        outcome.states.into_iter().for_each(|state| all.merge(state));
        Ok(all)
    }

    fn visit(&self, worker: &mut Worker<'_>, extent: &Extent<'_>) {
        match &extent.content {
            Content::Bytes(bytes) => {
                let mut offset = extent.offset_bytes;
                for raw in bytes.chunks_exact(PAGE_BYTES) {
                    let page = self.source.page_at(extent.file_index, offset).and_then(|(_, page)| page);
                    worker.look(page, raw);
                    offset += PAGE_BYTES as u64;
                }
            }
            Content::Unreadable { length_bytes, error } => {
                let offsets = (extent.offset_bytes..).step_by(PAGE_BYTES);
                let pages = offsets
                    .take((length_bytes / PAGE_BYTES as u64) as usize)
                    .map(|offset| self.source.page_at(extent.file_index, offset).and_then(|(_, page)| page));
                worker.unreadable(pages, *length_bytes, &error.to_string());
            }
            Content::Missing { length_bytes } => worker.unreadable_count += length_bytes / PAGE_BYTES as u64,
        }
    }

    pub(super) fn compare(
        &mut self,
        context: &Context<'_>,
        worker: &mut Worker<'_>,
        cross: &mut Vec<Draft>,
        phases: &mut Phases,
    ) {
        if worker.newer_count > 0 || self.lacks_files {
            return;
        }
        let mut compared = matching::compare(context, worker);
        if compared.newer_count > 0 {
            return self.give_up(worker, compared.newer_count);
        }
        compared.drafts.append(&mut compare_bounds(context.plan, &worker.bounds, &worker.ends));
        self.report.counters.second_pass_object_count += compared.second_pass_count;
        self.report.not_checked.append(&mut compared.not_checked);
        self.unmatched.extend(compared.unmatched);
        phases.batches += 1;
        phases.objects += compared.drafts.len();
        cross.append(&mut compared.drafts);
        worker.bounds.clear();
        worker.ends.clear();
        worker.facts.sums.clear();
        worker.facts.poisoned.clear();
    }

    /// Batches of objects beyond the first: all pages once more, for their facts only.
    pub(super) fn later_batches(
        &mut self,
        first: &Context<'_>,
        worker: &mut Worker<'_>,
        cross: &mut Vec<Draft>,
        phases: &mut Phases,
        progress: &mut dyn Progress,
    ) -> Result<(), CheckError> {
        let mut start = first.objects.end;
        while start < first.plan.object_count
            && self.report.unfinished.is_none()
            && worker.newer_count == 0
            && !self.lacks_files
        {
            let context = Context {
                objects: self.batch(start, first.plan),
                key_bytes_left: AtomicU64::new(self.options.memory_bytes_max / 2),
                keys_are_cut: AtomicBool::new(false),
                ..*first
            };
            start = context.objects.end;
            let mut later = self.pass(&context, false, progress)?;
            later.damaged_units = worker.damaged_units.clone();
            if later.newer_count > 0 {
                self.give_up(worker, later.newer_count);
                break;
            }
            self.compare(&context, &mut later, cross, phases);
            worker.newer_count += later.newer_count;
            worker.row_count += later.row_count;
            worker.entry_count += later.entry_count;
            worker.add_records(std::mem::take(&mut later.records));
            worker.order_not_known.extend(later.order_not_known);
            worker.findings.merge(later.findings);
            if context.keys_are_cut.load(Ordering::Relaxed) {
                first.keys_are_cut.store(true, Ordering::Relaxed);
            }
        }
        Ok(())
    }
}
