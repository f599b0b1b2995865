//! A check from the first open to the report.

pub(crate) mod context;
pub(crate) mod coverage;
pub(crate) mod evidence;
pub(crate) mod live_files;
pub(crate) mod outcome;
pub(crate) mod pass;
pub(crate) mod passes;
pub(crate) mod report;
pub(crate) mod state;
pub(crate) mod stopped;
pub(crate) mod unverified;

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::Instant;

use check::engine::LogEnd;
use check::evidence::Watch;
use check::findings::Findings;
use check::matching::hash::Key;
use check::options::Options;
use check::progress::{Phase, Progress};
use results::check::{Accounting, CheckCounters, CheckLevel, CheckReport, NotChecked};

use crate::catalog::{Catalogs, reader as catalog_reader};
use crate::cluster::Cluster;
use crate::cluster::files::horizon::horizon_of_wal;
use crate::cluster::files::{relation_maps, shared_catalogs};
use crate::cluster::state::Standing;
use crate::cluster::transactions::Transactions;
use crate::cluster::truncations::Truncations;
use crate::finding::file_finding;
use crate::gin::row_set::RowSets;
use crate::gin::rows::row_sets;
use crate::gist::reading::gist_trees;
use crate::gist::tree::GistTree;
use crate::matching::exceptions::Exceptions;
use crate::matching::sums::Sums;
use crate::plan::Plan;
use crate::plan::batch::{Batch, Position, bytes_of};
use crate::plan::objects::PlanFile;
use crate::rules;
use crate::run::context::{IndexPass, PassContext};
use crate::run::coverage::Covered;
use crate::run::evidence::{CheckError, reason};
use crate::run::live_files::cut_tables;
use crate::run::report::ReportBuilder;
use crate::run::state::PassState;
use crate::run::stopped::StoppedCheck;
use crate::run::unverified::other_methods;
use crate::source::archive::limits::Limits;

/// Checks a data directory or a base backup: a directory, or its tar files. Opens files for reading only.
///
/// I/O: the catalogs, then each file once; relations whose sums differ a second time. Memory: the sums, two bits for
/// each transaction that pg_xact keeps, eight bytes for each dead row, and the buffers of the reader.
///
/// # Errors
/// When it is no data directory of a supported major, or reading cannot be set up. Damage is no error.
pub fn check_cluster(
    directory: &Path,
    options: &Options,
    progress: &mut dyn Progress,
) -> Result<CheckReport, CheckError> {
    let watch = Watch::go_on();
    let cluster = Cluster::open_within(directory, &Limits::of(options))
        .map_err(|error| reason(error, &watch))?
        .with_horizon_of_wal();
    ReportBuilder::new(&cluster, options, None, watch).check(directory, progress)
}

/// As [`check_cluster`], for a server that runs: `log_end` bounds the positions of blocks.
///
/// # Errors
/// As [`check_cluster`].
pub fn check_running(
    directory: &Path,
    log_end: &LogEnd,
    options: &Options,
    progress: &mut dyn Progress,
) -> Result<CheckReport, CheckError> {
    let watch = Watch::go_on();
    let cluster = Cluster::open_within(directory, &Limits::of(options))
        .map_err(|error| reason(error, &watch))?
        .with_horizon_of_wal();
    let mut run = ReportBuilder::new(&cluster, options, None, watch);
    run.log_end = Some(log_end);
    run.check(directory, progress)
}

/// Checks one relation file in its data directory: its blocks, without facts between files.
///
/// # Errors
/// When the file is not below a data directory of a supported major, or has no name of a relation file.
pub fn check_file(
    path: &Path,
    options: &Options,
    progress: &mut dyn Progress,
) -> Result<CheckReport, CheckError> {
    let watch = Watch::go_on();
    let refuse = || CheckError::NotARelation(path.to_path_buf());
    let canonical = path.canonicalize().map_err(|_| refuse())?;
    let Some(directory) = data_directory_of(&canonical) else {
        let cluster = Cluster::of_file(&canonical)?.ok_or_else(refuse)?;
        return ReportBuilder::new(&cluster, options, Some(&canonical), watch).check(path, progress);
    };
    let cluster =
        Cluster::open_within(directory, &Limits::of(options)).map_err(|error| reason(error, &watch))?;
    let is_listed = |cluster: &Cluster| {
        cluster.forks.iter().flat_map(|fork| &fork.segments).any(|segment| *segment.part.path == *canonical)
    };
    if !is_listed(&cluster) {
        return Err(refuse());
    }
    ReportBuilder::new(&cluster, options, Some(&canonical), watch).check(path, progress)
}

