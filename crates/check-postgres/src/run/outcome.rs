//! The end of a check: sums compared, relations whose sums differ looked at exactly, the report.

use std::path::Path;

use check::advice::Sources;
use check::findings::Findings;
use check::matching::side::Side;
use check::progress::{Phase, Progress};
use check::{advice, gaps};
use results::check::{CheckLevel, CheckReport, Skipped};

use crate::btree::bounds::is_below;
use crate::btree::seams::Seam;
use crate::catalog::Storage;
use crate::catalog::order::Scratch;
use crate::cluster::state::Standing;
use crate::matching::exact::Exact;
use crate::matching::uniqueness::unproven_keys;
use crate::plan::Plan;
use crate::plan::objects::{Matching, Table};
use crate::run::context::PassContext;
use crate::run::evidence::settle;
use crate::run::report::ReportBuilder;
use crate::run::state::PassState;
use crate::source::Tree;

impl ReportBuilder<'_> {
    /// Compares the sums, and looks exactly where they differ.
    pub(crate) fn compare(
        &mut self,
        state: &mut PassState,
        first: &PassContext<'_>,
        second: &PassContext<'_>,
        progress: &mut dyn Progress,
    ) {
        let plan = first.plan;
        let mut exact = Exact::new(first, second, self.options.memory_bytes_max, None);
        let broken = state.sums.not_clean.iter().filter(|(_, breaks_own_bytes)| **breaks_own_bytes);
        exact.broken = broken.map(|(place, _)| *place).collect();
        let left_behind = self.compare_gin(state, &mut exact);
        let seams = self.broken_seams(state, plan);
        for number in compared_relations(state, plan) {
            let tree = plan.trees.get(&number);
            let is_moved = |number| state.sums.moved.contains(&number) || plan.is_empty(number);
            // The pieces of values in TOAST do not name the row that they belong to.
            let has_changed = |number| is_moved(number) || state.sums.changed.has(number);
            let owners = |table: &Table| table.toast_number == Some(number) && has_changed(table.number);
            let has_moved = || {
                has_changed(number)
                    || tree.and_then(|tree| tree.heap).is_some_and(is_moved)
                    || plan.tables.values().any(owners)
            };
            if first.snapshot.is_some() && has_moved() {
                continue;
            }
            let object = plan.relation(number).map(|relation| relation.name.clone());
            self.covered.was_compared(number);
            let is_unfinished = state.sums.unfinished.contains_key(&number);
            let is_by_tid =
                plan.relation(number).is_some_and(|relation| relation.storage.entry_method().is_some());
            self.say_what_is_open(number, state, plan);
            if let Some(difference) =
                state.sums.links.get(number).filter(|difference| !difference.unequal().is_empty())
            {
                if self.is_out_of_time(object.as_deref()) {
                    continue;
                }
                progress.advance(Phase::SecondPass, self.bytes_before, self.bytes_total);
                self.counters.second_pass_object_count += 1;
                if plan.brins.contains_key(&number) {
                    exact.ranges(number, difference.unequal(), &mut self.findings);
                } else {
                    exact.links(number, difference.unequal(), is_unfinished, &mut self.findings);
                }
            }
            self.compare_neighbours(number, state, &seams, &mut exact, progress);
            self.compare_unique_keys(number, state, &mut exact, progress);
            let Some(difference) = state.sums.entries.get(number).filter(|_| !(is_by_tid && is_unfinished))
            else {
                continue;
            };
            let count = difference.count_of_both();
            self.counters.row_count += difference.count(Side::Expected);
            self.counters.entry_count += difference.count(Side::Found);
            if difference.unequal().is_empty() || self.is_out_of_time(object.as_deref()) {
                continue;
            }
            progress.advance(Phase::SecondPass, self.bytes_before, self.bytes_total);
            self.counters.second_pass_object_count += 1;
            match tree {
                Some(_) => {
                    let is_exact = !left_behind.contains(&number);
                    exact.entries(number, difference.unequal(), count, is_exact, &mut self.findings);
                }
                // VACUUM cuts TOAST tables before it writes their tables.
                None if first.snapshot.is_some() && !first.has_its_length(number) => {}
                None => exact.toast(number, difference.unequal(), count, &mut self.findings),
            }
        }
        self.counters.extra_read_bytes += exact.bytes_read;
        let mismatches = std::mem::take(&mut exact.mismatches);
        self.report_mismatches(mismatches, state, &exact);
        self.account_named(&exact, state);
    }

    /// Says what of a relation is not compared, since the server has not finished a change, or its order is not known.
    fn say_what_is_open(&mut self, number: u32, state: &PassState, plan: &Plan) {
        let Some(relation) = plan.relation(number) else { return };
        let object = Some(relation.name.as_str());
        let is_unfinished = state.sums.unfinished.contains_key(&number);
        if is_unfinished && relation.storage.entry_method().is_some() {
            let why = "a bucket split was interrupted by a crash, or was in progress at the checkpoint; the next insertion completes it";
            self.left_out(object, "rows against entries", why);
        } else if is_unfinished && relation.storage != Storage::Gin {
            let why =
                "a split or deletion was interrupted by a crash; the next insertion or VACUUM completes it";
            self.left_out(object, "links between levels", why);
        }
        if state.sums.order_not_known.contains_key(&number) {
            let why = "unknown order of the type or collation";
            self.left_out(object, gaps::ORDER_OF_KEYS, why);
        }
    }

    /// Looks again at neighbouring blocks of a B-tree whose keys do not fit each other.
    fn compare_neighbours(
        &mut self,
        number: u32,
        state: &PassState,
        seams: &[Seam],
        exact: &mut Exact<'_>,
        progress: &mut dyn Progress,
    ) {
        let object = exact.first.plan.relation(number).map(|relation| relation.name.as_str());
        let broken: Vec<Seam> = seams.iter().filter(|seam| seam.index == number).copied().collect();
        if !broken.is_empty() && !self.is_out_of_time(object) {
            progress.advance(Phase::SecondPass, self.bytes_before, self.bytes_total);
            self.counters.second_pass_object_count += 1;
            exact.seams(number, &broken, &mut self.findings);
        }
        let boundaries = state.sums.boundaries.get(&number);
        let pairs = boundaries.map_or(Vec::new(), |codes| codes.pairs(self.options.memory_bytes_max));
        if !pairs.is_empty() && !self.is_out_of_time(object) {
            progress.advance(Phase::SecondPass, self.bytes_before, self.bytes_total);
            self.counters.second_pass_object_count += 1;
            exact.straddling(number, &pairs, &mut self.findings);
        }
    }

    /// Where blocks of B-trees meet and the right one begins too low.
    fn broken_seams(&mut self, state: &PassState, plan: &Plan) -> Vec<Seam> {
        let seams = &state.sums.seams;
        self.counters.temporary_bytes += seams.temporary_bytes();
        let mut scratch = Scratch::default();
        let (broken, is_whole) = seams.broken(|seam, bound, first| {
            let index = plan.relation(seam.index).and_then(|relation| relation.index.as_ref());
            let known = index.zip(plan.trees.get(&seam.index));
            known.is_none_or(|(index, tree)| is_below(index, tree.version, bound, first, &mut scratch))
        });
        if !is_whole {
            let why = "no space for temporary files: use a larger --max-memory or a smaller --object-batch";
            self.left_out(None, "high keys of some B-tree blocks against their right siblings", why);
        }
        broken
    }

    /// Whether no time is left to look at an object whose sums differ; it is then told, since something is wrong there.
    pub(crate) fn is_out_of_time(&mut self, object: Option<&str>) -> bool {
        let is_over = self.is_time_over();
        if is_over {
            let why = "its sums differ, so it is damaged, and the time limit was reached: check it without --max-time";
            self.left_out(object, "the rows, entries or links that differ", why);
            self.unfinished = Some("stopped before all differences were reported".to_owned());
        }
        is_over
    }

    pub(crate) fn report(mut self, target: &Path, plan: &Plan) -> CheckReport {
        let cluster = self.cluster;
        let coverage = self.coverage(plan);
        let mut lists = std::mem::replace(&mut self.findings, Findings::new(&crate::RULES, 0)).into_lists();
        self.name_rows(&mut lists.findings, plan);
        let mut skipped: Vec<Skipped> =
            self.skipped.into_iter().map(|(why, page_count)| Skipped { why, page_count }).collect();
        skipped.sort();
        self.accounting.skipped = skipped;
        if self.options.level == CheckLevel::Full && self.only.is_none() {
            self.not_checked.extend(unproven_keys(plan));
        }
        // Names are database.schema.relation.
        gaps::fold_orders(&mut self.not_checked, |name| name.split('.').next().map(str::to_owned));
        self.not_checked.sort();
        self.not_checked.dedup();
        self.counters.elapsed_ns = u64::try_from(self.start.elapsed().as_nanos())
            .unwrap_or(u64::MAX)
            .saturating_add(self.resumed_ns);
        let fact = |name: &str, value: String| (name.to_owned(), value);
        let standing = match cluster.standing {
            Standing::Stopped => "shut down",
            Standing::Running => "running",
            Standing::Crashed => "not shut down",
            Standing::Backup { .. } => "base backup",
        };
        if let Tree::Archive(archive) = &cluster.tree {
            self.counters.temporary_bytes += archive.unpacked_bytes;
        }
        let mut more = Vec::new();
        if let Standing::Backup { start_lsn, .. } = cluster.standing {
            more.push(fact("backup from", format!("{:X}/{:X}", start_lsn >> 32, start_lsn & 0xFFFF_FFFF)));
        }
        more.extend(self.stood_still.take().map(|share| fact("unchanged since the checkpoint", share)));
        if self.options.object_batch.is_some() {
            more.push(fact("batches of objects", self.object_batch_count.to_string()));
        }
        let mut facts = vec![
            fact("PostgreSQL", if cluster.major == 0 { "?".to_owned() } else { cluster.major.to_string() }),
            fact("state", if cluster.control.is_some() { standing } else { "not known" }.to_owned()),
            fact("block size", cluster.block_bytes.to_string()),
            fact("checksums", if cluster.checksums { "on" } else { "off" }.to_owned()),
            fact("databases", cluster.databases.len().to_string()),
            fact("relations", plan.relations.len().to_string()),
        ];
        facts.append(&mut more);
        let mut report = CheckReport {
            coverage,
            facts,
            not_checked: self.not_checked,
            accounting: self.accounting,
            counters: self.counters,
            unfinished: self.unfinished.or(self.unfinished_source),
            ..CheckReport::empty("postgres", &target.to_string_lossy(), self.options.level)
        };
        advice::conclude(&mut report, lists, &sources(plan));
        settle(self.watch, cluster, plan, &mut report);
        report
    }
}

