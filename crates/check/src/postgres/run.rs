//! A check from the first open to the report.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use disk::scan::{ScanFile, ScanOptions, scan};
use results::check::{Accounting, CheckCounters, CheckLevel, CheckReport, NotChecked};

use super::btree::Exceptions;
use super::catalog::Catalogs;
use super::catalog_reader;
use super::cluster::{Cluster, OpenError, Standing};
use super::finding::file_finding;
use super::keyed::Key;
use super::pass::{PassContext, PassState};
use super::plan::{Plan, PlanFile};
use super::rules::Promised;
use super::transactions::Transactions;
use crate::findings::Findings;
use crate::options::Options;
use crate::progress::{Phase, Progress};

/// Bytes of one claim, if the user does not say.
const CLAIM_BYTES_DEFAULT: usize = 1 << 20;
/// How often progress is told.
const PROGRESS_PERIOD: Duration = Duration::from_millis(200);

/// Why a check could not be done at all.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The data directory could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The files could not be read.
    #[error(transparent)]
    Scan(#[from] disk::scan::ScanError),
    /// The file is not part of a data directory, and has no name of a relation file.
    #[error("cannot check \"{0}\": it is no relation file of a PostgreSQL data directory")]
    NotARelation(std::path::PathBuf),
}

/// Checks a data directory or an unpacked base backup. Opens files for reading only.
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
    let cluster = Cluster::open(directory)?;
    Run::new(&cluster, options, None).check(directory, progress)
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
    let refuse = || CheckError::NotARelation(path.to_path_buf());
    let canonical = path.canonicalize().map_err(|_| refuse())?;
    let cluster = Cluster::open(data_directory_of(&canonical).ok_or_else(refuse)?)?;
    let is_listed = |cluster: &Cluster| {
        cluster.forks.iter().flat_map(|fork| &fork.segments).any(|segment| segment.path == canonical)
    };
    if !is_listed(&cluster) {
        return Err(refuse());
    }
    Run::new(&cluster, options, Some(&canonical)).check(path, progress)
}

/// The data directory that a file lies in.
pub(super) fn data_directory_of(canonical: &Path) -> Option<&Path> {
    let mut parents = canonical.ancestors().skip(1);
    parents.find(|parent| parent.join("PG_VERSION").exists() && parent.join("global").is_dir())
}

pub(super) struct Run<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) options: &'a Options,
    pub(super) only: Option<&'a Path>,
    pub(super) start: Instant,
    pub(super) findings: Findings,
    pub(super) not_checked: Vec<NotChecked>,
    pub(super) accounting: Accounting,
    pub(super) counters: CheckCounters,
    pub(super) skipped: HashMap<&'static str, u64>,
    pub(super) unfinished: Option<String>,
}

