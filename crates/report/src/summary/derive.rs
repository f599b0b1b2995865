//! Computes a summary from the stored runs.

use results::model::{Cell, GateOutcome, Run, RunState, StoredRun};
use results::store::StudyResults;
use stats::change::PercentDefinition;
use stats::summary::CONFIDENCE;

use super::caches::counts as cache_counts;
use super::cells::ALPHA;
use super::conditions::Conditions;
use super::levels::{Levels, cell_label};
use super::looked::Looked;
use super::record::record;
use super::study::{
    CellWaits, ExpectationOutcome, FailedGate, InvalidRun, RunCounts, SUMMARY_VERSION, StudySummary,
};
use super::{ceilings, cells, comparisons, effects, factors, metrics, plans, scripts, secondary};
use crate::catalogue::Catalogue;
use crate::outcome::verdict;
use crate::quantity::Quantity;
use crate::{reason, waits};

/// Computes everything that is shown of a study.
///
/// Costs one permutation test per cell, at most some hundredths of a second each. The same results give the same
/// summary.
pub fn summarise(
    results: &StudyResults,
    catalogue: &Catalogue,
    expectations: &[ExpectationOutcome],
) -> StudySummary {
    let quantity = Quantity::of(&results.study);
    let values = cells::values(results, quantity);
    let mut cells = cells::summaries(results, &values, quantity);
    let looked = Looked::of(results);
    let comparisons = comparisons::contrasts(results, &values, &cells, quantity, looked.as_ref());
    for contrast in comparisons.iter().filter(|contrast| contrast.reference == 0) {
        cells[contrast.candidate].comparison = contrast.comparison;
    }
    let reference_index = cells.iter().position(|cell| cell.is_reference);
    let study = &results.study;
    let mut ceilings = ceilings::measured(results);
    // Session time, which every reason is a share of, is not known of imported runs.
    let reasons = match study.imported {
        Some(_) => Vec::new(),
        None => reason::beside(results, catalogue, &ceilings),
    };
    ceilings::conclude(&mut ceilings, &reasons);
    let record = record(results);
    let mut summary = StudySummary {
        summary_version: SUMMARY_VERSION,
        study_key: study.key.0.clone(),
        experiment: study.experiment.clone(),
        title: study.title.clone(),
        caches: cache_counts(&results.runs),
        question: study.question.clone(),
        engine: study.target_words(),
        imported: study.imported.clone(),
        scale: study.scale,
        is_own: study.is_own_workload(),
        factors: study.factors.clone(),
        fixed: Levels(study.fixed.clone()),
        quantity,
        percent_definition: PercentDefinition::TimeReduction.formula(),
        confidence: CONFIDENCE,
        alpha: looked.map_or(ALPHA, |looked| looked.level),
        looked,
        counts: counts(results),
        invalid_runs: invalid_runs(results),
        verdict: Vec::new(),
        best_per_level: factors::best_per_level(&study.factors, &cells, quantity),
        means: factors::means(&study.factors, &cells),
        improvement_factors: factors::improvement_factors(&study.factors, &cells, quantity),
        secondary: secondary::secondary(results),
        metrics: metrics::metrics(results, quantity),
        identities: metrics::identities(results),
        plans: plans::plans(results),
        latencies: metrics::latencies(results),
        scripts: scripts::scripts(results),
        reasons,
        waits: cell_waits(results),
        stretches: Vec::new(),
        ceilings,
        expectations: expectations.to_vec(),
        corrections: results.corrections.clone(),
        conditions: Conditions::of(results, &record),
        record,
        cells,
        comparisons,
        effects: effects::effects(results, quantity),
        reference_index,
    };
    summary.verdict = verdict::sentences(&summary);
    summary
}

fn cell_waits(results: &StudyResults) -> Vec<CellWaits> {
    let of_cell = |cell: &Cell| {
        let counting = results.runs.iter().filter(|stored| stored.counts());
        let runs: Vec<&Run> =
            counting.map(|stored| &stored.run).filter(|run| run.key.cell_index == cell.index).collect();
        let tables = waits::table(&runs);
        (!tables.is_empty()).then(|| CellWaits { cell_index: cell.index, label: cell.label(), tables })
    };
    results.cells.iter().filter_map(of_cell).collect()
}

fn counts(results: &StudyResults) -> RunCounts {
    let count =
        |is_meant: &dyn Fn(&StoredRun) -> bool| results.runs.iter().filter(|stored| is_meant(stored)).count();
    let in_state = |state: RunState| count(&|stored| stored.run.state == state);
    RunCounts {
        // Configurations of an imported study need not have been measured equally often: nothing was planned here.
        planned: match results.study.imported {
            Some(_) => results.runs.len(),
            None => results.cells.len() * results.study.repetitions as usize,
        },
        counting: count(&StoredRun::counts),
        valid: in_state(RunState::Valid),
        invalid: in_state(RunState::Invalid),
        interrupted: in_state(RunState::Interrupted),
        running: in_state(RunState::Running),
        suspect: count(&|stored| stored.suspect.is_some()),
        superseded: count(&|stored| stored.superseded_by.is_some()),
    }
}

fn invalid_runs(results: &StudyResults) -> Vec<InvalidRun> {
    let invalid = results.runs.iter().filter(|stored| stored.run.state == RunState::Invalid);
    let view = |stored: &StoredRun| InvalidRun {
        run_id: stored.run_id,
        key: stored.run.key,
        cell: cell_label(results, stored.run.key.cell_index),
        clients: stored
            .run
            .clients
            .iter()
            .filter(|client| client.errors > 0 || client.end_ns.is_none())
            .map(|client| client.client_index)
            .collect(),
        failed_gates: stored
            .run
            .gates
            .iter()
            .filter(|gate| gate.outcome == GateOutcome::Failed)
            .map(|gate| FailedGate {
                gate: gate.gate.clone(),
                expected: gate.expected.clone(),
                found: gate.found.clone(),
            })
            .collect(),
        superseded_by: stored.superseded_by,
    };
    invalid.map(view).collect()
}
