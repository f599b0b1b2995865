//! Everything that is shown of one study, as data; [`summarise`](super::summarise) computes it.

use results::imported::Imported;
use results::model::{Factor, RunKey, Scale};
use results::store::Correction;
use serde::Serialize;

use super::caches::{CacheCount, words};
use super::ceilings::CeilingLine;
use super::cells::{ALPHA, CellSummary};
use super::comparisons::Contrast;
use super::conditions::Conditions;
use super::effects::Effects;
use super::factors::{BestOfLevel, Matrix};
use super::levels::Levels;
use super::looked::Looked;
use super::metrics::{IdentitySummary, LatencySummary, MetricSummary};
use super::plans::Plan;
use super::record::Record;
use super::scripts::CellScriptsSummary;
use super::secondary::SecondaryMetric;
use crate::number::number;
use crate::quantity::Quantity;
use crate::reason::CellReason;
use crate::stretches::CellStretches;
use crate::waits::WaitTable;

/// Version of the JSON form of [`StudySummary`]; grows when a field changes its meaning or goes away.
pub const SUMMARY_VERSION: u32 = 1;

/// Whether an expected result was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExpectationState {
    /// The numbers agree with the claim.
    Held,
    /// They do not.
    NotHeld,
    /// The claim is not made here, or cannot be computed; the detail says why.
    NotChecked,
}

impl ExpectationState {
    /// The state in words, as tables print it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::NotHeld => "did not hold",
            Self::NotChecked => "not checked",
        }
    }
}

/// What became of one expected result of the spec.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExpectationOutcome {
    /// The claim in words.
    pub claim: String,
    /// Held, did not hold, or not checked.
    pub state: ExpectationState,
    /// The numbers it was decided on, or why it was not checked; may be empty.
    pub detail: String,
}

/// How many runs there are of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize)]
pub struct RunCounts {
    /// Cells times repetitions, as planned at the start.
    pub planned: usize,
    /// Runs that enter means: valid, not suspect, not superseded.
    pub counting: usize,
    /// Runs whose gates all passed.
    pub valid: usize,
    /// Runs with a failed gate.
    pub invalid: usize,
    /// Runs that ended before they were done.
    pub interrupted: usize,
    /// Runs under way when the results were read.
    pub running: usize,
    /// Runs that somebody marked.
    pub suspect: usize,
    /// Runs whose place another one took.
    pub superseded: usize,
}

/// One failed gate of an invalid run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FailedGate {
    /// Name of the gate.
    pub gate: String,
    /// What was required.
    pub expected: String,
    /// What was found.
    pub found: String,
}

/// A run that does not count because a gate failed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InvalidRun {
    /// Row number in the store.
    pub run_id: i64,
    /// Which execution of which cell.
    pub key: RunKey,
    /// Label of the cell.
    pub cell: String,
    /// Clients that met an error or did not finish, by number.
    pub clients: Vec<u32>,
    /// The gates that failed; never empty unless the run was stored without gates.
    pub failed_gates: Vec<FailedGate>,
    /// Run that took its place, when it was repeated.
    pub superseded_by: Option<i64>,
}

/// Waits of one configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellWaits {
    /// Index within the study.
    pub cell_index: u32,
    /// Label of the cell.
    pub label: String,
    /// One per group of sessions, the clients first; means of the counting runs.
    pub tables: Vec<WaitTable>,
}

