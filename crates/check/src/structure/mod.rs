//! How tables and indexes lie on their pages: what all engines have in common.
//!
//! ```text
//! per page: figures (records, bytes, free space), who follows it  -> per level: sums -> the published columns
//! ```
//!
//! Sums merge by addition, so that pages may be looked at in any order and by any number of workers. The order of a
//! level comes from what pages say of each other (links between siblings, or the references of the pages above), never
//! from the order of reading.
//!
//! | module | what it has |
//! |---|---|
//! | [`tally`] | figures of pages, added up per level |
//! | [`walk`] | levels of a tree by the references of its inner pages |
//! | [`subject`] | which tables and indexes are meant, and their order in the output |

pub mod subject;
pub mod tally;
pub mod walk;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use results::check::Accounting;
use results::structure::{StructureMode, StructureReport};

use crate::evidence::Watch;

/// Leaves no numbers in a report whose reads failed: a page that was not read would count as a page that does not exist.
pub fn settle(watch: &Watch, is_served: bool, report: &mut StructureReport) {
    let Some(reason) = watch.reason(is_served) else { return };
    let (page_count, bytes_expected) = (report.accounting.page_count, report.accounting.bytes_expected);
    report.objects.clear();
    report.left_out.clear();
    report.free_page_count = None;
    report.accounting =
        Accounting { page_count, unreached_count: page_count, bytes_expected, ..Accounting::default() };
    report.unfinished = Some(reason);
}

/// Points of a strip map that are kept without another wish: enough for a picture on a page or a screen.
pub const STRIP_POINTS_DEFAULT: usize = 4096;

/// Leaves of a tree, or pages of a heap, from which on a sample is taken; below, all are looked at.
// EVIDENCE: SQL Server, sys.dm_db_index_physical_stats, mode SAMPLED: below 10,000 pages DETAILED is used
pub const SAMPLE_FROM_PAGES: usize = 10_000;
/// One page of so many is looked at in a sample.
// EVIDENCE: as above, "1 percent sample of all the pages"
pub const SAMPLE_STEP: usize = 100;

/// What the user asks for.
#[derive(Debug, Clone)]
pub struct Options {
    /// How much is read.
    pub mode: StructureMode,
    /// Only this table, with its indexes and what holds its long values; all without. Compared without case, with or
    /// without the qualification that the engine has (`t`, `public.t`, `postgres.public.t`).
    pub table: Option<String>,
    /// Whether the engine's own tables are measured, too. A table that is named is, always.
    pub with_system: bool,
    /// Workers of the pass, at least 1.
    pub worker_count: usize,
    /// Bytes per second that all workers together may read; no limit without.
    pub rate_bytes_per_s_max: Option<u64>,
    /// Whether to read past the page cache where that is possible.
    pub want_direct: bool,
    /// Most points of each strip map.
    pub strip_points_max: usize,
    /// Ends the work early when set.
    pub stop: Option<Arc<AtomicBool>>,
}

impl Options {
    /// Workers and limits of the pass.
    #[must_use]
    pub fn of_pass(&self) -> crate::options::Options {
        crate::options::Options {
            worker_count: self.worker_count,
            rate_bytes_per_s_max: self.rate_bytes_per_s_max,
            want_direct: self.want_direct,
            stop: self.stop.clone(),
            ..crate::options::Options::default()
        }
    }
}

impl Default for Options {
    /// All tables in detail, with one worker and direct reads.
    fn default() -> Self {
        Self {
            mode: StructureMode::Detailed,
            table: None,
            with_system: false,
            worker_count: 1,
            rate_bytes_per_s_max: None,
            want_direct: true,
            strip_points_max: STRIP_POINTS_DEFAULT,
            stop: None,
        }
    }
}