/// Relations with sums, and trees that have entries only, in ascending order.
fn compared_relations(state: &PassState, plan: &Plan) -> Vec<u32> {
    let with_sums = state.sums.entries.iter().chain(state.sums.links.iter()).map(|(number, _)| number);
    let entries_only = plan.trees.iter().filter(|(_, tree)| tree.matching == Matching::EntriesOnly);
    let mut numbers: Vec<u32> = with_sums.chain(entries_only.map(|(number, _)| *number)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// Indexes by table, TOAST tables by the table whose values they keep.
fn sources(plan: &Plan) -> Sources {
    let mut sources = Sources::default();
    let name_of = |database, id| {
        let relation = plan.number_of(database, id).and_then(|number| plan.relation(number));
        relation.map(|relation| relation.name.clone())
    };
    for relation in &plan.relations {
        if let Some((database, _)) = relation.name.split_once('.').filter(|_| relation.database != 0) {
            sources.add_database(relation.database.to_string(), database);
        }
        let table = relation.index.as_ref().and_then(|index| name_of(relation.database, index.table));
        if let Some(table) = table {
            sources.add_index(relation.name.clone(), table);
        }
        if let Some(toast) = name_of(relation.database, relation.toast).filter(|_| relation.toast != 0) {
            sources.add_part(toast, relation.name.clone());
        }
    }
    sources
}
