//! One figure over all studies of an experiment, as data.

use results::measure::Measure;
use serde::Serialize;

use crate::comparison::Changed;
use crate::summary::{Estimate, Range, Verdict};

/// Version of the JSON form of [`History`]; grows when a field changes its meaning or goes away.
pub const HISTORY_VERSION: u32 = 1;

/// A change of the level that was shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LevelChange {
    /// `100 * (ratio - 1)` of the geometric means of the stretches after and before it.
    pub difference_percent: f64,
    /// The share of orders of the studies that have a split as clear as this one.
    pub p_value: f64,
    /// Did it improve?
    pub is_better: bool,
    /// What differs in the record between this study and the one before it.
    pub changes: Vec<Changed>,
}

/// One study in a series.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Row number of the study.
    pub study_id: i64,
    /// RFC 3339, UTC: when it was made.
    pub created_at: String,
    /// The measure over its counting runs; its mean is the arithmetic one.
    pub estimate: Estimate,
    /// Geometric mean of the runs: what tables and charts show, and every percentage here is made of.
    pub geometric_mean: f64,
    /// 95 % interval of the geometric mean; absent below two runs.
    pub geometric_mean_interval: Option<Range>,
    /// `100 * (geometric mean / geometric mean before - 1)`; `None` at the first study.
    pub vs_previous_percent: Option<f64>,
    /// Against the study before, its runs compared; corrected for all of these comparisons.
    pub vs_previous: Option<Verdict>,
    /// The level changed for good here.
    pub change: Option<LevelChange>,
}

/// One configuration over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// The parameters in which the series differ; `all` when there is one series.
    pub label: String,
    /// In the order of time; never empty.
    pub points: Vec<Point>,
    /// Studies in which the configuration has no run that counts and measured the figure.
    pub missing_count: usize,
}

/// One figure over all studies of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct History {
    /// Version of this form.
    pub history_version: u32,
    /// Name of the experiment.
    pub experiment: String,
    /// What is drawn.
    pub measure: Measure,
    /// Studies that were read.
    pub study_count: usize,
    /// Level of each family of tests.
    pub alpha: f64,
    /// Fewest studies with which a change of the level can be shown.
    pub studies_min: usize,
    /// Every configuration that was measured, in the order in which it first was.
    pub series: Vec<Series>,
}

impl History {
    /// Number of changes that were shown over all series.
    pub fn change_count(&self) -> usize {
        self.series.iter().flat_map(|series| &series.points).filter(|point| point.change.is_some()).count()
    }
}