/// The data directory that a file lies in.
pub(crate) fn data_directory_of(canonical: &Path) -> Option<&Path> {
    let mut parents = canonical.ancestors().skip(1);
    // A database has a PG_VERSION of its own, but no control file.
    parents.find(|parent| {
        parent.join("global/pg_control").exists()
            || parent.join("PG_VERSION").exists() && parent.join("global").is_dir()
    })
}

/// The part of the memory that downlinks of GiST indexes may take.
const GIST_MEMORY_PART: u64 = 8;

impl<'a> ReportBuilder<'a> {
    fn new(
        cluster: &'a Cluster,
        options: &'a Options,
        only: Option<&'a Path>,
        watch: Watch,
    ) -> ReportBuilder<'a> {
        ReportBuilder {
            watch,
            cluster,
            options,
            only,
            start: Instant::now(),
            findings: Findings::new(&crate::RULES, options.findings_per_rule_max),
            not_checked: Vec::new(),
            accounting: Accounting::default(),
            counters: CheckCounters::default(),
            skipped: HashMap::new(),
            unfinished: None,
            log_end: None,
            moved: HashSet::new(),
            moved_databases: HashSet::new(),
            changed: HashMap::new(),
            covered: Covered::default(),
            stood_still: None,
            bytes_total: 0,
            bytes_before: 0,
            object_batch_count: 0,
            seed: options.seed,
            cut_files: Vec::new(),
            unfinished_source: None,
            resumed_ns: 0,
        }
    }

    fn check(mut self, target: &Path, progress: &mut dyn Progress) -> Result<CheckReport, CheckError> {
        let cluster = self.cluster;
        progress.advance(Phase::Map, 0, 0);
        self.report_control();
        let snapshot = cluster.snapshot().filter(|_| self.only.is_none());
        let horizon = snapshot.map(|snapshot| snapshot.horizon_xid);
        let mut transactions =
            cluster.control.as_ref().map(|control| Transactions::load(&cluster.tree, control, horizon));
        let truncations = snapshot.zip(cluster.control.as_ref());
        let truncations = truncations.map(|(_, control)| Truncations::new(cluster, control));
        let snapshot =
            snapshot.filter(|_| self.settle_horizon(cluster, transactions.as_mut(), truncations.as_ref()));
        let mut plan = self.plan(transactions.as_ref(), truncations.as_ref());
        self.check_cluster_files(&plan, transactions.as_ref());
        self.check_map_lengths(&mut plan, truncations.as_ref());
        if let Some(transactions) = &mut transactions {
            self.check_transaction_logs(transactions, &mut plan, truncations.as_ref());
        }
        let resumed = self.resume(&plan);
        for finding in std::mem::take(&mut plan.findings) {
            let is_wanted = self.only.is_none_or(|only| only.ends_with(&finding.file));
            // Those of a check that was stopped are among its findings.
            if is_wanted && resumed.is_none() {
                self.findings.push(finding);
            }
        }
        self.not_checked.append(&mut plan.not_checked);
        let log_files_end = self.log_files_end();
        let key = Key::new(self.seed);
        // What a running server had in an earlier call says nothing about what it has in this one.
        let is_cut = resumed.is_some() && cluster.standing == Standing::Running;
        if is_cut {
            let what = "links between blocks, rows and index entries";
            let why = "the check resumed an earlier one, and the server was running in between";
            self.left_out(None, what, why);
        }
        let snapshot = snapshot.filter(|_| !is_cut);
        let is_known = cluster.standing == Standing::Stopped || snapshot.is_some();
        let transactions = transactions.filter(|_| is_known && self.options.level >= CheckLevel::Structure);
        let context = PassContext {
            cluster,
            plan: &plan,
            files: &[],
            level: self.options.level,
            key: &key,
            transactions: transactions.as_ref(),
            snapshot,
            log_end: self.log_end.or(log_files_end.as_ref()),
            truncations: truncations.as_ref(),
            also_index: None,
            of_indexes: None,
        };
        self.batches(&context, resumed, progress)?;
        self.report_cut_blocks();
        if let (None, Some(path)) = (&self.unfinished, &self.options.resume_file) {
            // Nothing is left to go on with; the next call starts over.
            let _ = check::stopped::remove(path);
        }
        self.report_share(&plan, snapshot.is_some());
        self.fold_by_cause(&plan, transactions.as_ref());
        Ok(self.report(target, &plan))
    }

    /// Checks the objects in batches: tables, then indexes, then what they say about each other.
    fn batches(
        &mut self,
        context: &PassContext<'_>,
        resumed: Option<StoppedCheck>,
        progress: &mut dyn Progress,
    ) -> Result<(), CheckError> {
        let plan = context.plan;
        let batches = plan.batches(self.options.object_batch);
        self.bytes_total = batches.iter().map(|batch| bytes_of(&batch.first) + bytes_of(&batch.second)).sum();
        self.object_batch_count = batches.len();
        let mut from = Position::start();
        let mut restored = PassState::new(plan, self.options.findings_per_rule_max);
        if let Some(stopped) = resumed {
            from = stopped.state.position();
            if self.cluster.standing == Standing::Running {
                from = from.by_name(&stopped.next_file, stopped.next_offset_bytes, &batches);
            }
            restored.sums = Sums::from_stored(plan, &stopped.state.sums);
        }
        for (number, batch) in batches.iter().enumerate() {
            if number < from.batch {
                self.bytes_before += bytes_of(&batch.first) + bytes_of(&batch.second);
                continue;
            }
            let at = if number == from.batch { from } else { Position::start() };
            let state =
                std::mem::replace(&mut restored, PassState::new(plan, self.options.findings_per_rule_max));
            self.batch(context, number, batch, at, state, progress)?;
        }
        Ok(())
    }

    fn batch(
        &mut self,
        context: &PassContext<'_>,
        number: usize,
        batch: &Batch,
        from: Position,
        mut state: PassState,
        progress: &mut dyn Progress,
    ) -> Result<(), CheckError> {
        let first = PassContext { files: &batch.first, ..*context };
        if from.pass == 0 {
            let place = Position { batch: number, pass: 0, bytes: from.bytes };
            self.pass(&first, place, &mut state, progress)?;
        } else {
            self.bytes_before += bytes_of(&batch.first);
        }
        cut_tables(context, &mut state.sums);
        let exceptions = Exceptions::of_tables(&mut state.sums.exceptions, &state.sums.changed);
        let kept_bytes = exceptions.values().map(Exceptions::memory_bytes).sum::<u64>();
        self.counters.memory_bytes_max =
            self.counters.memory_bytes_max.max(kept_bytes + state.sums.memory_bytes());
        self.counters.temporary_bytes += exceptions.values().map(Exceptions::temporary_bytes).sum::<u64>();
        let moved = state.sums.moved.clone();
        let mut pass = IndexPass { exceptions: &exceptions, moved: &moved, gist_trees: None, row_sets: None };
        let second = PassContext { files: &batch.second, of_indexes: Some(pass), ..*context };
        let is_known = context.transactions.is_some() && self.only.is_none() && !self.options.is_raw;
        // What an earlier call put into sets is gone: the indexes are read once more.
        let is_whole =
            is_known && self.options.level == CheckLevel::Full && (from.pass == 0 || from.bytes == 0);
        let sets = if is_whole { row_sets(&second, self.options.memory_bytes_max) } else { RowSets::new() };
        pass.row_sets = Some(&sets);
        let memory = self.options.memory_bytes_max / GIST_MEMORY_PART;
        let gist_trees = if self.unfinished.is_none() { gist_trees(&second, memory) } else { HashMap::new() };
        for (number, _) in gist_trees.iter().filter(|(_, tree)| tree.is_cut) {
            let name = context.plan.relation(*number).map(|relation| relation.name.as_str());
            let why = "its downlinks need more than an eighth of the memory: use a larger --max-memory";
            self.left_out(name, "keys of some inner blocks", why);
        }
        let kept_bytes = gist_trees.values().map(GistTree::memory_bytes).sum::<u64>();
        self.counters.memory_bytes_max = self.counters.memory_bytes_max.max(kept_bytes);
        self.counters.extra_read_bytes += gist_trees.values().map(|tree| tree.bytes_read).sum::<u64>();
        pass.gist_trees = Some(&gist_trees);
        let second = PassContext { of_indexes: Some(pass), ..second };
        let place = Position { batch: number, pass: 1, bytes: if from.pass == 1 { from.bytes } else { 0 } };
        self.pass(&second, place, &mut state, progress)?;
        if is_known && self.unfinished.is_none() {
            if self.options.level == CheckLevel::Full {
                self.state_gin_rows(&sets, &first, &second, &mut state);
            }
            progress.advance(Phase::Match, self.bytes_before, self.bytes_total);
            self.compare(&mut state, &first, &second, progress);
            self.unpack_values(&mut state, &first, progress);
        }
        self.moved.extend(state.sums.moved);
        self.changed.extend(state.sums.changed.counts());
        self.covered.merge(state.sums.covered);
        Ok(())
    }

    /// Asks the WAL again for the oldest transaction that was active, now that pg_xact was read; `false` if it does not
    /// tell any more.
    fn settle_horizon(
        &mut self,
        cluster: &Cluster,
        transactions: Option<&mut Transactions>,
        log: Option<&Truncations>,
    ) -> bool {
        if cluster.wal_horizon.is_none() {
            return true;
        }
        let next_xid = cluster.control.map_or(0, |control| control.next_xid as formats::postgres::Xid);
        let horizon = log.and_then(|log| horizon_of_wal(log, next_xid));
        if let (Some(transactions), Some(horizon)) = (transactions, horizon) {
            transactions.set_horizon_of_wal(horizon);
            return true;
        }
        let what = "transactions, visibility, links between blocks, rows and index entries";
        let why = "the WAL since the last checkpoint was removed while it was read: check again";
        self.left_out(None, what, why);
        false
    }

    pub(super) fn left_out(&mut self, object: Option<&str>, what: &str, why: &str) {
        self.not_checked.push(NotChecked {
            object: object.map(str::to_owned),
            what: what.to_owned(),
            why: why.to_owned(),
            kind: results::check::GapKind::Coverage,
        });
    }

    fn plan(&mut self, transactions: Option<&Transactions>, truncations: Option<&Truncations>) -> Plan {
        let mut catalogs = match transactions.filter(|_| !self.options.is_raw) {
            Some(transactions) => catalog_reader::read(self.cluster, transactions),
            None => Catalogs::default(),
        };
        if self.options.is_raw || transactions.is_none() {
            self.left_out(
                None,
                "everything that needs the catalogs",
                "raw mode: each block is verified by itself",
            );
        }
        self.leave_moved_out(&mut catalogs, transactions, truncations);
        let is_mapped = catalogs.map_damage.is_empty();
        let map_damage = std::mem::take(&mut catalogs.map_damage);
        let certain = transactions.map(|known| relation_maps::certain(self.cluster, known, map_damage));
        for (path, damage) in certain.unwrap_or_default() {
            let file = path.to_string_lossy();
            self.findings.push(file_finding(
                &rules::RELATION_MAP,
                &file,
                None,
                damage.expected,
                damage.found,
            ));
        }
        let names = transactions.map(|known| shared_catalogs::names(self.cluster, known)).unwrap_or_default();
        for (database, reason) in std::mem::take(&mut catalogs.unreadable) {
            let name = names.get(&database).cloned().unwrap_or_else(|| format!("database {database}"));
            if is_mapped {
                self.report_catalog((database, &name), &reason, &catalogs.databases);
            }
            self.left_out(Some(&name), "everything that needs the catalogs", &reason);
        }
        let unnamed = std::mem::take(&mut catalogs.unnamed);
        for directory in unnamed.iter().filter(|_| self.cluster.standing == Standing::Stopped) {
            let why = "it is not in pg_database: left behind by an interrupted CREATE or DROP DATABASE";
            let name = directory.to_string_lossy();
            self.left_out(Some(&name), "everything that needs the catalogs", why);
        }
        if self.options.level == CheckLevel::Full && self.only.is_none() {
            self.not_checked.append(&mut catalogs.out_of_scope);
        }
        if self.options.level >= CheckLevel::Structure {
            self.not_checked.extend(other_methods(&catalogs.relations));
        }
        let databases = catalogs.databases.clone();
        let mut plan = Plan::new(self.cluster, catalogs);
        self.confirm_files(&mut plan, databases, truncations);
        if let Some(only) = self.only {
            let keep = |file: &PlanFile| *file.part.path == *only;
            plan.first_files.retain(keep);
            plan.second_files.retain(keep);
            plan.not_checked.clear();
            plan.tables.values_mut().for_each(|table| table.summarised_by.clear());
            self.left_out(None, "links between blocks, rows and index entries", "only one file is checked");
        }
        plan
    }
}
