//! What a page is made from.

use results::io::IoTable;
use results::model::StoredRun;
use results::store::{StoredStructure, StudyResults};

use crate::summary::StudySummary;

/// Everything that a page shows.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The figures of the study.
    pub summary: &'a StudySummary,
    /// The study as stored, for the raw data.
    pub results: &'a StudyResults,
    /// Its runs with histograms, series and waiting tasks, in the order of `results.runs`.
    pub runs: &'a [StoredRun],
    /// Baselines of the devices that the study used.
    pub baselines: &'a [IoTable],
    /// How tables and indexes lie on their pages, as measured after these runs.
    pub structures: &'a [StoredStructure],
    /// Is it shown by `fathom serve`, so that it asks for news?
    pub is_live: bool,
}
