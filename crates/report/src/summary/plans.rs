//! By which plan each configuration was looked up: figures of reads belong to a plan.

use results::model::Event;
use results::store::StudyResults;
use serde::Serialize;

use super::cell_label;

/// A plan, and who had it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// Configurations, in the order of the cells.
    pub labels: Vec<String>,
    /// As the engine prints it, without figures.
    pub text: String,
}

/// The plan of the first counting run of each cell that stored one; runs of a cell with another plan do not count.
pub(super) fn plans(results: &StudyResults) -> Vec<Plan> {
    let mut plans: Vec<Plan> = Vec::new();
    for cell in &results.cells {
        let mut runs = results.runs.iter().filter(|stored| stored.counts());
        let of_cell = runs.find(|stored| stored.run.key.cell_index == cell.index);
        let Some(text) = of_cell.and_then(|stored| stored.run.event(Event::PLAN)) else { continue };
        let label = cell_label(results, cell.index);
        match plans.iter_mut().find(|plan| plan.text == text) {
            Some(plan) => plan.labels.push(label),
            None => plans.push(Plan { labels: vec![label], text: text.to_owned() }),
        }
    }
    plans
}
