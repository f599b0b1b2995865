//! The view model of one study: every number that any output shows, computed once from the stored runs.

mod caches;
pub(crate) mod ceilings;
mod cells;
mod comparisons;
mod conditions;
mod derive;
mod effects;
mod factors;
mod levels;
mod looked;
mod metrics;
mod plans;
mod record;
mod scripts;
mod secondary;
mod study;

pub use caches::CacheCount;
pub(crate) use caches::{counts as cache_counts, words as cache_words};
pub use ceilings::CeilingLine;
pub use cells::{ALPHA, CellSummary, Change, Comparison, Estimate, Range, Verdict};
pub(crate) use cells::{geometric_mean, runs_needed};
pub use comparisons::Contrast;
pub use conditions::Conditions;
pub use derive::summarise;
pub use effects::{EffectSummary, Effects, InteractionSummary, effects};
pub use factors::{BestOfLevel, Matrix};
pub use levels::Levels;
pub(crate) use levels::cell_label;
pub use looked::Looked;
pub(crate) use metrics::identity;
pub use metrics::{IdentitySummary, LatencyKind, LatencySummary, MetricSummary};
pub use plans::Plan;
pub(crate) use record::record;
pub use record::{Fact, Record, RunLine, RunWarning};
pub use scripts::{CellScriptsSummary, ScriptSummary, StatementSummary, Times};
pub use secondary::{SecondaryCell, SecondaryMetric};
pub use study::{
    CellWaits, ExpectationOutcome, ExpectationState, FailedGate, InvalidRun, RunCounts, SUMMARY_VERSION,
    StudySummary,
};