impl<'a> Run<'a> {
    fn new(cluster: &'a Cluster, options: &'a Options, only: Option<&'a Path>) -> Run<'a> {
        Run {
            cluster,
            options,
            only,
            start: Instant::now(),
            findings: Findings::new(options.findings_per_rule_max),
            not_checked: Vec::new(),
            accounting: Accounting::default(),
            counters: CheckCounters::default(),
            skipped: HashMap::new(),
            unfinished: None,
        }
    }

    fn check(mut self, target: &Path, progress: &mut dyn Progress) -> Result<CheckReport, CheckError> {
        let cluster = self.cluster;
        progress.advance(Phase::Map, 0, 0);
        self.report_control();
        if self.options.resume_file.is_some() {
            self.left_out(None, "going on from an earlier check", "PostgreSQL is checked in one go");
        }
        let transactions =
            cluster.control.as_ref().map(|control| Transactions::load(&cluster.directory, control));
        let mut plan = self.plan(transactions.as_ref());
        for finding in std::mem::take(&mut plan.findings) {
            if self.only.is_none() || self.only.is_some_and(|only| only.ends_with(&finding.file)) {
                self.findings.push(finding);
            }
        }
        self.not_checked.append(&mut plan.not_checked);
        let key = Key::new(self.options.seed);
        let stands_still =
            cluster.standing == Standing::Stopped && self.options.level >= CheckLevel::Structure;
        let none = Exceptions::default();
        let no_exceptions = HashMap::new();
        let mut context = PassContext {
            cluster,
            plan: &plan,
            files: &plan.first_files,
            level: self.options.level,
            key: &key,
            transactions: transactions.as_ref().filter(|_| stands_still),
            exceptions: &no_exceptions,
            no_exceptions: &none,
            also_index: None,
        };
        let mut state = self.pass(&context, progress)?;
        let exceptions: HashMap<u32, Exceptions> =
            state.sums.exceptions.drain().map(|(table, codes)| (table, Exceptions::new(codes))).collect();
        self.counters.memory_bytes_max += exceptions.values().map(|list| list.len() as u64 * 8).sum::<u64>();
        let first = context;
        context.files = &plan.second_files;
        context.exceptions = &exceptions;
        let second = self.pass(&context, progress)?;
        state.sums.merge(second.sums);
        if stands_still && self.only.is_none() && self.unfinished.is_none() && !self.options.is_raw {
            progress.advance(Phase::Match, 0, 0);
            self.compare(&state, &first, &context, progress);
        }
        Ok(self.report(target, &plan))
    }

    fn report_control(&mut self) {
        let cluster = self.cluster;
        if cluster.control.is_none() {
            let expected = "a control file that can be read".to_owned();
            self.findings.push(file_finding(
                Promised::ControlFile,
                "global/pg_control",
                None,
                expected,
                "none".into(),
            ));
        }
        for damage in &cluster.control_damage {
            let (expected, found) = (damage.expected.clone(), damage.found.clone());
            self.findings.push(file_finding(
                Promised::ControlFile,
                "global/pg_control",
                None,
                expected,
                found,
            ));
        }
        let why = match cluster.standing {
            Standing::Stopped => return,
            Standing::Running => "a server is running: only facts inside a block can be proven",
            Standing::Crashed => {
                "a crash or a standby left it: when the log is replayed and the server shut down, more can be proven"
            }
            Standing::Backup { .. } => {
                "a backup is complete only after its log is replayed: restore it to check more"
            }
        };
        self.left_out(None, "transactions, visibility, links between blocks, rows and index entries", why);
        if matches!(cluster.standing, Standing::Crashed | Standing::Backup { .. }) && !cluster.checksums {
            self.left_out(
                None,
                "the inside of blocks",
                "without checksums a block that replay will mend cannot be told from a damaged one",
            );
        }
    }

    pub(super) fn left_out(&mut self, object: Option<&str>, what: &str, why: &str) {
        self.not_checked.push(NotChecked {
            object: object.map(str::to_owned),
            what: what.to_owned(),
            why: why.to_owned(),
        });
    }

    fn plan(&mut self, transactions: Option<&Transactions>) -> Plan {
        let mut catalogs = match transactions.filter(|_| !self.options.is_raw) {
            Some(transactions) => catalog_reader::read(self.cluster, transactions),
            None => Catalogs::default(),
        };
        if self.options.is_raw || transactions.is_none() {
            self.left_out(
                None,
                "everything that needs the catalogs",
                "raw mode: each block is tested by itself",
            );
        }
        for (path, damage) in catalogs.map_damage.drain(..) {
            let file = path.to_string_lossy();
            self.findings.push(file_finding(
                Promised::RelationMap,
                &file,
                None,
                damage.expected,
                damage.found,
            ));
        }
        for (database, reason) in std::mem::take(&mut catalogs.unreadable) {
            let name = format!("database {database}");
            self.left_out(Some(&name), "everything that needs the catalogs", &reason);
        }
        let mut plan = Plan::new(self.cluster, catalogs);
        if let Some(only) = self.only {
            let keep = |file: &PlanFile| file.path == only;
            plan.first_files.retain(keep);
            plan.second_files.retain(keep);
            plan.not_checked.clear();
            self.left_out(None, "links between blocks, rows and index entries", "one file is checked");
        }
        plan
    }

    fn pass(
        &mut self,
        context: &PassContext<'_>,
        progress: &mut dyn Progress,
    ) -> Result<PassState, CheckError> {
        let files: Vec<ScanFile> = context.files.iter().map(PlanFile::scan_file).collect();
        let total: u64 = context.files.iter().map(|file| file.bytes).sum();
        let block_bytes = self.cluster.block_bytes as u64;
        self.accounting.page_count +=
            context.files.iter().map(|file| file.bytes.div_ceil(block_bytes)).sum::<u64>();
        let mut state = PassState::new(context.plan, self.options.findings_per_rule_max);
        if files.is_empty() || self.unfinished.is_some() {
            self.accounting.bytes_expected += total;
            self.accounting.unreached_count +=
                context.files.iter().map(|file| file.bytes.div_ceil(block_bytes)).sum::<u64>();
            return Ok(state);
        }
        let done = Arc::new(AtomicU64::new(0));
        let stop = self.options.stop.clone().unwrap_or_else(|| Arc::new(AtomicBool::new(false)));
        let options = self.scan_options(&done, &stop);
        let per_rule = self.options.findings_per_rule_max;
        let ended = AtomicBool::new(false);
        let outcome = std::thread::scope(|scope| {
            let work = scope.spawn(|| {
                let outcome = scan(
                    &files,
                    &options,
                    |_| PassState::new(context.plan, per_rule),
                    |state, extent| context.visit(state, extent),
                );
                ended.store(true, Ordering::Release);
                outcome
            });
            while !ended.load(Ordering::Acquire) {
                if self.options.time_max.is_some_and(|limit| self.start.elapsed() >= limit) {
                    stop.store(true, Ordering::Relaxed);
                }
                progress.advance(Phase::Pass, done.load(Ordering::Relaxed), total);
                std::thread::park_timeout(PROGRESS_PERIOD.min(Duration::from_millis(5)));
            }
            work.join()
        });
        let outcome = match outcome {
            Ok(outcome) => outcome?,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        self.account(&outcome, options.extent_bytes as u64, block_bytes);
        for part in outcome.states {
            self.take(part, &mut state);
        }
        if stop.load(Ordering::Relaxed) && self.accounting.unreached_count > 0 {
            self.unfinished = Some("stopped before the end".to_owned());
        }
        Ok(state)
    }

    fn scan_options(&self, done: &Arc<AtomicU64>, stop: &Arc<AtomicBool>) -> ScanOptions {
        let pages = self.options.page_batch.map(|pages| pages.max(1) * self.cluster.block_bytes);
        ScanOptions {
            worker_count: self.options.worker_count,
            // The reader takes multiples of 4 KiB.
            extent_bytes: pages.unwrap_or(CLAIM_BYTES_DEFAULT).next_multiple_of(4096),
            rate_bytes_per_s_max: self.options.rate_bytes_per_s_max,
            retry_bytes: self.cluster.block_bytes,
            want_direct: self.options.want_direct,
            stop: Some(Arc::clone(stop)),
            progress_bytes: Some(Arc::clone(done)),
            ..ScanOptions::default()
        }
    }

    fn account(&mut self, outcome: &disk::scan::ScanOutcome<PassState>, claim_bytes: u64, block_bytes: u64) {
        self.accounting.bytes_expected += outcome.expected_bytes();
        self.accounting.bytes_read += outcome.read_bytes();
        for file in &outcome.files {
            self.accounting.unreached_count += file.unclaimed_bytes.div_ceil(block_bytes);
        }
        self.counters.worker_count = self.counters.worker_count.max(outcome.states.len() as u64);
        self.counters.claim_bytes = claim_bytes;
        self.counters.claim_count +=
            outcome.files.iter().map(|file| file.expected_bytes.div_ceil(claim_bytes)).sum::<u64>();
        self.counters.pass_ns += outcome.elapsed_ns;
        self.counters.worker_cpu_ns += outcome.worker_cpu_ns;
        let way = match outcome.page_cache_reason() {
            None => "direct".to_owned(),
            Some(reason) => format!("through the page cache: {reason}"),
        };
        self.counters.reader = format!("{:?}, {way}", outcome.backend.engine).to_lowercase();
    }

    fn take(&mut self, part: PassState, into: &mut PassState) {
        self.findings.merge(part.findings);
        self.accounting.clean_count += part.clean;
        self.accounting.damaged_count += part.damaged;
        self.accounting.unreadable_count += part.unreadable;
        for (why, count) in part.skipped {
            *self.skipped.entry(why).or_default() += count;
        }
        self.counters.extra_read_count += part.read_again;
        self.counters.extra_read_bytes += part.read_again * self.cluster.block_bytes as u64;
        into.sums.merge(part.sums);
    }
}
