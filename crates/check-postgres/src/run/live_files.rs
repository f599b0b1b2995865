//! What is concluded from files that are absent, short or cut while the cluster does not stand still, and from catalogs
//! that are not there.

use std::collections::HashSet;
use std::path::Path;

use check::engine::LogEnd;
use formats::postgres::catalog::{PG_ATTRIBUTE, PG_CLASS};
use formats::postgres::checksum::page_checksum;
use formats::postgres::control::State;
use formats::postgres::file_name::Fork;
use formats::postgres::page::Page;
use formats::postgres::{Oid, relmap};
use results::check::{CheckLevel, Finding};

use crate::catalog::Catalogs;
use crate::cluster::files::moved_databases::has_moved;
use crate::cluster::state::Standing;
use crate::cluster::transactions::Transactions;
use crate::cluster::truncations::{Truncations, log_files_end};
use crate::cluster::{Cluster, ForkFiles};
use crate::finding::file_finding;
use crate::matching::sums::Sums;
use crate::plan::Plan;
use crate::rules;
use crate::run::context::PassContext;
use crate::run::report::ReportBuilder;
use crate::source::Tree;

/// Blocks at the beginning of a segment that are looked at to see whether it is old.
const OLDER_BLOCKS_LOOKED_AT: u64 = 64;

