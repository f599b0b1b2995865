//! What is concluded from files that are absent, short or cut while the cluster does not stand still.

use std::collections::HashSet;

use formats::postgres::Oid;
use formats::postgres::control::State;
use formats::postgres::file_name::Fork;
use results::check::CheckLevel;

use super::catalog::Catalogs;
use super::cluster::{Cluster, ForkFiles, Standing};
use super::log_end::LogEnd;
use super::pass::PassContext;
use super::plan::Plan;
use super::rules::Promised;
use super::run::Run;
use super::sums::Sums;
use super::transactions::Transactions;
use super::truncations::{Truncations, log_files_end};

impl Run<'_> {
    /// Looks again at files that seemed to be absent or short in a cluster that runs: some are created, made longer or
    /// dropped while they are listed.
    ///
    /// I/O: the control file and all directories once more, only if something was seen.
    pub(super) fn confirm_files(&mut self, plan: &mut Plan, databases: HashSet<Oid>) {
        if self.cluster.standing != Standing::Running || plan.findings.is_empty() {
            return;
        }
        let first = std::mem::take(&mut plan.findings);
        let Some(Ok(again)) = self.cluster.tree.directory().map(Cluster::open) else { return };
        let catalogs = Catalogs { relations: plan.relations.clone(), databases, ..Catalogs::default() };
        let second = Plan::new(&again, catalogs).findings;
        let position = |cluster: &Cluster| cluster.control.map(|control| control.checkpoint_lsn);
        let keeps_dropped = self.cluster.is_in_production() && position(self.cluster) == position(&again);
        let dropped: HashSet<String> =
            again.forks.iter().flat_map(|fork| dropped_files(&again, fork, keeps_dropped)).collect();
        for finding in first.into_iter().filter(|finding| second.contains(finding)) {
            if finding.rule == Promised::FileMissing.rule().id {
                plan.findings.extend(keeps_dropped.then_some(finding));
            } else if dropped.contains(&finding.file) {
                // The first file is cut before all others.
            } else if finding.rule == Promised::PartialBlock.rule().id {
                self.cut_files.push(finding);
            } else {
                plan.findings.push(finding);
            }
        }
    }

    /// Reports files that ended inside a block before the check, and still do: no block is written for so long.
    pub(super) fn report_cut_blocks(&mut self) {
        let Some(directory) = self.cluster.tree.directory() else { return };
        for finding in std::mem::take(&mut self.cut_files) {
            let length = std::fs::metadata(directory.join(&finding.file)).map(|metadata| metadata.len());
            let is_wanted = self.only.is_none_or(|only| only.ends_with(&finding.file));
            if is_wanted && length.is_ok_and(|length| finding.found == format!("{length} bytes")) {
                self.findings.push(finding);
            }
        }
    }

    /// Tests what maps say of blocks behind the end of their tables.
    pub(super) fn check_map_lengths(&self, plan: &mut Plan, truncations: Option<&Truncations>) {
        let is_stopped = self.cluster.standing == Standing::Stopped;
        if self.options.level >= CheckLevel::Structure && self.only.is_none() {
            plan.check_map_lengths(|plan, table| {
                is_stopped || truncations.is_some_and(|truncations| plan.has_its_length(table, truncations))
            });
        }
    }

    /// Tests whether the logs of transactions are there.
    pub(super) fn check_transaction_logs(
        &mut self,
        transactions: &mut Transactions,
        plan: &mut Plan,
        truncations: Option<&Truncations>,
    ) {
        let control = self.cluster.control.filter(|_| self.cluster.control_damage.is_empty());
        let is_known = self.cluster.standing == Standing::Stopped || truncations.is_some();
        let Some(control) = control.filter(|_| is_known && self.only.is_none()) else { return };
        transactions.settle(&control, plan.oldest, truncations);
        if transactions.needed.is_none() {
            let why = "the log does not reach to its end, or no catalog tells which are needed";
            self.left_out(None, "missing files of pg_xact and pg_multixact", why);
        }
        if self.options.level >= CheckLevel::Page {
            transactions.missing_files(&control, &mut plan.findings);
        }
    }

    /// Where the log ends, from its files: for a server that cannot be asked.
    pub(super) fn log_files_end(&self) -> Option<LogEnd> {
        let control = self.cluster.control.filter(|control| control.state == State::InProduction)?;
        let tree = self.cluster.tree.clone();
        tree.directory()?;
        Some(LogEnd::new(move || log_files_end(&tree, &control)))
    }
}

/// Files of a relation that is being dropped.
fn dropped_files<'a>(
    cluster: &'a Cluster,
    fork: &'a ForkFiles,
    keeps_dropped: bool,
) -> impl Iterator<Item = String> + 'a {
    let main = |other: &&ForkFiles| {
        let key = |fork: &ForkFiles| (fork.tablespace, fork.database, fork.number, fork.temporary);
        other.fork == Fork::Main && key(other) == key(fork)
    };
    let first = cluster.forks.iter().find(main).and_then(|main| main.segments.first());
    let is_dropped = first.is_none_or(|first| {
        let is_there = first.number == 0 || keeps_dropped;
        first.part.bytes == 0 || !is_there
    });
    let files = fork.segments.iter().map(|segment| segment.shown.to_string_lossy().into_owned());
    files.filter(move |_| is_dropped)
}

/// Leaves tables out that may have been cut and grown again: blocks of zeros at their end tell nothing then. One with a
/// block behind it that stood still was never cut off.
pub(super) fn cut_tables(context: &PassContext<'_>, sums: &mut Sums) {
    for (table, [zero, still]) in &sums.ends {
        let is_whole = || {
            let relation = context.plan.relation(*table);
            let asked = relation.zip(context.truncations);
            asked.is_some_and(|(relation, log)| log.is_whole(relation.database, relation.file_number))
        };
        if zero > still && !is_whole() {
            sums.moved.insert(*table);
        }
    }
}
