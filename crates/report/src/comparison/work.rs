//! Do two sides do the same work? Only then may a difference be judged.

use results::measure::Measure;
use results::model::Scale;
use serde::Serialize;

use super::side::{Side, level};
use results::model::Cell;

/// Parameters that say what is done, and how much of it. All others say how, which is what comparisons are for.
const WORK: [&str; 6] = ["workload", "rows_total", "duration", "table_rows", "every", "file_mib"];

/// Those of a workload of the user's own: the others are named by the user.
const OWN_WORK: [&str; 3] = ["workload", "rows_total", "duration"];

/// Parameter that decides elapsed times and rates of an open loop by itself.
const RATE: &str = "rate";

/// What the sides do differently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OtherWork {
    /// `experiment`, `scale`, or the name of a parameter.
    pub name: String,
    /// Value of the baseline; `None` where it is not set.
    pub baseline: Option<String>,
    /// Value of the candidate.
    pub candidate: Option<String>,
}

impl OtherWork {
    /// `rows_total 40 against 80`.
    pub fn words(&self) -> String {
        let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "(not set)".to_owned());
        format!("{} {} against {}", self.name, value(&self.baseline), value(&self.candidate))
    }
}

/// Everything that the sides do differently; empty when a difference may be judged.
pub(super) fn differences(
    baseline: &Side,
    candidate: &Side,
    matched: &[(&Cell, &Cell)],
    measure: &Measure,
) -> Vec<OtherWork> {
    let studies = [&baseline.results.study, &candidate.results.study];
    let scale = |scale: Scale| format!("{scale:?}").to_lowercase();
    let mut differences = Vec::new();
    let mut add = |name: &str, baseline: Option<String>, candidate: Option<String>| {
        let difference = OtherWork { name: name.to_owned(), baseline, candidate };
        if difference.baseline != difference.candidate && !differences.contains(&difference) {
            differences.push(difference);
        }
    };
    let [one, other] = studies.map(|study| Some(study.experiment.clone()));
    add("experiment", one, other);
    let [one, other] = studies.map(|study| Some(scale(study.scale)));
    add("scale", one, other);
    let is_quantity = ["elapsed_s", "rows_per_s", "transactions_per_s"].contains(&measure.name.as_str());
    let is_own = studies.iter().all(|study| study.is_own_workload());
    let work: &[&'static str] = if is_own { &OWN_WORK } else { &WORK };
    let names = work.iter().copied().chain(is_quantity.then_some(RATE));
    for name in names {
        for (left, right) in matched {
            let value = |side: &Side, cell: &Cell| level(&side.results, cell, name).map(ToString::to_string);
            add(name, value(baseline, left), value(candidate, right));
        }
    }
    differences
}
