//! What a check has found so far, and what it works on.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::Instant;

use check::engine::LogEnd;
use check::evidence::Watch;
use check::findings::Findings;
use check::options::Options;
use results::check::{Accounting, CheckCounters, Finding, NotChecked};

use crate::cluster::Cluster;
use crate::run::coverage::Covered;

pub(crate) struct ReportBuilder<'a> {
    /// The reads so far.
    pub(crate) watch: Watch,
    pub(crate) cluster: &'a Cluster,
    pub(crate) options: &'a Options,
    pub(crate) only: Option<&'a Path>,
    pub(crate) start: Instant,
    pub(crate) findings: Findings,
    pub(crate) not_checked: Vec<NotChecked>,
    pub(crate) accounting: Accounting,
    pub(crate) counters: CheckCounters,
    pub(crate) skipped: HashMap<String, u64>,
    pub(crate) unfinished: Option<String>,
    pub(crate) log_end: Option<&'a LogEnd>,
    /// Relations that changed since the redo point of the last checkpoint.
    pub(crate) moved: HashSet<u32>,
    /// Databases that the WAL makes, moves or drops.
    pub(crate) moved_databases: HashSet<formats::postgres::Oid>,
    /// Tables of which some blocks did, and how many.
    pub(crate) changed: HashMap<u32, u64>,
    /// What was verified.
    pub(crate) covered: Covered,
    /// How much did not, for the report.
    pub(crate) stood_still: Option<String>,
    /// Bytes of all passes, and of those that are done.
    pub(crate) bytes_total: u64,
    pub(crate) bytes_before: u64,
    pub(crate) object_batch_count: usize,
    /// Key of the sums.
    pub(crate) seed: u64,
    /// Files that end inside a block, in a cluster that runs: reported if they still do in the end.
    pub(crate) cut_files: Vec<Finding>,
    /// Why what is checked is not whole.
    pub(crate) unfinished_source: Option<String>,
    /// Time that earlier calls took, in nanoseconds.
    pub(crate) resumed_ns: u64,
}
