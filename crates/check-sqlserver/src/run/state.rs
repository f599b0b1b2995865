//! A check under way: what it reads, what it found out, and its report.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use disk::scan::Governor;
use results::check::{CheckReport, GapKind, NotChecked};

use check::options::Options;

use crate::source::Source;

/// A check under way.
pub(crate) struct Run<'a> {
    pub(crate) source: &'a Source,
    pub(crate) options: &'a Options,
    /// The rate limit of all passes.
    pub(crate) governor: Arc<Governor>,
    pub(crate) started: Instant,
    /// Whether files of the database were not named.
    pub(crate) lacks_files: bool,
    /// Whether a second reading of the maps and the catalog brought something else.
    pub(crate) is_changed: bool,
    /// Indexes that could not be compared with their tables.
    pub(crate) unmatched: HashSet<u32>,
    /// Why the check is not complete, beside what the pass itself meets.
    pub(crate) reasons: Vec<String>,
    pub(crate) report: CheckReport,
}

impl Run<'_> {
    /// Adds the reasons why the check is not complete to what the pass met.
    pub(crate) fn add_reasons(&mut self) {
        let unfinished = self.report.unfinished.take();
        let all: Vec<String> = unfinished.into_iter().chain(std::mem::take(&mut self.reasons)).collect();
        self.report.unfinished = Some(all.join("; ")).filter(|all| !all.is_empty());
    }

    pub(crate) fn left_out(&mut self, object: Option<&str>, what: &str, why: &str) {
        self.report.not_checked.push(NotChecked {
            object: object.map(str::to_owned),
            what: what.to_owned(),
            why: why.to_owned(),
            kind: GapKind::Coverage,
        });
    }
}

/// Findings by phase.
#[derive(Default)]
pub(crate) struct Phases {
    pub(crate) allocation: usize,
    pub(crate) catalog: usize,
    pub(crate) batches: usize,
    pub(crate) objects: usize,
}
