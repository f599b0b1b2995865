//! The end of a check: what is said beside the findings.

use std::collections::HashSet;
use std::sync::atomic::Ordering;

use formats::sqlserver::{Boot, is_version_known, product};
use results::check::{CheckLevel, Confidence, Skipped};

use crate::catalog::prepared::version_text;
use crate::finding::Draft;
use crate::maps::Use;
use crate::plan::Plan;
use crate::rules;
use crate::run::context::Context;
use crate::run::state::{Phases, Run};
use crate::run::worker::Worker;
use check::{advice, gaps};

impl Run<'_> {
    pub(crate) fn describe(&mut self, boot: Option<&Boot>) {
        let mut fact = |name: &str, value: String| self.report.facts.push((name.to_owned(), value));
        if self.source.is_backup {
            fact("backup", crate::whole::backup_text(self.source));
        }
        let Some(boot) = boot else { return };
        fact("database", boot.name.clone());
        fact("version", format!("{} ({})", boot.version, product(boot.version)));
        fact("made by version", format!("{} ({})", boot.created_version, product(boot.created_version)));
        fact("compatibility level", boot.compatibility.to_string());
        if !is_version_known(boot.version)
            && self.options.level >= CheckLevel::Structure
            && !self.options.is_raw
        {
            let why = version_text(boot.version);
            self.left_out(None, "records, owners, links, rows and index entries", &why);
            self.reasons.push(why);
        }
    }

    pub(crate) fn gaps(&mut self, context: &Context<'_>, plan: &Plan, worker: &Worker<'_>) {
        if worker.newer_count > 0 {
            let why = format!(
                "{} pages changed after the last checkpoint: attach or restore the database, which runs recovery; DBCC CHECKDB verifies them",
                worker.newer_count
            );
            self.left_out(None, "comparisons between pages: owners, links, rows and index entries", &why);
        }
        if context.keys_are_cut.load(Ordering::Relaxed) {
            let why = "the memory for keys was used up: use a larger --max-memory";
            self.left_out(None, "keys of some pages against their parent pages", why);
        }
        let compressed: HashSet<&str> =
            plan.units.iter().filter(|unit| unit.is_compressed).map(|unit| unit.name.as_str()).collect();
        for name in compressed {
            self.left_out(
                Some(name),
                "records",
                "compressed records are not read; DBCC CHECKTABLE verifies them",
            );
        }
        if self.options.level < CheckLevel::Full {
            return;
        }
        self.report.not_checked.extend(plan.not_checked.iter().cloned());
        let mut units: Vec<_> = worker.order_not_known.iter().collect();
        units.sort_unstable();
        for unit in units {
            let name = plan.name(*unit);
            self.left_out(
                name.as_deref(),
                gaps::ORDER_OF_KEYS,
                "unknown order of the collation; DBCC CHECKTABLE verifies it",
            );
        }
    }

    /// Findings that more than one page shows; none when pages were changed after the last checkpoint.
    pub(crate) fn add_cross_findings(
        &mut self,
        context: &Context<'_>,
        worker: &mut Worker<'_>,
        cross: Vec<Draft>,
        is_catalogued: bool,
    ) {
        if (worker.newer_count > 0 || self.lacks_files) && is_catalogued {
            return;
        }
        for mut draft in cross {
            let is_first_cause = [&rules::IAM_CHAIN, &rules::CATALOG].contains(&draft.rule);
            if context.maps.is_damaged && !is_first_cause {
                draft.confidence = Confidence::Consequence;
            }
            if let Some(page) = draft.page
                && !matches!(context.maps.use_of(page), Use::Free)
                && context.source.has(page)
            {
                // Facts between pages: its own bytes may keep all rules.
                let role = draft.rule.role;
                let pages = if role.breaks_own_bytes() { &mut worker.damaged } else { &mut worker.affected };
                pages.insert(page);
            }
            worker.findings.push(context.finding(draft));
        }
    }

    /// The phases of the published check, by name.
    pub(crate) fn name_phases(&mut self, plan: &Plan, phases: &Phases, is_catalogued: bool) {
        if self.options.level < CheckLevel::Structure || !is_catalogued {
            return;
        }
        let mut fact = |name: &str, value: String| self.report.facts.push((name.to_owned(), value));
        fact(
            "phase allocation",
            format!("{} allocation units, {} findings", plan.units.len(), phases.allocation),
        );
        fact(
            "phase system catalogue",
            format!("{} base tables, {} findings", plan.system_object_count, phases.catalog),
        );
        let user = plan.object_count - plan.system_object_count;
        fact(
            "phase tables",
            format!(
                "{user} objects in batches: {}, {} findings between pages",
                phases.batches, phases.objects
            ),
        );
    }

    /// The end of a check: coverage, accounting, findings with their causes first, and why it is not complete.
    pub(crate) fn conclude(
        &mut self,
        context: &Context<'_>,
        worker: Worker<'_>,
        is_catalogued: bool,
        missing_page_count: u64,
    ) {
        let is_still = worker.newer_count == 0 && !self.is_changed && self.report.unfinished.is_none();
        let is_compared = is_catalogued && is_still && !self.lacks_files;
        self.set_coverage(context, &worker, is_compared, missing_page_count);
        gaps::fold_orders(&mut self.report.not_checked, |_| None);
        self.finish(worker);
        self.add_reasons();
        let keys = self.options.memory_bytes_max / 2 - context.key_bytes_left.load(Ordering::Relaxed);
        self.report.counters.memory_bytes_max = context.maps.memory_bytes() + keys;
    }

    fn finish(&mut self, worker: Worker<'_>) {
        let report = &mut self.report;
        let accounting = &mut report.accounting;
        let damaged = (worker.damaged.len() as u64).min(worker.judged_count);
        let affected = worker.affected.difference(&worker.damaged).count() as u64;
        accounting.damaged_count = damaged;
        accounting.affected_count = affected.min(worker.judged_count - damaged);
        accounting.clean_count = worker.judged_count - damaged - accounting.affected_count;
        accounting.unreadable_count = worker.unreadable_count;
        accounting.skipped = worker
            .skipped
            .iter()
            .map(|(why, page_count)| Skipped { why: (*why).to_owned(), page_count: *page_count })
            .collect();
        accounting.skipped.sort();
        let [none, torn, checksum] = worker.protections;
        if self.options.level >= CheckLevel::Page {
            let value = format!("checksum {checksum}, torn page bits {torn}, none {none}");
            report.facts.push(("pages by protection".to_owned(), value));
        }
        report.counters.row_count = worker.row_count;
        report.counters.entry_count = worker.entry_count;
        report.counters.extra_read_count += worker.extra_reads;
        let mut lists = worker.findings.into_lists();
        worker.context.name_rows(&mut lists.findings);
        advice::conclude(report, lists, &worker.context.plan.sources());
    }
}