/// Everything that is shown of one study.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StudySummary {
    /// Version of this form.
    pub summary_version: u32,
    /// Identity of the study.
    pub study_key: String,
    /// Name of the experiment.
    pub experiment: String,
    /// One line; [`heading`](Self::heading) is what stands above a report.
    pub title: String,
    /// What the caches of the counting runs were; empty where no run looked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub caches: Vec<CacheCount>,
    /// The question that the experiment answers.
    pub question: String,
    /// Kind of target.
    pub engine: String,
    /// Where the runs are from, when another tool measured them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
    /// Full or miniature.
    pub scale: Scale,
    /// Is the workload the user's own? Its work is counted in transactions, and the user named its factors.
    #[serde(skip)]
    pub is_own: bool,
    /// Factors with their levels.
    pub factors: Vec<Factor>,
    /// Parameters that do not vary.
    pub fixed: Levels,
    /// What is compared.
    pub quantity: Quantity,
    /// Formula behind every percentage of improvement.
    pub percent_definition: &'static str,
    /// Confidence of every interval, as a share of 1.
    pub confidence: f64,
    /// Level of the family of comparisons.
    pub alpha: f64,
    /// The last look of a study that may end early; `alpha` is its level.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub looked: Option<Looked>,
    /// Runs of each kind.
    pub counts: RunCounts,
    /// Runs that do not count because a gate failed, in the order in which they ran.
    pub invalid_runs: Vec<InvalidRun>,
    /// What the values hold for: engine, machine, devices, settings, cautions.
    pub conditions: Conditions,
    /// One to three sentences, computed from the numbers below.
    pub verdict: Vec<String>,
    /// One per cell, in the order of the cells.
    pub cells: Vec<CellSummary>,
    /// What the design compares, decided together; in the order of its contrasts.
    pub comparisons: Vec<Contrast>,
    /// What each factor does over the levels of the others, and which factors act on each other.
    pub effects: Effects,
    /// Index into `cells` of the one that the others are compared with: the first level of every factor.
    pub reference_index: Option<usize>,
    /// The best cell at each level of each factor; empty with fewer than two factors.
    pub best_per_level: Vec<BestOfLevel>,
    /// Means over the last two factors, one matrix per combination of the others; empty with fewer than two factors.
    pub means: Vec<Matrix>,
    /// Time at the first level of the last factor over the time at each of its levels; shaped as `means`.
    pub improvement_factors: Vec<Matrix>,
    /// Metrics that the design names beside the compared one; no verdict rests on them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secondary: Vec<SecondaryMetric>,
    /// Other numbers of the counting runs, derived and measured.
    pub metrics: Vec<MetricSummary>,
    /// What the counting runs can only be equal in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub identities: Vec<IdentitySummary>,
    /// Plans of look-ups, each with the configurations that had it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub plans: Vec<Plan>,
    /// Latencies per cell, where the loop was in the client.
    pub latencies: Vec<LatencySummary>,
    /// What the scripts of a workload of the user's own did, per cell that had counting runs with some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scripts: Vec<CellScriptsSummary>,
    /// Why each configuration took as long as it did; empty where nothing was looked at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<CellReason>,
    /// Waits of each cell whose runs recorded any, in the order of the cells.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<CellWaits>,
    /// Counters with and without a checkpoint under way, for each cell that has both. [`summarise`] leaves it empty: it
    /// is made from series, which [`crate::stretches::of_run`] reads run by run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stretches: Vec<CellStretches>,
    /// What the runs reached beside what the devices alone gave.
    pub ceilings: Vec<CeilingLine>,
    /// What became of the expected results.
    pub expectations: Vec<ExpectationOutcome>,
    /// What was doubted or replaced.
    pub corrections: Vec<Correction>,
    /// What it ran on and in which order.
    pub record: Record,
}

impl StudySummary {
    /// The chance of a false verdict among the comparisons, as notes below tables say it.
    pub(crate) fn chance(&self) -> String {
        let percent = |share: f64| format!("{} %", number(100.0 * share));
        match &self.looked {
            None => percent(self.alpha),
            Some(looked) => format!(
                "{} over all looks; the level after {} of at most {} blocks is {}",
                percent(ALPHA),
                looked.blocks,
                looked.blocks_max,
                percent(looked.level)
            ),
        }
    }

    /// What stands above every form of the report: the title, and what the caches of runs that read were.
    pub fn heading(&self) -> String {
        let title = if self.title.is_empty() { &self.experiment } else { &self.title };
        let imported = if self.imported.is_some() { " (imported)" } else { "" };
        match words(&self.caches) {
            Some(words) => format!("{title}{imported} (cache: {words})"),
            None => format!("{title}{imported}"),
        }
    }

    /// What the work of a run is counted in: `rows`; `transactions` where the workload is the user's own.
    pub(crate) fn work(&self) -> &'static str {
        if self.is_own { "transactions" } else { "rows" }
    }

    /// What the runs were made by: `planned` by fathom, or `imported`.
    pub(crate) fn origin_word(&self) -> &'static str {
        if self.imported.is_some() { "imported" } else { "planned" }
    }
}