impl ReportBuilder<'_> {
    /// Asks the log about files that are absent or short where it must be replayed: it may have dropped or cut them, and
    /// what it has not touched must be there.
    ///
    /// A segment that was copied, or lost, while the relation grew is no proof: a later one must have a block that is
    /// older.
    ///
    /// I/O: the log once; a few blocks of relations with short segments.
    fn confirm_by_log(&mut self, plan: &mut Plan, truncations: Option<&Truncations>) {
        let first = std::mem::take(&mut plan.findings);
        let files = std::mem::take(&mut plan.files_of_findings);
        let is_partial = |tree: &Tree| matches!(tree, Tree::Archive(archive) if archive.cut.is_some());
        let is_open = self.cluster.incremental_count > 0 || is_partial(&self.cluster.tree);
        let log = truncations.filter(|_| !is_open);
        let is_known = log.and_then(|log| log.ask(|_| ())).is_some();
        if !is_known {
            let why = "the WAL for recovery is incomplete, or there are no checksums: recovery may drop and truncate files";
            self.left_out(None, "missing files and segments", why);
        }
        for (finding, (database, number)) in first.into_iter().zip(files) {
            let stays = || log.and_then(|log| has_moved(self.cluster, log, database)) == Some(false);
            let is_there =
                || log.and_then(|log| log.ask(|log| log.is_there(database, number))) == Some(true) && stays();
            let is_whole = || log.is_some_and(|log| log.is_whole(database, number));
            let is_proven = if finding.rule == rules::SEGMENT_MISSING.id {
                is_whole() && self.has_older_block(&finding, database, number)
            } else if finding.rule == rules::PARTIAL_BLOCK.id {
                log.and_then(|log| log.ask(|log| log.is_there(database, number))) != Some(false)
            } else {
                is_there()
            };
            plan.findings.extend(is_proven.then_some(finding));
        }
    }

    /// Whether a segment behind one that is absent or short has a block from before the moment that is looked at.
    fn has_older_block(&self, finding: &Finding, database: Oid, number: Oid) -> bool {
        let (cluster, block_bytes) = (self.cluster, self.cluster.block_bytes);
        let Some(snapshot) = cluster.snapshot() else { return false };
        let of_relation = |fork: &&ForkFiles| fork.database == database && fork.number == number;
        let segments = cluster.forks.iter().filter(of_relation).find_map(|fork| {
            let at = fork.segments.iter().position(|segment| Path::new(&finding.file) == segment.shown)?;
            let is_absent = fork.segments[at].number as usize != at;
            Some(&fork.segments[if is_absent { at } else { at + 1 }..])
        });
        segments.unwrap_or_default().iter().any(|segment| {
            let bytes = segment.part.read(OLDER_BLOCKS_LOOKED_AT * block_bytes as u64).unwrap_or_default();
            let first = segment.number.saturating_mul(cluster.segment_blocks);
            bytes.chunks_exact(block_bytes).zip(first..).any(|(block, number)| {
                let page = Page::new(block);
                !page.is_new()
                    && page.header().lsn < snapshot.redo_lsn
                    && page_checksum(block, number) == page.header().checksum
            })
        })
    }

    /// Looks again at files that seemed to be absent or short in a cluster that runs: some are created, made longer or
    /// dropped while they are listed.
    ///
    /// I/O: the control file and all directories once more, only if something was seen.
    pub(crate) fn confirm_files(
        &mut self,
        plan: &mut Plan,
        databases: HashSet<Oid>,
        truncations: Option<&Truncations>,
    ) {
        if matches!(self.cluster.standing, Standing::Crashed | Standing::Backup { .. }) {
            return self.confirm_by_log(plan, truncations);
        }
        if self.cluster.standing != Standing::Running || plan.findings.is_empty() {
            return;
        }
        let first = std::mem::take(&mut plan.findings);
        let files = std::mem::take(&mut plan.files_of_findings);
        let Some(Ok(again)) = self.cluster.tree.directory().map(Cluster::open) else { return };
        let catalogs = Catalogs { relations: plan.relations.clone(), databases, ..Catalogs::default() };
        let second = Plan::new(&again, catalogs).findings;
        let position = |cluster: &Cluster| cluster.control.map(|control| control.checkpoint_lsn);
        let keeps_dropped = self.cluster.is_in_production() && position(self.cluster) == position(&again);
        let dropped: HashSet<String> =
            again.forks.iter().flat_map(|fork| dropped_files(&again, fork, keeps_dropped)).collect();
        let found = first.into_iter().zip(files).filter(|(finding, _)| second.contains(finding));
        for (finding, (database, number)) in found {
            let [missing, segment, partial] =
                [&rules::FILE_MISSING, &rules::SEGMENT_MISSING, &rules::PARTIAL_BLOCK]
                    .map(|rule| finding.rule == rule.id);
            if missing {
                plan.findings.extend(keeps_dropped.then_some(finding));
            } else if !segment && !partial {
                // An init fork or a first block: removed or cut when the relation is dropped, after its record is in the
                // WAL.
                let is_there = truncations.and_then(|log| log.ask(|log| log.is_there(database, number)));
                plan.findings.extend((is_there == Some(true)).then_some(finding));
            } else if dropped.contains(&finding.file) {
                // The first file is cut before all others.
            } else if partial {
                self.cut_files.push(finding);
            } else {
                plan.findings.push(finding);
            }
        }
    }

    /// Reports a database whose catalogs cannot be read, in a cluster that was shut down. One that `pg_database` does not name
    /// was left by an interrupted CREATE or DROP DATABASE; when it names none, all are reported. A shared catalog is
    /// reported once.
    pub(crate) fn report_catalog(&mut self, database: (Oid, &str), reason: &str, named: &HashSet<Oid>) {
        let (oid, name) = database;
        let directories: Vec<_> = self.cluster.databases.iter().filter(|(of, _)| *of == oid).collect();
        let is_named = named.is_empty() || named.contains(&oid);
        let [(_, directory)] = directories.as_slice() else { return };
        if self.cluster.standing != Standing::Stopped || self.only.is_some() || !is_named {
            return;
        }
        let rule = rules::CATALOG.id;
        let (file, object) = match reason.strip_prefix("file global/") {
            Some(rest) => {
                let number = rest.split(' ').next().unwrap_or_default();
                (format!("global/{number}"), "catalogs shared by all databases".to_owned())
            }
            None => (self.catalog_file(directory, reason), name.to_owned()),
        };
        if self.findings.objects_of(rule).any(|count| count.first.object.as_ref() == Some(&object)) {
            return;
        }
        let expected = "catalogs that map files to relations".to_owned();
        self.findings.push(file_finding(&rules::CATALOG, &file, Some(&object), expected, reason.to_owned()));
    }

    /// The file of the catalog that a reason begins with; the directory of the database where it is not known.
    fn catalog_file(&self, directory: &Path, reason: &str) -> String {
        let catalog = match reason.split(' ').next() {
            Some("pg_class") => Some(PG_CLASS),
            Some("pg_attribute") => Some(PG_ATTRIBUTE),
            _ => None,
        };
        let bytes = self.cluster.tree.read_small(directory.join("pg_filenode.map")).unwrap_or_default();
        let map = relmap::read(&bytes, &mut Vec::new());
        let number = catalog.and_then(|catalog| map.into_iter().find(|(id, _)| *id == catalog));
        let path = number.map(|(_, number)| directory.join(number.to_string()));
        path.as_deref().unwrap_or(directory).to_string_lossy().into_owned()
    }

    /// Reports files that ended inside a block before the check, and still do: no block is written for so long.
    pub(crate) fn report_cut_blocks(&mut self) {
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
    pub(crate) fn check_map_lengths(&self, plan: &mut Plan, truncations: Option<&Truncations>) {
        let is_stopped = self.cluster.standing == Standing::Stopped;
        if self.options.level >= CheckLevel::Structure && self.only.is_none() {
            plan.check_map_lengths(|plan, table| {
                is_stopped || truncations.is_some_and(|truncations| plan.has_its_length(table, truncations))
            });
        }
    }

    /// Tests whether the logs of transactions are there.
    pub(crate) fn check_transaction_logs(
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
            let why = "the WAL is incomplete, or no catalog lists the needed files";
            self.left_out(None, "missing files of pg_xact and pg_multixact", why);
        }
        if self.options.level >= CheckLevel::Page {
            transactions.missing_files(&control, &mut plan.findings);
        }
    }

    /// Where the log ends, from its files: for a server that cannot be asked.
    pub(crate) fn log_files_end(&self) -> Option<LogEnd> {
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
pub(crate) fn cut_tables(context: &PassContext<'_>, sums: &mut Sums) {
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
